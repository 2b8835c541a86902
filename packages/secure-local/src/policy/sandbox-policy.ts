// Describes the sections `sandbox` and `output`.
import type { Rule } from "./rule.js";

/** Section `sandbox` (ours): the wall around plugins and commands. `sandbox: none` is short for `mode: none`. */
export interface SandboxPolicy {
  /** `mode`: `required` (default: what cannot be walled in is not started) or `none`. */
  readonly mode: "required" | "none";
  /** The rule behind `none`, for the audit log. */
  readonly rule: Rule | undefined;
  /** `processes`: most at a time in one sandbox, default 64. */
  readonly processes: number;
  /** `memory_mb`: for each process, in MiB, default 1,024. */
  readonly memoryMb: number;
  /** `cpu_seconds`: for each process, default 60. */
  readonly cpuSeconds: number;
  /** `file_mb`: longest file it may write, in MiB, default 64. */
  readonly fileMb: number;
  /** `read_only_paths`: absolute paths seen inside beside the system's own; no patterns. */
  readonly readOnlyPaths: readonly string[];
  /** `homes`: an absolute folder in which each command and plugin has a home of its own, kept from start to start; absent: homes vanish. */
  readonly homes: string | undefined;
}

/** What becomes of characters that people do not see. */
export type HiddenUnicode = "strip" | "show" | "refuse";

/** Section `output` (ours): what is done to every text before a model reads it. */
export interface OutputPolicy {
  /** `max_bytes` of one result, default 1 MiB; the same as `tools.max_output_bytes`. */
  readonly maxBytes: number;
  /** `mark_untrusted`: texts from outside are wrapped in a marker that says so. Default false: answers read as their tools wrote them. */
  readonly markUntrusted: boolean;
  /** `redact_secrets`: what looks like a key or password is taken out, default true. */
  readonly redactSecrets: boolean;
  /** `hidden_unicode`: `strip` (default), `show` as escapes, or `refuse` the result. */
  readonly hiddenUnicode: HiddenUnicode;
}
