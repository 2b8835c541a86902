// `mcp-secure-local prompt TARGET NAME [key=value…]`: gets a prompt of any server.
import { readArguments } from "../call-arguments.js";
import type { CommandLine } from "../command-line.js";
import { ExitCode, print, printJson, styled } from "../terminal.js";
import { blockText } from "./content-text.js";
import { withClient } from "./with-client.js";

const USAGE = {
  usage: "prompt needs a target and the name of a prompt, as in prompt TARGET NAME key=value",
  least: 1,
  most: Infinity,
};

export function promptCommand(line: CommandLine): Promise<number> {
  return withClient(line, USAGE, async ({ client, words: [name = "", ...given], signal }) => {
    // Arguments of prompts are texts, whatever they look like.
    const values = Object.entries(readArguments(given, undefined)).map(([key, value]): [string, string] => {
      const written = given.find((word) => word.startsWith(`${key}=`))?.slice(key.length + 1);
      return [key, written ?? (typeof value === "string" ? value : JSON.stringify(value))];
    });
    const result = await client.prompt(name, Object.fromEntries(values), { signal });
    if (line.json) printJson(result);
    else for (const { role, content } of result.messages) print(`${styled("bold", `${role}:`)} ${blockText(content)}`);
    return ExitCode.Ok;
  });
}
