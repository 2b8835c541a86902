// `mcp-secure-local bridge URL`: a server at a URL as a program on stdio; `bridge -- COMMAND`: a program as a server over HTTP.
import { recordLink } from "@secure-local/mcp-tools/record-link";
import { type CommandTarget, routeTo, targetText } from "@secure-local/mcp-tools/target";
import { cleanLine } from "../../guard/cleaning/clean-text.js";
import { type CommandLine, UsageError } from "../command-line.js";
import { tokenFile } from "../settings.js";
import { complain, ExitCode, tell } from "../terminal.js";
import { findTarget } from "./find-target.js";
import { limitsOf, person, timeoutMs, bearerToken } from "./with-client.js";

const USAGE = "bridge needs a URL, a name, or -- COMMAND, as in bridge https://host/mcp, or bridge -- node server.js";
/** A person may have to find a password first. */
const AUTHORIZE_MS = 300_000;

export async function bridgeCommand(line: CommandLine): Promise<number> {
  const { target, words } = await findTarget(line, USAGE);
  if (words.length > 0) throw new UsageError(`bridge takes one target, not also "${words[0]}"`);
  if (target.kind === "url" && (line.shared || line.port !== undefined || line.host !== undefined))
    throw new UsageError("--port, --host and --shared are for bridge -- COMMAND; bridge URL speaks on stdio");
  if (target.kind === "command") return bridgeOverHttp(target, line);
  // Whoever starts it for a client is not at this terminal, and has a browser all the same.
  const show = (url: string): void =>
    complain(`mcp-secure-local: authorize this program in your browser: ${cleanLine(url)}`);
  const { limits } = limitsOf(line);
  const options = { token: bearerToken(line), person: { ...person(), show }, limits };
  const { link } = await routeTo(target, { ...options, timeoutMs: timeoutMs(line) ?? AUTHORIZE_MS });
  const { stdin: input, stdout: output } = process;
  const end = (): void => void input.destroy();
  process.once("SIGINT", end).once("SIGTERM", end);
  try {
    const noise = (text: string): void => complain(`mcp-secure-local: ${cleanLine(text)}`);
    await recordLink(link(), { take: () => undefined }, { input, output, noise });
  } finally {
    process.removeListener("SIGINT", end).removeListener("SIGTERM", end);
  }
  return ExitCode.Ok;
}

// The other way round: a server that speaks on stdio, served over HTTP on this machine.

/** Resolves when the bridge was told to stop, and every program has ended. */
async function bridgeOverHttp(target: CommandTarget, line: CommandLine): Promise<number> {
  // A bridge to a URL listens nowhere, and needs none of these.
  const { HttpBridge } = await import("@secure-local/mcp-tools/http-bridge");
  const { bindsToLoopback, serveSettings, storedToken } = await import("../serve-http-settings.js");
  if (line.socket !== undefined) throw new UsageError("bridge -- COMMAND listens on a port: leave out --socket");
  const { host, port, auth, origins, publicHosts } = serveSettings({ ...line, words: [] });
  const { limits } = limitsOf(line);
  const { link } = await routeTo(target, { person: person(), limits });
  const token = auth ? storedToken(tokenFile()) : undefined;
  const say = (text: string): void => complain(`mcp-secure-local: ${cleanLine(text)}`);
  const { shared } = line;
  const place = { host, port, origins, publicHosts };
  const bridge = new HttpBridge({ link, shared, ...place, token, messageBytes: limits?.messageBytes, say });
  const told = new Promise<void>((resolve) => {
    process.once("SIGINT", () => resolve()).once("SIGTERM", () => resolve());
  });
  const url = await bridge.listen().catch((error: unknown) => {
    throw new UsageError(
      `${host} port ${port} cannot be listened on (${(error as Error).message}): choose another with --port`,
    );
  });
  const serves = `${url} serves ${cleanLine(targetText(target))}, ${shared ? "one program for all" : "one program a session"}`;
  const who =
    token === undefined
      ? "Every program on this machine may call it."
      : `Clients send the token in ${tokenFile()} as Authorization: Bearer.`;
  const asked = token === undefined ? {} : { tokenFile: tokenFile() };
  tell(line, { url, target: targetText(target), shared, ...asked }, `${serves}\n${who}`);
  if (!bindsToLoopback(host))
    complain("mcp-secure-local: WARNING: the token goes there unencrypted: put a TLS proxy in front");
  await told;
  await bridge.close();
  return ExitCode.Ok;
}
