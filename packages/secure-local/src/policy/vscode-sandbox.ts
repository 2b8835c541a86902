// Turns the `sandbox` block of a VS Code server entry into a policy, and a policy into such a block, telling what is lost.

/** `sandbox` as VS Code has it; every list may be absent. */
export interface VscodeSandbox {
  readonly filesystem?: {
    readonly allowWrite?: readonly string[];
    readonly denyRead?: readonly string[];
    readonly denyWrite?: readonly string[];
  };
  readonly network?: { readonly allowedDomains?: readonly string[]; readonly deniedDomains?: readonly string[] };
}

const LISTS = [
  ["filesystem", "allowWrite"],
  ["filesystem", "denyRead"],
  ["filesystem", "denyWrite"],
  ["network", "allowedDomains"],
  ["network", "deniedDomains"],
] as const;

/** In a path of a policy it stands for a variable; here only those of VS Code do, which are replaced. */
const VARIABLE = /\$(?!\{(?:workspaceFolder|userHome)\})/;

/**
 * What is wrong with the block of a server; undefined for a good one. One that is absent is good: nothing is allowed then. A path with
 * a variable of ours would lead where nobody was shown.
 */
export function vscodeSandboxFault(block: unknown, server: string, workspace: string): string | undefined {
  if (workspace.includes("$")) return `the folder ${workspace} has a $ in its name: no policy can name it`;
  if (block !== undefined && !isObject(block)) return `sandbox of "${server}" must be a mapping`;
  for (const [part, list] of LISTS) {
    const value = member(member(block, part), list);
    const good = value === undefined || (Array.isArray(value) && value.every((each) => typeof each === "string"));
    if (!good) return `${part}.${list} of "${server}" must be a list of texts`;
    const odd = ((value ?? []) as readonly string[]).find((each) => VARIABLE.test(each));
    if (odd !== undefined)
      return `${part}.${list} of "${server}" has "${odd}": of variables only \${workspaceFolder} and \${userHome} are taken`;
  }
  return undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function member(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** What came of it, and sentences about what could not be carried over. */
export interface Imported {
  readonly policy: Readonly<Record<string, unknown>>;
  readonly notes: readonly string[];
}

/** Reading is free in VS Code and denied here, so the policy allows less until folders are added to `readable_paths`. */
export function fromVscode(sandbox: VscodeSandbox, workspace: string): Imported {
  const { filesystem = {}, network = {} } = sandbox;
  const notes = ["VS Code lets everything be read that denyRead does not name; here name folders in readable_paths."];
  const paths = (list: readonly string[] | undefined): string[] => (list ?? []).map((path) => pattern(path, workspace));
  const domains = (list: readonly string[] | undefined): string[] =>
    (list ?? []).filter((domain) => {
      const good = domain !== "*";
      if (!good) notes.push('The domain "*" stands for every host, which no policy can name; list the hosts.');
      return good;
    });
  return {
    policy: {
      version: "1.0",
      network: {
        allowed_endpoints: domains(network.allowedDomains).map((host) => ({ host, ports: [443] })),
        denied_endpoints: domains(network.deniedDomains).map((host) => ({ host })),
      },
      filesystem: {
        allowed_paths: paths(filesystem.allowWrite),
        readable_paths: [],
        denied_paths: paths(filesystem.denyRead),
        denied_write_paths: paths(filesystem.denyWrite),
      },
      tools: { allowed: [] },
    },
    notes,
  };
}

/** A folder or file with everything in it, in full. */
function pattern(path: string, workspace: string): string {
  const named = path.replaceAll("${workspaceFolder}", workspace).replaceAll("${userHome}", "~");
  const whole =
    named.startsWith("/") || named.startsWith("~") || named.startsWith("**/") ? named : `${workspace}/${named}`;
  const plain = whole.replace(/\/\.(?=\/|$)/g, "").replace(/(?<!\/)\/+$/, "");
  return /[*?]/.test(plain) ? plain : `${plain}/**`;
}

interface Patterns {
  readonly rules: readonly { readonly pattern: string }[];
}

/** The parts of a policy that VS Code can hold. */
export interface Exportable {
  readonly network: { readonly allowedEndpoints: Patterns; readonly deniedEndpoints: Patterns };
  readonly filesystem: { readonly allowed: Patterns; readonly denied: Patterns; readonly unwritable: Patterns };
}

export function toVscode({ network, filesystem }: Exportable): {
  readonly sandbox: VscodeSandbox;
  readonly notes: readonly string[];
} {
  const notes = ["VS Code lets everything be read that denyRead does not name, and knows no ports and no tools."];
  const patterns = ({ rules }: Patterns): string[] => rules.map((rule) => rule.pattern);
  const folders = (list: Patterns): string[] =>
    patterns(list).flatMap((each) => {
      const folder = each.replace(/\/\*\*$/, "");
      if (folder !== "" && !/[*?]/.test(folder)) return folder;
      notes.push(`"${each}" is left out: VS Code allows writing to folders only, not to patterns.`);
      return [];
    });
  return {
    sandbox: {
      filesystem: {
        allowWrite: folders(filesystem.allowed),
        denyRead: patterns(filesystem.denied),
        denyWrite: [...patterns(filesystem.denied), ...patterns(filesystem.unwritable)],
      },
      network: {
        allowedDomains: patterns(network.allowedEndpoints),
        deniedDomains: patterns(network.deniedEndpoints),
      },
    },
    notes,
  };
}
