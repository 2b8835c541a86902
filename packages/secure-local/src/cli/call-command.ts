// `mcp-secure-local call [TARGET] NAME [ARGUMENTS]`: calls a tool of another server, or one of ours through the same guard a client's calls pass.
import { type CommandLine, UsageError } from "./command-line.js";
import { namesTarget } from "./remote/find-target.js";

export async function callCommand(line: CommandLine): Promise<number> {
  const own = !namesTarget(line, 1);
  if (own && line.words[0] === undefined)
    throw new UsageError("call needs the name of a tool; mcp-secure-local tools lists them");
  const { ownCall, remoteCall } = await import("./remote/remote-call.js");
  return await (own ? ownCall(line) : remoteCall(line));
}
