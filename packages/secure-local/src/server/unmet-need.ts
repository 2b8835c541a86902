// Says what the policy lacks for a tool to be of any use.
import type { FilesystemPolicy, NetworkPolicy, Policy } from "../policy/policy.js";
import type { ToolNeed } from "../tools/tool.js";

/** What is lacking and which key of the policy gives it; undefined when nothing is. */
export function unmetNeed(policy: Policy, needs: readonly ToolNeed[] = []): string | undefined {
  for (const need of needs) {
    const lack = LACKS[need](policy);
    if (lack !== undefined) return lack;
  }
  return undefined;
}

const LACKS: Readonly<Record<ToolNeed, (policy: Policy) => string | undefined>> = {
  "readable-files": ({ filesystem }) =>
    mayRead(filesystem) ? undefined : "The policy lets no file be read; add folders to filesystem.allowed_paths.",
  "writable-files": ({ filesystem }) =>
    mayWrite(filesystem)
      ? undefined
      : "The policy lets no file be written; add folders to filesystem.allowed_paths, without filesystem.read_only.",
  databases: ({ databases }) =>
    databases.size > 0 ? undefined : "The policy names no database; add one under databases.",
  "fillable-databases": ({ databases }) =>
    [...databases.values()].some(({ store, readOnly }) => store.kind === "sqlite" && !readOnly)
      ? undefined
      : "The policy names no database that may be filled; add one under databases, with a file and read_only: false.",
  commands: ({ commands }) =>
    commands.allowed.size > 0 ? undefined : "The policy names no command; add some to commands.allowed.",
  network: ({ network }) =>
    mayConnect(network) ? undefined : "The policy lets no host be reached; add some to network.allowed_endpoints.",
};

function mayRead({ allowed, readable }: FilesystemPolicy): boolean {
  return allowed.rules.length + readable.rules.length > 0;
}

function mayWrite({ allowed, readOnly }: FilesystemPolicy): boolean {
  return allowed.rules.length > 0 && readOnly === undefined;
}

function mayConnect({ offline, allowedEndpoints, allowedRanges }: NetworkPolicy): boolean {
  return offline === undefined && allowedEndpoints.rules.length + allowedRanges.rules.length > 0;
}
