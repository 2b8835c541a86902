// Knows secrets and takes them out of texts: by the shape their issuers gave them, by the values of those that have a name, and by
// what stands before them and how random they look. Also does such long work in parts.
import { EncodedSecrets, type Work } from "./encoded-secrets.js";
import {
  escaped,
  EscapedValues,
  followsFiles,
  renewSecretsOnce,
  type Guess,
  isOtherThan,
  replacePrivateKeys,
  SHORTEST_SECRET,
  spellingsOf,
} from "./secret-spellings.js";

/**
 * What a token of each issuer looks like. Every shape begins with something fixed or bounds its repeats, so that looking for
 * all of them stays linear. A shape must fit nothing that people write for other reasons.
 */
export const SECRET_SHAPES: readonly (readonly [issuer: string, shape: string])[] = [
  ["Age identity", "AGE-SECRET-KEY-1[A-Z0-9]{50,60}"],
  ["Airtable", "pat[A-Za-z0-9]{14}\\.[a-f0-9]{64}"],
  ["Alibaba Cloud", "LTAI[A-Za-z0-9]{17,21}"],
  ["Anthropic", "sk-ant-[\\w-]{20,200}"],
  ["Asana", "[12]/\\d{16}:[a-f0-9]{32}"],
  ["Atlassian", "ATATT3[\\w=-]{50,300}"],
  ["AWS access key", "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"],
  ["Azure client secret", "[\\w.~-]{3}8Q~[\\w.~-]{31,34}"],
  ["Azure storage", "AccountKey=[A-Za-z0-9+/]{86}=="],
  ["Bitbucket", "ATBB[A-Za-z0-9]{32}"],
  ["Braintree", "access_token\\$(?:production|sandbox)\\$[a-z0-9]{16}\\$[a-f0-9]{32}"],
  ["Brevo", "xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"],
  ["Buildkite", "bkua_[a-f0-9]{40}"],
  ["CircleCI", "CCIPAT_\\w{22}_[a-f0-9]{40}"],
  ["Clojars", "CLOJARS_[a-z0-9]{60}"],
  ["Cloudflare origin", "v1\\.0-[a-f0-9]{24}-[a-f0-9]{146}"],
  ["Contentful", "CFPAT-[\\w-]{43}"],
  ["crates.io", "cio[A-Za-z0-9]{32}(?!\\w)"],
  ["Databricks", "dapi[a-f0-9]{32}"],
  ["DigitalOcean", "do[opr]_v1_[a-f0-9]{64}"],
  ["Discord bot", "[MNO][A-Za-z0-9_-]{23,27}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,40}"],
  ["Discord webhook", "discord(?:app)?\\.com/api/webhooks/\\d{17,20}/[\\w-]{60,80}"],
  ["Docker", "dckr_(?:pat|oat)_[\\w-]{27,40}"],
  ["Doppler", "dp\\.(?:pt|st|sa|ct|scim|audit)\\.[A-Za-z0-9._-]{40,80}"],
  ["Duffel", "duffel_(?:test|live)_[\\w=-]{43}"],
  ["EasyPost", "EZ[AT]K[A-Za-z0-9]{54}"],
  ["Facebook", "EAA[A-Za-z0-9]{90,250}"],
  ["Figma", "fig[dou]_[\\w-]{40,60}"],
  ["Flutterwave", "FLWSECK(?:_TEST)?-[a-z0-9-]{12,50}"],
  ["Fly.io", "fo1_[\\w-]{43}"],
  ["Fly.io macaroon", "fm[12][ar]?_[A-Za-z0-9+/=]{60,600}"],
  ["GitHub", "gh[pousr]_[A-Za-z0-9]{36,255}"],
  ["GitHub fine-grained", "github_pat_\\w{22,255}"],
  ["GitLab", "gl(?:pat|dt|rt|ptt|cbt|soat|ft|agent|oas|imt|ffct)-[\\w.-]{20,100}"],
  ["Google API", "AIza[\\w-]{35}"],
  ["Google OAuth", "ya29\\.[\\w-]{20,300}"],
  ["Google OAuth client", "GOCSPX-[\\w-]{20,40}"],
  ["Grafana", "gl(?:sa_[A-Za-z0-9]{32}_[a-f0-9]{8}|c_[A-Za-z0-9+/=]{32,400})"],
  ["Groq", "gsk_[A-Za-z0-9]{40,60}"],
  ["Heroku", "HRKU-AA[\\w-]{50,70}"],
  ["Hugging Face", "hf_[A-Za-z0-9]{30,50}"],
  ["JFrog", "(?:AKCp[A-Za-z0-9]{60,80}|cmVmd[A-Za-z0-9]{59})"],
  ["LangSmith", "lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"],
  ["Linear", "lin_(?:api|oauth)_[A-Za-z0-9]{30,70}"],
  ["Mailchimp", "[a-f0-9]{32}-us\\d{1,2}(?!\\w)"],
  ["Mailgun", "key-[a-f0-9]{32}(?!\\w)"],
  ["Netlify", "nf[pcobu]_[A-Za-z0-9]{36}"],
  ["New Relic", "NR(?:AK|AL|II|JS)-[A-Za-z0-9-]{19,32}"],
  ["Notion", "(?:ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43})"],
  ["npm", "npm_[A-Za-z0-9]{36}"],
  ["NuGet", "oy2[a-z0-9]{43}(?!\\w)"],
  ["OpenAI", "sk-(?:proj|svcacct|admin)-[\\w-]{20,200}"],
  ["OpenAI and its kin", "sk-(?=[\\w-]{0,60}\\d)[A-Za-z0-9]{8}[\\w-]{12,200}"],
  ["OpenRouter", "sk-or-v1-[a-f0-9]{64}"],
  ["OpenShift", "sha256~[\\w-]{43}"],
  ["Perplexity", "pplx-[A-Za-z0-9]{40,60}"],
  ["Plaid", "access-(?:sandbox|production|development)-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"],
  ["PlanetScale", "pscale_(?:tkn|oauth|pw)_[\\w.=-]{32,64}"],
  ["Postman", "PMAK-[a-f0-9]{24}-[a-f0-9]{34}"],
  ["Prefect", "pnu_[a-z0-9]{36}"],
  ["Pulumi", "pul-[a-f0-9]{40}"],
  ["PyPI", "pypi-[\\w-]{50,250}"],
  ["Razorpay", "rzp_(?:live|test)_[A-Za-z0-9]{14,24}"],
  ["ReadMe", "rdme_[a-z0-9]{70}"],
  ["Replicate", "r8_[A-Za-z0-9]{30,45}"],
  ["Resend", "re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"],
  ["RubyGems", "rubygems_[a-f0-9]{48}"],
  ["SendGrid", "SG\\.[\\w-]{16,32}\\.[\\w-]{16,64}"],
  ["Sentry", "sntry(?:s_[\\w+/=]{40,300}|u_[a-f0-9]{64})"],
  ["Shippo", "shippo_(?:live|test)_[a-f0-9]{40}"],
  ["Shopify", "shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"],
  ["Slack", "xox[abeoprs]-[A-Za-z0-9-]{15,250}"],
  ["Slack app", "xapp-\\d-[A-Za-z0-9-]{13,250}"],
  ["Slack webhook", "hooks\\.slack\\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,100}"],
  ["SonarQube", "sq[apu]_[a-f0-9]{40}"],
  ["Square", "(?:sq0(?:atp|csp)-[\\w-]{22,43}|EAAA[\\w-]{60})"],
  ["Stripe", "[srp]k_(?:live|test)_[A-Za-z0-9]{16,120}"],
  ["Stripe webhook", "whsec_[A-Za-z0-9+/=]{24,80}"],
  ["Supabase", "(?:sbp_[a-f0-9]{40}|sb_secret_[\\w-]{30,60})"],
  ["Tailscale", "tskey-[a-z]{2,20}-[A-Za-z0-9]{6,30}-[A-Za-z0-9]{16,60}"],
  ["Telegram bot", "\\d{8,10}:AA[\\w-]{32,33}"],
  ["Terraform", "[A-Za-z0-9]{14}\\.atlasv1\\.[\\w-]{60,80}"],
  ["Twilio", "SK[0-9a-f]{32}(?![A-Za-z0-9])"],
  ["Twitter", "A{20,24}[A-Za-z0-9%]{60,120}"],
  ["Typeform", "tfp_[\\w.=-]{40,60}"],
  ["Vault", "hv[sbr]\\.[\\w-]{24,200}"],
  ["xAI", "xai-[A-Za-z0-9]{60,90}"],
  // Up to where another could begin and no further: else a text of nothing but beginnings is read 500 times.
  ["JSON Web Token", "eyJ(?:\\w|-(?!eyJ)){10,2000}\\.eyJ[\\w-]{10,8000}(?:\\.[\\w-]{10,1000})?"],
];

/** Made when a text has a run that could be one: most starts see none. */
let patterns: { readonly any: RegExp; readonly glued: RegExp } | undefined;

function shapes(): { readonly any: RegExp; readonly glued: RegExp } {
  if (patterns === undefined) {
    const anyShape = SECRET_SHAPES.map(([, shape]) => shape).join("|");
    // Where another token has just ended is as good a beginning as any.
    patterns = { any: new RegExp(`(?<![A-Za-z0-9_])(?:${anyShape})`, "g"), glued: new RegExp(anyShape, "y") };
  }
  return patterns;
}

/** The least length of a shape. */
const SHORTEST_RUN = 20;
/** Characters of which shapes consist: only unbroken runs of these are looked at more closely. */
const IN_SHAPE = new Uint8Array(128);
for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~+/=:$%-")
  IN_SHAPE[character.charCodeAt(0)] = 1;

/** The text with every token of a known shape replaced; the same string when there is none. */
function replaceShapes(text: string, replacement: string): string {
  let out = "";
  let position = 0;
  for (let from = nextRun(text, 0); from < text.length;) {
    const to = runEnd(text, from);
    const run = text.slice(from, to);
    const { any } = shapes();
    any.lastIndex = 0;
    if (any.test(run)) {
      out += text.slice(position, from) + withoutTokens(run, replacement);
      position = to;
    }
    from = nextRun(text, to);
  }
  return position === 0 ? text : out + text.slice(position);
}

function withoutTokens(run: string, replacement: string): string {
  let out = "";
  let position = 0;
  const { any, glued } = shapes();
  any.lastIndex = 0;
  for (let match = any.exec(run); match !== null; match = any.exec(run)) {
    out += run.slice(position, match.index);
    position = match.index;
    do {
      out += replacement;
      position += match[0].length;
      glued.lastIndex = position;
      match = glued.exec(run);
    } while (match !== null);
    any.lastIndex = position;
  }
  return out + run.slice(position);
}

/**
 * Where the next run of at least `LEAST` characters begins; the text's length when there is none. Where a run could end at
 * the earliest is looked at first: most texts break there or just before, so that few characters are looked at at all.
 */
function nextRun(text: string, from: number): number {
  let start = from;
  while (start + SHORTEST_RUN <= text.length) {
    let back = start + SHORTEST_RUN - 1;
    while (back >= start && isInShape(text, back)) back -= 1;
    if (back < start) return start;
    start = back + 1;
  }
  return text.length;
}

function runEnd(text: string, from: number): number {
  let end = from + SHORTEST_RUN;
  while (end < text.length && isInShape(text, end)) end += 1;
  return end;
}

function isInShape(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code < 128 && IN_SHAPE[code] === 1;
}

// The values of secrets that have a name: wherever one appears, in whatever usual spelling, its name is written instead.
//
// One list for the whole process, because a value is a secret in every text that leaves it. A secret that was replaced may still
// be in a log or an answer, so its latest values stay known.

/** Spellings kept; more than anybody has secrets at a time. What does not fit replaces nothing and is refused. */
const MAX_SPELLINGS = 8_192;
/** Values kept of one secret; of a connection string each counts as two. */
const KEPT_VALUES = 16;
/** Of each secret the latest are never forgotten: the value, and the password in it. */
const LATEST_VALUES = 2;

/** By secret, what was learnt last coming last. */
const valuesOf = new Map<string, Set<string>>();
const names = new Map<string, string>();
let pattern: RegExp | undefined;
/** The values with any of their characters escaped, which is looked for only where something is. */
let escapes: EscapedValues | undefined;
let encodings: EncodedSecrets | undefined;
const plainNames = new Map<string, string>();
let version = 0;
/** Characters of the longest value. */
let longest = 0;

/** Remembers a value. False when it is too short to be told from other text, or there are too many already. */
export function rememberSecret(name: string, value: string): boolean {
  const trimmed = value.trim();
  if (trimmed.length < SHORTEST_SECRET) return false;
  const own = valuesOf.get(name) ?? new Set<string>();
  valuesOf.set(name, own);
  const isKnown = plainNames.has(trimmed);
  own.delete(trimmed);
  if (!isKnown && !haveRoom()) return false;
  own.add(trimmed);
  if (!isKnown) {
    plainNames.set(trimmed, name);
    addSpellings(trimmed, name);
  }
  const [oldest] = own;
  if (own.size > KEPT_VALUES && oldest !== undefined) forget(oldest, own);
  else if (!isKnown) look();
  return true;
}

function addSpellings(value: string, name: string): void {
  for (const spelling of spellingsOf(value)) if (!names.has(spelling)) names.set(spelling, name);
}

/** Where all is full, what was replaced longest ago is forgotten first. */
function haveRoom(): boolean {
  while (names.size >= MAX_SPELLINGS) {
    const old = [...valuesOf.values()].find((values) => values.size > LATEST_VALUES);
    const [oldest] = old ?? [];
    if (old === undefined || oldest === undefined) return false;
    forget(oldest, old);
  }
  return true;
}

/** A value may be another secret's as well: then it stays. */
function forget(value: string, of: Set<string>): void {
  of.delete(value);
  plainNames.clear();
  names.clear();
  for (const [name, values] of valuesOf)
    for (const each of values) {
      if (plainNames.has(each)) continue;
      plainNames.set(each, name);
      addSpellings(each, name);
    }
  look();
}

/** Has texts looked through for what is known by now. */
function look(): void {
  // The longest first: one value may be the beginning of another.
  const sorted = [...names.keys()].sort((a, b) => b.length - a.length);
  pattern = new RegExp(sorted.map(escaped).join("|"), "g");
  escapes = undefined;
  encodings = undefined;
  longest = Math.max(...[...plainNames.keys()].map(({ length }) => length));
  version += 1;
}

/** Whether any value is known: where none is, nothing has to be looked through. */
export function knowsSecrets(): boolean {
  if (followsFiles) renewSecretsOnce();
  return pattern !== undefined;
}

/** Another number whenever other values are known: what was written before may hold one of them. */
export function secretsVersion(): number {
  if (followsFiles) renewSecretsOnce();
  return version;
}

/** How all values that are known may be written, each with the name of its secret. */
export function knownSpellings(): ReadonlyMap<string, string> {
  return names;
}

/** Characters that are looked through in one piece: a few milliseconds, some twenty of what takes longest. */
const A_PIECE = 32_768;
/**
 * Characters that one of a value may be written as, its share of breaks and indents included: pieces overlap by that much, so
 * that what begins in one ends in it. A value may be a whole key of some thousand characters, which nobody writes so widely.
 */
const WRITTEN_AS = 24;
const [LEAST_OVERLAP, MOST_OVERLAP, WIDE] = [4_096, 65_536, 4];

function overlap(): number {
  const written = Math.min(Math.max(longest * WRITTEN_AS, LEAST_OVERLAP), MOST_OVERLAP);
  return Math.max(written, longest * WIDE);
}

/** Where the values of known secrets stand in a text, and what is written in their place, in their order. */
export function* placesOfKnown(text: string): Work<readonly Place[]> {
  if (followsFiles) renewSecretsOnce();
  if (pattern === undefined) return [];
  const all: Place[] = [];
  const more = overlap();
  // Of long values nothing is read more than twice.
  const size = Math.max(A_PIECE, more);
  for (let from = 0; from === 0 || from + more < text.length; from += size) {
    const piece = text.slice(from, from + size + more);
    yield piece.length;
    const encoded = yield* encodedSecrets().in(piece);
    for (const places of [plainPlaces(piece, pattern), escapedSecrets().in(piece), encoded])
      for (const { index, length, label } of places) all.push({ index: from + index, length, label });
  }
  return all.sort(inOrder);
}

interface Place {
  readonly index: number;
  readonly length: number;
  readonly label: string;
}

/** Where values stand as they are, also such that begin within another one. */
function plainPlaces(text: string, values: RegExp): Place[] {
  const places: Place[] = [];
  values.lastIndex = 0;
  for (let found = values.exec(text); found !== null; found = values.exec(text)) {
    const [value] = found;
    places.push({ index: found.index, length: value.length, label: `[secret ${names.get(value) ?? ""}]` });
    values.lastIndex = found.index + 1;
  }
  return places;
}

/** The text without what stands at these places, which are in order: a label for each run of places that overlap. */
function withoutPlaces(text: string, places: readonly Place[]): string {
  let [out, position] = ["", 0];
  for (const { index, length, label } of places) {
    const end = index + length;
    if (end <= position) continue;
    out += index < position ? "" : text.slice(position, index) + label;
    position = end;
  }
  return out + text.slice(position);
}

function escapedSecrets(): EscapedValues {
  // Made when it is needed first: policies with many secrets learn them one by one.
  escapes ??= new EscapedValues([...plainNames].map(([each, its]) => [each, `[secret ${its}]`]));
  return escapes;
}

function encodedSecrets(): EncodedSecrets {
  encodings ??= new EncodedSecrets([...names].map(([each, its]) => [each, `[secret ${its}]`]));
  return encodings;
}

/** Of those that begin together the longest first. */
function inOrder(a: Place, b: Place): number {
  return a.index - b.index || b.length - a.length;
}

/** The text with the values of known secrets replaced by their names. */
export function* replacingKnown(text: string): Work<string> {
  const places = yield* placesOfKnown(text);
  return places.length === 0 ? text : withoutPlaces(text, places);
}

/** The same at once, for texts that are no strangers' or short. */
export function replaceKnown(text: string): string {
  return knowsSecrets() ? atOnce(replacingKnown(text)) : text;
}

// Does long work in parts, so that nobody waits long for another one's answer, and gives up what costs more than it may.

/** Characters that are looked at before others have their turn: some 5 ms, 20 ms of what takes longest. */
const A_TURN = 98_304;

/**
 * Characters of one answer that are looked at, each as often as it is read in another way. 4 MiB of Base64 take 75 million, of
 * texts that people write fewer; more than twice as many are nobody's honest answer.
 */
export const MOST_LOOKED_AT = 256_000_000;

/** What is cleaned while everybody waits, such as a message on the way: some 50 ms. 64 KiB of Base64 take 1.2 million. */
export const MOST_AT_ONCE = 1_500_000;

/** Thrown where looking for secrets takes more than it may: what was not looked through is not passed on. */
export class TooMuchWorkError extends Error {
  readonly most: number;

  constructor(most: number) {
    super(`To look for secrets in it would take more than ${most} characters read, the most that is done for one.`);
    this.name = "TooMuchWorkError";
    this.most = most;
  }
}

/** Does all of it now. @throws TooMuchWorkError */
export function atOnce<T>(work: Work<T>, most: number = Number.POSITIVE_INFINITY): T {
  let done = 0;
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    done += step.value;
    if (done > most) throw new TooMuchWorkError(most);
  }
}

/** Does it now where it is little, else in turns with whatever else there is to do. @throws TooMuchWorkError, also by its promise */
export function inTurns<T>(work: Work<T>, most: number): T | Promise<T> {
  const tally = { done: 0, most };
  const result = oneTurn(work, tally);
  return result === undefined ? later(work, tally) : result.value;
}

interface Tally {
  done: number;
  readonly most: number;
}

async function later<T>(work: Work<T>, tally: Tally): Promise<T> {
  for (;;) {
    await turn();
    const result = oneTurn(work, tally);
    if (result !== undefined) return result.value;
  }
}

/** Undefined where there is more to do. */
function oneTurn<T>(work: Work<T>, tally: Tally): { readonly value: T } | undefined {
  const end = tally.done + A_TURN;
  while (tally.done < end) {
    const step = work.next();
    if (step.done === true) return { value: step.value };
    tally.done += step.value;
    if (tally.done > tally.most) throw new TooMuchWorkError(tally.most);
  }
  return undefined;
}

/** Who waits for a turn. However many there are, one has its own between two looks at what else came in. */
const waiting: (() => void)[] = [];

function turn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(next);
  });
}

function next(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(next);
}

// Takes secrets out of texts that a model or a person will read: fewer rules than for the log, so that code stays code.

/** What looks like a secret, once those are gone that are known. The same string when nothing was found. Linear in its length. */
export function redactShapes(text: string): string {
  return replaceShapes(replaceInContext(text, REDACTED), REDACTED);
}

// Knows secrets without a shape of their own by what stands before them, and by how random they look.

/** A first look that is quicker than the rules. */
const MAYBE = /secret|token|passw|pwd|passphrase|[_ -]?key|credential|bearer|basic/i;
const ASSIGNED =
  /((?:secret|token|passw(?:or)?d|pwd|passphrase|(?:api|access|auth|private|account|encryption|signing|client|shared|service|master|license)[_ -]?key|credentials?)[\w-]{0,30}["'\]]{0,2}[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}["'`]?)([^\s"'`,;()<>{}[\]$]{8,256})/gi;
const HEADER = /(?<![\w-])((?:bearer|basic)[ \t]{1,4})([\w.~+/=-]{16,4096})/gi;
const IN_URL = /(:\/\/[^\s/?#@:"'<>]{0,100}:)([^\s/?#@"'<>]{3,200})(?=@)/g;
/** What people write where a password would stand. */
const PLACEHOLDER =
  /^(?:pass(?:word|wd|phrase)?|secret|pwd|token|x{3,}|\*+|\.{3}|%[\w]+%|.*(?:example|sample|placeholder|change-?me|your|dummy|redacted|removed).*)$/i;

/** The text with every value replaced that stands where secrets stand and looks like one. */
function replaceInContext(text: string, replacement: string): string {
  let clean = text.includes("PRIVATE KEY") ? replacePrivateKeys(text, replacement) : text;
  if (clean.includes("://"))
    clean = clean.replace(IN_URL, (all, before: string, password: string) =>
      PLACEHOLDER.test(password) || password === replacement ? all : before + replacement,
    );
  if (!MAYBE.test(clean)) return clean;
  const replaced = (all: string, before: string, value: string): string =>
    looksRandom(value) ? before + replacement : all;
  return clean.replace(ASSIGNED, replaced).replace(HEADER, replaced);
}

/** Code that reads a secret from somewhere. */
const CODE = /^(?:process|os|env|config|settings|this|self|ctx|context|req|request|options|args|params|secrets|vars)\./;

/** Bits a character; words of a language have about 2.5 to 3, random letters and digits of this length more. */
const LONG_ENTROPY = 3.4;
const SHORT_ENTROPY = 2.7;
const LONG = 20;

function looksRandom(value: string): boolean {
  if (!/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  if (CODE.test(value) || /^(?:[./~]|\w+:\/\/|[A-Za-z]:\\)/.test(value)) return false;
  const bits = entropy(value);
  if (value.length >= LONG) return bits >= LONG_ENTROPY || (/^[0-9a-f-]+$/i.test(value) && bits >= SHORT_ENTROPY);
  // Short ones must mix more: `version2beta` is none.
  const mixed = (/[a-z]/.test(value) && /[A-Z]/.test(value)) || /[^\w.-]/.test(value);
  return mixed && bits >= SHORT_ENTROPY && !PLACEHOLDER.test(value);
}

/** Shannon's, in bits a character. */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

// Knows secrets by the name of their key and by their own look.

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

/** As a word of its own at the end, as in `SMTP_PASS` and `dbPass`; compasses and bypasses are none. */
const PASS = /[^A-Za-z](?:pass|PASS|Pass)$|[a-z0-9]Pass$/;

/** Whether the value under this key is a secret, whatever its case and separators (`api_key`, `API-Key`, `apiKey`). */
export function isSecretKey(key: string): boolean {
  const name = key
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "");
  return SECRET_NAMES.has(name) || PASS.test(key) || (SECRET_WORDS.test(name) && !PLAIN_NAMES.has(name));
}

// Every rule either starts where a run of word characters starts or bounds its repeats, so that the time stays linear.
// The word beside one says what is a guess: what could as well be something else.
const RULES: readonly (readonly [pattern: RegExp, guess?: Guess])[] = [
  [
    /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
    "key",
  ],
  [/(:\/\/)[^\s/?#@]+(?=@)/g, "value"],
  [/((?:authorization|cookie)["']?[ \t]{0,10}[=:][ \t]{0,10})(?:"[^"\r\n]*"?|'[^'\r\n]*'?|[^\r\n"']+)/gi, "value"],
  [/(?<![\w-])((?:bearer|basic)[ \t]{1,10})[\w.~+/=-]{6,}/gi, "value"],
  [/(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)*/g],
  [
    /((?:pass(?:word|wd|phrase|code)|pwd|secret|token|api[ _-]?key|(?:access|private|signing|account)[ _-]?key|credential)[\w-]{0,40}["']?[ \t]{0,10}[=:][ \t]{0,10})(?:"[^"]*"?|'[^']*'?|[^\s&,;"']+)/gi,
    "value",
  ],
  [
    /(?<![A-Za-z0-9])(?:(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}|AIza[\w-]{35}|ya29\.[\w-]{20,}|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,}|gl(?:pat|dt|rt|ptt|cbt|soat)-[\w-]{20,}|xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{36}|pypi-[\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|hf_[A-Za-z0-9]{30,}|do[opr]_v1_[a-f0-9]{64}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|dapi[a-f0-9]{32}|AGE-SECRET-KEY-1[A-Z0-9]{50,}|GOCSPX-[\w-]{20,}|ATATT3[\w=-]{50,}|lin_api_[A-Za-z0-9]{30,}|SK[0-9a-f]{32}|\d{8,10}:AA[\w-]{32,33}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|sk-[\w-]{20,})/g,
  ],
];

/** Whether the text could hold a secret; false means that it holds none that `redactText` would find. */
export function mayHoldSecret(text: string): boolean {
  return MAYBE_SECRET.test(text) || replaceShapes(text, "") !== text || replaceKnown(text) !== text;
}

/** How a text names what a call reaches for: by a path, or in the words of a command, an address, a query. */
export type ReachedAs = "place" | "words";

/**
 * The text with every secret in it replaced. `reached`: of what a call reaches for no more is guessed to be one than has to be, since a
 * record has to say what it was. `known`: what `replaceKnown` has made of the text, where that is there already.
 */
export function redactText(text: string, reached?: ReachedAs, known: string = replaceKnown(text)): string {
  let clean = replaceShapes(known, REDACTED);
  for (const [pattern, guess] of RULES) {
    if (guess !== undefined && reached === "place") continue;
    clean = clean.replace(pattern, (all: string, first: unknown) => {
      const before = typeof first === "string" ? first : "";
      const isOther = guess !== undefined && reached === "words" && isOtherThan(guess, all.slice(before.length));
      return isOther ? all : before + REDACTED;
    });
  }
  return clean;
}
