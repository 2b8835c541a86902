// `mcp-secure-local read TARGET URI`: reads a resource of any server.
import type { CommandLine } from "../command-line.js";
import { ExitCode, print, printJson } from "../terminal.js";
import { contentsText } from "./content-text.js";
import { withClient } from "./with-client.js";

const USAGE = {
  usage: "read needs a target and the URI of a resource, as in read TARGET file:///a.txt",
  least: 1,
  most: 1,
};

export function readCommand(line: CommandLine): Promise<number> {
  return withClient(line, USAGE, async ({ client, words: [uri = ""], signal }) => {
    const result = await client.read(uri, undefined, { signal });
    if (line.json) printJson(result);
    else print(result.contents.map(contentsText).join("\n"));
    return ExitCode.Ok;
  });
}
