// `mcp-secure-local trust NAME [DIGEST]`: allows a server of a folder's configuration, after showing all it would do.
import { clientEnvironment } from "@secure-local/mcp-tools/config-locations";
import { findServer } from "@secure-local/mcp-tools/configured-servers";
import { type CommandLine, UsageError } from "../command-line.js";
import { ExitCode, tell } from "../terminal.js";
import { allow } from "./folder-trust.js";

export async function trustCommand(line: CommandLine): Promise<number> {
  const [name, digest, ...rest] = line.words;
  if (name === undefined || rest.length > 0)
    throw new UsageError("trust needs the name of a server, as in trust NAME, or trust NAME DIGEST --config FILE");
  const found = await findServer(name, { file: line.config, around: clientEnvironment() });
  const { path, owner } = found.place;
  if (owner === "user") {
    tell(
      line,
      { name, file: path, own: true },
      `"${name}" stands in ${path}, which is your own: nothing has to be allowed.`,
    );
    return ExitCode.Ok;
  }
  const allowed = await allow(found, { digest, json: line.json });
  if (!allowed) return ExitCode.Failed;
  tell(line, { name, file: path, allowed }, `Allowed, until ${path} says something else of it.`);
  return ExitCode.Ok;
}
