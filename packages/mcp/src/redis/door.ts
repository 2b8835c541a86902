// The one door to Redis: which client leads there, and how what is kept there is encrypted.
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from "node:crypto";
import { badShare } from "../cluster/relay-link.js";
import { lateAfter } from "../cluster/stores.js";
import { LocalError } from "../jsonrpc/errors.js";

/** A client of ioredis, as far as it is used: `new Redis(…)` or `new Cluster(…)`. */
export interface IoRedisLike {
  call(command: string, ...args: string[]): Promise<unknown>;
  duplicate(): IoRedisLike;
  disconnect(): void;
  on(event: "error", listener: (error: unknown) => void): unknown;
  readonly isCluster?: boolean;
}

/** A client of @redis/client that is connected, as far as it is used: `createClient(…)` or `createCluster(…)`. */
export interface NodeRedisLike {
  sendCommand(...args: never[]): Promise<unknown>;
  duplicate(): NodeRedisLike;
  connect(): Promise<unknown>;
  destroy(): void;
  on(event: "error", listener: (error: unknown) => void): unknown;
}

/** Redis to be shared: a URL, or a client that is given away and closed with the process. */
export type RedisTarget = string | IoRedisLike | NodeRedisLike;

/** Milliseconds a command may take: far beyond a bad network, far below what a client waits for. */
const COMMAND_MS = 2_000;

/** Sends commands. Every method rejects with UNREACHABLE when no answer comes, and with Redis's own error when it refuses. */
export interface Door {
  /** For people: without a password. */
  readonly name: string;
  readonly isCluster: boolean;
  /** The first of `keys` says where in a Cluster. `waitMs`: what the command itself waits. */
  run(command: string, args: readonly string[], waitMs?: number): Promise<unknown>;
  /** Runs a script in one step; all keys have to be in one slot. */
  script(text: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Another connection, for commands that wait. */
  another(): Promise<Door>;
  /** What runs a command at each of the servers that together have all keys, on the same connections. */
  masters(): Promise<readonly Door["run"][]>;
  close(): void;
}

type Send = (command: string, args: readonly string[]) => Promise<unknown>;

interface Client {
  readonly name: string;
  readonly isCluster: boolean;
  readonly send: Send;
  readonly another: () => Promise<Client>;
  /** Undefined for a server that is alone. */
  readonly masters?: () => Promise<readonly Send[]>;
  readonly close: () => void;
}

/** Opens the door. Rejects with BAD_SHARE when Redis cannot be reached or its client is not installed. */
export async function openDoor(target: RedisTarget): Promise<Door> {
  if (typeof target !== "string") return doorOf("call" in target ? ioRedis(target, "Redis") : nodeRedis(target));
  const name = nameOf(target);
  const client = await madeFor(target, name);
  try {
    return doorOf(ioRedis(client, name));
  } catch (error) {
    client.disconnect();
    throw error;
  }
}

function doorOf({ name, isCluster, send, another, masters, close }: Client): Door {
  /** Scripts that Redis has, and their names there. */
  const known = new Map<string, string>();
  const silence = new Silence(() => send("PING", []));
  const runBy =
    (by: Send): Door["run"] =>
    async (command, args, waitMs = 0) => {
      // One of the servers of a Redis Cluster may be silent while the others answer.
      if (silence.lasts && !isCluster) throw unreachable(name, silence.error);
      try {
        return await within(by(command, args), COMMAND_MS + waitMs);
      } catch (found) {
        if (found instanceof NoAnswerError && !isCluster) silence.begin(found);
        const error = withoutScript(found);
        if (!isReply(error)) throw unreachable(name, error);
        if (!isForeign(error)) throw error;
        const what = `what is kept at ${name} cannot be read (${(error as Error).message}): use another prefix`;
        throw new LocalError("BAD_SHARE", `share: ${what}`, { cause: error });
      }
    };
  const run = runBy(send);
  return {
    name,
    isCluster,
    run,
    close() {
      silence.end();
      close();
    },
    masters: async () => (masters === undefined ? [run] : (await masters()).map(runBy)),
    async script(text, keys, args) {
      const sha = known.get(text);
      const rest = [String(keys.length), ...keys, ...args];
      if (sha === undefined) {
        known.set(text, createHash("sha1").update(text).digest("hex"));
        return run("EVAL", [text, ...rest]);
      }
      return run("EVALSHA", [sha, ...rest]).catch((error: unknown) => {
        if ((error as Error).message.startsWith("NOSCRIPT")) return run("EVAL", [text, ...rest]);
        throw error;
      });
    },
    another: async () => doorOf(await another()),
  };
}

class NoAnswerError extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
  }
}

/**
 * A Redis that hangs: who asks it for something need not wait in vain each time. Begins with a command that has no answer, and lasts
 * until a look at it in the background has one.
 */
class Silence {
  readonly #ping: () => Promise<unknown>;
  #error: NoAnswerError | undefined;

  constructor(ping: () => Promise<unknown>) {
    this.#ping = ping;
  }

  get lasts(): boolean {
    return this.#error !== undefined;
  }

  get error(): unknown {
    return this.#error;
  }

  begin(error: NoAnswerError): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    void this.#look(error);
  }

  end(): void {
    this.#error = undefined;
  }

  async #look(error: NoAnswerError): Promise<void> {
    while (this.#error === error) {
      try {
        await within(this.#ping(), COMMAND_MS);
        this.end();
      } catch (found) {
        // Whatever it says, it answers; and who has no connection is told so at once.
        if (!(found instanceof NoAnswerError)) this.end();
      }
    }
  }
}

/** Where in which script a command was refused says nothing to people; some versions say it before the words of the refusal. */
function withoutScript(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const [, inner = error.message] = /@user_script: ?\d+: -?([A-Z]{2,} .*)/s.exec(error.message) ?? [];
  error.message = inner.replace(/\.? script: [0-9a-f]{40}, on @user_script:\d+\.?/, "");
  return error;
}

/** Whether a key holds something else, that somebody else put there. */
export function isForeign(error: unknown): boolean {
  const { message, cause } = error as Error;
  return message.startsWith("WRONGTYPE") || (cause instanceof Error && cause.message.startsWith("WRONGTYPE"));
}

/** Redis answers with a word in capitals; everything else is the connection's trouble. */
function isReply(error: unknown): boolean {
  const word = /^([A-Z]{2,})\b/.exec(String((error as Error | undefined)?.message))?.[1];
  return word !== undefined && !AWAY.has(word);
}

/** Answers that mean that nothing can be done there now. */
const AWAY: ReadonlySet<string> = new Set([
  "LOADING",
  "CLUSTERDOWN",
  "TRYAGAIN",
  "MASTERDOWN",
  "READONLY",
  "UNBLOCKED",
  "MISCONF",
  "OOM",
  "ECONNREFUSED",
  "ECONNRESET",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EPIPE",
]);

function unreachable(name: string, cause: unknown): LocalError {
  return new LocalError("UNREACHABLE", whyNot(name, cause), { cause });
}

/** What is said of a Redis by what it, or its client, says. */
const WHYS: readonly (readonly [RegExp, string])[] = [
  [
    /^WRONGPASS\b|invalid (?:username-)?password/i,
    "takes another password, or another name: redis://NAME:PASSWORD@host",
  ],
  [/^NOAUTH\b|no password|without (?:any )?password/i, "needs a password: redis://:PASSWORD@host"],
  [/^OOM\b/, "is full: raise its maxmemory"],
  [
    /DB index is out of range|invalid DB index|SELECT is not allowed/i,
    "has no such database: name another after the /, or none",
  ],
  [/cluster support disabled/i, "is no Redis Cluster: write redis:// and one host"],
  [/unknown command .sentinel/i, "is no Sentinel: name Sentinels there, or write redis:// for a Redis"],
  [/No such master with that name/i, "knows no master of this name: write the one in its sentinel.conf after the /"],
  [/^(?:ENOTFOUND|EAI_AGAIN)\b/, "has a name that is not known here: correct the address"],
  [/RESP type 21 |"\\u0015" as reply/, "speaks TLS there: write rediss://"],
  [
    /WRONG_VERSION_NUMBER|wrong version number/i,
    "does not speak TLS there: write redis://, or the port at which it does",
  ],
  [/RESP type|as reply type byte/, "is no Redis: something else answers there, so look at its host and port"],
  [/certificate/i, "shows a certificate that is not trusted: name the file of its authority in NODE_EXTRA_CA_CERTS"],
];

export function whyNot(name: string, cause: unknown): string {
  const why = (cause as { readonly lastNodeError?: Error }).lastNodeError ?? (cause as Error);
  const known = WHYS.find(([said]) =>
    said.test(`${(why as NodeJS.ErrnoException).code ?? ""} ${why.message}`.trimStart()),
  );
  return `${name} ${known?.[1] ?? `cannot be reached: ${plainly(why)}`}`;
}

const REFUSED = "the connection was refused";
/** What is to be done about that at the start, where nobody has reached it yet. */
const START = "; start Redis there, or correct the address";

/** What a client says that has no connection, with the names of its options. */
const NO_CONNECTION = /maxRetriesPerRequest|enableOfflineQueue|isn't writeable|connection is closed|client is closed/i;

/** The reason in words for who has not written the client. */
function plainly(cause: Error): string {
  const { message, code } = cause as NodeJS.ErrnoException;
  if (code === "ECONNREFUSED" || message === "") return REFUSED;
  return NO_CONNECTION.test(message) ? "the connection was lost" : message;
}

/** Rejects when nothing comes in time. */
function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const inTime = lateAfter(ms, () => reject(new NoAnswerError(ms)));
    promise.then(resolve, reject).finally(inTime);
  });
}

/** A URL without its password. */
function nameOf(target: string): string {
  return target.replace(/\/\/[^@/]*@/, "//");
}

interface IoRedisModule {
  readonly Redis: new (options: object | string, more?: object) => IoRedisLike;
  readonly Cluster: new (nodes: readonly object[], options?: object) => IoRedisLike;
}

/** What fails, fails at once: whoever waits for it decides what to do without it. */
const IMPATIENT = {
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  connectTimeout: COMMAND_MS,
  retryStrategy,
  // The client would write on the standard output of whoever may not ask for INFO; `answering` looks itself.
  enableReadyCheck: false,
};

/** Milliseconds before the next try to connect. */
function retryStrategy(times: number): number {
  return Math.min(50 * times, 1_000);
}

const NO_TLS = "; where it does not speak TLS, write redis://";
const TLS = "; where it speaks TLS, write rediss://";

async function madeFor(target: string, name: string): Promise<IoRedisLike> {
  const url = parsed(target, name);
  let ioredis: IoRedisModule;
  try {
    ioredis = (await import("ioredis")) as unknown as IoRedisModule;
  } catch (error) {
    const what = "share: ioredis is not installed: run `npm install ioredis`, or give redisCluster a client of yours";
    throw new LocalError("BAD_SHARE", what, { cause: error });
  }
  const client = clientFor(ioredis, url);
  const errors: unknown[] = [];
  client.on("error", (error) => (errors[0] = error));
  try {
    await within(answering(client, url.db), COMMAND_MS);
    return client;
  } catch (error) {
    client.disconnect();
    const why = (errors[0] ?? error) as Error;
    const what = whyNot(name, why);
    // Some answer nothing at all to what they do not understand.
    const isCut = /ECONNRESET|closed/i.test(`${(why as NodeJS.ErrnoException).code} ${why.message}`);
    const hint = target.startsWith("rediss") ? NO_TLS : isCut ? TLS : "";
    const more = what.endsWith(REFUSED) ? START : what.includes(" cannot be reached: ") ? hint : "";
    throw new LocalError("BAD_SHARE", `share: ${what}${more}`, { cause: why });
  }
}

interface Target {
  readonly kind: "alone" | "sentinel" | "cluster";
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly name: string;
  /** The database, where it is not the first. */
  readonly db?: number | undefined;
  readonly options: object;
}

const SCHEMES: Readonly<Record<string, Target["kind"]>> = {
  redis: "alone",
  rediss: "alone",
  "redis+sentinel": "sentinel",
  "redis+cluster": "cluster",
  "rediss+cluster": "cluster",
};

const MOST_PORT = 65_535;

/** Several hosts stand with commas between them, which URLs do not have. Throws BAD_SHARE. */
function parsed(target: string, name: string): Target {
  const match = /^([a-z+]+):\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^@/]+)(?:\/([^?]*))?$/.exec(target);
  const kind = SCHEMES[match?.[1] ?? ""];
  if (match === null || kind === undefined) {
    const forms =
      "redis://host:port, redis+sentinel://host:port,host:port/name, or redis+cluster://host:port,host:port";
    throw new LocalError("BAD_SHARE", `share: "${name}" is no address of Redis: write it as ${forms}`);
  }
  const [, scheme = "", user, password, hosts = "", rest = ""] = match;
  const auth = {
    ...(user === undefined || user === "" ? {} : { username: decodeURIComponent(user) }),
    ...(password === undefined || password === "" ? {} : { password: decodeURIComponent(password) }),
  };
  const tls = scheme.startsWith("rediss") ? { tls: {} } : {};
  if (kind === "sentinel" && rest === "")
    throw badShare(
      `${name} does not say which master: write its name after the hosts, as in redis+sentinel://host:port/NAME`,
    );
  if (kind === "alone" && !/^\d*$/.test(rest))
    throw badShare(`${name} has no database "${rest}": write its number, or nothing`);
  const db = kind === "alone" && rest !== "" ? Number(rest) : undefined;
  const usual = kind === "sentinel" ? 26_379 : 6_379;
  const all = hosts.split(",").map((each) => {
    const [, host = "", port] = /^(.*?)(?::(\d+))?$/.exec(each) ?? [];
    if (port !== undefined && (Number(port) < 1 || Number(port) > MOST_PORT))
      throw badShare(`${name} names the port ${port}, which no server can have: write one from 1 to ${MOST_PORT}`);
    return { host: host.replace(/^\[(.*)\]$/, "$1"), port: Number(port ?? usual) };
  });
  return { kind, hosts: all, name: rest, db, options: { ...auth, ...tls, ...(db === undefined ? {} : { db }) } };
}

function clientFor({ Redis, Cluster }: IoRedisModule, { kind, hosts, name, options }: Target): IoRedisLike {
  if (kind === "cluster") {
    const redisOptions = { ...options, ...IMPATIENT };
    return new Cluster(hosts, { redisOptions, enableOfflineQueue: false, clusterRetryStrategy: retryStrategy });
  }
  if (kind === "sentinel") return new Redis({ ...options, ...IMPATIENT, sentinels: hosts, name });
  return new Redis({ ...hosts[0], ...options, ...IMPATIENT });
}

/** Resolves once commands are taken. */
function ready(client: IoRedisLike): Promise<void> {
  const { status } = client as unknown as { readonly status?: string };
  if (status === "ready") return Promise.resolve();
  return new Promise((resolve) => (client.on as (event: string, hear: () => void) => unknown)("ready", resolve));
}

/** Resolves once it answers, with the database that is meant: one that reads its data is not ready, and some clients use another one. */
async function answering(client: IoRedisLike, db: number | undefined): Promise<void> {
  await ready(client);
  for (;;) {
    try {
      await (db === undefined ? client.call("PING") : client.call("SELECT", String(db)));
      return;
    } catch (error) {
      const { message } = error as Error;
      if (message.startsWith("NOPERM")) return;
      if (!message.startsWith("LOADING")) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function ioRedis(client: IoRedisLike, name: string): Client {
  client.on("error", () => undefined);
  return {
    name,
    isCluster: client.isCluster === true,
    send: (command, args) => client.call(command, ...args),
    another: async () => {
      const other = client.duplicate();
      other.on("error", () => undefined);
      await within(ready(other), COMMAND_MS).catch((error: unknown) => {
        other.disconnect();
        throw unreachable(name, error);
      });
      return ioRedis(other, name);
    },
    ...(client.isCluster === true && {
      masters: async () =>
        (client as unknown as { nodes(role: "master"): readonly IoRedisLike[] }).nodes("master").map(
          (each): Send =>
            (command, args) =>
              each.call(command, ...args),
        ),
    }),
    close: () => client.disconnect(),
  };
}

/** Where the first key stands in the commands that are used. */
function firstKey(command: string, args: readonly string[]): string | undefined {
  if (command === "EVAL" || command === "EVALSHA") return args[2];
  if (command === "XREAD") return args.at(-2);
  if (command === "ZUNION") return args[1];
  return args[0];
}

function nodeRedis(client: NodeRedisLike): Client {
  client.on("error", () => undefined);
  const isCluster = "slots" in client || "masters" in client;
  const sendAlone = client.sendCommand.bind(client) as (args: string[]) => Promise<unknown>;
  const sendTo = client.sendCommand.bind(client) as (key: unknown, read: boolean, args: string[]) => Promise<unknown>;
  const send: Send = (command, args) =>
    isCluster ? sendTo(firstKey(command, args), false, [command, ...args]) : sendAlone([command, ...args]);
  return {
    name: "Redis",
    isCluster,
    send,
    another: async () => {
      const other = client.duplicate();
      const opened = nodeRedis(other);
      await other.connect();
      return opened;
    },
    ...(isCluster && {
      masters: async () => {
        const cluster = client as unknown as {
          readonly masters: readonly object[];
          nodeClient(node: object): Promise<NodeRedisLike>;
        };
        const nodes = await Promise.all(cluster.masters.map((each) => cluster.nodeClient(each)));
        const sends = nodes.map((node) => node.sendCommand.bind(node) as (args: string[]) => Promise<unknown>);
        return sends.map(
          (sendThere): Send =>
            (command, args) =>
              sendThere([command, ...args]),
        );
      },
    }),
    close: () => client.destroy(),
  };
}

// Encrypts what is kept in Redis, bound to the place it is kept at and to its end: what was moved, or put back later, does not open.

/** Names whose hidden form is remembered: most requests come from callers that called before. */
const HIDDEN = 10_000;
/** How it is sealed; what was sealed in another way does not open. */
const FORM = "2";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The end stands before the text, in milliseconds since 1970. */
const END_BYTES = 8;

/** A name for what nobody can guess. */
export function digest(id: string): string {
  return createHash("sha256").update(id).digest("base64url").slice(0, 22);
}

/** Scripts have to read whose a session is, so that stands beside what is sealed: another owner or fence, and it does not open. */
export function placeOf(key: string, owner: string, fence: number): string {
  return `${key} ${owner} ${fence}`;
}

export interface Unsealed {
  readonly text: string;
  readonly leftMs: number;
  readonly isNewest: boolean;
}

export class Vault {
  readonly #keys: readonly Buffer[];
  readonly #names: readonly Buffer[];
  readonly #hidden = new Map<string, readonly string[]>();
  /** Milliseconds that the clock all go by is ahead of ours. */
  clockMs = 0;

  constructor(keys: readonly Buffer[]) {
    this.#keys = keys.map((key) => Buffer.from(hkdfSync("sha256", key, "", "records", 32)));
    this.#names = keys.map((key) => Buffer.from(hkdfSync("sha256", key, "", "names", 32)));
  }

  /**
   * Names that say nothing of what they stand for, though that is short: one for each key, that of the first key first. What
   * processes with other keys have written stands under another of them.
   */
  hidden(name: string): readonly string[] {
    const known = this.#hidden.get(name);
    if (known !== undefined) return known;
    const hidden = this.#names.map((key) => createHmac("sha256", key).update(name).digest("base64url").slice(0, 22));
    this.#hidden.set(name, hidden);
    if (this.#hidden.size > HIDDEN) this.#hidden.delete(this.#hidden.keys().next().value as string);
    return hidden;
  }

  /** `lifeMs`: from now. Redis's own end can be undone by whoever writes to it. */
  seal(place: string, text: string, lifeMs: number): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#keys[0] as Buffer, nonce);
    cipher.setAAD(Buffer.from(`${FORM} ${place}`));
    const end = Buffer.alloc(END_BYTES);
    end.writeDoubleBE(this.now() + lifeMs);
    const sealed = [nonce, cipher.update(end), cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString("base64url");
  }

  /** The text; undefined for one that has ended, was changed, moved, or sealed with another key. */
  open(place: string, sealed: string): string | undefined {
    return this.unseal(place, sealed)?.text;
  }

  /** The text with the rest of its time, and whether the first key has sealed it. */
  unseal(place: string, sealed: string): Unsealed | undefined {
    const bytes = Buffer.from(sealed, "base64url");
    if (bytes.length < NONCE_BYTES + END_BYTES + TAG_BYTES) return undefined;
    for (const [at, key] of this.#keys.entries()) {
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES));
      decipher.setAAD(Buffer.from(`${FORM} ${place}`));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const clear = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
        // As TTL in Redis: over at its end, not after it. What is no number has ended.
        const leftMs = clear.readDoubleBE(0) - this.now();
        return leftMs > 0 ? { text: clear.toString("utf8", END_BYTES), leftMs, isNewest: at === 0 } : undefined;
      } catch {
        // Sealed with another key, or not by us.
      }
    }
    return undefined;
  }

  /** Milliseconds since 1970 by the clock all go by. */
  now(): number {
    return Date.now() + this.clockMs;
  }
}

/** What tells one sealed text from all others, however it is written: no two have the same nonce. */
export function idOfSealed(sealed: string): string {
  return Buffer.from(sealed, "base64url").toString("base64url", 0, NONCE_BYTES);
}
