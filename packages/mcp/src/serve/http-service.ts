// Joins a server to the HTTP transports: conversations for sessions, the ladder for the stateless era.
import { assumedRevision, claimsStateless, namesStateless } from "../era/select.js";
import type { Carrier } from "../jsonrpc/carrier.js";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import { isJsonObject, type NotificationMessage } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { ServerConversation } from "../server/conversation.js";
import type { ServerRole } from "../server/role.js";
import type { AloneCarrier } from "../transport/http/alone-carrier.js";
import type { HttpLimits } from "../transport/http/http-limits.js";
import type { HttpConversation, HttpService } from "../transport/http/http-service.js";
import { AloneService } from "./http-alone.js";
import { HttpDesk } from "./http-desk.js";
import { StatelessLadder } from "./http-stateless.js";

class SessionConversation implements HttpConversation {
  readonly #conversation: ServerConversation;
  readonly #standing: Carrier;

  constructor(role: ServerRole, standing: Carrier) {
    this.#standing = standing;
    this.#conversation = new ServerConversation(role, standing);
    role.core.conversations.add(this.#conversation);
  }

  get polling(): boolean {
    return this.#conversation.revision?.rules.polling === true;
  }

  get active(): number {
    return this.#conversation.active;
  }

  deliver(value: unknown, carrier: Carrier): void {
    this.#conversation.peer.deliver(value, carrier);
  }

  async ping(timeoutMs: number): Promise<boolean> {
    try {
      await this.#conversation.peer.request(this.#standing, { method: "ping" }, { timeoutMs });
      return true;
    } catch (error) {
      // Whoever answers with an error is there.
      return error instanceof RpcError;
    }
  }

  close(graceMs: number): Promise<void> {
    return this.#conversation.close(graceMs);
  }
}

/** A server as an HTTP endpoint needs it. */
export class ServerOverHttp implements HttpService {
  readonly limits: JsonRpcLimits;
  readonly #role: ServerRole;
  readonly #desk: HttpDesk;
  readonly #ladder: StatelessLadder;
  readonly #alone: AloneService;

  constructor(role: ServerRole, limits: HttpLimits) {
    this.#role = role;
    this.limits = role.core.limits;
    this.#desk = new HttpDesk(role, limits);
    this.#ladder = new StatelessLadder(role.core, this.#desk);
    this.#alone = new AloneService(role.core, this.#desk);
  }

  converse(standing: Carrier): HttpConversation {
    return new SessionConversation(this.#role, standing);
  }

  isStateless(value: unknown, version: string | undefined): boolean {
    if (version !== undefined && namesStateless(version.trim())) return true;
    if (Array.isArray(value)) return value.some(claims);
    return claims(value);
  }

  serveStateless(value: unknown, carrier: AloneCarrier): void {
    this.#ladder.serve(value, carrier);
  }

  serveAlone(value: unknown, carrier: AloneCarrier): void {
    this.#alone.serve(value, carrier);
  }

  hasSessions(version: string): boolean {
    return assumedRevision(version.trim()) !== undefined;
  }

  close(graceMs: number): Promise<void> {
    return this.#desk.close(graceMs);
  }
}

function claims(value: unknown): boolean {
  return (
    isJsonObject(value) && isJsonObject(value["params"]) && claimsStateless(value as unknown as NotificationMessage)
  );
}
