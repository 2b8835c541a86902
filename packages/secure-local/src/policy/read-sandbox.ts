// Reads the sections sandbox and output.
import type { Environment } from "./path-value.js";
import { DEFAULT_SANDBOX } from "./policy-defaults.js";
import { readAnyPath, readPathList } from "./read-path-value.js";
import { ruleAt } from "./rule.js";
import type { OutputPolicy, SandboxPolicy } from "./sandbox-policy.js";
import { oneOf, type Placed, type Section, wholeNumber, YES_NO } from "./section.js";
import type { ToolsPolicy } from "./policy.js";
import { OUTPUT_BYTES } from "./read-names.js";

const MODE = oneOf("required", "none");
const PROCESSES = wholeNumber(1, 4_096);
/** Less than this no interpreter starts in; more than a tebibyte no machine has. */
const MEMORY_MB = wholeNumber(16, 1_048_576);
const CPU_SECONDS = wholeNumber(1, 86_400);
const FILE_MB = wholeNumber(1, 1_048_576);
const HIDDEN = oneOf("strip", "show", "refuse");

/** @param root The whole policy: `sandbox` is a mapping, or the mode alone. */
export function readSandbox(root: Section, environment: Environment): SandboxPolicy {
  const tree = root.tree("sandbox");
  if (tree?.kind === "value" && tree.value !== null) {
    const mode = root.value("sandbox", MODE);
    return { ...DEFAULT_SANDBOX, ...modeOf(mode, "sandbox") };
  }
  const section = root.section("sandbox");
  const mode = section.value("mode", MODE);
  const sandbox: SandboxPolicy = {
    ...modeOf(mode, section.name("mode")),
    processes: section.value("processes", PROCESSES)?.value ?? DEFAULT_SANDBOX.processes,
    memoryMb: section.value("memory_mb", MEMORY_MB)?.value ?? DEFAULT_SANDBOX.memoryMb,
    cpuSeconds: section.value("cpu_seconds", CPU_SECONDS)?.value ?? DEFAULT_SANDBOX.cpuSeconds,
    fileMb: section.value("file_mb", FILE_MB)?.value ?? DEFAULT_SANDBOX.fileMb,
    readOnlyPaths: readPathList(section, "read_only_paths", environment),
    homes: readAnyPath(section, "homes", environment),
  };
  section.finish();
  return sandbox;
}

function modeOf(mode: Placed<"required" | "none"> | undefined, key: string): Pick<SandboxPolicy, "mode" | "rule"> {
  if (mode?.value !== "none") return { mode: "required", rule: undefined };
  return { mode: "none", rule: ruleAt(key, "none", mode.place) };
}

/** `tools` has the same limit under another name. */
export function readOutput(section: Section, tools: ToolsPolicy, toolsLimit: boolean): OutputPolicy {
  const limit = section.value("max_bytes", OUTPUT_BYTES);
  if (limit && toolsLimit)
    section.faults.add(limit.place, "output.max_bytes and tools.max_output_bytes say the same thing; keep one of them");
  const output: OutputPolicy = {
    maxBytes: limit?.value ?? tools.maxOutputBytes,
    markUntrusted: section.value("mark_untrusted", YES_NO)?.value ?? false,
    redactSecrets: section.value("redact_secrets", YES_NO)?.value ?? true,
    hiddenUnicode: section.value("hidden_unicode", HIDDEN)?.value ?? "strip",
  };
  section.finish();
  return output;
}
