// Knows secrets by the name of their key and by their own look.
import { replaceKnown } from "./known-secrets.js";
import { replaceShapes } from "./secret-shapes.js";

/** What stands in place of a secret. */
export const REDACTED = "[REDACTED]";

/**
 * True for any text that could hold a secret, and for much that does not: a cheap first look that decides whether the
 * slow, exact walk is needed. Everything the exact rules below can find is found here too (keys that spell a word with
 * separators between its letters excepted); text outside printable ASCII always takes the walk, because it can spell one.
 */
const MAYBE_SECRET =
  /pass|pwd|secret|token|auth|key|cookie|cred|bearer|basic|jwt|otp|pin"|sid"|mfa|session|signature|-----begin|:\/\/|eyJ|A(?:KI|SI|BI|CC)A|AIza|ya29|[sr]k[-_]|gh[a-z]_|github_|gl[a-z]{2,4}-|xox|xapp-|npm_|pypi-|SG\.|hf_|do[opr]_v1|shp|dapi|AGE-|GOCSPX|ATATT|lin_|\d:AA|SK[0-9a-f]{8}|[\u007f-\uffff]/i;

const SECRET_WORDS =
  /pass(?:word|wd|phrase|code)|pwd|secret|token|authorization|apikey|cookie|credential|privatekey|accesskey|signingkey|encryptionkey|masterkey|sshkey|sessionid|bearer|jwt|signature/;
const SECRET_NAMES: ReadonlySet<string> = new Set(["auth", "pass", "pin", "otp", "totp", "mfa", "sid", "xauth"]);
/** Names that hold such a word and are ordinary in this protocol. */
const PLAIN_NAMES: ReadonlySet<string> = new Set(["maxtokens", "progresstoken", "totaltokens", "tokencount", "tokens"]);

/** Whether the value under this key is a secret, whatever its case and separators (`api_key`, `API-Key`, `apiKey`). */
export function isSecretKey(key: string): boolean {
  const name = key
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "");
  return SECRET_NAMES.has(name) || (SECRET_WORDS.test(name) && !PLAIN_NAMES.has(name));
}

// Every rule either starts where a run of word characters starts or bounds its repeats, so that the time stays linear.
const RULES: readonly (readonly [RegExp, string])[] = [
  [
    /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
    REDACTED,
  ],
  [/(:\/\/)[^\s/?#@]+@/g, `$1${REDACTED}@`],
  [/((?:authorization|cookie)["']?[ \t]{0,10}[=:][ \t]{0,10})[^\r\n"']+/gi, `$1${REDACTED}`],
  [/(?<![\w-])((?:bearer|basic)[ \t]{1,10})[\w.~+/=-]{6,}/gi, `$1${REDACTED}`],
  [/(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)*/g, REDACTED],
  [
    /((?:pass(?:word|wd|phrase|code)|pwd|secret|token|api[ _-]?key|(?:access|private|signing|account)[ _-]?key|credential)[\w-]{0,40}["']?[ \t]{0,10}[=:][ \t]{0,10})(?:"[^"]*"?|'[^']*'?|[^\s&,;"']+)/gi,
    `$1${REDACTED}`,
  ],
  [
    /(?<![A-Za-z0-9])(?:(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}|AIza[\w-]{35}|ya29\.[\w-]{20,}|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,}|gl(?:pat|dt|rt|ptt|cbt|soat)-[\w-]{20,}|xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{36}|pypi-[\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|hf_[A-Za-z0-9]{30,}|do[opr]_v1_[a-f0-9]{64}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|dapi[a-f0-9]{32}|AGE-SECRET-KEY-1[A-Z0-9]{50,}|GOCSPX-[\w-]{20,}|ATATT3[\w=-]{50,}|lin_api_[A-Za-z0-9]{30,}|SK[0-9a-f]{32}|\d{8,10}:AA[\w-]{32,33}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|sk-[\w-]{20,})/g,
    REDACTED,
  ],
];

/** Whether the text could hold a secret; false means that it holds none that `redactText` would find. */
export function mayHoldSecret(text: string): boolean {
  return MAYBE_SECRET.test(text) || replaceShapes(text, "") !== text || replaceKnown(text) !== text;
}

/** The text with every secret in it replaced. */
export function redactText(text: string): string {
  let clean = replaceShapes(replaceKnown(text), REDACTED);
  for (const [pattern, replacement] of RULES) clean = clean.replace(pattern, replacement);
  return clean;
}
