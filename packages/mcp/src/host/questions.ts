// Brings the servers' questions to the person, one at a time and with the name of who asks.
import type { Elicit, ElicitRequest, Sample } from "../client/options.js";
import type { ElicitResult, Root } from "../protocol/features/elicitation.js";
import type { Implementation } from "../protocol/capabilities.js";
import { decided, DECISION_TIMEOUT_MS, messageOf } from "./launch.js";
import { RpcError } from "../jsonrpc/errors.js";
import { McpErrorCode } from "../protocol/meta.js";
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ModelPreferences,
} from "../protocol/features/sampling.js";
import type { HostEvent } from "./catalogue.js";

/** A server's question to the person, with the server it comes from. */
export interface HostQuestion {
  /** Name of the server in this host. */
  readonly server: string;
  /** Who it says it is. */
  readonly implementation: Implementation;
  readonly request: ElicitRequest;
  /**
   * For questions of mode `url`: the host that would be visited, in ASCII, so that look-alikes show. Show the whole URL, open
   * it only when the person agrees, and never fetch it before.
   */
  readonly host: string | undefined;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** Answers a question to the person. Nothing is opened or filled in by the host itself. */
export type HostElicit = (question: HostQuestion) => ElicitResult | Promise<ElicitResult>;

interface QuestionBrokerOptions {
  readonly elicit: HostElicit;
  readonly timeoutMs?: number | undefined;
  readonly warn: (server: string, text: string) => void;
}

/** Questions of one server that wait for the person; further ones are cancelled, so that nobody is worn down. */
const MOST_WAITING = 4;

export class QuestionBroker {
  readonly #options: QuestionBrokerOptions;
  readonly #waiting = new Map<string, number>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: QuestionBrokerOptions) {
    this.#options = options;
  }

  /** What answers one server. */
  for(server: string): Elicit {
    return async (request, { signal, server: implementation }) => {
      const host = request.mode === "url" ? safeHost(request.url) : undefined;
      if (request.mode === "url" && host === undefined) {
        this.#options.warn(server, "It asked to open an address that is not https: the question was declined");
        return { action: "decline" };
      }
      const waiting = this.#waiting.get(server) ?? 0;
      if (waiting >= MOST_WAITING) return { action: "cancel" };
      this.#waiting.set(server, waiting + 1);
      try {
        return await this.#inTurn({ server, implementation, request, host }, signal);
      } finally {
        const left = (this.#waiting.get(server) ?? 1) - 1;
        if (left > 0) this.#waiting.set(server, left);
        else this.#waiting.delete(server);
      }
    };
  }

  #inTurn(question: Omit<HostQuestion, "signal">, signal: AbortSignal): Promise<ElicitResult> {
    const answer = this.#turn.then(() => this.#ask(question, signal));
    this.#turn = answer;
    return answer;
  }

  async #ask(question: Omit<HostQuestion, "signal">, signal: AbortSignal): Promise<ElicitResult> {
    const { elicit, timeoutMs = DECISION_TIMEOUT_MS, warn } = this.#options;
    const decision = await decided((asking) => elicit({ ...question, signal: asking }), { timeoutMs, signal });
    if ("value" in decision) return decision.value;
    warn(question.server, `Its question was cancelled: ${decision.missing}`);
    return { action: "cancel" };
  }
}

/** The host of an https URL, or of an http URL of this machine; undefined for all others. */
function safeHost(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, host, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return undefined;
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return protocol === "https:" || (protocol === "http:" && local) ? host : undefined;
}

// Counts how often something happened in the last minute, by name.

const WINDOW_MS = 60_000;

class RateLimit {
  readonly #most: number;
  readonly #times = new Map<string, number[]>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether `name` may do it once more now; counts it if so. */
  take(name: string): boolean {
    const now = performance.now();
    const times = (this.#times.get(name) ?? []).filter((at) => now - at < WINDOW_MS);
    const allowed = times.length < this.#most;
    if (allowed) times.push(now);
    this.#times.set(name, times);
    return allowed;
  }

  forget(name: string): void {
    this.#times.delete(name);
  }
}

// Tells servers of the person's folders: only those the person agreed to show that server, and only while they are there.

/** Where folders come from. `/host/node` has one for folders of this machine. */
export interface RootsSource {
  list(): readonly Root[] | Promise<readonly Root[]>;
  /** Whether the folder can be read now. Default: yes. */
  accessible?(root: Root): boolean | Promise<boolean>;
  /** Calls `changed` when `list` or `accessible` would answer otherwise, until the function it returned is called. */
  watch?(changed: () => void): () => void;
}

/** A server wants to know the folders. */
export interface RootsRequest {
  readonly server: string;
  /** Folders this server was not told of yet. */
  readonly roots: readonly Root[];
  readonly signal: AbortSignal;
}

/** Which folders servers may be told of, and who agrees to it. */
export interface RootsOptions {
  readonly source: RootsSource;
  /** True shows all of them, a list shows those; asked once for each server and folder. */
  readonly consent: (request: RootsRequest) => boolean | readonly Root[] | Promise<boolean | readonly Root[]>;
}

/** More folders than anybody works in. */
const MOST_ROOTS = 100;

export class RootsBroker {
  readonly #options: RootsOptions;
  readonly #timeoutMs: number;
  readonly #warn: (text: string) => void;
  /** By server: which URIs may be shown. */
  readonly #decisions = new Map<string, Map<string, boolean>>();
  readonly #asking = new Map<string, Promise<void>>();

  constructor(options: RootsOptions, about: { timeoutMs: number | undefined; warn: (text: string) => void }) {
    this.#options = options;
    this.#timeoutMs = about.timeoutMs ?? DECISION_TIMEOUT_MS;
    this.#warn = about.warn;
  }

  /** What one server is told. */
  for(server: string): () => Promise<Root[]> {
    return () => this.#shown(server);
  }

  /** Calls `changed` when there are others, until the function it returned is called. */
  watch(changed: () => void): () => void {
    return this.#options.source.watch?.(changed) ?? (() => undefined);
  }

  forget(server: string): void {
    this.#decisions.delete(server);
  }

  async #shown(server: string): Promise<Root[]> {
    const there = await this.#there();
    // One question at a time: the second would ask the same again.
    const before = this.#asking.get(server) ?? Promise.resolve();
    const asked = before.then(() => this.#decide(server, there));
    this.#asking.set(server, asked);
    await asked;
    if (this.#asking.get(server) === asked) this.#asking.delete(server);
    const decisions = this.#decisions.get(server);
    return there.filter(({ uri }) => decisions?.get(uri) === true);
  }

  async #there(): Promise<Root[]> {
    const { source } = this.#options;
    const found: Root[] = [];
    for (const root of (await source.list()).slice(0, MOST_ROOTS)) {
      const fault = rootFault(root.uri);
      if (fault !== undefined) this.#warn(`The folder ${JSON.stringify(root.uri)} is not shown to servers: ${fault}`);
      else if (await this.#accessible(root)) found.push(root);
    }
    return found;
  }

  async #accessible(root: Root): Promise<boolean> {
    try {
      return (await this.#options.source.accessible?.(root)) ?? true;
    } catch (error) {
      this.#warn(`The folder ${root.uri} is not shown to servers: ${messageOf(error)}`);
      return false;
    }
  }

  async #decide(server: string, there: readonly Root[]): Promise<void> {
    const decisions = this.#decisions.get(server) ?? new Map<string, boolean>();
    this.#decisions.set(server, decisions);
    const roots = there.filter(({ uri }) => !decisions.has(uri));
    if (roots.length === 0) return;
    const ask = (signal: AbortSignal): ReturnType<RootsOptions["consent"]> =>
      this.#options.consent({ server, roots, signal });
    const decision = await decided(ask, { timeoutMs: this.#timeoutMs });
    // Nobody was there to decide: they are asked the next time.
    if ("missing" in decision) return this.#warn(`No folders are shown to ${server}: ${decision.missing}`);
    const { value } = decision;
    const allowed = new Set(typeof value === "object" ? value.map(({ uri }) => uri) : []);
    for (const { uri } of roots) {
      if (decisions.size >= MOST_ROOTS * 2) decisions.clear();
      decisions.set(uri, value === true || allowed.has(uri));
    }
  }
}

/** Says what is wrong with the URI of a folder, or returns undefined. */
export function rootFault(uri: string): string | undefined {
  if (!URL.canParse(uri)) return "it is not a URI";
  const { protocol, host, search, hash, pathname } = new URL(uri);
  if (protocol !== "file:") return "it is not a file: URI";
  if (host !== "") return "it is on another machine";
  if (search !== "" || hash !== "") return "it has a query or a fragment";
  if (/%(?:2f|5c|00)/i.test(pathname)) return "it hides a separator";
  const written = uri.replace(/^file:(?:\/\/)?/i, "");
  return /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\]|$)/i.test(written) ? 'it has "." or ".." in it' : undefined;
}

// Lets a server ask the model, past the person at both ends: review, edit, model, review, deliver.

/** Who asks, and until when. */
export interface SamplingContext {
  readonly server: string;
  /** Aborted when the server no longer wants the answer. */
  readonly signal: AbortSignal;
}

/** Makes the answers. */
export interface HostModel<M extends AvailableModel = AvailableModel> {
  /** What can be chosen from; the first where a server has no wishes. */
  readonly available: readonly M[];
  readonly mapping?: ModelMapping;
  /** Whether requests with tools are taken. Default false. */
  readonly tools?: boolean;
  generate(
    request: CreateMessageRequestParams,
    context: SamplingContext & { readonly model: M },
  ): CreateMessageResult | Promise<CreateMessageResult>;
}

/** Each is asked of one request; only true or a changed one goes on. */
export interface SamplingReview {
  /** Before the model sees it. */
  request(
    request: CreateMessageRequestParams,
    context: SamplingContext,
  ): boolean | CreateMessageRequestParams | Promise<boolean | CreateMessageRequestParams>;
  /** Before the server sees it. */
  answer(
    answer: CreateMessageResult,
    context: SamplingContext & { readonly request: CreateMessageRequestParams },
  ): boolean | CreateMessageResult | Promise<boolean | CreateMessageResult>;
}

/** Who answers servers' questions to the model, who looks at them, and how many there may be. */
export interface SamplingOptions {
  readonly model: HostModel;
  readonly review: SamplingReview;
  /** Requests of one server within a minute; further ones are refused. Default 10. */
  readonly perMinute?: number;
  /** More tokens are never asked for. Default 8,192. */
  readonly maxTokens?: number;
  /** Milliseconds for each review, and for the model. Default 300,000. */
  readonly timeoutMs?: number;
}

const PER_MINUTE = 10;
const MAX_TOKENS = 8_192;

export class SamplingBroker {
  readonly #options: SamplingOptions;
  readonly #rate: RateLimit;
  readonly #onEvent: (event: HostEvent) => void;

  constructor(options: SamplingOptions, onEvent: (event: HostEvent) => void) {
    this.#options = options;
    this.#rate = new RateLimit(options.perMinute ?? PER_MINUTE);
    this.#onEvent = onEvent;
  }

  /** What answers one server. */
  for(server: string): Sample {
    return async (request, { signal }) => {
      this.#onEvent({ type: "sampling", server, step: "asked" });
      try {
        const answer = await this.#answer(request, { server, signal });
        this.#onEvent({ type: "sampling", server, step: "delivered" });
        return answer;
      } catch (error) {
        this.#onEvent({ type: "sampling", server, step: "refused" });
        throw error;
      }
    };
  }

  forget(server: string): void {
    this.#rate.forget(server);
  }

  async #answer(asked: CreateMessageRequestParams, context: SamplingContext): Promise<CreateMessageResult> {
    const { model, review } = this.#options;
    if (!this.#rate.take(context.server)) throw refused("Too many sampling requests, try again in a minute");
    const shown = this.#bounded(asked);
    const verdict = await this.#step(() => review.request(structuredClone(shown), context), context);
    const request = verdict === true ? shown : verdict;
    if (typeof request !== "object") throw refused();
    const chosen = selectModel(request.modelPreferences, model.available, model.mapping);
    if (chosen === undefined) throw refused("No model is available");
    const made = await this.#step((signal) => model.generate(request, { ...context, signal, model: chosen }), context);
    if (made === undefined) throw refused("The model gave no answer");
    const last = await this.#step(() => review.answer(structuredClone(made), { ...context, request }), context);
    const answer = last === true ? made : last;
    if (typeof answer !== "object") throw refused();
    return answer;
  }

  // What a server may have at most; no server is told of the conversation or of others, whatever it asks to include.
  #bounded({ includeContext: _, maxTokens, ...rest }: CreateMessageRequestParams): CreateMessageRequestParams {
    return { ...rest, maxTokens: Math.min(maxTokens, this.#options.maxTokens ?? MAX_TOKENS) };
  }

  async #step<T>(ask: (signal: AbortSignal) => T | Promise<T>, { signal }: SamplingContext): Promise<T | undefined> {
    const { timeoutMs = DECISION_TIMEOUT_MS } = this.#options;
    const decision = await decided(ask, { timeoutMs, signal });
    return "value" in decision ? decision.value : undefined;
  }
}

function refused(text = "User rejected sampling request"): RpcError {
  return new RpcError(McpErrorCode.SamplingRejected, text);
}

// Chooses a model by what a server would like. Its wishes are advice: only what is available is ever chosen.

/** A model that can be used. The figures go from 0 to 1; one that is missing counts as 0.5. */
export interface AvailableModel {
  readonly name: string;
  /** 0: free, 1: the dearest. */
  readonly cost?: number;
  /** 1: the fastest. */
  readonly speed?: number;
  /** 1: the most capable. */
  readonly intelligence?: number;
}

/**
 * What stands in for models that are not available: when a hint contains the key (`sonnet`), models whose names contain
 * one of the values, the first that is available.
 */
export type ModelMapping = Readonly<Record<string, readonly string[]>>;

const UNKNOWN = 0.5;

/**
 * The model for these preferences: hints in their order, each by substring whatever the case, then by `mapping`; among
 * several that fit, and where no hint does, the best by the priorities; among equals the first. Undefined: none is available.
 */
export function selectModel<M extends AvailableModel>(
  preferences: ModelPreferences | undefined,
  available: readonly M[],
  mapping: ModelMapping = {},
): M | undefined {
  const { hints = [] } = preferences ?? {};
  for (const { name } of hints) {
    if (typeof name !== "string" || name === "") continue;
    const fitting = namedLike(name, available);
    const found = fitting.length > 0 ? fitting : standIns(name, available, mapping);
    if (found.length > 0) return best(preferences, found);
  }
  return best(preferences, available);
}

function namedLike<M extends AvailableModel>(text: string, available: readonly M[]): readonly M[] {
  const wanted = text.toLowerCase();
  return available.filter(({ name }) => name.toLowerCase().includes(wanted));
}

function standIns<M extends AvailableModel>(
  hint: string,
  available: readonly M[],
  mapping: ModelMapping,
): readonly M[] {
  for (const [key, names] of Object.entries(mapping)) {
    if (key === "" || !hint.toLowerCase().includes(key.toLowerCase())) continue;
    for (const name of names) {
      const found = namedLike(name, available);
      if (found.length > 0) return found;
    }
  }
  return [];
}

function best<M extends AvailableModel>(
  { costPriority, speedPriority, intelligencePriority }: ModelPreferences = {},
  models: readonly M[],
): M | undefined {
  const score = ({ cost = UNKNOWN, speed = UNKNOWN, intelligence = UNKNOWN }: M): number =>
    within(costPriority) * (1 - cost) + within(speedPriority) * speed + within(intelligencePriority) * intelligence;
  let chosen: M | undefined;
  for (const model of models) if (chosen === undefined || score(model) > score(chosen)) chosen = model;
  return chosen;
}

// What a server writes there may be anything.
function within(priority: unknown): number {
  return typeof priority === "number" && priority > 0 ? Math.min(1, priority) : 0;
}
