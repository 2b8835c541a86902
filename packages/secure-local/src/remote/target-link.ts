// Makes links to a target, for those who speak without a client.
import type { Link } from "@secure-local/mcp/client";
import { childLink, nodeRequester, streamableHttpLink } from "@secure-local/mcp/client/node";
import { personAuthorizer, type Person } from "./person-authorizer.js";
import type { Target } from "./target.js";

/** A new link for each call. */
export function targetLink(
  target: Target,
  { token, person }: { readonly token?: string | undefined; readonly person: Person },
): Link {
  if (target.kind === "command") {
    const { command, args, env, cwd } = target;
    return childLink({ command, args, env, cwd });
  }
  const { url } = target;
  const headers = { ...target.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  const given = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  const authorizer = given || !URL.canParse(url) ? undefined : personAuthorizer(url, person);
  return streamableHttpLink({ url, headers, authorizer, requester: nodeRequester(), ownsRequester: true });
}
