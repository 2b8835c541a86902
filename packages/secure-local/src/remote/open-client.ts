// Connects to a target as a person at a terminal wants it.
import { type Client, connect, LocalError, type NodeConnectOptions } from "@secure-local/mcp/client/node";
import { personAuthorizer, type Person } from "./person-authorizer.js";
import { type Target, targetText } from "./target.js";

export interface OpenOptions extends NodeConnectOptions {
  /** Sent as `Authorization: Bearer` in place of tokens of our own. */
  readonly token?: string | undefined;
  readonly person: Person;
}

/** Rejects with a ConnectError. */
export function openClient(target: Target, { token, person, ...options }: OpenOptions): Promise<Client> {
  if (target.kind === "command") {
    const { command, args, env, cwd } = target;
    return connect({ command, args, env, cwd }, options);
  }
  const { url } = target;
  if (!URL.canParse(url))
    throw new LocalError("USAGE", `${targetText(target)} is not a URL: write it like https://host/mcp`);
  const headers = { ...target.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  const given = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  const authorizer = given ? undefined : personAuthorizer(url, person);
  return connect(url, { ...options, http: { headers, ...(authorizer === undefined ? {} : { authorizer }) } });
}
