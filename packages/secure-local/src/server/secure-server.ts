// Composes the product: the library's server, the guard around every request, and what the policy allows.
import { type LoggingLevel, type Middleware, Server } from "@secure-local/mcp/server";
import type { AuditEvent, AuditSink } from "../audit/audit-event.js";
import { systemClock } from "../capabilities/clock.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { Guard } from "../guard/guard.js";
import type { Policy } from "../policy/policy.js";
import { type AnyTool, catalogueOf, type CatalogueOptions } from "./catalogue.js";
import { lazyFetch } from "./lazy-fetch.js";
import { Offer } from "./offer.js";

export const SERVER_NAME = "mcp-secure-local";

const INSTRUCTIONS =
  'Tools of this machine behind a policy. A result that begins with "Denied." names the rule: tell the user, and do not look for a way around it.';

export interface SecureServerOptions {
  readonly policy: Policy;
  readonly audit: AuditSink;
  readonly version: string;
  /** Tools beside the built-in ones; the policy has to allow them like any other. */
  readonly tools?: readonly AnyTool[];
  /** Stands around the guard: sees every request, and what becomes of it. */
  readonly around?: Middleware | undefined;
  /** Told, one line at a time, what only the operator should know. */
  readonly say?: (line: string) => void;
}

/** The server to serve, and the policy it obeys. */
export class SecureServer {
  readonly server: Server;
  readonly #audit: AuditSink;
  readonly #guard: Guard;
  readonly #offer: Offer;
  readonly #catalogue: CatalogueOptions;
  readonly #say: (line: string) => void;

  constructor(options: SecureServerOptions) {
    const { policy, audit, version, tools = [], say = () => undefined } = options;
    this.#audit = audit;
    this.#say = say;
    this.#catalogue = { identity: { name: SERVER_NAME, version }, tools };
    this.server = new Server({
      name: SERVER_NAME,
      version,
      instructions: INSTRUCTIONS,
      // A reload can fill a list that is empty now, and says so.
      capabilities: { expect: ["tools", "resources", "prompts"] },
      report: (level, message, details) => this.#reported(level, message, details),
    });
    const catalogue = catalogueOf(policy, this.#catalogue);
    const powers = { fetch: lazyFetch(() => this.#guard.policy), clock: systemClock };
    this.#offer = new Offer(this.server, powers, catalogue);
    this.#guard = new Guard({ policy, audit, exists: ({ kind, name }) => this.#offer.exists(kind, name) });
    this.#offer.update(policy, catalogue);
    if (options.around !== undefined) this.server.use(options.around);
    this.server.use(this.#guard.middleware);
  }

  /** The policy in force. */
  get policy(): Policy {
    return this.#guard.policy;
  }

  /** The tools the policy allows. */
  tools(): AnyTool[] {
    return this.#offer.tools();
  }

  /** Puts another policy in force: every request from now on is judged by it, and clients hear of lists that changed. */
  reload(policy: Policy): void {
    this.#guard.swap(policy);
    this.#offer.update(policy, catalogueOf(policy, this.#catalogue));
    this.#record({ kind: "policy.loaded", detail: { file: policy.file, hash: policy.hash, tools: this.#toolNames() } });
    this.server.log("notice", { event: "reloaded", tools: this.#toolNames() }, "policy");
  }

  /** Notes that a policy was refused; the one in force stays. */
  reloadFailed(reason: string): void {
    this.#record({ kind: "policy.rejected", detail: { reason } });
    const data = { event: "rejected", reason: "The new policy has faults; the one before stays in force." };
    this.server.log("error", data, "policy");
  }

  /** Records that the server starts or stops, and under which policy. */
  recordLife(kind: "start" | "stop"): void {
    const { file, hash } = this.policy;
    const { version } = this.#catalogue.identity;
    this.#record({ kind, detail: kind === "start" ? { version, policy: { file, hash } } : undefined });
  }

  #toolNames(): string[] {
    return this.tools().map(({ name }) => name);
  }

  /** For events nobody waits for. */
  #record(event: AuditEvent): void {
    if (QUIET.has(this.policy.audit.level) && !ALWAYS.has(event.kind)) return;
    this.#audit.record(event).catch((error: unknown) => this.#say(cleanLine(String(error))));
  }

  #reported(level: LoggingLevel, message: string, details?: Readonly<Record<string, unknown>>): void {
    const errorId = details?.["errorId"];
    if (typeof errorId === "string") this.#guard.noteFault(errorId, details?.["error"]);
    if (level === "error") this.#say(cleanLine(message));
  }
}

/** Levels that leave out what is neither a call, a denial nor a fault. */
const QUIET: ReadonlySet<Policy["audit"]["level"]> = new Set(["WARN", "ERROR"]);
const ALWAYS: ReadonlySet<AuditEvent["kind"]> = new Set(["policy.rejected"]);
