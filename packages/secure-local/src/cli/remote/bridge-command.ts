// `mcp-secure-local bridge URL`: a server at a URL as a program on stdio; `bridge -- COMMAND`: a program as a server over HTTP.
import { recordLink } from "@secure-local/mcp-tools/record-link";
import { routeTo } from "@secure-local/mcp-tools/target";
import { cleanLine } from "../../guard/cleaning/clean-text.js";
import { type CommandLine, UsageError } from "../command-line.js";
import { complain, ExitCode } from "../terminal.js";
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
  if (target.kind === "command") return await (await import("./bridge-http.js")).bridgeOverHttp(target, line);
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
