// The ladder a POST of the stateless era climbs: envelope, headers, version, method, mirrored arguments, then service.
import type { Call } from "../endpoint/call.js";
import { NO_LOGS } from "../endpoint/caller.js";
import { codecFor } from "../era/codecs.js";
import { claimOf, missingEnvelope, readEnvelope } from "../era/stateless/envelope.js";
import { methodHeaderFault, mismatch, paramHeaderFault, versionHeaderFault } from "../era/stateless/headers.js";
import { type MirroredParam, mirroredParams } from "../era/stateless/mirrored-params.js";
import { classify } from "../jsonrpc/classify.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import type { JsonObject, NotificationMessage, RequestId, RequestMessage } from "../jsonrpc/message.js";
import { ParseFault } from "../jsonrpc/parse-fault.js";
import { failureText } from "../jsonrpc/respond.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { levelIndex } from "../protocol/features/logging.js";
import { META } from "../protocol/meta.js";
import type { Tool } from "../protocol/tool.js";
import type { ServerCore } from "../server/core.js";
import type { AloneCarrier } from "../transport/http/alone-carrier.js";
import type { GoneListener } from "../transport/http/exchange.js";
import { busy, type HttpDesk } from "./http-desk.js";

/** Seconds: what keeps a server busy is over soon. */
const RETRY_AFTER = ["retry-after", "1"];

const NOT_MIRRORED: readonly MirroredParam[] = [];

export class StatelessLadder {
  readonly #core: ServerCore;
  readonly #desk: HttpDesk;
  readonly #mirrored = new WeakMap<Tool, readonly MirroredParam[]>();

  constructor(core: ServerCore, desk: HttpDesk) {
    this.#core = core;
    this.#desk = desk;
  }

  serve(value: unknown, carrier: AloneCarrier): void {
    if (value instanceof ParseFault) return refuse(carrier, value.id, value);
    if (Array.isArray(value))
      return refuse(carrier, undefined, invalid("Send one message at a time: there are no batches"));
    const kind = classify(value);
    if (kind === "request") return this.#request(value as RequestMessage, carrier);
    if (kind instanceof ParseFault) return refuse(carrier, kind.id, kind);
    if (kind !== "notification") return refuse(carrier, undefined, invalid("Responses must not be sent here"));
    this.#core.notified(value as NotificationMessage, carrier);
    carrier.abandon();
  }

  #request(message: RequestMessage, carrier: AloneCarrier): void {
    const claim = claimOf(message.params);
    if (claim === undefined) return refuse(carrier, message.id, unclaimed(message));
    const fault = headerFault(claim, carrier);
    if (fault !== undefined) return refuse(carrier, message.id, fault);
    const envelope = readEnvelope(claim);
    if (envelope instanceof RpcError) return refuse(carrier, message.id, envelope);
    const mismatched = methodHeaderFault(message, carrier) ?? this.#paramFault(message, carrier);
    if (mismatched !== undefined) return refuse(carrier, message.id, mismatched);
    if (this.#desk.busy) return carrier.refuse(503, failureText(message.id, busy().toObject()), RETRY_AFTER);
    const { revision, capabilities, client, logLevel } = envelope;
    const level = logLevel === undefined ? NO_LOGS : levelIndex(logLevel);
    const caller = { codec: codecFor(revision), capabilities, client, logLevel: level };
    const call = this.#desk.serve(message, caller, carrier);
    if (call !== undefined) carrier.onGone = new Waited(this.#desk, call);
  }

  #paramFault({ method, params }: RequestMessage, carrier: AloneCarrier): RpcError | undefined {
    if (method !== "tools/call") return undefined;
    const entry = this.#core.tools.get(params?.["name"] as string);
    if (entry === undefined) return undefined;
    const mirrored = this.#mirroredOf(entry.tool);
    return mirrored.length === 0 ? undefined : paramHeaderFault(mirrored, params?.["arguments"], carrier);
  }

  #mirroredOf(tool: Tool): readonly MirroredParam[] {
    let mirrored = this.#mirrored.get(tool);
    if (mirrored === undefined) {
      const found = mirroredParams(tool.inputSchema);
      // Clients drop a tool whose wishes are invalid, so none of them is expected of the few that do not.
      mirrored = typeof found === "string" ? NOT_MIRRORED : found;
      this.#mirrored.set(tool, mirrored);
    }
    return mirrored;
  }
}

/** A call whose client goes away is given up. */
class Waited implements GoneListener {
  readonly #desk: HttpDesk;
  readonly #call: Call;

  constructor(desk: HttpDesk, call: Call) {
    this.#desk = desk;
    this.#call = call;
  }

  gone(): void {
    this.#desk.cancel(this.#call);
  }
}

/** A version that is no text is the envelope's fault; any other must first be the header's. */
function headerFault(claim: JsonObject, carrier: AloneCarrier): RpcError | undefined {
  return typeof claim[META.protocolVersion] === "string" ? versionHeaderFault(claim, carrier) : undefined;
}

/** The header names this era, the body does not. */
function unclaimed(message: RequestMessage): RpcError {
  return message.method === "initialize"
    ? mismatch("MCP-Protocol-Version names a revision without initialize")
    : missingEnvelope();
}

function invalid(what: string): RpcError {
  return new RpcError(ErrorCode.InvalidRequest, what);
}

function refuse(carrier: AloneCarrier, id: RequestId | undefined, error: RpcError | ParseFault): void {
  const data = error instanceof RpcError ? error.data : undefined;
  const { code, message } = error;
  carrier.refuse(400, failureText(id, data === undefined ? { code, message } : { code, message, data }));
}
