// Authorizes requests in a person's name; what that takes is loaded when a server asks for it, or tokens are kept.
import { existsSync } from "node:fs";
import type { HttpAuthorizer } from "@secure-local/mcp/client";
import type { UserAuthorizationOptions } from "@secure-local/mcp/auth/client/node";
import { LocalError } from "@secure-local/mcp/client/node";

export interface Person {
  /** Where tokens are kept between runs. */
  readonly tokensFile: string;
  /** Tells of the page the person has to visit; undefined when nobody is there. */
  readonly show: ((url: string) => void) | undefined;
  /** Opens a page. Default: the person's browser. */
  readonly browse?: (url: string) => Promise<void>;
  /** By which every request of the authorization goes. Default: one that keeps off addresses which are not on the internet. */
  readonly fetch?: UserFetch | undefined;
}

type UserFetch = NonNullable<UserAuthorizationOptions["fetch"]>;

/** Undefined for URLs that tokens must not go to: cleartext to another machine, sockets. */
export function personAuthorizer(url: string, person: Person): HttpAuthorizer | undefined {
  if (!takesTokens(new URL(url))) return undefined;
  let loading: Promise<HttpAuthorizer> | undefined;
  const load = (): Promise<HttpAuthorizer> => (loading ??= authorizerOf(url, person));
  return {
    headers: async (request) =>
      loading === undefined && !existsSync(person.tokensFile) ? {} : (await load()).headers(request),
    challenged: async (response) => (await load()).challenged(response),
    answered: (response) => void loading?.then((authorizer) => authorizer.answered?.(response)).catch(() => undefined),
  };
}

function takesTokens({ protocol, hostname }: URL): boolean {
  if (protocol === "https:") return true;
  return protocol === "http:" && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

async function authorizerOf(serverUrl: string, { tokensFile, show, browse, fetch }: Person): Promise<HttpAuthorizer> {
  const { browserRedirect, userAuthorization } = await import("@secure-local/mcp/auth/client/node");
  const open = (): Promise<never> => {
    const text = `${new URL(serverUrl).origin} needs a person to authorize it: run this in a terminal, or give --token`;
    return Promise.reject(new LocalError("UNAUTHORIZED", text));
  };
  return userAuthorization({
    serverUrl,
    clientName: "mcp-secure-local",
    file: tokensFile,
    redirect:
      show === undefined
        ? { open }
        : browserRedirect({ show: () => undefined, ...(browse === undefined ? {} : { open: browse }) }),
    ...(show === undefined ? {} : { onAuthorize: show }),
    ...(fetch === undefined ? {} : { fetch }),
  });
}
