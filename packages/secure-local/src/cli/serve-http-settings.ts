// Reads where and how `serve` listens: option first, then environment, then the default.
import { resolve } from "node:path";
import { type CommandLine, UsageError } from "./command-line.js";

export interface ServeSettings {
  readonly host: string;
  readonly port: number;
  readonly socketPath: string | undefined;
  /** Requests a second one caller may send for as long as it likes. */
  readonly perSecond: number;
  /** Whether a token is asked for. */
  readonly auth: boolean;
  /** The file of those who have tokens of their own. */
  readonly tokens: string | undefined;
  readonly sse: boolean;
  readonly quiet: boolean;
  /** Origins of web pages that may call, as browsers write them. */
  readonly origins: readonly string[];
  /** Values of Host that are served besides the own address, in small letters: the names of a proxy in front. */
  readonly publicHosts: readonly string[];
}

type ServeLine = Pick<
  CommandLine,
  "words" | "host" | "port" | "socket" | "rate" | "tokens" | "noAuth" | "sse" | "quiet" | "origins" | "publicHosts"
>;

const PORT = "3333";
const MAX_PORT = 65_535;
/** What the guard takes of one caller in a minute, a second: who stays under it meets the policy's limits and no other. */
const PER_SECOND = "100";
/** More than this process can answer. */
const MAX_PER_SECOND = 1_000_000;

/** @throws UsageError for what cannot be listened on, and for an open door to other machines */
export function serveSettings(
  line: ServeLine,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ServeSettings {
  if (line.words.length > 0) throw new UsageError(`serve takes no "${line.words[0]}"; see mcp-secure-local --help`);
  if (line.socket !== undefined && (line.port ?? line.host) !== undefined)
    throw new UsageError("--socket takes the place of --host and --port; keep one or the other");
  const host = line.host ?? (environment["MCP_SECURE_LOCAL_HOST"] || "127.0.0.1");
  const socketPath = line.socket === undefined ? undefined : resolve(line.socket);
  if (line.noAuth && socketPath === undefined && !bindsToLoopback(host))
    throw new UsageError(`--no-auth is for this machine alone: leave it out, or leave out the host ${host}`);
  const publicHosts = publicHostsOf(line.publicHosts, environment["MCP_SECURE_LOCAL_PUBLIC_HOST"]);
  if (line.noAuth && publicHosts.length > 0)
    throw new UsageError("--no-auth is for this machine alone: leave it out, or leave out the public host");
  if (line.noAuth && line.tokens !== undefined)
    throw new UsageError(
      "--no-auth asks nobody for a token, and --tokens lists those who have one; keep one or the other",
    );
  return {
    host,
    port: portOf(line.port ?? (environment["MCP_SECURE_LOCAL_PORT"] || PORT)),
    socketPath,
    perSecond: rateOf(line.rate ?? PER_SECOND),
    auth: !line.noAuth,
    tokens: line.tokens,
    sse: line.sse,
    quiet: line.quiet,
    origins: line.origins.map(originOf),
    publicHosts,
  };
}

/** Whether only programs on this machine reach an address. */
export function bindsToLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)(?::\d{1,5})?$/;
/** Ports that clients leave out of Host. */
const USUAL_PORT = /:(?:80|443)$/;

/** What clients send as Host: a name, with its port where that is not the usual one. */
function publicHostsOf(given: readonly string[], variable = ""): readonly string[] {
  const named = given.length > 0 ? given : variable.split(/[\s,]+/).filter((name) => name !== "");
  return named.flatMap((text) => {
    const name = text.toLowerCase();
    if (!HOST.test(name) || Number(/:(\d+)$/.exec(name)?.[1] ?? 1) > MAX_PORT)
      throw new UsageError(
        `--public-host needs the name that clients ask for, and its port where that is not 80 or 443, as in --public-host mcp.example.com, not "${text}"`,
      );
    return USUAL_PORT.test(name) ? [name, name.replace(USUAL_PORT, "")] : [name];
  });
}

/** As a browser sends it: scheme, host, and a port that is not the usual one. */
function originOf(text: string): string {
  const { origin, protocol } = URL.canParse(text) ? new URL(text) : { origin: "null", protocol: "" };
  if (origin === text.replace(/\/$/, "").toLowerCase() && origin !== "null") return origin;
  const like = /^https?:$/.test(protocol) ? `; did you mean ${origin}?` : "";
  throw new UsageError(
    `--origin needs the origin of a web page, as in --origin https://app.example, not "${text}"${like}`,
  );
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= MAX_PORT) return port;
  throw new UsageError(`"${text}" is not a port: give a number from 0 (any that is free) to ${MAX_PORT}`);
}

function rateOf(text: string): number {
  const rate = Number(text);
  if (/^[1-9]\d*$/.test(text) && rate <= MAX_PER_SECOND) return rate;
  throw new UsageError(`"${text}" is no rate: give the requests a second that one caller may send, from 1 to 1000000`);
}
