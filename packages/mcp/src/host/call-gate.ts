// Every call of a tool passes here: shown to somebody, made, and its result looked at before a model sees it.
import type { CallOptions } from "../client/options.js";
import type { Client } from "../client/client.js";
import { LocalError, RpcError } from "../jsonrpc/errors.js";
import { isJsonObject, type JsonObject, visibleText } from "../jsonrpc/message.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { HostEvent, HostTool } from "./catalogue.js";
import { decided, DECISION_TIMEOUT_MS, messageOf } from "./launch.js";

/** A call before it is made. */
export interface CallRequest extends HostTool {
  readonly id: number;
  /** Exactly what the server will get; a copy, which can be changed without effect. */
  readonly args: JsonObject;
  /** Name and arguments in one line fit for a terminal, nothing cut: characters that steer or hide are shown instead. */
  readonly text: string;
  /** Whether what the server says of its tools is believed: annotations are there only then. */
  readonly trusted: boolean;
  /** Aborted when nobody waits for the decision any more. */
  readonly signal: AbortSignal;
}

/** True makes the call as it was shown, `args` makes it with others; false or `deny` (a reason for the model) does not make it. */
export type CallDecision = boolean | { readonly args: JsonObject } | { readonly deny: string };

/** A result before anybody sees it. */
export interface ResultCheck extends HostTool {
  readonly id: number;
  readonly args: JsonObject;
  readonly result: CallToolResult;
  readonly signal: AbortSignal;
}

interface CallGateOptions {
  /** Without it only read-only tools of trusted servers are called. */
  readonly onCall?: ((call: CallRequest) => CallDecision | Promise<CallDecision>) | undefined;
  /** Gives the result to pass on, changed or not; undefined withholds it. */
  readonly onResult?:
    | ((check: ResultCheck) => CallToolResult | undefined | Promise<CallToolResult | undefined>)
    | undefined;
  readonly decisionTimeoutMs?: number | undefined;
  readonly onEvent: (event: HostEvent) => void;
}

/** How the gate finds a tool; asked again after the decision. */
interface ToolSource {
  tool(name: string): HostTool | undefined;
  /** Throws NOT_READY where a tool of that name may be of a server that is only away for now. */
  away(name: string): void;
  /** The connection and whether its server is trusted; undefined when it is not up. */
  server(name: string): { readonly client: Client; readonly trusted: boolean } | undefined;
}

/** Calls under way at once, waiting for a decision included: a model that asks for more has lost its way. */
const MOST_CALLS = 256;

interface Passing {
  readonly id: number;
  readonly entry: HostTool;
  readonly at: number;
  args: JsonObject;
  edited: boolean;
}

export class CallGate {
  readonly log: CallLog = new CallLog();
  readonly #source: ToolSource;
  readonly #options: CallGateOptions;
  #ids = 0;
  #under = 0;

  constructor(source: ToolSource, options: CallGateOptions) {
    this.#source = source;
    this.#options = options;
  }

  async call(name: string, args: JsonObject, options: CallOptions): Promise<CallToolResult> {
    const entry = this.#source.tool(name);
    if (entry === undefined) {
      this.#source.away(name);
      throw unknownTool(name);
    }
    if (this.#under >= MOST_CALLS)
      throw new LocalError("LIMIT", `${name} was not called: ${MOST_CALLS} calls are under way`);
    const passing = { id: ++this.#ids, entry, at: Date.now(), args: structuredClone(args), edited: false };
    this.#under++;
    let outcome = "failed";
    try {
      const result = await this.#pass(passing, options);
      outcome = result.isError === true ? "tool error" : "ok";
      return result;
    } catch (error) {
      outcome = outcomeOf(error);
      throw error;
    } finally {
      this.#under--;
      this.#ended(passing, outcome);
    }
  }

  async #pass(passing: Passing, options: CallOptions): Promise<CallToolResult> {
    const { id, entry } = passing;
    const { name: tool, server } = entry;
    await this.#approve(passing, options.signal);
    const { client } = this.#connection(entry);
    this.#options.onEvent({ type: "call-started", id, tool, server });
    const result = await client.call(entry.original, passing.args, {
      ...options,
      onProgress: (progress) => {
        this.#options.onEvent({ type: "call-progress", id, tool, progress });
        options.onProgress?.(progress);
      },
    });
    return this.#checked(passing, result, options.signal);
  }

  async #approve(passing: Passing, signal: AbortSignal | undefined): Promise<void> {
    const { id, entry, args } = passing;
    const { trusted } = this.#connection(entry);
    const { onCall, onEvent, decisionTimeoutMs: timeoutMs = DECISION_TIMEOUT_MS } = this.#options;
    if (onCall === undefined) {
      if (trusted && entry.tool.annotations?.readOnlyHint === true) return;
      throw denied(entry, "nobody can approve it; give the host an `onCall` function");
    }
    onEvent({ type: "call-asked", id, tool: entry.name, server: entry.server });
    const ask = (asking: AbortSignal): CallDecision | Promise<CallDecision> =>
      onCall({ ...entry, id, trusted, args: structuredClone(args), text: shown(entry, args), signal: asking });
    const decision = await decided(ask, { timeoutMs, signal });
    if ("missing" in decision) throw denied(entry, decision.missing);
    // Callers without types may answer anything.
    const value: unknown = decision.value;
    const { deny, args: edited } = isJsonObject(value) ? value : {};
    if (deny !== undefined) throw denied(entry, typeof deny === "string" ? deny : "it was not approved");
    if (isJsonObject(edited)) {
      passing.args = structuredClone(edited);
      passing.edited = true;
    } else if (value !== true) throw denied(entry, "it was not allowed");
    this.#unchanged(entry);
  }

  // Somebody agreed to what they were shown, and to nothing else.
  #unchanged(entry: HostTool): void {
    const now = this.#source.tool(entry.name);
    if (now !== undefined && JSON.stringify(now) === JSON.stringify(entry)) return;
    const text = `${entry.name} was not called: ${entry.server} has changed it since it was approved`;
    throw new LocalError("CHANGED", text);
  }

  async #checked(
    { id, entry, args }: Passing,
    result: CallToolResult,
    signal: AbortSignal | undefined,
  ): Promise<CallToolResult> {
    const { onResult, decisionTimeoutMs: timeoutMs = DECISION_TIMEOUT_MS } = this.#options;
    if (onResult === undefined) return result;
    const decision = await decided((asking) => onResult({ ...entry, id, args, result, signal: asking }), {
      timeoutMs,
      signal,
    });
    if ("value" in decision && decision.value !== undefined) return decision.value;
    const why = "missing" in decision ? decision.missing : "it was not let through";
    throw new LocalError("WITHHELD", `The result of ${entry.name} is withheld: ${why}. The call itself was made.`);
  }

  #connection({ name, server }: HostTool): { readonly client: Client; readonly trusted: boolean } {
    const found = this.#source.server(server);
    if (found !== undefined) return found;
    throw new LocalError("NOT_READY", `${name} was not called: the server ${server} is not up`);
  }

  #ended({ id, entry, at, args, edited }: Passing, outcome: string): void {
    const { name: tool, server } = entry;
    this.log.add({ id, tool, server, args, edited, at, durationMs: Date.now() - at, outcome });
    this.#options.onEvent({ type: "call-ended", id, tool, outcome });
  }
}

function shown({ name }: HostTool, args: JsonObject): string {
  return visibleText(`${name} ${JSON.stringify(args)}`, Number.POSITIVE_INFINITY);
}

function denied({ name }: HostTool, why: string): LocalError {
  return new LocalError("DENIED", `${name} was not called: ${why}`);
}

function unknownTool(name: string): LocalError {
  return new LocalError(
    "UNKNOWN_TOOL",
    `There is no tool ${JSON.stringify(name)}: see host.tools() for those there are`,
  );
}

function outcomeOf(error: unknown): string {
  if (error instanceof LocalError) return { DENIED: "denied", WITHHELD: "withheld" }[error.code] ?? error.code;
  return error instanceof RpcError ? `error ${error.code}` : messageOf(error);
}

// Keeps what was called, with what, and what came of it.

/** A call as the host remembers it. */
export interface LoggedCall {
  /** Counts up from 1 in each host. */
  readonly id: number;
  readonly tool: string;
  readonly server: string;
  /** What it was called with, or would have been, as JSON; long ones are cut. */
  readonly args: string;
  /** Whether somebody changed the arguments first. */
  readonly edited: boolean;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly durationMs: number;
  /** `ok`, `tool error` (the result says so), `denied`, `withheld` (after it ran), or the code of the error. */
  readonly outcome: string;
}

/** Enough to see what an agent did in a long conversation. */
const MOST_LOGGED_CALLS = 500;
const MOST_CHARACTERS = 2_000;

class CallLog {
  readonly #calls: LoggedCall[] = [];

  add({ args, ...rest }: Omit<LoggedCall, "args"> & { readonly args: JsonObject }): void {
    const text = JSON.stringify(args);
    const shown = text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
    this.#calls.push({ ...rest, args: shown });
    if (this.#calls.length > MOST_LOGGED_CALLS) this.#calls.shift();
  }

  /** Oldest first. */
  get calls(): readonly LoggedCall[] {
    return this.#calls;
  }
}
