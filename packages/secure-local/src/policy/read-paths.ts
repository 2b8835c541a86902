// Reads the sections filesystem and audit.
import { PathMatcher } from "./path-matcher.js";
import { pathPatternFault } from "./path-pattern.js";
import { expandPath, type Environment } from "./path-value.js";
import type { AuditField, AuditLevel, AuditPolicy, CheckpointPolicy } from "./policy.js";
import { AUDIT_FIELDS, DEFAULT_ROTATE_MB } from "./policy-defaults.js";
import type { FilesystemPolicy } from "./reach-policy.js";
import { readFilePath } from "./read-path-value.js";
import { patternRule, type PatternRule, type Rule, ruleAt } from "./rule.js";
import { TEXT, wholeNumber, type Section, type Wanted, YES_NO } from "./section.js";
import { didYouMean } from "./near-name.js";

const LEVELS: Readonly<Record<string, AuditLevel>> = {
  DEBUG: "DEBUG",
  INFO: "INFO",
  WARN: "WARN",
  WARNING: "WARN",
  ERROR: "ERROR",
};
const LEVEL: Wanted<AuditLevel> = {
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
export function readTrue(section: Section, key: string): Rule | undefined {
  const value = section.value(key, YES_NO);
  return value?.value === true ? ruleAt(section.name(key), true, value.place) : undefined;
}

export function readAudit(section: Section, environment: Environment): AuditPolicy {
  const audit = {
    logFile: readFilePath(section, "log_file", environment),
    level: section.value("log_level", LEVEL)?.value ?? "INFO",
    include: readInclude(section),
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
