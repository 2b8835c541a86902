// Reads the sections filesystem, audit and network: what a policy grants of files, addresses, ports and names of hosts.
import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import { patternRule, type PatternRule, type Place, type Rule, ruleAt } from "./faults.js";
import { type EndpointRule, HostMatcher, hostPattern, rangeFault, RangeMatcher } from "./host-matcher.js";
import { PathMatcher, pathPatternFault } from "./path-matcher.js";
import type { Tree } from "./policy-tree.js";
import {
  AUDIT_FIELDS,
  type AuditField,
  type AuditLevel,
  type AuditPolicy,
  type CheckpointPolicy,
  DEFAULT_ROTATE_MB,
  type FilesystemPolicy,
  type NetworkPolicy,
} from "./policy.js";
import { didYouMean, type Expectation, type Placed, Section, TEXT, wholeNumber, YES_NO } from "./section.js";

// Expands `~` and `${NAME}` in the path values of a policy, and nowhere else.

/** The environment a policy is read in. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The text with its variables filled in, or a sentence about what is wrong with it. */
export function expandPath(
  text: string,
  environment: Environment,
): { readonly path: string } | { readonly wrong: string } {
  let wrong: string | undefined;
  const home = environment["HOME"] || homedir();
  const rooted = text === "~" || text.startsWith("~/") ? `\${HOME}${text.slice(1)}` : text;
  const path = rooted.replace(/\$(?:\{([^}]*)\}?)?/g, (whole, name: string | undefined) => {
    const value = name === "HOME" ? home : environment[name ?? ""];
    if (name === undefined || !whole.endsWith("}") || !/^[A-Za-z_]\w*$/.test(name))
      wrong ??= `"${text}" has a $ that begins no variable; write \${NAME}`;
    else if (value === undefined || value === "")
      wrong ??= `the environment variable ${name} is not set; set it or write the path out`;
    else if (/[*?]/.test(value))
      wrong ??= `the environment variable ${name} holds * or ?, which would make it a pattern; write the path out`;
    return value ?? "";
  });
  if (wrong === undefined && rooted.startsWith("~")) wrong = `"${text}" names somebody else's home; write the path out`;
  return wrong === undefined ? { path: process.platform === "win32" ? path.replaceAll("\\", "/") : path } : { wrong };
}

// Reads single absolute paths, their variables expanded.

/** The path of a file. */
export function readFilePath(section: Section, key: string, environment: Environment): string | undefined {
  const text = section.value(key, TEXT);
  const path = text && readPath(section, text, { name: section.name(key), environment });
  if (path === undefined || !/[\\/]$/.test(path)) return path;
  section.faults.add(text!.place, `${section.name(key)}: "${path}" names a folder; add the name of the file`);
  return undefined;
}

/** The path of a file or folder, without a slash at its end. */
export function readAnyPath(section: Section, key: string, environment: Environment): string | undefined {
  const text = section.value(key, TEXT);
  return (
    text &&
    readPath(section, text, { name: section.name(key), environment })?.replace(/(?:(?<=[^\\/])|(?<=^[\\/]))[\\/]+$/, "")
  );
}

/** Every path of a list. */
export function readPathList(section: Section, key: string, environment: Environment): string[] {
  return (section.list(key, TEXT) ?? []).flatMap(
    (text) => readPath(section, text, { name: section.name(key), environment }) ?? [],
  );
}

/** One path; what is wrong with it is reported under `name`. */
export function readPath(
  section: Section,
  { value, place }: Placed<string>,
  { name, environment }: { readonly name: string; readonly environment: Environment },
): string | undefined {
  const expanded = expandPath(value, environment);
  const wrong = "wrong" in expanded ? expanded.wrong : pathFault(expanded.path);
  if (wrong === undefined && "path" in expanded) return expanded.path;
  section.faults.add(place, `${name}: ${wrong}`);
  return undefined;
}

function pathFault(path: string): string | undefined {
  if (/[\u0000-\u001f\u007f]/.test(path)) return "a path cannot hold control characters; remove them";
  if (!isAbsolute(path)) return `"${path}" is not absolute; begin it with /, ~/ or \${HOME}/`;
  return undefined;
}

const LEVELS: Readonly<Record<string, AuditLevel>> = {
  DEBUG: "DEBUG",
  INFO: "INFO",
  WARN: "WARN",
  WARNING: "WARN",
  ERROR: "ERROR",
};
const LEVEL: Expectation<AuditLevel> = {
  words: "DEBUG, INFO, WARN or ERROR",
  read: (value) => (typeof value === "string" && Object.hasOwn(LEVELS, value) ? LEVELS[value] : undefined),
};
/** Below this a log is all files; above, one file is more than an editor opens. */
const ROTATE_MB = wholeNumber(1, 4_096);
/** Each record may be its own checkpoint; a million without one is none. */
const RECORDS = wholeNumber(1, 1_000_000);
const CHECKPOINT_SECONDS = wholeNumber(1, 86_400);

export function readFilesystem(section: Section, environment: Environment): FilesystemPolicy {
  const filesystem = {
    allowed: new PathMatcher(readPatterns(section, "allowed_paths", environment), false),
    readable: new PathMatcher(readPatterns(section, "readable_paths", environment), false),
    denied: new PathMatcher(readPatterns(section, "denied_paths", environment), true),
    unwritable: new PathMatcher(readPatterns(section, "denied_write_paths", environment), true),
    readOnly: readTrue(section, "read_only"),
  };
  section.finish();
  return filesystem;
}

/** The rule of a switch that is on. */
function readTrue(section: Section, key: string): Rule | undefined {
  const value = section.value(key, YES_NO);
  return value?.value === true ? ruleAt(section.name(key), true, value.place) : undefined;
}

export function readAudit(section: Section, environment: Environment): AuditPolicy {
  const audit = {
    logFile: readFilePath(section, "log_file", environment),
    level: section.value("log_level", LEVEL)?.value ?? "INFO",
    include: readInclude(section),
    results: section.value("results", YES_NO)?.value ?? false,
    rotateBytes: (section.value("rotate_mb", ROTATE_MB)?.value ?? DEFAULT_ROTATE_MB) * 1024 * 1024,
    checkpoints: readCheckpoints(section, environment),
  };
  section.finish();
  return audit;
}

function readCheckpoints(audit: Section, environment: Environment): CheckpointPolicy | undefined {
  if (audit.tree("checkpoints") === undefined) return undefined;
  const section = audit.section("checkpoints");
  section.need("file", TEXT);
  const file = readFilePath(section, "file", environment);
  const everyRecords = section.value("every_records", RECORDS)?.value ?? 1_000;
  const everyMs = (section.value("every_seconds", CHECKPOINT_SECONDS)?.value ?? 60) * 1_000;
  section.finish();
  return file === undefined ? undefined : { file, everyRecords, everyMs };
}

function readPatterns(section: Section, key: string, environment: Environment): PatternRule[] {
  return (section.list(key, TEXT) ?? []).flatMap(({ value, place }) => {
    const expanded = expandPath(value, environment);
    const wrong = "wrong" in expanded ? expanded.wrong : pathPatternFault(expanded.path);
    if (wrong === undefined && "path" in expanded) return patternRule(section.name(key), expanded.path, place);
    section.faults.add(place, `${section.name(key)}: ${wrong}`);
    return [];
  });
}

function readInclude(section: Section): ReadonlySet<AuditField> {
  const listed = section.list("include", TEXT);
  if (!listed) return new Set(AUDIT_FIELDS);
  const fields = new Set<AuditField>();
  for (const { value, place } of listed) {
    const field = AUDIT_FIELDS.find((known) => known === value);
    if (field) fields.add(field);
    else {
      const hint = didYouMean(value, AUDIT_FIELDS) || `; known fields are ${AUDIT_FIELDS.join(", ")}`;
      section.faults.add(place, `audit.include knows no field "${value.slice(0, 60)}"${hint}`);
    }
  }
  return fields;
}

// Reads the section network: endpoints, address ranges, ports and names.

/** The port of an allowed endpoint that names none: encrypted web traffic. */
export const DEFAULT_PORT = 443;
/** Characters of a name that a message repeats. */
const MAX_SHOWN = 60;
const PORT = wholeNumber(1, 65_535);
/** The only mode there is; the key is read because files of mcp-secure-server have it. */
const MODE: Expectation<"deny_all"> = {
  words: "deny_all (all that is not listed is denied; there is no other mode)",
  read: (value) => (value === "deny_all" ? value : undefined),
};

export function readNetwork(section: Section): NetworkPolicy {
  section.value("mode", MODE);
  const dns = section.value("allow_dns", YES_NO);
  const names = section.list("dns_allowlist", TEXT);
  const network: NetworkPolicy = {
    offline: readTrue(section, "offline"),
    allowedEndpoints: new HostMatcher(readEndpoints(section, "allowed_endpoints", [DEFAULT_PORT])),
    deniedEndpoints: new HostMatcher(readEndpoints(section, "denied_endpoints", undefined)),
    allowedRanges: readRanges(section),
    blockedPorts: readPorts(section),
    dnsRefused: dns?.value === false ? ruleAt(section.name("allow_dns"), false, dns.place) : undefined,
    dnsNames:
      names &&
      new HostMatcher(
        names.flatMap(({ value, place }) => endpoint(section, "dns_allowlist", { host: value, place }) ?? []),
      ),
  };
  section.finish();
  return network;
}

function readEndpoints(section: Section, key: string, otherwise: readonly number[] | undefined): EndpointRule[] {
  return (section.trees(key) ?? []).flatMap((tree, index) => readEndpoint(section, { key, tree, index, otherwise }));
}

interface EndpointItem {
  readonly key: string;
  readonly tree: Tree;
  readonly index: number;
  /** The ports of an endpoint that names none; undefined: every port. */
  readonly otherwise: readonly number[] | undefined;
}

/** One item of a list of endpoints: a mapping with `host`, `ports` and `description`. */
export function readEndpoint(section: Section, { key, tree, index, otherwise }: EndpointItem): EndpointRule[] {
  if (tree.kind === "value" && typeof tree.value === "string") {
    const example = `{ host: ${JSON.stringify(tree.value.slice(0, MAX_SHOWN))} }`;
    section.faults.add(tree.place, `${section.name(key)}[${index}] must be a mapping; write ${example}`);
    return [];
  }
  const item = new Section(tree, `${section.name(key)}[${index}]`, section.faults);
  const host = item.value("host", TEXT);
  const description = item.value("description", TEXT)?.value;
  const listed = item.some("ports", PORT, "name a port, as in [443]")?.map((port) => port.value);
  item.finish();
  if (!host) {
    if (tree.kind === "map" && item.tree("host") === undefined)
      item.faults.add(tree.place, `${item.path} needs a host`);
    return [];
  }
  const rule = endpoint(section, key, { host: host.value, place: host.place, ports: listed ?? otherwise });
  return rule ? [{ ...rule, ...(description === undefined ? {} : { description }) }] : [];
}

export function endpoint(
  section: Section,
  key: string,
  given: { host: string; place: Place; ports?: readonly number[] | undefined },
): EndpointRule | undefined {
  const read = hostPattern(given.host);
  if ("wrong" in read) {
    section.faults.add(given.place, `${section.name(key)}: ${read.wrong}`);
    return undefined;
  }
  return { ...patternRule(section.name(key), read.pattern, given.place), ports: given.ports && new Set(given.ports) };
}

function readRanges(section: Section): RangeMatcher {
  const ranges = section.list("allowed_ranges", TEXT) ?? [];
  const good = ranges.filter(({ value, place }) => {
    const wrong = rangeFault(value);
    if (wrong) section.faults.add(place, `${section.name("allowed_ranges")}: ${wrong}`);
    return wrong === undefined;
  });
  return new RangeMatcher(good.map(({ value, place }) => patternRule(section.name("allowed_ranges"), value, place)));
}

function readPorts(section: Section): ReadonlyMap<number, Rule> {
  const ports = section.list("blocked_ports", PORT) ?? [];
  return new Map(ports.map(({ value, place }) => [value, ruleAt(section.name("blocked_ports"), value, place)]));
}
