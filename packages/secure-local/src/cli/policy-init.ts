// `mcp-secure-local policy init`: asks what an AI client may do, and writes the policy that allows it.
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { parsePolicy } from "../policy/parse-policy.js";
import { policyText } from "../policy/policy-text.js";
import { PRESET_NAMES } from "../policy/presets.js";
import { type CommandLine, nearest, UsageError } from "./command-line.js";
import { askInTerminal } from "./ask-in-terminal.js";
import { askWishes, usualWishes } from "./policy-questions.js";
import { configFolder } from "./settings.js";
import { ExitCode, print, styled } from "./terminal.js";
import { isThere, writeNewFile } from "./write-new-file.js";

/** @throws UsageError where nobody can be asked, the preset does not exist, or the file does */
export async function policyInit(line: CommandLine): Promise<number> {
  const [named, ...rest] = line.words;
  if (rest.length > 0) throw new UsageError(`policy init takes one file, not also "${rest[0]}"`);
  const file = named ?? join(configFolder(), "policy.yaml");
  const preset = checkedPreset(line.preset);
  if (!line.yes && !(process.stdin.isTTY && process.stdout.isTTY)) {
    throw new UsageError("policy init asks in a terminal; without one: policy init --yes, or --preset NAME --yes");
  }
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) throw new UsageError(isThere(file));
  const wishes = line.yes ? usualWishes(preset) : await askInTerminal((ask) => askWishes(ask, preset));
  const text = policyText(wishes);
  await parsePolicy(text, { file });
  const wrong = writeNewFile(file, text);
  if (wrong !== undefined) throw new UsageError(wrong);
  print(`${styled("green", "written")}  ${file}`);
  print(`To use it:  mcp-secure-local --policy ${quoted(file)}`);
  print(`To check:   mcp-secure-local policy check ${quoted(file)}`);
  return ExitCode.Ok;
}

function checkedPreset(name: string | undefined): string | undefined {
  if (name === undefined || PRESET_NAMES.includes(name)) return name;
  const near = nearest(name, PRESET_NAMES) || `; there are ${PRESET_NAMES.join(", ")}`;
  throw new UsageError(`there is no preset "${name}"${near}`);
}

function quoted(file: string): string {
  return /^[\w./~-]+$/.test(file) ? file : `'${file.replaceAll("'", `'\\''`)}'`;
}
