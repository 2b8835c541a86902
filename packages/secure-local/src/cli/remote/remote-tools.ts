// `mcp-secure-local tools TARGET`: lists the tools of any server.
import { cleanLine } from "../../guard/cleaning/clean-text.js";
import type { CommandLine } from "../command-line.js";
import { ExitCode, print, printJson } from "../terminal.js";
import { type Entry, listText } from "./list-text.js";
import { withClient } from "./with-client.js";

const USAGE = { usage: "tools takes one target; to call a tool: call TARGET NAME", least: 0, most: 0 };

export function remoteTools(line: CommandLine): Promise<number> {
  return withClient(line, USAGE, async ({ client }) => {
    const tools = await client.tools().all();
    if (line.json) printJson(tools);
    else if (tools.length === 0) print("The server has no tools.");
    else print(listText(tools.map(toolEntry)));
    return ExitCode.Ok;
  });
}

/** A tool as a line of a list: its parameters, the needed ones first. */
export function toolEntry({ name, title, description, inputSchema }: ToolLike): Entry {
  const { properties = {}, required = [] } = inputSchema as {
    readonly properties?: object;
    readonly required?: readonly string[];
  };
  const optional = Object.keys(properties).filter((each) => !required.includes(each));
  const words = [...required, ...optional.map((each) => `[${each}]`)];
  return {
    name,
    about: description ?? title ?? "",
    note: words.length === 0 ? "" : cleanLine(`{${words.join(", ")}}`),
  };
}

interface ToolLike {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: object;
}
