// Serves the handshake era without sessions: each message by itself, in the revision its header names.
import { type Caller, NO_LOGS } from "../endpoint/caller.js";
import { codecFor } from "../era/codecs.js";
import { assumedRevision, openSession } from "../era/select.js";
import type { Carrier } from "../jsonrpc/carrier.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import type { JsonObject, NotificationMessage, RequestMessage } from "../jsonrpc/message.js";
import { Peer, type PeerHandler, type WireRules } from "../jsonrpc/peer.js";
import { failureText } from "../jsonrpc/respond.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { ServerCore } from "../server/core.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { HttpDesk } from "./http-desk.js";

/** One for an endpoint: it keeps nothing of any request. */
export class AloneService implements PeerHandler {
  readonly #core: ServerCore;
  readonly #desk: HttpDesk;
  readonly #peer: Peer;
  readonly #callers = new Map<Revision, Caller>();
  #rules: WireRules = { batches: true, unreadableId: "null" };

  constructor(core: ServerCore, desk: HttpDesk) {
    this.#core = core;
    this.#desk = desk;
    this.#peer = new Peer(this, core.limits);
  }

  serve(value: unknown, carrier: Carrier): void {
    // Read by the peer before `deliver` returns, so one field serves all.
    this.#rules = assumedRevision(carrier.header("mcp-protocol-version"))?.rules ?? this.#rules;
    this.#peer.deliver(value, carrier);
  }

  rules(): WireRules {
    return this.#rules;
  }

  batchElement(message: RequestMessage | NotificationMessage): RpcError | undefined {
    if (message.method !== "initialize") return undefined;
    return new RpcError(ErrorCode.InvalidRequest, "initialize must not be part of a batch");
  }

  request(message: RequestMessage, carrier: Carrier): void {
    if (message.method === "initialize") return this.#initialize(message, carrier);
    const revision = assumedRevision(carrier.header("mcp-protocol-version"));
    if (revision !== undefined) this.#desk.serve(message, this.#callerOf(revision), carrier);
  }

  notification(message: NotificationMessage, carrier: Carrier): void {
    this.#core.notified(message, carrier);
  }

  #initialize(message: RequestMessage, carrier: Carrier): void {
    const params: JsonObject = message.params ?? {};
    const { codec } = this.#callerOf(openSession({}).revision);
    const fault = codec.revision.methods.get("initialize")?.check(params);
    if (fault === undefined) {
      this.#desk.serve(message, this.#callerOf(openSession(params).revision), carrier);
      return;
    }
    const { path, constraint } = fault;
    const error = { code: ErrorCode.InvalidParams, message: fault.message, data: { path, constraint } };
    void carrier.write(failureText(message.id, error), "response", error.code);
  }

  /** Without a session nothing is known of the caller: it can be asked nothing and wants no logs. */
  #callerOf(revision: Revision): Caller {
    let caller = this.#callers.get(revision);
    if (caller === undefined) {
      caller = Object.freeze({ codec: codecFor(revision), capabilities: {}, client: undefined, logLevel: NO_LOGS });
      this.#callers.set(revision, caller);
    }
    return caller;
  }
}
