// A server that VS Code starts in a sandbox: its command, and the policy that its block amounts to here.
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { parsePolicy } from "../policy/parse-policy.js";
import type { Policy } from "../policy/policy.js";
import { fromVscode, vscodeSandboxFault } from "../policy/vscode-sandbox.js";
import { configuredTarget } from "../remote/configured-servers.js";
import { type CommandTarget, PASSED_ON } from "../remote/target.js";
import { UsageError } from "./command-line.js";

export interface SandboxedServer {
  readonly target: CommandTarget;
  readonly policy: Policy;
  /** What its block says that a policy cannot. */
  readonly notes: readonly string[];
}

/**
 * `denied`: the person's own policy, where there is one; what it denies stays denied.
 *
 * @throws UsageError for a server without `sandboxEnabled`, or with a block that makes no sense; PolicyError
 */
export async function vscodeServer(name: string, file: string, denied: Policy | undefined): Promise<SandboxedServer> {
  const { askForTrust } = await import("./remote/folder-trust.js");
  const passed = (process.env[PASSED_ON] ?? "").split(",").filter((each) => each !== "");
  const target = await configuredTarget(name, { file, given: passed, consent: (found) => askForTrust(found) });
  if (target.kind === "url" || target.sandboxed === undefined)
    throw new UsageError(`"${name}" of ${file} has no sandboxEnabled; give a command after --, and --policy FILE`);
  const { sandbox, workspace } = target.sandboxed;
  const fault = vscodeSandboxFault(sandbox, name);
  if (fault !== undefined) throw new UsageError(`${file}: ${fault}`);
  const { policy, notes } = fromVscode(sandbox ?? {}, workspace);
  const env = Object.fromEntries(passed.map((each) => [each, process.env[each] ?? ""]));
  return {
    target: { ...target, env: { ...target.env, ...env }, cwd: target.cwd ?? workspace },
    policy: await parsePolicy(JSON.stringify(narrowed(extended(policy, workspace), denied)), { file }),
    notes: notes.slice(1),
  };
}

/**
 * VS Code lets a server read everything; here it is the workspace, the system, and where Node is installed. Packages that are
 * fetched stay in a home of the server's own.
 */
function extended(policy: Readonly<Record<string, unknown>>, workspace: string): Readonly<Record<string, unknown>> {
  const files = policy["filesystem"] as Readonly<Record<string, unknown>>;
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return {
    ...policy,
    filesystem: { ...files, readable_paths: [`${workspace}/**`] },
    sandbox: { homes: join(cache, "mcp-secure-local", "homes"), read_only_paths: nodeFolder() },
  };
}

/** A stranger's block never allows what the person's own policy denies. */
function narrowed(policy: Readonly<Record<string, unknown>>, own: Policy | undefined): object {
  if (own === undefined) return policy;
  const files = policy["filesystem"] as { readonly denied_paths: string[]; readonly denied_write_paths: string[] };
  const network = policy["network"] as { readonly denied_endpoints: object[] };
  const patterns = ({ rules }: { readonly rules: readonly { readonly pattern: string }[] }): string[] =>
    rules.map(({ pattern }) => pattern);
  return {
    ...policy,
    filesystem: {
      ...files,
      denied_paths: [...files.denied_paths, ...patterns(own.filesystem.denied)],
      denied_write_paths: [...files.denied_write_paths, ...patterns(own.filesystem.unwritable)],
    },
    network: {
      ...network,
      denied_endpoints: [
        ...network.denied_endpoints,
        ...patterns(own.network.deniedEndpoints).map((host) => ({ host })),
      ],
    },
  };
}

/** Where Node was installed by itself, its package manager lies beside it. */
function nodeFolder(): string[] {
  const folder = dirname(dirname(realpathSync(process.execPath)));
  return /^\/(?:usr|bin|nix\/store)(?:\/|$)/.test(folder) || folder === "/" ? [] : [folder];
}
