// What a server of a host is reached by, exactly what would be started or connected to, and the question whether it may
// be.
import type { Dialer } from "../client/options.js";
import { LocalError } from "../jsonrpc/errors.js";
import { checkOptions } from "../protocol/capabilities.js";
import { type MembersOf, shownValue } from "../schema/schema.js";
import { visibleText } from "../jsonrpc/message.js";
import { offAbort, onAbort, startTimer } from "../jsonrpc/outgoing.js";
import type { HttpAuthorizer, Transport } from "../jsonrpc/transport.js";

/** A program to start, whose standard streams are the server. */
export interface CommandTarget {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Variables of the child; beside them it has very little of ours. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** More names to take over from our environment, or true for all of it. */
  readonly inheritEnv?: boolean | readonly string[] | undefined;
  readonly cwd?: string | undefined;
}

/** A server elsewhere. */
export interface UrlTarget {
  readonly url: string | URL;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Gets tokens: see `/auth/client`. */
  readonly authorizer?: HttpAuthorizer | undefined;
  /** `http` speaks Streamable HTTP only, `sse` HTTP+SSE only. Default: whichever the server has. */
  readonly transport?: "http" | "sse" | undefined;
}

/** A program, a URL, or a link of one's own: a function that makes it, or a dialer. */
export type HostTarget = CommandTarget | UrlTarget | string | URL | Dialer | (() => Transport);

const COMMAND_MEMBERS: MembersOf<CommandTarget> = {
  command: "text",
  args: "texts",
  env: "texts by name",
  inheritEnv: ["flag", "texts"],
  cwd: "text",
};
const URL_MEMBERS: MembersOf<UrlTarget> = {
  url: ["text", "toJSON()"],
  headers: "texts by name",
  authorizer: "headers()",
  transport: ["=http", "=sse"],
};

/** Throws INVALID_TARGET for what leads to no server, BAD_OPTIONS for members of a target that do not exist, or hold another kind of value. */
export function checkTarget(name: string, target: HostTarget): void {
  const leads =
    typeof target === "object" && target !== null
      ? target instanceof URL || ["command", "url", "link"].some((each) => each in target)
      : typeof target === "string" || typeof target === "function";
  if (!leads) {
    const what = `add(${JSON.stringify(name)}, target): a target is a URL, { command, args }, { url, headers }, a server of this program or a function that makes a transport`;
    throw new LocalError("INVALID_TARGET", `${what}, not ${shownValue(target)}`);
  }
  if (Object.getPrototypeOf(target ?? "") !== Object.prototype || "link" in (target as object)) return;
  const members = urlTarget(target) === undefined ? COMMAND_MEMBERS : URL_MEMBERS;
  checkOptions(`add(${JSON.stringify(name)}, target)`, target, members);
}

export function isCommand(target: HostTarget): target is CommandTarget {
  return typeof target === "object" && "command" in target;
}

/** The target as a URL with what belongs to it; undefined for the others. */
export function urlTarget(target: HostTarget): UrlTarget | undefined {
  if (typeof target === "string" || target instanceof URL) return { url: target };
  return typeof target === "object" && "url" in target ? target : undefined;
}

/** A copy that nobody else can change; links of one's own stay what they are. */
export function snapshot(target: HostTarget): HostTarget {
  if (isCommand(target)) {
    const { command, args = [], env, inheritEnv, cwd } = target;
    const inherited = typeof inheritEnv === "object" ? [...inheritEnv] : inheritEnv;
    return { command, args: [...args], env: { ...env }, inheritEnv: inherited, cwd };
  }
  const found = urlTarget(target);
  return found === undefined ? target : { ...found, url: String(found.url), headers: { ...found.headers } };
}

/** What is about to happen for one server. Nothing in it is cut or left out but secret values. */
export interface Launch {
  /** Name of the server in this host. */
  readonly name: string;
  readonly kind: "command" | "url" | "program";
  /** One line fit for a terminal: the command with every argument quoted, or the URL. */
  readonly text: string;
  /** The program and its arguments as they are; empty unless `kind` is `command`. */
  readonly argv: readonly string[];
  /** Where the program starts; undefined: where the host runs. */
  readonly cwd: string | undefined;
  /** Names of the variables it is given; `*` when it gets all of ours. */
  readonly env: readonly string[];
  /** Those of them that decide what code runs, with their values. */
  readonly steering: Readonly<Record<string, string>>;
  /** Exact URL; undefined unless `kind` is `url`. */
  readonly url: string | undefined;
  /** Names of the headers sent with every request. */
  readonly headers: readonly string[];
  /** SHA-256 of all of this, values included: any change gives another one. */
  readonly digest: string;
}

// Variables by which the same command runs other code.
const STEERING =
  /^(?:PATH|NODE_OPTIONS|NODE_PATH|LD_.+|DYLD_.+|PYTHON(?:PATH|HOME|STARTUP)|RUBY(?:OPT|LIB)|PERL5(?:OPT|LIB)|BASH_ENV|ENV|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|GIT_SSH_COMMAND|npm_config_.+|PIP_.+|UV_.+)$/i;
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** What adding `target` under `name` would start or connect to. Throws a TypeError for a URL that is none. */
export async function launchOf(name: string, target: HostTarget): Promise<Launch> {
  const facts = isCommand(target) ? commandFacts(target) : (urlFacts(target) ?? PROGRAM);
  const { values, ...shown } = facts;
  return { name, ...shown, digest: await digestOf([shown, values]) };
}

type Facts = Omit<Launch, "name" | "digest"> & { readonly values: unknown };

const NOTHING = { argv: [], cwd: undefined, env: [], steering: {}, url: undefined, headers: [] };
const PROGRAM: Facts = { ...NOTHING, kind: "program", text: "a server within this program", values: [] };

function commandFacts({ command, args = [], env = {}, inheritEnv = false, cwd }: CommandTarget): Facts {
  const set = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const inherited = inheritEnv === true ? ["*"] : inheritEnv === false ? [] : inheritEnv;
  const argv = [command, ...args];
  const folder = cwd === undefined ? "" : ` (in ${quoted(cwd)})`;
  return {
    ...NOTHING,
    kind: "command",
    text: argv.map(quoted).join(" ") + folder,
    argv,
    cwd,
    env: [...set.map(([name]) => name), ...inherited].sort(),
    steering: Object.fromEntries(set.filter(([name]) => STEERING.test(name))),
    values: set.sort(([one], [other]) => (one < other ? -1 : 1)),
  };
}

function urlFacts(target: HostTarget): Facts | undefined {
  const found = urlTarget(target);
  if (found === undefined) return undefined;
  const { href } = new URL(found.url);
  const headers = Object.entries(found.headers ?? {}).sort(([one], [other]) => (one < other ? -1 : 1));
  const names = headers.map(([name]) => name.toLowerCase());
  return {
    ...NOTHING,
    kind: "url",
    text: visibleText(href, Number.POSITIVE_INFINITY),
    url: href,
    headers: names,
    values: [headers, found.transport ?? ""],
  };
}

function quoted(argument: string): string {
  if (PLAIN.test(argument)) return argument;
  return `'${visibleText(argument, Number.POSITIVE_INFINITY).replaceAll("'", `'\\''`)}'`;
}

// One value's fingerprint against attackers: SHA-256 over its JSON.

/** SHA-256 of the value's JSON in hexadecimal digits. Members count in the order they are in. */
export async function digestOf(value: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Judges the names of a host's servers: what can be shown, and cannot be taken for another one.

/** Names come from files people write; what is longer is no name. */
const MOST_CHARACTERS = 64;

// Letters of other scripts, and digits, that look like the one they stand beside.
const LOOKS_LIKE: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "l",
  i: "l",
  "|": "l",
  "5": "s",
  а: "a",
  в: "b",
  с: "c",
  ԁ: "d",
  е: "e",
  һ: "h",
  і: "l",
  ј: "j",
  к: "k",
  ӏ: "l",
  м: "m",
  н: "h",
  о: "o",
  р: "p",
  ԛ: "q",
  ѕ: "s",
  т: "t",
  у: "y",
  ԝ: "w",
  х: "x",
  α: "a",
  ε: "e",
  ι: "l",
  κ: "k",
  ν: "v",
  ο: "o",
  ρ: "p",
  τ: "t",
  υ: "u",
  χ: "x",
  ı: "l",
};

/** Throws `INVALID_NAME`, and `LOOK_ALIKE` for a name that is, or looks like, one of `others`. */
export function checkServerName(name: string, others: Iterable<string>): void {
  const shown = visibleText(name, MOST_CHARACTERS);
  if (name.trim() === "" || shown !== name) {
    const text = `A server's name must have 1 to ${MOST_CHARACTERS} visible characters: "${shown}" is none`;
    throw new LocalError("INVALID_NAME", text);
  }
  const mine = skeleton(name);
  for (const other of others) {
    if (skeleton(other) !== mine) continue;
    const why = other === name ? "there is one of that name" : `it looks like "${other}"`;
    throw new LocalError("LOOK_ALIKE", `The server "${name}" was not added: ${why}. Choose another name.`);
  }
}

/** The same for names that people take for one another. */
function skeleton(name: string): string {
  const letters = name
    .normalize("NFKC")
    .toLowerCase()
    .normalize("NFKD")
    .replace(/[\p{M}\s_.-]/gu, "");
  return Array.from(letters, (letter) => LOOKS_LIKE[letter] ?? letter)
    .join("")
    .replaceAll("rn", "m");
}

// Asks before a server is started or connected to, once for exactly what would happen.

/** What `authorize` is shown. */
export interface AuthorizeRequest extends Launch {
  /** Something else was approved under this name before: what would be started or connected to has changed. */
  readonly changed: boolean;
  /** Aborted when the answer comes too late. */
  readonly signal: AbortSignal;
}

/** Only `true` allows it. */
export type Authorize = (server: AuthorizeRequest) => boolean | Promise<boolean>;

/** Where approvals are kept: the digest of a launch by the server's name. May be a file. */
export interface ApprovalStore {
  get(name: string): string | undefined | Promise<string | undefined>;
  set(name: string, digest: string): unknown;
}

interface ConsentOptions {
  readonly authorize: Authorize | undefined;
  readonly approvals: ApprovalStore | undefined;
  readonly timeoutMs: number | undefined;
}

export class Consent {
  readonly #authorize: Authorize | undefined;
  readonly #approvals: ApprovalStore;
  readonly #timeoutMs: number;

  constructor({ authorize, approvals, timeoutMs }: ConsentOptions) {
    this.#authorize = authorize;
    this.#approvals = approvals ?? new Map<string, string>();
    this.#timeoutMs = timeoutMs ?? DECISION_TIMEOUT_MS;
  }

  /** Undefined when it may be launched, else why not in one sentence. Never rejects. */
  async refusal(
    launch: Launch,
    { signal, asking }: { readonly signal: AbortSignal; readonly asking: () => void },
  ): Promise<string | undefined> {
    const { name, digest } = launch;
    const decision = await decided(
      async (late) => {
        const approved = await this.#approvals.get(name);
        if (approved === digest) return true;
        const request = { ...launch, changed: approved !== undefined, signal: late };
        if (!late.aborted) asking();
        // Callers without types may answer anything.
        const allowed: unknown = await this.#authorize?.(request);
        if (allowed !== true || late.aborted) return false;
        await this.#approvals.set(name, digest);
        return true;
      },
      { timeoutMs: this.#timeoutMs, signal },
    );
    if ("missing" in decision) return `${name} was not started: ${decision.missing}`;
    if (decision.value) return undefined;
    if (this.#authorize !== undefined) return `${name} was not started: it was not allowed`;
    return `${name} was not started: nobody can allow it; give the host an \`authorize\` function`;
  }
}

// Waits for somebody's decision: not for ever, and never taking silence or a fault for consent.

interface DecisionOptions {
  readonly timeoutMs: number;
  /** Aborting it ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

/** What was decided, or why nothing was. */
type Decision<T> = { readonly value: T } | { readonly missing: string };

/** A person who went to lunch has not agreed. */
export const DECISION_TIMEOUT_MS = 300_000;

/** Asks, and resolves with the answer. The question's signal is aborted when nobody waits for the answer any more. Never rejects. */
export function decided<T>(
  ask: (signal: AbortSignal) => T | Promise<T>,
  { timeoutMs, signal }: DecisionOptions,
): Promise<Decision<T>> {
  const asking = new AbortController();
  return new Promise((resolve) => {
    const settle = (decision: Decision<T>): void => {
      clearTimeout(timer);
      if (signal) offAbort(signal, cancelled);
      resolve(decision);
      if ("missing" in decision) asking.abort(decision.missing);
    };
    const cancelled = (): void => settle({ missing: "it was cancelled before anybody decided" });
    const timer = startTimer(() => settle({ missing: `nobody decided within ${timeoutMs} ms` }), timeoutMs);
    if (signal?.aborted === true) return cancelled();
    if (signal) onAbort(signal, cancelled);
    const failed = (error: unknown): void => settle({ missing: `deciding failed: ${messageOf(error)}` });
    try {
      Promise.resolve(ask(asking.signal)).then((value) => settle({ value }), failed);
    } catch (error) {
      failed(error);
    }
  });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
