// Makes links to a target, for those who speak without a client.
import type { HttpAuthorizer, Transport } from "@secure-local/mcp/client";
import { childTransport, nodeRequester, sseTransport, streamableHttpTransport } from "@secure-local/mcp/client/node";
import { openClient } from "./open-client.js";
import { personAuthorizer, type Person } from "./person-authorizer.js";
import type { Target } from "./target.js";

/** How a target is reached. */
export interface TargetRoute {
  readonly kind: "stdio" | "http" | "sse";
  /** A new link for each call. */
  readonly link: () => Transport;
  /** What the links of a URL are authorized by, beside the headers they are given. */
  readonly authorizer?: HttpAuthorizer | undefined;
}

export interface RouteOptions {
  /** Sent as `Authorization: Bearer` in place of tokens of our own. */
  readonly token?: string | undefined;
  readonly person: Person;
  /** What a message of the server may be. Default: the library's. */
  readonly limits?: { readonly messageBytes?: number } | undefined;
  /** Milliseconds a server behind a URL may take to show which transport it speaks. */
  readonly timeoutMs?: number | undefined;
}

/** A client that connects and leaves finds out whether a URL is one of HTTP+SSE; what it cannot reach counts as Streamable HTTP. */
export async function routeTo(target: Target, options: RouteOptions): Promise<TargetRoute> {
  // A link knows of lengths alone: what is in a message is up to who reads it.
  const { messageBytes } = options.limits ?? {};
  const bytes = messageBytes === undefined ? undefined : { messageBytes };
  if (target.kind === "command") {
    const { command, args, env, cwd } = target;
    return { kind: "stdio", link: () => childTransport({ command, args, env, cwd, limits: bytes }) };
  }
  const { token, person } = options;
  const { url } = target;
  const headers = { ...target.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  const given = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  const authorizer = given || !URL.canParse(url) ? undefined : personAuthorizer(url, person);
  const kind = await transportOf(target, options);
  const make = kind === "sse" ? sseTransport : streamableHttpTransport;
  return {
    kind,
    authorizer,
    link: () =>
      make({
        url,
        headers,
        authorizer,
        requester: nodeRequester(),
        ownsRequester: true,
        limits: bytes,
      }),
  };
}

async function transportOf(target: Target, { token, person, timeoutMs }: RouteOptions): Promise<"http" | "sse"> {
  try {
    const client = await openClient(target, {
      token,
      person,
      ...(timeoutMs === undefined ? {} : { connectTimeoutMs: timeoutMs }),
    });
    const { transport } = client;
    await client.close();
    return transport === "sse" ? "sse" : "http";
  } catch {
    return "http";
  }
}
