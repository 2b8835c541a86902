// `mcp-secure-local bridge -- COMMAND`: a server that speaks on stdio, served over HTTP on this machine.
import { HttpBridge } from "@secure-local/mcp-tools/http-bridge";
import { type CommandTarget, routeTo, targetText } from "@secure-local/mcp-tools/target";
import { cleanLine } from "../../guard/cleaning/clean-text.js";
import { type CommandLine, UsageError } from "../command-line.js";
import { bindsToLoopback, serveSettings, storedToken } from "../serve-http-settings.js";
import { tokenFile } from "../settings.js";
import { complain, ExitCode, tell } from "../terminal.js";
import { limitsOf, person } from "./with-client.js";

/** Resolves when the bridge was told to stop, and every program has ended. */
export async function bridgeOverHttp(target: CommandTarget, line: CommandLine): Promise<number> {
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
