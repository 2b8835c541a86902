// Finds shell commands and program text that harms whoever runs it, as it stands in a description.
import { excerptOf, type Sign } from "./finding.js";

/** Each is short and anchored on a word; blanks between are bounded. */
const HARMFUL: readonly RegExp[] = [
  /\brm\s{1,3}-[a-z]{1,4}\s{1,3}(?:--no-preserve-root\s{1,3})?(?:\/|~|\$HOME|\*|"\$)/i,
  /\/dev\/(?:tcp|udp)\/[\w.-]/i,
  /\bbash\s{1,3}-i\s{0,3}>&/i,
  /\bpowershell(?:\.exe)?\s{1,3}-(?:e|enc|encodedcommand|w\s{1,3}hidden)\b/i,
  /\bchmod\s{1,3}\+x\s{1,3}\/(?:tmp|dev\/shm)\//i,
  /\b(?:mkfifo|mknod)\s{1,3}\/tmp\//i,
  /\bos\.system\(|\b__import__\(['"]os|\beval\(atob\(|\bexec\(base64|\bchild_process['"]?\)?\.exec\(/i,
  /\bdd\s{1,3}if=\/dev\/(?:zero|random|urandom)\s{1,3}of=\/dev\//i,
  /:\(\)\s?\{\s?:\|:&\s?\};:/,
  /\$\{jndi:(?:ldap|rmi|dns)/i,
];
/** Harmful where they stand on one line. */
const TOGETHER: readonly (readonly RegExp[])[] = [
  [/\b(?:nc|ncat|netcat)\s/i, /\s-?e\s{1,3}\/bin\//i],
  [/\bcurl\s/i, /\s(?:-d|--data|-F|-T|--upload-file)/, /\.ssh|\.env\b|\.aws|passwd|id_rsa|credentials|printenv/i],
];
/** Harmful where the output of the first goes to the second. */
const PIPES: readonly (readonly [RegExp, RegExp])[] = [
  [/\b(?:curl|wget)\s/i, /^\s{0,3}(?:sudo\s{1,3})?(?:(?:ba|z|da|k)?sh|python3?|node|perl|ruby)\b/i],
  [/\bbase64\s{1,3}(?:-d|--decode)/i, /^\s{0,3}(?:ba)?sh\b/i],
  [/\bcat\s{1,3}(?:~|\/etc|\/root|\/home)/i, /^\s{0,3}(?:curl|nc|base64|ncat)\b/i],
];
const PAGE_CODE: readonly RegExp[] = [
  /\bon(?:error|load|mouseover)\s{0,3}=\s{0,3}["']?[a-z]{2,20}[.(]/i,
  /\bjavascript:\s{0,3}[a-z]{2,20}[.(]/i,
  /['"]\s{0,3}(?:or|and)\s{1,3}['"]?1['"]?\s{0,3}=\s{0,3}['"]?1/i,
  /;\s{0,3}drop\s{1,3}(?:table|database)\s/i,
  /\bunion\s{1,3}(?:all\s{1,3})?select\s/i,
  /\{\{\s{0,3}(?:config|self|request|''|7\s?\*\s?7|lipsum|cycler)\b/i,
  /<script[\s>]/i,
];
/** Honest texts show commands: to install themselves, or as what they refuse. Beginnings of the words that say so. */
const SHOWN: readonly string[] = [
  ...[
    "detect",
    "block",
    "reject",
    "refus",
    "prevent",
    "danger",
    "deny",
    "denied",
    "denies",
    "forbid",
    "scan",
    "flag",
    "protect",
  ],
  ...[
    "readme",
    "install",
    "documentation",
    "docs",
    "example",
    "sanitiz",
    "escap",
    "remov",
    "strip",
    "guard",
    "unsafe",
    "harmful",
    "destructive",
    "such",
  ],
];

function isShown(text: string): boolean {
  const words = text.toLowerCase().split(/\s/);
  return words.some((word) => !word.includes("/") && SHOWN.some((start) => word.startsWith(start)));
}

/** A command in it that harms whoever runs it: what was encoded has no reason to hold one. */
export function harmfulCommand(text: string): string | undefined {
  for (const pattern of HARMFUL) {
    const found = pattern.exec(text);
    if (found !== null) return found[0];
  }
  return text.split("\n").find(isHarmfulLine)?.trim();
}

function isHarmfulLine(line: string): boolean {
  if (TOGETHER.some((all) => all.every((pattern) => pattern.test(line)))) return true;
  const [first = "", ...rest] = line.split("|");
  return PIPES.some(([source, sink]) => source.test(first) && rest.some((part) => sink.test(part)));
}

export function readCommands(text: string): Sign[] {
  const signs: Sign[] = [];
  const command = harmfulCommand(text);
  const shown = isShown(text);
  if (command !== undefined && !shown)
    signs.push({
      id: "actions.shell",
      tier: "hard",
      about: "It holds a command that harms whoever runs it.",
      excerpt: excerptOf(command),
    });
  const code = PAGE_CODE.map((pattern) => pattern.exec(text)?.[0]).find((found) => found !== undefined);
  if (code !== undefined && !shown)
    signs.push({
      id: "actions.code",
      tier: "soft",
      about: "It holds program text that acts on a page, a template or a database.",
      excerpt: excerptOf(code),
    });
  return signs;
}
