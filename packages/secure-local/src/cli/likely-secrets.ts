// Tells which values of a client's file are likely secrets: by what they are called, by a known form, or by how random they look.
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { redactString } from "../audit/event-text.js";
import { replaceKnown } from "../audit/secret-shapes.js";

/** Anywhere in a name, whatever stands around it. */
const SECRET_PART =
  /passw(?:or)?d|passphrase|passcode|secret|token|api[-_]?key|access[-_]?key|credential|authori[sz]ation|bearer|cookie|private[-_]?key|jwt/i;
/** Words of a name, as in SMTP_PASS, dbPass and X-Signing-Key. */
const SECRET_WORDS: ReadonlySet<string> = new Set([
  ...["pass", "pw", "pwd", "passwd", "pin", "otp", "totp", "mfa"],
  ...["key", "keys", "pat", "pats", "psk", "seed", "mnemonic", "salt"],
  ...["auth", "cred", "creds", "private", "signature", "session", "sid", "dsn", "license"],
]);
/** Names that are written in one word. */
const SECRET_END = /.pwd$|.(?<!by|com|sur|tres|over|under)pass$/;
/** What a name ends in that says of a secret where it is or how it is used, and not what it is. */
const ABOUT: ReadonlySet<string> = new Set([
  ...["url", "uri", "endpoint", "host", "port", "domain", "issuer", "audience", "realm", "scope", "scopes", "provider"],
  ...["file", "path", "dir", "folder", "name", "header", "prefix", "id", "type", "mode", "method", "format"],
  ...[
    "algorithm",
    "alg",
    "enabled",
    "disabled",
    "required",
    "limit",
    "max",
    "min",
    "count",
    "size",
    "length",
    "budget",
  ],
  ...["ttl", "timeout", "expiry", "expires", "lifetime", "version", "region"],
]);
/** Names of variables that hold a folder whatever they look like. */
const FOLDERS: ReadonlySet<string> = new Set(["pwd", "oldpwd"]);
const PLAIN_VALUE = /^(?:true|false|yes|no|on|off|none|null|auto|default|\d{1,3})$/i;
/** Counts of what a model reads and writes, and no secrets. */
const COUNTS = /tokens$|^max|tokens?[-_]?(?:count|limit|budget)/i;

/** Whether a value that has this name in a variable, a header, an option or a query is likely a secret. */
export function isLikelySecret(name: string, value: string): boolean {
  return value !== "" && (hasForm(value) || looksRandom(value) || isNamedSecret(name, value));
}

/** Whether a value without a name of its own is likely one. */
export function isLikelySecretValue(value: string): boolean {
  return hasForm(value) || looksRandom(value);
}

/** Of a command's arguments those that are likely secrets by their option or a known form (images and packages have digests, too): which, what they are called, and what stands before them in the same word. */
export function likelySecretArguments(
  args: readonly string[],
): { readonly at: number; readonly name: string; readonly before: string; readonly value: string }[] {
  return args.flatMap((arg, at) => {
    const [, flag, value] = /^(--?[\w-]+=)(.+)$/s.exec(arg) ?? [];
    const bare = (option: string): string => option.replace(/^-+|=$/g, "");
    if (flag !== undefined && value !== undefined && (hasForm(value) || isNamedSecret(bare(flag), value)))
      return [{ at, name: bare(flag), before: flag, value }];
    const before = args[at - 1] ?? "";
    const follows = /^--?[\w-]+$/.test(before) && !arg.startsWith("-") && isNamedSecret(bare(before), arg);
    if (!follows && !hasForm(arg)) return [];
    return [{ at, name: follows ? bare(before) : `argument-${at + 1}`, before: "", value: arg }];
  });
}

/** Every likely secret of an entry of a client's file, in whatever member it stands. */
export function likelySecretsIn(entry: unknown, name = ""): string[] {
  if (typeof entry === "string") return [...(isLikelySecret(name, entry) ? [entry] : []), ...secretsInUrl(entry)];
  if (Array.isArray(entry)) {
    const words = entry.filter((each): each is string => typeof each === "string");
    const args = words.length === entry.length ? likelySecretArguments(words).map(({ value }) => value) : [];
    return [
      ...args,
      ...entry.flatMap((each) => (typeof each === "string" ? secretsInUrl(each) : likelySecretsIn(each))),
    ];
  }
  if (typeof entry !== "object" || entry === null) return [];
  return Object.entries(entry).flatMap(([key, value]) => likelySecretsIn(value, key));
}

/** A text to be shown, without the values of known secrets and without these. */
export function withoutValues(text: string, values: readonly string[]): string {
  const spelt = values.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)]);
  // The longest first: one value may be a part of another.
  const sorted = [...new Set(spelt)].filter((each) => each.trim() !== "").sort((a, b) => b.length - a.length);
  if (sorted.length === 0) return replaceKnown(text);
  const escaped = sorted.map((each) => each.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  return replaceKnown(text).replace(new RegExp(`(?<!\\w)(?:${escaped.join("|")})(?!\\w)`, "g"), "[secret]");
}

/** The names and values of a URL's query, and the parts of its path. */
export function partsOfUrl({ pathname, searchParams }: URL): readonly (readonly [name: string, value: string])[] {
  return [...searchParams, ...pathname.split("/").map((part) => ["", decoded(part)] as const)];
}

export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** As they are written in it. */
function secretsInUrl(text: string): string[] {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || !URL.canParse(text)) return [];
  const url = new URL(text);
  const found = partsOfUrl(url).flatMap(([name, value]) => (isLikelySecret(name, value) ? [value] : []));
  return [...found, url.password, decoded(url.password)].filter((each) => each !== "");
}

/** A text of a form that only keys and tokens have. */
function hasForm(value: string): boolean {
  return redactString(value) !== value;
}

function isNamedSecret(name: string, value: string): boolean {
  return !PLAIN_VALUE.test(value) && speaksOfSecret(name) && !isAbout(name, value);
}

function speaksOfSecret(name: string): boolean {
  const words = wordsOf(name);
  if (FOLDERS.has(words.join(""))) return false;
  return SECRET_PART.test(name) || words.some((word) => SECRET_WORDS.has(word) || SECRET_END.test(word));
}

/** The words of a name in lower case, whether they are set apart or begin with a capital. */
function wordsOf(name: string): string[] {
  const apart = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/([A-Z])([A-Z][a-z])/g, "$1 $2");
  return apart
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
}

function isAbout(name: string, value: string): boolean {
  // What a program is to read has to be granted, and stands in its entry as it is.
  if (isAbsolute(value) && existsSync(value)) return true;
  if (/^\d{1,9}$/.test(value) && COUNTS.test(name)) return true;
  return ABOUT.has(wordsOf(name).at(-1) ?? "");
}

/** Shorter ones are words and numbers as often as keys. */
const LEAST_RANDOM = 16;
/** Characters in a row of one kind: a word or a number has more, letters and digits that were drawn by chance have one or two. */
const MOST_IN_A_ROW = 2.5;
/** The same where there are but sixteen digits, of which no words are made. */
const MOST_HEX_IN_A_ROW = 4;

/** Whether it has a part as chance draws it: letters and digits that take turns. Paths, addresses, names and dates have none. */
function looksRandom(value: string): boolean {
  const whole = value.replace(/[^A-Za-z0-9]/g, "");
  const isEncoded = /^[A-Za-z0-9+/]{24,}={0,2}$/.test(value) && /[+=]/.test(value);
  const isMixed = /^[\w-]{22,}$/.test(value) && /[a-z]/.test(value) && /[A-Z]/.test(value);
  if ((isEncoded || isMixed) && inARow(whole) <= MOST_IN_A_ROW - (isMixed ? 0.5 : 0)) return true;
  // A file that is named has to stay in sight, however it is called: it is granted and compared.
  const words = value.split(/[\s"'`=,;:|&<>()]+/).filter((word) => !/^(?:[/~.\\]|[A-Za-z]:\\)/.test(word));
  const parts = words.flatMap((word) => word.split(/[^A-Za-z0-9]+/));
  return parts.some(
    (part) => inARow(part) <= (/^(?:[0-9a-f]+|[0-9A-F]+)$/.test(part) ? MOST_HEX_IN_A_ROW : MOST_IN_A_ROW),
  );
}

/** Infinity for what is too short to tell, or of one kind alone. */
function inARow(part: string): number {
  if (part.length < LEAST_RANDOM || !/\d/.test(part) || !/[A-Za-z]/.test(part)) return Infinity;
  return part.length / (part.match(/[A-Z]?[a-z]+|[A-Z]+|\d+/g) ?? []).length;
}
