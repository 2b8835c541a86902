// The three requests a Streamable HTTP link makes, with the headers each of them carries.
import { LocalError } from "../../jsonrpc/local-error.js";
import { Deadline } from "./canceller.js";
import type { HttpCaller } from "./http-caller.js";
import type { HttpClientLimits } from "./http-client-limits.js";
import type { HttpReply } from "./http-requester.js";
import type { GetOptions, PostOptions } from "./link-wire.js";

export interface LinkRequestsOptions {
  readonly url: string;
  /** The URL, fit to be shown. */
  readonly shown: string;
  /** Carried by all of them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly caller: HttpCaller;
  readonly limits: HttpClientLimits;
}

const BOTH = "application/json, text/event-stream";

export class LinkRequests {
  readonly #options: LinkRequestsOptions;
  /** Said by what carries no message of the protocol: GET and DELETE. */
  version: string | undefined;

  constructor(options: LinkRequestsOptions) {
    this.#options = options;
  }

  post({ text, headers, repeatable, session, started }: PostOptions): Promise<HttpReply> {
    const all: Record<string, string> = { ...this.#options.headers };
    for (const name in headers) all[name] = headers[name] as string;
    all["accept"] = BOTH;
    all["accept-encoding"] = "identity";
    all["content-type"] = "application/json";
    if (session !== undefined) all["mcp-session-id"] = session;
    const { caller, url } = this.#options;
    return caller.call({ method: "POST", url, headers: all, body: text, repeatable, started });
  }

  /** Rejects with TIMEOUT when the reply's head does not come in time. */
  async get({ cursor, session, started }: GetOptions): Promise<HttpReply> {
    const { limits, shown, caller, url } = this.#options;
    const headers = this.#bodiless(session);
    headers["accept"] = "text/event-stream";
    if (cursor !== undefined) headers["last-event-id"] = cursor;
    const deadline = new Deadline(limits.openMs);
    const note = (how: () => void): void => {
      deadline.started(how);
      started(how);
    };
    try {
      return await caller.call({ method: "GET", url, headers, repeatable: true, started: note });
    } catch (error) {
      if (!deadline.late) throw error;
      throw new LocalError("TIMEOUT", `${shown} did not answer a GET within ${limits.openMs} ms`, { cause: error });
    } finally {
      deadline.stop();
    }
  }

  /**
   * Tells the server that the session is over, and waits for its answer as long as `closeMs`. Servers that keep no
   * sessions by request say 405; those that do not answer have had their chance. Never rejects.
   */
  async end(session: string): Promise<void> {
    let giveUp!: () => void;
    // Authorization may take longer than anybody wants to wait now.
    const late = new Promise<void>((resolve) => {
      giveUp = resolve;
    });
    const deadline = new Deadline(this.#options.limits.closeMs, giveUp);
    await Promise.race([this.#delete(session, deadline), late]);
    deadline.stop();
  }

  async #delete(session: string, { started }: Deadline): Promise<void> {
    const { limits, caller, url } = this.#options;
    const headers = this.#bodiless(session);
    try {
      const reply = await caller.call({ method: "DELETE", url, headers, repeatable: true, started });
      await reply.text(limits.errorBytes);
    } catch {
      // However it ended, the session is none of ours any more.
    }
  }

  #bodiless(session: string | undefined): Record<string, string> {
    const headers: Record<string, string> = { ...this.#options.headers, "accept-encoding": "identity" };
    if (session !== undefined) headers["mcp-session-id"] = session;
    if (this.version !== undefined) headers["mcp-protocol-version"] = this.version;
    return headers;
  }
}
