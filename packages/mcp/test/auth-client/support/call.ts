// Sends requests to a protected server as an HTTP transport does: headers asked for, refusals told, repeated when wanted.
import type { AuthorizedResponse, HttpAuthorizer } from "../../../src/jsonrpc/transport.js";

export interface Called {
  readonly status: number;
  readonly tries: number;
}

/** More than any authorizer may need. */
const MAX_TRIES = 20;

export async function call(authorizer: HttpAuthorizer, url: string, method = "tools/list"): Promise<Called> {
  for (let tries = 1; ; tries++) {
    if (tries > MAX_TRIES) throw new Error("The authorizer never ends");
    const sent = await authorizer.headers({ method: "POST", url });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method });
    const headers = { ...sent, "content-type": "application/json" };
    const response = await fetch(url, { method: "POST", headers, body });
    await response.text();
    const told: AuthorizedResponse = {
      method: "POST",
      url,
      status: response.status,
      sent,
      header: (name) => response.headers.get(name) ?? undefined,
    };
    const { status } = response;
    if (status !== 401 && status !== 403) authorizer.answered?.(told);
    else if (await authorizer.challenged(told)) continue;
    return { status, tries };
  }
}
