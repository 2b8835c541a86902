// Puts the question for a person's consent before a resource or prompt is read, as before a call of the tool that reads the same thing.
import {
  type Call,
  type Context,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
  RpcError,
} from "@secure-local/mcp/server";
import { atPlaces, placesIn } from "../capabilities/files/leads-to.js";
import { isFileUri, pathOfUri } from "../capabilities/files/plain-path.js";
import { gitAddress, isGitUri } from "../capabilities/git/git-folder.js";
import type { AskedCall, AskedWithin, NotApproved } from "../guard/approvals/approvals.js";
import { pathsOfCall } from "../policy/decide-command.js";
import { type Decision, FILE_READERS, TABLE_READERS } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";
import type { AnyPrompt } from "./catalogue.js";

const INVALID_PARAMS = -32602;
const DATABASE = /^db:\/\/([^/?#]*)/i;
/** The statement is ours and not an argument: a rule about it could mean it. */
const OPEN_SQL: ReadonlySet<string> = new Set(["sql", "limit"]);

/** A call of a tool, as rules of consent judge it; the first of `tools` is the one that is shown. */
interface ReadCall {
  readonly tools: readonly string[];
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly open?: ReadonlySet<string>;
}

/** The call that reads what a URI stands for. Where no tool does, it is called by the URI itself. */
function callOfUri(uri: string): ReadCall {
  const [, database] = DATABASE.exec(uri) ?? [];
  if (database !== undefined)
    return { tools: TABLE_READERS, arguments: { database: decoded(database), uri }, open: OPEN_SQL };
  const file = fileOf(uri);
  return file === undefined ? { tools: [uri], arguments: {} } : { tools: FILE_READERS, arguments: file };
}

/** The call that reads what a prompt brings along, with the prompt's own arguments. */
function callOfPrompt(
  name: string,
  given: Readonly<Record<string, unknown>>,
  { prompts }: Pick<Policy, "prompts">,
): ReadCall {
  const log = name === "analyze_logs" ? prompts.analyzeLogsFile : undefined;
  return log === undefined
    ? { tools: [name], arguments: given }
    : { tools: FILE_READERS, arguments: { ...given, path: log } };
}

/** The tool that reads what a URI stands for; undefined where none does. */
export function readerOf(uri: string): string | undefined {
  const [tool] = callOfUri(uri).tools;
  return tool === uri ? undefined : tool;
}

/** A read of a resource as rules of consent judge it: all but the request it is made in. */
export function judgedUri(uri: string): JudgedRead {
  return judgedRead({ kind: "resource", name: uri }, callOfUri(uri));
}

/** The same of a prompt, with its own arguments. */
export function judgedPrompt(
  name: string,
  given: Readonly<Record<string, unknown>>,
  policy: Pick<Policy, "prompts">,
): JudgedRead {
  return judgedRead({ kind: "prompt", name }, callOfPrompt(name, given, policy));
}

type JudgedRead = Omit<AskedCall, "ctx"> & Required<Pick<AskedCall, "read">>;

function judgedRead(
  read: NonNullable<AskedCall["read"]>,
  { tools: [tool = "", ...others], arguments: args, open }: ReadCall,
): JudgedRead {
  return { read, tool, also: [...others, read.name], destructive: false, arguments: args, open };
}

interface AskedReadsOptions {
  /** Undefined when it may go on. */
  readonly consent: (call: AskedWithin) => Promise<NotApproved | undefined> | undefined;
  readonly wouldAsk: (call: AskedWithin) => boolean;
  /** The policy in force. */
  readonly policy: () => Policy | undefined;
  /** Whether there is anybody to ask about. */
  readonly judging: () => boolean;
  /** What stands against a URI for where its links lead. */
  readonly denial: (policy: Policy, uri: string) => Decision | undefined;
}

export class AskedReads {
  readonly #options: AskedReadsOptions;

  constructor(options: AskedReadsOptions) {
    this.#options = options;
  }

  /** The definition with a `read` of the very thing that was judged and consented to, whatever becomes of the links on the way. */
  resource(uri: string, definition: ResourceDefinition): ResourceDefinition {
    return { ...definition, read: (ctx) => this.#read(uri, ctx, () => definition.read(ctx)) };
  }

  template(definition: ResourceTemplateDefinition): ResourceTemplateDefinition {
    return {
      ...definition,
      read: (uri, variables, ctx) => this.#read(uri, ctx, () => definition.read(uri, variables, ctx)),
      ...(definition.complete === undefined ? {} : { complete: this.#completers(definition.complete) }),
    };
  }

  prompt(name: string, definition: AnyPrompt): AnyPrompt {
    return {
      ...definition,
      run: (given, ctx) => {
        const policy = this.#options.policy();
        const run = (): ReturnType<typeof definition.run> => definition.run(given, ctx);
        if (policy === undefined || !this.#options.judging()) return run();
        return this.#asking(ctx, judgedPrompt(name, given, policy), run);
      },
    };
  }

  #read<T>(uri: string, ctx: Context, read: () => MaybePromise<T>): MaybePromise<T> {
    const { policy, judging, denial } = this.#options;
    const current = policy();
    const denies = current !== undefined && current.resources.denied.rules.length > 0;
    if (!denies && !judging()) return read();
    const asked = judgedUri(uri);
    // One URI names few of them.
    const paths = current && pathsOfCall(current, { tool: "", arguments: [...placesOf(uri), asked.arguments] });
    const places = placesIn(paths ?? []);
    const denied = denies ? denial(current, uri) : undefined;
    if (denied !== undefined) throw new RpcError(INVALID_PARAMS, denied.reason);
    const go = (): MaybePromise<T> => atPlaces(places, read);
    return judging() ? this.#asking(ctx, asked, go) : go();
  }

  #asking<T>(ctx: Context, asked: JudgedRead, go: () => MaybePromise<T>): MaybePromise<T> {
    const answer = this.#options.consent({ ...asked, ctx });
    if (answer === undefined) return go();
    return answer.then((refused) => {
      if (refused === undefined) return go();
      const data = { path: asked.read?.kind === "prompt" ? "/name" : "/uri", rule: refused.rule };
      throw new RpcError(INVALID_PARAMS, refused.text, { ...data, constraint: "what a person agrees to" });
    });
  }

  /** Nobody can be asked while somebody types: what a person would be asked about is not completed. */
  #completers(complete: Completers): Completers {
    const asking = ([name, completer]: [string, Completers[string]]): [string, Completers[string]] => {
      if (typeof completer !== "function") return [name, completer];
      return [
        name,
        (typed, request) => {
          const known = { ...request.arguments, [name]: typed };
          const asked = this.#options.judging() ? callOfCompletion(known) : undefined;
          const judged = asked && judgedRead({ kind: "resource", name: "completion" }, asked);
          if (judged && this.#options.wouldAsk({ ...judged, ctx: request.context })) return { values: [] };
          return completer(typed, request);
        },
      ];
    };
    return Object.fromEntries(Object.entries(complete).map(asking));
  }
}

type MaybePromise<T> = T | PromiseLike<T>;
type Completers = NonNullable<ResourceTemplateDefinition["complete"]>;

/** What gives the names that a completion of ours shows: of a folder, of a repository's, of a database's tables. */
function callOfCompletion({ repository, database, path = "" }: Readonly<Record<string, string>>): ReadCall {
  if (database !== undefined) return { tools: TABLE_READERS, arguments: { database }, open: OPEN_SQL };
  const below = repository === undefined ? path : `${repository}/${path}`;
  return {
    tools: FILE_READERS,
    arguments: { path: `/${below.slice(0, below.lastIndexOf("/") + 1)}`.replace(/(?<=.)\/$/, "") },
  };
}

/** The file that a URI stands for; of a repository, the one of that name in its work tree, with what else tells it apart. */
function fileOf(uri: string): { readonly path: string; readonly ref?: string } | undefined {
  try {
    if (isFileUri(uri)) return { path: pathOfUri(uri) };
    if (!isGitUri(uri)) return undefined;
    const { repository, ref, path } = gitAddress(uri);
    return { path: path === "" ? repository : `${repository}/${path}`, ref };
  } catch {
    // Whoever reads it says what is wrong with it.
    return undefined;
  }
}

function placesOf(uri: string): string[] {
  try {
    return isGitUri(uri) ? [gitAddress(uri).repository] : [];
  } catch {
    return [];
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// Who calls: the clients that were heard of, each with what it says of itself and when it was heard last.

/** A client as its requests show it. What it calls itself proves nothing. */
export interface HeardClient {
  /** What it calls itself, with its version; empty where it does not say. */
  readonly name: string;
  /** Who the transport knows it to be, by its token; empty where it has none. */
  readonly principal: string;
  /** Date of the revision it speaks. */
  readonly revision: string;
  /** Milliseconds since 1970 of its first request and of the last one. */
  readonly since: number;
  readonly last: number;
  readonly requests: number;
  /** What its token allows, and when it ends, in milliseconds since 1970; absent where there is none, or it does not say. */
  readonly scopes?: readonly string[] | undefined;
  readonly expiresAt?: number | undefined;
}

/** Clients remembered: of more, those that were not heard of for the longest give way. */
const MAX_CLIENTS = 256;
/** Characters of a name: it is a stranger's. */
const MAX_NAME = 100;

export class ClientRegister {
  readonly #clients = new Map<string, { -readonly [Key in keyof HeardClient]: HeardClient[Key] }>();

  note(call: Call): void {
    const { caller, carrier } = call;
    const { client, codec } = caller;
    const { principal = "" } = carrier;
    // Who has no name has no token either, which is everybody over stdio.
    const { scopes, expiresAt } = (principal === "" ? undefined : call.identity) ?? {};
    const name = client === undefined ? "" : `${client.name} ${client.version}`.slice(0, MAX_NAME);
    const revision = codec.revision.date;
    const key = `${revision} ${principal} ${name}`;
    const now = Date.now();
    const known = this.#clients.get(key);
    if (known !== undefined) {
      known.last = now;
      known.requests += 1;
      // A token is exchanged for a new one within a session.
      [known.scopes, known.expiresAt] = [scopes, expiresAt];
      return;
    }
    if (this.#clients.size >= MAX_CLIENTS) this.#forgetOne();
    this.#clients.set(key, { name, principal, revision, since: now, last: now, requests: 1, scopes, expiresAt });
  }

  forget(principal: string): void {
    for (const [key, client] of this.#clients) if (client.principal === principal) this.#clients.delete(key);
  }

  /** The one that was heard of last, first. */
  heard(): readonly HeardClient[] {
    return [...this.#clients.values()].sort((a, b) => b.last - a.last);
  }

  #forgetOne(): void {
    let oldest: readonly [string, number] | undefined;
    for (const [key, { last }] of this.#clients) if (oldest === undefined || last < oldest[1]) oldest = [key, last];
    if (oldest !== undefined) this.#clients.delete(oldest[0]);
  }
}
