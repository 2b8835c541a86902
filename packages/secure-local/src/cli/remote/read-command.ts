// `mcp-secure-local read TARGET URI`: reads a resource of any server; without TARGET one of our own.
import type { CommandLine } from "../command-line.js";
import { ExitCode, print, printJson, styled } from "../terminal.js";
import { blockText, contentsText } from "./content-text.js";
import { isOwn } from "./find-target.js";
import { type Connected, withClient, withOwnClient } from "./with-client.js";
import { readArguments } from "../call-arguments.js";

const USAGE = {
  usage: "read needs a target and the URI of a resource, as in read TARGET file:///a.txt",
  least: 1,
  most: 1,
};

type Work = (connected: Connected) => Promise<number>;

/** On the server that is named, or on our own where none is. */
function own(line: CommandLine, usage: typeof USAGE, work: Work): Promise<number> {
  return isOwn(line, 1) ? withOwnClient(line, () => true, work) : withClient(line, usage, work);
}

export function readCommand(line: CommandLine): Promise<number> {
  return own(line, USAGE, async ({ client, words: [uri = ""], signal }) => {
    const result = await client.read(uri, undefined, { signal });
    if (line.json) printJson(result);
    else print(result.contents.map(contentsText).join("\n"));
    return ExitCode.Ok;
  });
}

// `mcp-secure-local prompt TARGET NAME [key=value…]`: gets a prompt of any server.

const PROMPT_USAGE = {
  usage: "prompt needs a target and the name of a prompt, as in prompt TARGET NAME key=value",
  least: 1,
  most: Infinity,
};

export function promptCommand(line: CommandLine): Promise<number> {
  return own(line, PROMPT_USAGE, async ({ client, words: [name = "", ...given], signal }) => {
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
