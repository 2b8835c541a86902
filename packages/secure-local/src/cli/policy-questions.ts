// The questions of `policy init`, and what is written where nobody is asked.
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { hostPattern } from "../policy/host-name.js";
import { pathPatternFault } from "../policy/path-pattern.js";
import type { PolicyWishes } from "../policy/policy-text.js";
import { type Ask, askYesNo } from "./ask-in-terminal.js";

/** The built-in policy's powers, or those of the preset alone. */
export function usualWishes(preset: string | undefined): PolicyWishes {
  return { preset, readable: [], writable: [], search: preset === undefined, hosts: [], ask: true };
}

export async function askWishes(ask: Ask, preset: string | undefined): Promise<PolicyWishes> {
  const folder = await askFolder(ask);
  const changes = folder !== undefined && preset !== "read-only";
  const write = changes && (await askYesNo(ask, "May it change files there as well?", false));
  const asked = write && preset !== "developer";
  const consent = asked && (await askYesNo(ask, "Ask you before it changes one?", true));
  const search = preset === undefined && (await askYesNo(ask, "May it search the web (DuckDuckGo)?", true));
  const hosts = preset === "offline" ? [] : await askHosts(ask);
  const folders = folder === undefined ? [] : [folder];
  return { preset, readable: write ? [] : folders, writable: write ? folders : [], search, hosts, ask: consent };
}

async function askFolder(ask: Ask): Promise<string | undefined> {
  let question = "Which folder may it read? (empty: none) ";
  for (;;) {
    const given = (await ask(question)).trim();
    if (given === "") return undefined;
    const folder = resolve(given.replace(/^~(?=\/|$)/, homedir())).replaceAll("\\", "/");
    const wrong = folderFault(folder);
    if (wrong === undefined) return folder;
    question = `${wrong} Which folder? (empty: none) `;
  }
}

function folderFault(folder: string): string | undefined {
  if (folder === "/" || /^[A-Za-z]:\/?$/.test(folder)) return "That is everything on this machine.";
  if (folder === homedir()) return "That is all of your home, with everything in it; name a folder in it.";
  if (/[*?$\u0000-\u001f\u007f]/.test(folder) || pathPatternFault(folder) !== undefined)
    return "A policy cannot name that folder: its name has characters that patterns use.";
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? undefined : "There is no such folder.";
}

async function askHosts(ask: Ask): Promise<string[]> {
  let question = "Whose pages may it read? Host names, as in docs.example.com *.wikipedia.org (empty: none) ";
  for (;;) {
    const given = (await ask(question)).trim();
    // After two questions of yes or no, some answer this one so too.
    if (/^(no?|none)$/i.test(given)) return [];
    const read = given
      .split(/[\s,]+/)
      .filter(Boolean)
      .map(hostPattern);
    const wrong = read.flatMap((each) => ("wrong" in each ? each.wrong : []));
    if (wrong.length === 0) return read.flatMap((each) => ("pattern" in each ? each.pattern : []));
    question = `${wrong.join("; ")}. Whose pages? (empty: none) `;
  }
}
