// Reads the sections secrets and databases.
import { type DatabasePolicy, FunctionNames, type SecretPolicy } from "./data-policy.js";
import { HostMatcher, type EndpointRule } from "./host-matcher.js";
import type { Environment } from "./path-value.js";
import { ENTRY_NAME } from "./read-commands.js";
import { DEFAULT_PORT, endpoint, readEndpoint } from "./read-network.js";
import { readFilePath, readPath } from "./read-path-value.js";
import { patternRule, type Place, ruleAt } from "./rule.js";
import { secondsUpTo, type Section, TEXT, type Wanted, wholeNumber, YES_NO } from "./section.js";

const FROM: Wanted<string> = {
  words: "env:NAME or file:PATH",
  read: (value) => (typeof value === "string" && /^(?:env:[A-Za-z_]\w*|file:.+)$/.test(value) ? value : undefined),
};
const HEADER: Wanted<string> = {
  words: "the name of a header, as in Authorization",
  read: (value) =>
    typeof value === "string" && /^[!#$%&'*+.^`|~\w-]{1,100}$/.test(value) ? value.toLowerCase() : undefined,
};
const PARAMETER: Wanted<string> = {
  words: "the name of a parameter in a URL, as in appid",
  read: (value) => (typeof value === "string" && /^[\w.~-]{1,100}$/.test(value) ? value : undefined),
};
const FIELD: Wanted<string> = {
  words: 'the name of a field, as in client_secret, or "*" for the whole body',
  read: (value) => (typeof value === "string" && /^(?:[\w.~-]{1,100}|\*)$/.test(value) ? value : undefined),
};
/** More rows than a model reads. */
const ROWS = wholeNumber(1, 100_000);
const DEFAULT_ROWS = 1_000;
/** A statement that takes longer than ten minutes holds up others. */
const TIMEOUT = secondsUpTo(600);
const DEFAULT_TIMEOUT_S = 10;

const FUNCTION: Wanted<string> = {
  words: "the name of a function, as in format_price, app.format_price or st_* (a last * stands for any ending)",
  read: (value) =>
    typeof value === "string" && /^(?:[\w$]{1,63}\.)?(?:[\w$]{1,63}\*?|\*)$/.test(value) && value !== "*"
      ? value
      : undefined,
};

export function readSecrets(section: Section, environment: Environment): ReadonlyMap<string, SecretPolicy> {
  return byName(section, ([name, item, place]) => {
    const from = readFrom(item, environment);
    if (item.tree("hosts") === undefined)
      item.faults.add(item.place, `${item.path} needs hosts: a list of those it may be sent to; [] for none`);
    const hosts = new HostMatcher(readHosts(item));
    const header = item.value("header", HEADER)?.value;
    const query = item.value("query", PARAMETER)?.value;
    const body = item.value("body", FIELD)?.value;
    item.finish();
    return from && { name, rule: ruleAt("secrets", name, place), from, hosts, header, query, body };
  });
}

function readFrom(item: Section, environment: Environment): SecretPolicy["from"] | undefined {
  const from = item.need("from", FROM);
  if (!from) return undefined;
  if (from.value.startsWith("env:")) return { kind: "env", name: from.value.slice(4) };
  const text = { value: from.value.slice(5), place: from.place };
  const path = readPath(item, text, { name: item.name("from"), environment });
  return path === undefined ? undefined : { kind: "file", path };
}

/** Texts and mappings may stand in one list. */
function readHosts(item: Section): EndpointRule[] {
  return (item.trees("hosts") ?? []).flatMap((tree, index) => {
    const name = `${item.name("hosts")}[${index}]`;
    if (tree.kind !== "value") return readEndpoint(item, { key: "hosts", tree, index, otherwise: [DEFAULT_PORT] });
    const host = item.item(tree, name, TEXT);
    return (host && endpoint(item, "hosts", { host: host.value, place: host.place, ports: [DEFAULT_PORT] })) ?? [];
  });
}

export function readDatabases(section: Section, environment: Environment): ReadonlyMap<string, DatabasePolicy> {
  return byName(section, ([name, item, place]) => {
    const file = readFilePath(item, "file", environment);
    const secret = item.value("secret", ENTRY_NAME)?.value;
    const both = item.tree("file") !== undefined && item.tree("secret") !== undefined;
    const neither = item.tree("file") === undefined && item.tree("secret") === undefined;
    if (both || neither)
      item.faults.add(item.place, `${item.path} needs a file (SQLite) or a secret (PostgreSQL), one of the two`);
    const named = item.list("functions", FUNCTION) ?? [];
    const superuser = item.value("superuser", YES_NO)?.value ?? false;
    if (file !== undefined && (named.length > 0 || superuser))
      item.faults.add(item.place, `${item.path} is an SQLite file; functions and superuser are for PostgreSQL`);
    const rest = {
      functions: new FunctionNames(named.map((each) => patternRule(item.name("functions"), each.value, each.place))),
      superuser,
      readOnly: item.value("read_only", YES_NO)?.value ?? true,
      rowLimit: item.value("row_limit", ROWS)?.value ?? DEFAULT_ROWS,
      timeoutMs: (item.value("timeout", TIMEOUT)?.value ?? DEFAULT_TIMEOUT_S) * 1_000,
    };
    item.finish();
    const rule = ruleAt("databases", name, place);
    if (file !== undefined) return { name, rule, store: { kind: "sqlite", file }, ...rest };
    return secret === undefined ? undefined : { name, rule, store: { kind: "postgresql", secret }, ...rest };
  });
}

type NamedSection = readonly [name: string, item: Section, place: Place];

function byName<T>(section: Section, read: (entry: NamedSection) => T | undefined): ReadonlyMap<string, T> {
  const entries = new Map<string, T>();
  for (const entry of section.named()) {
    const [name, , place] = entry;
    if (ENTRY_NAME.read(name) === undefined)
      section.faults.add(place, `${section.path} has the name "${name.slice(0, 60)}"; it must be ${ENTRY_NAME.words}`);
    const value = read(entry);
    if (value !== undefined) entries.set(name, value);
  }
  return entries;
}
