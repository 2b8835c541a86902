// `mcp-secure-local call [TARGET] NAME [ARGUMENTS]`: calls a tool of another server, or one of ours through the same guard a client's calls pass.
import { type CommandLine, adviceWord, UsageError } from "./command-line.js";
import { namesTarget } from "./remote/find-target.js";

export async function callCommand(line: CommandLine): Promise<number> {
  const own = !namesTarget(line, 1);
  if (own && line.words[0] === undefined)
    throw new UsageError("call needs the name of a tool; mcp-secure-local tools lists them");
  const { ownCall, remoteCall } = await import("./remote/remote-call.js");
  return await (own ? ownCall(line) : remoteCall(line).catch((error: unknown) => throwWith(error, line)));
}

/** Two words are a server and its tool; whoever meant a tool of ours and its argument hears how that is written. */
function throwWith(error: unknown, { words: [name = "", word = ""], after, url, config }: CommandLine): never {
  const named = after === undefined && url === undefined && config === undefined;
  if (!named || !(error instanceof Error) || !error.message.startsWith(`there is no server "${name}"`)) throw error;
  throw new UsageError(
    `${error.message}. If ${name} is a tool: its arguments are key=value, as in call ${name} KEY=${adviceWord(word)}`,
  );
}
