// Reads the sections filesystem, commands and audit: everything that holds paths.
import { isAbsolute } from "node:path";
import { PathMatcher } from "./path-matcher.js";
import { pathPatternFault } from "./path-pattern.js";
import { expandPath, type Environment } from "./path-value.js";
import type { AuditField, AuditLevel, AuditPolicy, CommandsPolicy, FilesystemPolicy } from "./policy.js";
import { AUDIT_FIELDS } from "./policy-defaults.js";
import { patternRule, type PatternRule } from "./rule.js";
import { TEXT, type Section, type Wanted } from "./section.js";
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
const COMMAND: Wanted<string> = {
  words: "the name of a command, without spaces, slashes or arguments",
  read: (value) => (typeof value === "string" && /^[^\s/\\\u0000-\u001f\u007f]+$/.test(value) ? value : undefined),
};

export function readFilesystem(section: Section, environment: Environment): FilesystemPolicy {
  const filesystem = {
    allowed: new PathMatcher(readPatterns(section, "allowed_paths", environment), false),
    denied: new PathMatcher(readPatterns(section, "denied_paths", environment), true),
  };
  section.finish();
  return filesystem;
}

export function readCommands(section: Section): CommandsPolicy {
  const blocked = section.list("blocked", COMMAND) ?? [];
  section.finish();
  return { blocked: blocked.map(({ value, place }) => patternRule(section.name("blocked"), value, place)) };
}

export function readAudit(section: Section, environment: Environment): AuditPolicy {
  const audit = {
    logFile: readFilePath(section, "log_file", environment),
    level: section.value("log_level", LEVEL)?.value ?? "INFO",
    include: readInclude(section),
  };
  section.finish();
  return audit;
}

/** One absolute path of a file, its variables expanded. */
export function readFilePath(section: Section, key: string, environment: Environment): string | undefined {
  const text = section.value(key, TEXT);
  if (!text) return undefined;
  const expanded = expandPath(text.value, environment);
  const wrong = "wrong" in expanded ? expanded.wrong : fileFault(expanded.path);
  if (wrong === undefined && "path" in expanded) return expanded.path;
  section.faults.add(text.place, `${section.name(key)}: ${wrong}`);
  return undefined;
}

function fileFault(path: string): string | undefined {
  if (/[\u0000-\u001f\u007f]/.test(path)) return "a path cannot hold control characters; remove them";
  if (!isAbsolute(path)) return `"${path}" is not absolute; begin it with /, ~/ or \${HOME}/`;
  return /[\\/]$/.test(path) ? `"${path}" names a folder; add the name of the file` : undefined;
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
