// A running server's door for its owner: a Unix socket in the state folder, at which `console` and others ask how it is.
//
// One JSON line is asked with, one JSON line answers: `{"ask":"state"}`, `{"ask":"restart","server":NAME}`. The folder and the socket are their owner's only.
// A server that was killed leaves its socket; whoever is refused there removes it.
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join, resolve } from "node:path";
import type { RunningServer } from "@secure-local/console/api";
import { makeFolder } from "../audit/make-folder.js";
import type { SecureServer } from "../server/secure-server.js";

/** The end of a socket's name. */
const SUFFIX = ".run";
/** Bytes of a path that every system takes for a socket. */
const MAX_PATH = 103;
/** Those of one owner who ask at the same time: consoles, terminals, and one to spare each. */
const MAX_PEERS = 16;
/** Characters of a question: there is one, and it is short. */
const MAX_QUESTION = 1_024;
/** Characters of an answer: the reviews of a hundred plugins. */
const MAX_ANSWER = 16 * 1024 * 1024;
/** Milliseconds a server has for its answer: it is on this machine, and may be busy with a call. */
const PATIENCE_MS = 2_000;
/** Servers asked at once: more than anybody runs. */
const MAX_SERVERS = 64;

/** What the socket tells of beside the server itself. */
export interface ControlledServer {
  readonly secure: Pick<
    SecureServer,
    "policy" | "tools" | "pluginHealth" | "pluginReviews" | "serverHealth" | "restartServer"
  >;
  readonly version: string;
  readonly auditFile: string;
  readonly transport: "stdio" | "http";
  readonly url?: string | undefined;
}

/** Asked for the state of `server` at a socket in `folder`, until it is closed. */
export class ControlSocket {
  readonly #about: ControlledServer;
  readonly #since = Date.now();
  readonly #server: Server;
  readonly #peers = new Set<Socket>();

  private constructor(about: ControlledServer) {
    this.#about = about;
    this.#server = createServer((peer) => this.#welcome(peer));
    this.#server.maxConnections = MAX_PEERS;
    this.#server.unref();
  }

  /**
   * Begins to listen. Nobody needs it to serve: where there can be no socket, `say` is told why, and the server goes on.
   * Windows has no folder that only its owner's programs can listen in, so there it is silently left out.
   */
  static async open(
    folder: string,
    about: ControlledServer,
    say: (line: string) => void,
  ): Promise<ControlSocket | undefined> {
    if (process.platform === "win32") return undefined;
    const socket = new ControlSocket(about);
    try {
      await socket.#listen(folder);
      return socket;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      say(`the console cannot see this server: ${why}`);
      return undefined;
    }
  }

  /** Resolves when the socket is gone. */
  async close(): Promise<void> {
    for (const peer of this.#peers) peer.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #listen(folder: string): Promise<void> {
    makeFolder(folder);
    const found = fs.lstatSync(folder);
    if (!found.isDirectory() || found.uid !== process.getuid?.()) throw new Error(`${folder} is not a folder of yours`);
    if ((found.mode & 0o077) !== 0) fs.chmodSync(folder, 0o700);
    const path = join(folder, `${process.pid}-${randomBytes(4).toString("hex")}${SUFFIX}`);
    if (Buffer.byteLength(path) > MAX_PATH) throw new Error(`${path} is too long a path for a socket`);
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(path, resolve);
    });
    this.#server.on("error", () => undefined);
    fs.chmodSync(path, 0o600);
  }

  #welcome(peer: Socket): void {
    this.#peers.add(peer);
    peer.unref();
    peer.setEncoding("utf8");
    let text = "";
    peer.on("data", (piece: string) => {
      text += piece;
      if (text.length > MAX_QUESTION) peer.destroy();
      else if (text.includes("\n")) void this.#answer(text).then((answer) => peer.end(`${answer}\n`));
    });
    peer.on("error", () => undefined);
    peer.on("close", () => this.#peers.delete(peer));
  }

  async #answer(text: string): Promise<string> {
    const { ask, server } = parsed(text.slice(0, text.indexOf("\n"))) ?? {};
    if (ask === "state") return JSON.stringify({ state: this.#state() });
    if (ask !== "restart" || typeof server !== "string")
      return JSON.stringify({ error: 'ask {"ask":"state"} or {"ask":"restart","server":"NAME"}' });
    return JSON.stringify({ restarted: await this.#about.secure.restartServer(server) });
  }

  #state(): RunningServer {
    const { secure, version, auditFile, transport, url } = this.#about;
    const { file, hash } = secure.policy;
    const { user, system } = process.cpuUsage();
    const reviews = new Map(secure.pluginReviews().map((review) => [review.plugin, review]));
    return {
      pid: process.pid,
      version,
      transport,
      url,
      since: this.#since,
      policy: { file, hash },
      auditFile,
      tools: secure.tools().map(({ name }) => name),
      plugins: secure.pluginHealth().map(({ name, state, version: of, tools, starts, note, output, wall }) => {
        const { findings = [], changes = [], withheld = new Map<string, string>() } = reviews.get(name) ?? {};
        const review = { findings, changes, withheld: Object.fromEntries(withheld) };
        return { name, state, version: of, tools, starts, note, output, wall, ...review };
      }),
      servers: secure.serverHealth(),
      memoryBytes: process.memoryUsage.rss(),
      cpuSeconds: (user + system) / 1e6,
      state: "running",
    };
  }
}

/** The servers of this person that run now, by their sockets; sockets that nobody listens at any more are removed. */
export async function runningServers(folder: string): Promise<RunningServer[]> {
  const names = socketsIn(folder).slice(0, MAX_SERVERS);
  const states = await Promise.all(names.map((name) => stateAt(join(folder, name))));
  return states.filter((state) => state !== undefined).sort((a, b) => a.since - b.since || a.pid - b.pid);
}

/** Has every server of this person that runs by a policy start one of its servers anew. @returns the ids of their processes */
export async function restartServer(
  folder: string,
  { policy, server }: { readonly policy: string; readonly server: string },
): Promise<number[]> {
  const restarted: number[] = [];
  for (const name of socketsIn(folder).slice(0, MAX_SERVERS)) {
    const path = join(folder, name);
    const state = await stateAt(path);
    if (state?.policy.file === undefined || resolve(state.policy.file) !== resolve(policy)) continue;
    const answer = parsed(await asked(path, { ask: "restart", server }));
    if (answer?.["restarted"] === true) restarted.push(state.pid);
  }
  return restarted;
}

async function stateAt(path: string): Promise<RunningServer | undefined> {
  return readState(await asked(path, { ask: "state" }));
}

/** The answer of whoever listens there; empty where nobody does. */
function asked(path: string, question: object): Promise<string> {
  return new Promise((done) => {
    const server = connect(path, () => server.write(`${JSON.stringify(question)}\n`));
    let text = "";
    server.setEncoding("utf8");
    server.setTimeout(PATIENCE_MS, () => server.destroy());
    server.on("data", (piece: string) => {
      text += piece;
      if (text.length > MAX_ANSWER) server.destroy();
    });
    server.on("error", (error: NodeJS.ErrnoException) => {
      // Its server was killed; whoever runs now has another name.
      if (error.code === "ECONNREFUSED") fs.rmSync(path, { force: true });
    });
    server.on("close", () => done(text));
  });
}

/** Undefined for what no server of this version says. */
function readState(text: string): RunningServer | undefined {
  const state = parsed(text)?.["state"] as Partial<RunningServer> | undefined;
  if (typeof state !== "object" || typeof state.pid !== "number" || typeof state.auditFile !== "string")
    return undefined;
  return Array.isArray(state.plugins) && Array.isArray(state.tools) ? (state as RunningServer) : undefined;
}

function socketsIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder).filter((name) => name.endsWith(SUFFIX));
  } catch {
    // Nothing has run yet.
    return [];
  }
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
