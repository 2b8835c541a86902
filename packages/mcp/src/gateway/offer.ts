// What one upstream server offers: its lists as they came, and what else its callers need to know of it. And its callers: who they are
// to it, and what they can be asked.
import type { Call } from "../endpoint/call.js";
import type { Client } from "../client/client.js";
import type { Answers, ClientOptions, QuestionContext } from "../client/options.js";
import { ErrorCode, invalidResponse, LocalError, RpcError } from "../jsonrpc/errors.js";
import type { ListHints } from "../server/lists.js";
import { isJsonObject, type JsonObject, peerWords } from "../jsonrpc/message.js";
import { offAbort, onAbort, pause } from "../jsonrpc/outgoing.js";
import type { Carrier, OutgoingKind } from "../jsonrpc/transport.js";
import type { ClientCapabilities, Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import { TASKS_EXTENSION } from "../protocol/extensions/tasks.js";
import type { Root } from "../protocol/features/elicitation.js";
import type { LoggingLevel } from "../protocol/features/lifecycle.js";
import type { Prompt } from "../protocol/features/prompts.js";
import type { Resource, ResourceTemplate } from "../protocol/features/resources.js";
import type { Tool } from "../protocol/features/tools.js";
import { revision as revisionOf } from "../protocol/revisions/all.js";
import { type LiveSession, Session } from "../server/session.js";

/** What an upstream offers, unknown members and all. It is plain JSON, so that it can be kept and compared. */
export interface Offer {
  readonly tools: readonly Tool[];
  readonly prompts: readonly Prompt[];
  readonly resources: readonly Resource[];
  readonly resourceTemplates: readonly ResourceTemplate[];
  readonly capabilities: ServerCapabilities;
  readonly instructions?: string | undefined;
  /** What the server calls itself. */
  readonly server?: Implementation | undefined;
  /** The least that the lists said. */
  readonly hints: ListHints;
}

/** What nobody may keep: the hints of a server that gives none. */
export const NO_HINTS: ListHints = { ttlMs: 0, cacheScope: "private" };

/** A list that long is one that never ends. */
const MOST_PAGES = 1_000;
/** Items of one list: more are of no use to any model, and each is kept. */
const MOST_ITEMS = 20_000;

type Member = "tools" | "prompts" | "resources" | "resourceTemplates";

const LISTS: Readonly<Record<Member, { readonly method: string; readonly capability: keyof ServerCapabilities }>> = {
  tools: { method: "tools/list", capability: "tools" },
  prompts: { method: "prompts/list", capability: "prompts" },
  resources: { method: "resources/list", capability: "resources" },
  resourceTemplates: { method: "resources/templates/list", capability: "resources" },
};

/** Reads all four lists. Rejects as requests do, and with LIMIT for a list without an end. */
export async function readOffer(client: Client): Promise<Offer> {
  const [tools, prompts, resources, resourceTemplates] = await Promise.all([
    readList(client, "tools"),
    readList(client, "prompts"),
    readList(client, "resources"),
    readList(client, "resourceTemplates"),
  ]);
  return {
    tools: tools.items as unknown as readonly Tool[],
    prompts: prompts.items as unknown as readonly Prompt[],
    resources: resources.items as unknown as readonly Resource[],
    resourceTemplates: resourceTemplates.items as unknown as readonly ResourceTemplate[],
    capabilities: await withCompletions(client, prompts.items, resourceTemplates.items),
    instructions: client.instructions,
    server: client.server,
    hints: [tools, prompts, resources, resourceTemplates].reduce<ListHints>(
      (least, { hints }) => (hints === undefined ? least : leastOf(least, hints)),
      { ttlMs: Number.POSITIVE_INFINITY, cacheScope: "public" },
    ),
  };
}

/** The first revision has completions and no word for them: its servers are asked once. */
async function withCompletions(
  client: Client,
  prompts: readonly JsonObject[],
  templates: readonly JsonObject[],
): Promise<ServerCapabilities> {
  const { capabilities } = client;
  if (revisionOf(client.revision)?.serverCapabilities.has("completions") !== false) return capabilities;
  const params = firstCompletable(prompts, templates);
  if (params === undefined) return capabilities;
  try {
    await client.request("completion/complete", params);
  } catch (error) {
    if (!(error instanceof RpcError) || error.code === ErrorCode.MethodNotFound) return capabilities;
  }
  return { ...capabilities, completions: {} };
}

function firstCompletable(prompts: readonly JsonObject[], templates: readonly JsonObject[]): JsonObject | undefined {
  for (const { name, arguments: args } of prompts.filter(isJsonObject)) {
    const [first] = Array.isArray(args) ? (args as readonly unknown[]) : [];
    if (isJsonObject(first)) return { ref: { type: "ref/prompt", name }, argument: { name: first["name"], value: "" } };
  }
  const [template] = templates;
  const variable = /\{[^A-Za-z_{}]?([A-Za-z0-9_]+)/.exec(String(template?.["uriTemplate"]))?.[1];
  if (template === undefined || variable === undefined) return undefined;
  return { ref: { type: "ref/resource", uri: template["uriTemplate"] }, argument: { name: variable, value: "" } };
}

/** What each kind of item has to have, and the kinds of what it may have: all that a list is made from. */
const SHAPES = {
  tool: { needs: { name: "text", inputSchema: "schema" }, may: { outputSchema: "schema", execution: "object" } },
  prompt: { needs: { name: "text" }, may: { arguments: "arguments" } },
  resource: { needs: { uri: "text" }, may: { name: "text", mimeType: "text" } },
  template: { needs: { uriTemplate: "text" }, may: { name: "text", mimeType: "text" } },
} as const;
const MAY_ALL = {
  title: "text",
  description: "text",
  icons: "objects",
  annotations: "object",
  _meta: "object",
} as const;

const KINDS = {
  text: { words: "a text", is: (value: unknown) => typeof value === "string" },
  object: { words: "an object", is: isJsonObject },
  objects: {
    words: "a list of objects",
    is: (value: unknown) => Array.isArray(value) && value.every(isJsonObject),
  },
  arguments: {
    words: "a list of objects with names",
    is: (value: unknown) =>
      Array.isArray(value) && value.every((each) => isJsonObject(each) && typeof each["name"] === "string"),
  },
  schema: {
    words: "a schema that is an object",
    is: (value: unknown) =>
      isJsonObject(value) && (value["properties"] === undefined || isJsonObject(value["properties"])),
  },
} as const;

/** What is looked at of each kind, put together once: a gateway looks at everything of all its servers when it starts. */
const MEMBERS = Object.fromEntries(
  Object.entries(SHAPES).map(([kind, { needs, may }]) => [
    kind,
    Object.entries({ ...needs, ...may, ...MAY_ALL }).map(([member, as]) => ({
      member,
      isNeeded: Object.hasOwn(needs, member),
      ...KINDS[as],
    })),
  ]),
);

/** Why an item of a list is none that could be shown to anybody; undefined where it can. */
export function itemFault(kind: "tool" | "prompt" | "resource" | "template", item: unknown): string | undefined {
  if (!isJsonObject(item)) return `it is no object`;
  for (const { member, isNeeded, is, words } of MEMBERS[kind] ?? []) {
    const value = item[member];
    if (value === undefined && !isNeeded) continue;
    if (!is(value)) return `its ${member} is not ${words}`;
  }
  return undefined;
}

const LISTS_OF_OFFER = ["tools", "prompts", "resources", "resourceTemplates"] as const;

/** Throws BAD_OPTIONS for what `readOffer` would never give: `where` is what it was given to. */
export function checkOffer(where: string, offer: Offer): void {
  const given = Object(offer) as Partial<Record<keyof Offer, unknown>>;
  const missing = LISTS_OF_OFFER.find((list) => !Array.isArray(given[list]));
  const fault =
    missing !== undefined
      ? `has no list "${missing}"`
      : !isJsonObject(given.capabilities)
        ? 'has no "capabilities" of the server'
        : isJsonObject(given.hints)
          ? undefined
          : 'has no "hints" { ttlMs, cacheScope }';
  if (fault === undefined) return;
  const takes =
    "it is what readOffer(client) of /gateway gives, whole: { tools, prompts, resources, resourceTemplates, capabilities, hints }";
  throw new LocalError("BAD_OPTIONS", `${where} ${fault}: ${takes}`);
}

/** The offer without what is no item that could be shown: one of those must not take the lists away from everybody. */
export function soundOffer(offer: Offer, left: (fault: string) => void = () => undefined): Offer {
  const kept = <T>(kind: keyof typeof SHAPES, items: readonly T[]): readonly T[] => {
    const sound = items.filter((item) => {
      const fault = itemFault(kind, item);
      if (fault !== undefined) left(`a ${kind} is left out: ${fault}`);
      return fault === undefined;
    });
    return sound.length === items.length ? items : sound;
  };
  const lists = {
    tools: kept("tool", offer.tools),
    prompts: kept("prompt", offer.prompts),
    resources: kept("resource", offer.resources),
    resourceTemplates: kept("template", offer.resourceTemplates),
  };
  const isSame = Object.entries(lists).every(([member, list]) => list === offer[member as keyof typeof lists]);
  return isSame ? offer : { ...offer, ...lists };
}

/** What may be kept of lists that are shown as one. */
export function leastOf(a: ListHints, b: ListHints): ListHints {
  return {
    ttlMs: Math.min(a.ttlMs, b.ttlMs),
    cacheScope: a.cacheScope === "private" ? "private" : b.cacheScope,
  };
}

/** Whether calls may run as tasks that the server, or the caller, decides on. */
export function tasksOf({ capabilities }: Offer): "requested" | "directed" | "none" {
  if (capabilities.extensions?.[TASKS_EXTENSION] !== undefined) return "directed";
  const requests = capabilities.tasks?.["requests"];
  const tools = isJsonObject(requests) ? requests["tools"] : undefined;
  return isJsonObject(tools) && tools["call"] !== undefined ? "requested" : "none";
}

interface ReadList {
  readonly items: readonly JsonObject[];
  /** Undefined where the server has no such list. */
  readonly hints: ListHints | undefined;
}

async function readList(client: Client, member: Member): Promise<ReadList> {
  const { method, capability } = LISTS[member];
  if (client.capabilities[capability] === undefined) return { items: [], hints: undefined };
  const items: JsonObject[] = [];
  let hints: ListHints | undefined;
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES && items.length <= MOST_ITEMS; page++) {
    const result = await readPage(client, method, cursor);
    if (result === undefined) return { items: [], hints: undefined };
    const read = result[member] as readonly JsonObject[];
    // What has no number in JSON again can be neither kept nor compared.
    if (!isFinite(read, 0)) throw invalidResponse(method, "it has a number that is too large for any reader");
    items.push(...read);
    hints = hints === undefined ? hintsOf(result) : leastOf(hints, hintsOf(result));
    const next = result["nextCursor"];
    // An empty string is a cursor like any other.
    if (typeof next !== "string") return { items, hints };
    if (next === cursor) break;
    cursor = next;
  }
  throw new LocalError(
    "LIMIT",
    `${method} of ${peerWords(client.server.name)} does not end: it was given up after ${items.length} items`,
  );
}

/** Deeper than any list that was parsed. */
const DEEPEST = 256;

function isFinite(value: unknown, depth: number): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null || depth > DEEPEST) return true;
  return Object.values(value).every((each) => isFinite(each, depth + 1));
}

/** Undefined for a list that was declared and yet is not served: many servers have no templates. */
async function readPage(client: Client, method: string, cursor: string | undefined): Promise<JsonObject | undefined> {
  try {
    return await client.request(method, cursor === undefined ? undefined : { cursor });
  } catch (error) {
    if (cursor === undefined && error instanceof RpcError && error.code === ErrorCode.MethodNotFound) return undefined;
    throw error;
  }
}

function hintsOf({ ttlMs, cacheScope }: JsonObject): ListHints {
  if (typeof ttlMs !== "number" || !(ttlMs >= 0)) return NO_HINTS;
  return { ttlMs, cacheScope: cacheScope === "public" ? "public" : "private" };
}

// The callers.

/** Who answers what a server asks within one call. */
export interface CallAnswers extends Answers {
  /** The caller's roots, where the server is told them for this call alone. */
  ownRoots(about?: QuestionContext): Promise<readonly Root[]>;
  /** Whether it was asked for them. */
  readonly toldRoots: boolean;
  /** Who answers what it asks within one of these calls, of which this is one, where nothing says in which. */
  among(calls: AskingCalls): CallAnswers;
}

/** One who uses a connection; without a call it is the gateway itself. */
export interface User {
  readonly call?: Call;
  readonly answers?: CallAnswers;
}

/** A call that uses a connection. */
export type CallingUser = Required<User>;

/** A connection in use by one call; give it back by `release`. */
export interface Lease {
  readonly client: Client;
  /** The roots that its server may be told, of which it may keep what it gets. */
  roots(about?: QuestionContext): Promise<readonly Root[]>;
  /** Whether a log message is this call's, though it names none. */
  hears(level: LoggingLevel): boolean;
  /** `error`: how the call failed, if it did: what says that the connection is gone ends it for everybody. */
  release(error?: unknown): void;
}

/** Everything a caller could be asked: what the lists are read with, so that they depend on nobody. */
export const EVERYTHING: ClientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: {},
};

/**
 * Options for reading the lists of a server as the gateway reads them: everything is declared, and whatever is asked is declined. A
 * server may list other things to a client that can be asked less.
 */
export const EVERYTHING_ASKABLE: Pick<ClientOptions, "capabilities" | "elicit" | "sample" | "roots"> = {
  capabilities: EVERYTHING,
  elicit: () => ({ action: "cancel" }),
  sample: () => undefined,
  roots: [],
};

/** Most callers can be asked nothing. */
export const NONE: ClientCapabilities = {};

/** What a server may ask; undefined: all there is. */
export type MayAsk = readonly (keyof ClientCapabilities)[] | undefined;

/** What one caller can be asked, which is all that may be declared in its name. */
export function abilitiesOf({ caller, carrier }: Call, asks: MayAsk): ClientCapabilities {
  const { revision } = caller.codec;
  // Where only the answer is read, questions of a session would reach nobody.
  if (revision.era === "handshake" && carrier.unheard === true) return NONE;
  const may = (ability: "elicitation" | "sampling" | "roots"): boolean => asks === undefined || asks.includes(ability);
  const { capabilities } = caller;
  const elicitation = may("elicitation") ? capabilities.elicitation : undefined;
  const sampling = may("sampling") ? capabilities.sampling : undefined;
  const roots = may("roots") ? capabilities.roots : undefined;
  if (elicitation === undefined && sampling === undefined && roots === undefined) return NONE;
  const can = (method: string): boolean => revision.serverRequests.has(method);
  const abilities: ClientCapabilities = {};
  if (elicitation !== undefined && can("elicitation/create")) {
    const url = revision.elicitation.url && elicitation.url !== undefined;
    const form = elicitation.form !== undefined || elicitation.url === undefined;
    if (form || url) abilities.elicitation = { ...(form ? { form: {} } : {}), ...(url ? { url: {} } : {}) };
  }
  if (sampling !== undefined && can("sampling/createMessage")) {
    const { tools, context } = sampling;
    abilities.sampling = {
      ...(tools === undefined ? {} : { tools: {} }),
      ...(context === undefined ? {} : { context: {} }),
    };
  }
  if (roots !== undefined && can("roots/list")) abilities.roots = {};
  return abilities;
}

/** A pipe has one client. */
const PIPES: ReadonlySet<string> = new Set(["stdio", "memory"]);

export function comesAlone({ caller }: Call): boolean {
  return caller.codec.revision.era === "stateless";
}

/** Whose call it is: without sessions every call stands alone, but for those of one pipe. */
export function conversationOf(call: Call): object {
  if (call.caller instanceof Session) return call.caller;
  return PIPES.has(call.carrier.kind) ? call.connection : call;
}

/** Who is asked what nothing says more of: the session, or where there is none the program, by what is known of it. */
export function partyOf(call: Call): object | string {
  const session = conversationOf(call);
  if (session !== call) return session;
  const { client } = call.caller;
  return call.identity?.program ?? (client === undefined ? "" : `${client.name} ${client.version}`);
}

/**
 * The calls of one session within one of which something is asked, where nothing says in which. It is asked by way of the latest that
 * can be reached, and is open until the last of them is over: then it is taken back, by way of that one.
 */
export class AskingCalls implements Carrier {
  readonly all: readonly Call[];
  readonly carrier: Carrier = this;
  readonly #underWay: Set<Call>;
  readonly #over = new AbortController();
  #last: Call;

  /** There is one at least. */
  constructor(calls: readonly Call[]) {
    this.all = calls;
    this.#underWay = new Set(calls);
    this.#last = calls[0] as Call;
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  get connection(): Call["connection"] {
    return this.#way.connection;
  }

  get caller(): Call["caller"] {
    return this.#way.caller;
  }

  get questionMeta(): Call["questionMeta"] {
    return this.#way.questionMeta;
  }

  get kind(): string {
    return this.#way.carrier.kind;
  }

  get principal(): string | undefined {
    return this.#way.carrier.principal;
  }

  get closed(): boolean {
    return this.#way.carrier.closed;
  }

  get unheard(): boolean {
    return this.#way.carrier.unheard === true;
  }

  header(name: string): string | undefined {
    return this.#way.carrier.header(name);
  }

  write(text: string, kind: OutgoingKind): void | Promise<void> {
    return this.#way.carrier.write(text, kind);
  }

  /** Says that a call is over; whether all of them are. */
  over(call: Call): boolean {
    if (this.#underWay.delete(call)) this.#last = call;
    if (this.#underWay.size > 0) return false;
    this.end("the calls it may have been of are over");
    return true;
  }

  /** Takes back what is asked still. */
  end(reason: string): void {
    this.#over.abort(reason);
  }

  // A client may have left an earlier one without a word.
  get #way(): Call {
    return latestOf([...this.#underWay], (call) => call) ?? this.#last;
  }
}

/** Milliseconds a question waits to be known for one call's: most calls take less, and a server asks for longer. */
const HELD_MS = 30_000;

/** Questions that wait until they must be of the only call that is left. */
export class HeldQuestions {
  #settles: readonly ((refusal: Error | undefined) => void)[] = [];
  readonly #refusal: () => Error;

  /** `refusal`: of a question of which nothing says whose it is. */
  constructor(refusal: () => Error) {
    this.#refusal = refusal;
  }

  get any(): boolean {
    return this.#settles.length > 0;
  }

  /** Resolves when a question must be of the only one left of so many calls. */
  wait(signal: AbortSignal | undefined, calls: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (refusal: Error | undefined): void => {
        clearTimeout(timer);
        if (signal) offAbort(signal, gone);
        this.#settles = this.#settles.filter((each) => each !== settle);
        if (refusal === undefined) resolve();
        else reject(refusal);
      };
      const gone = (): void => settle(new LocalError("CANCELLED", "The server took its question back"));
      const timer = setTimeout(() => settle(this.#refusal()), HELD_MS);
      if (signal) onAbort(signal, gone);
      this.#settles = [...this.#settles, settle];
      this.sort(calls, false);
    });
  }

  /**
   * What was held is for the only call that is left, but where one was left `unanswered`: it may be of that. Where every call may wait
   * for an answer none would end: the latest question gets none.
   */
  sort(calls: number, unanswered: boolean): void {
    if (calls <= 1 && !unanswered) for (const settle of this.#settles) settle(undefined);
    const most = unanswered ? 0 : calls - 1;
    for (const settle of this.#settles.slice(Math.max(most, 0))) settle(this.#refusal());
  }
}

/** The latest whose call can be reached: it is the likeliest to ask, and to be waited for. */
export function latestOf<T>(all: readonly T[], callOf: (one: T) => Call): T | undefined {
  return all.findLast((one) => !callOf(one).carrier.closed) ?? all.at(-1);
}

/** The refusal of a question of which nothing says whose it is. */
export function notPassedOn(): RpcError {
  const what = "Several calls came here, and nothing says which of them asks: the question was not passed on";
  return new RpcError(
    ErrorCode.InternalError,
    `${what}. Make the call again: from now on it has a connection of its own`,
  );
}

/** What a call is asked; undefined where it is over before it has answered. */
export function whileUnderWay<T>(asked: Promise<T>, isUnderWay: () => boolean): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (isUnderWay()) throw error;
    return undefined;
  });
}

/** The roots that all say who say any; undefined where they differ, or nobody does. */
export function sameOf(said: readonly (readonly Root[] | undefined)[]): readonly Root[] | undefined {
  const [first, ...others] = said.filter((roots) => roots !== undefined);
  return others.every((roots) => JSON.stringify(roots) === JSON.stringify(first)) ? first : undefined;
}

/** The roots that the server of one connection was told: it may keep them until it hears that they are others. */
export class ToldRoots {
  /** Set where they may be others by now: the server hears of it before the next call. */
  outdated = false;
  /** Whether somebody judges what a caller is asked, which takes a call. */
  readonly #judged: boolean;
  /** Of the one client that it has. */
  #last: readonly Root[] | undefined;
  #asked: Promise<unknown> | undefined;
  #telling: Promise<unknown> | undefined;

  constructor(judged: boolean) {
    this.#judged = judged;
  }

  /** `isOnes`: all callers are one client. */
  asked(roots: Promise<readonly Root[]>, isOnes: boolean): Promise<readonly Root[]> {
    this.#asked = roots.then(
      (told) => (this.#last = isOnes ? told : undefined),
      () => undefined,
    );
    return roots;
  }

  /** Between calls their session is asked; where that has to be judged it is what was told last. Whom nobody has called asks of nobody. */
  async outside(session: LiveSession | undefined, wasCalled: boolean): Promise<readonly Root[]> {
    if (!wasCalled) return [];
    try {
      if (session !== undefined && !this.#judged) return await this.asked(session.roots(), true);
    } catch {
      this.#last = undefined;
    }
    if (this.#last !== undefined) return this.#last;
    throw new RpcError(ErrorCode.InternalError, "The client did not tell its roots");
  }

  /** Their session has others: told at once, but where the server could not ask for them. */
  changed(client: Client | undefined, isCalling: boolean): void {
    this.outdated = true;
    if (client !== undefined && (isCalling || !this.#judged)) void this.tell(client);
  }

  /** Before a call is sent: nothing is to be served by what was told before. */
  async tell(client: Client): Promise<void> {
    if (this.outdated) {
      this.outdated = false;
      client.notify("notifications/roots/list_changed");
      const late = new AbortController();
      this.#telling = Promise.race([
        this.#heard(client).finally(() => late.abort()),
        pause(TELL_PATIENCE_MS, late.signal),
      ]);
    }
    await this.#telling;
  }

  /** Of a server that asks anew at once: what it does upon a message it has begun when it answers the next but one. */
  async #heard(client: Client): Promise<void> {
    for (const _ of ["the news", "its question", "the answer"]) {
      await client.ping({ timeoutMs: TELL_PATIENCE_MS }).catch(() => undefined);
      await this.#asked;
    }
  }
}

/** Milliseconds for which a call waits until its server has heard of other roots. */
const TELL_PATIENCE_MS = 5_000;
