// Writes a new policy file: commented, so that whoever opens it knows what each line does.
/** What somebody wants to allow. */
export interface PolicyChoices {
  /** The preset to build on; its own lines are then not repeated. */
  readonly preset?: string | undefined;
  /** Absolute paths of folders. */
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  readonly search: boolean;
  /** Hosts whose pages may be read. */
  readonly hosts: readonly string[];
  /** Whether a person is asked before something is changed. */
  readonly ask: boolean;
}

const SEARCH_PAGES = ["html.duckduckgo.com", "lite.duckduckgo.com", "duckduckgo.com"];

export function policyText(wishes: PolicyChoices): string {
  return [
    "# The policy of mcp-secure-local. What no line allows is denied, and a denial is stronger than any permission.",
    "# Every key: docs/policy-reference.md. Check it:  mcp-secure-local policy check FILE",
    'version: "1.0"',
    ...extending(wishes),
    "",
    ...network(wishes),
    "",
    ...filesystem(wishes),
    "",
    ...tools(wishes),
    "",
    ...others(wishes),
    "",
    ...approvals(wishes),
    "",
    "audit:",
    "  # Every call is recorded, whatever this says; this is how much of the rest is.",
    "  log_level: INFO",
    "",
  ].join("\n");
}

function extending({ preset }: PolicyChoices): string[] {
  const known = PRESETS.find(({ name }) => name === preset);
  if (!known) return [];
  return [
    "",
    `# ${known.about}`,
    "# What a preset denies stays denied; what it allows is added to by the lines below.",
    `extends: ${known.name}`,
  ];
}

function network({ preset, search, hosts }: PolicyChoices): string[] {
  const pages = [...(search && preset === undefined ? SEARCH_PAGES : []), ...hosts];
  if (pages.length === 0) {
    const reached = namesHosts(preset) ? "what the preset names is reached, and nothing else" : "nothing is reached";
    return ["network:", `  # No host is named here, so ${reached}.`, "  allowed_endpoints: []"];
  }
  return [
    "network:",
    "  # Host and port; *.example.com stands for every host below example.com. Private addresses have to be named.",
    "  allowed_endpoints:",
    ...pages.map((host) => `    - { host: ${JSON.stringify(host)}, ports: [443] }`),
  ];
}

/** Whether a preset names hosts itself. */
function namesHosts(preset: string | undefined): boolean {
  const { content } = PRESETS.find(({ name }) => name === preset) ?? {};
  const { network: itsNetwork } = (content ?? {}) as { readonly network?: { readonly allowed_endpoints?: unknown } };
  return itsNetwork?.allowed_endpoints !== undefined;
}

function filesystem({ readable, writable }: PolicyChoices): string[] {
  const list = (key: string, folders: readonly string[]): string[] =>
    folders.length === 0
      ? [`  ${key}: []`]
      : [`  ${key}:`, ...folders.map((folder) => `    - ${JSON.stringify(`${folder.replace(/(?<!\/)\/+$/, "")}/**`)}`)];
  return [
    "filesystem:",
    "  # May be read and listed. ** stands for any folders, * for any name.",
    ...list("readable_paths", readable),
    "  # May be read, written and deleted.",
    ...list("allowed_paths", writable),
    '  # Never reached, even inside the folders above, as in - "**/*secret*". Keys, .env files, .ssh and the like never are in any case.',
    "  denied_paths: []",
  ];
}

function tools({ preset, readable, writable, search, hosts }: PolicyChoices): string[] {
  const names = [
    ...["calculate", "get_timestamp"],
    ...(search ? ["web_search"] : []),
    ...(hosts.length > 0 ? ["web_fetch"] : []),
    ...(readable.length + writable.length > 0 ? ["read_file", "list_directory", "search_files", "search_text"] : []),
    ...(writable.length > 0 ? ["write_file", "edit_file"] : []),
  ];
  return [
    "tools:",
    preset === undefined
      ? "  # A name, or a beginning and *."
      : "  # Beside those of the preset: a name, or a beginning and *.",
    `  allowed: [${names.join(", ")}]`,
    "  # Calls a minute, and seconds a call may take.",
    `  rate_limits: { default: 60${search ? ", web_search: 20" : ""} }`,
    "  timeout: 30",
  ];
}

function others({ preset, readable, writable }: PolicyChoices): string[] {
  const files = readable.length + writable.length > 0;
  const uris = [...(preset === undefined ? ["server://info"] : []), ...(files ? ["file:///*"] : [])];
  return [
    "resources:",
    '  # What may be read as a resource; of files only what the filesystem section lets be read. "git:///*" adds what',
    "  # repositories there held at their branches, tags and commits.",
    `  allowed: [${uris.map((uri) => JSON.stringify(uri)).join(", ")}]`,
    "",
    "prompts:",
    `  allowed: [${preset === undefined ? "code_review" : ""}]`,
  ];
}

function approvals({ ask, writable }: PolicyChoices): string[] {
  const comment =
    "# Calls a person has to agree to: destructive, all, or names of tools; when: narrows by arguments.\n" +
    "# destructive is each tool that does not say that it destroys nothing, those of your servers among them.";
  if (!ask || writable.length === 0) return [comment, "approvals: []"];
  return [
    comment,
    "approvals:",
    "  # remember: you may say that the very same call is not asked about again in that session.",
    "  - { approve: destructive, remember: session }",
  ];
}

// The presets a policy can build on with `extends`: what each allows and denies.
//
// A preset is written like a policy file. Lists of a preset and of the file that extends it add up; a single value that
// a preset sets cannot be set otherwise by the file.

/** Plain data in the shape of a policy file, without `version` and `extends`. */
export interface Preset {
  readonly name: string;
  /** One sentence for people who choose. */
  readonly about: string;
  readonly content: PresetValue;
}
export type PresetValue = string | number | boolean | readonly PresetValue[] | { readonly [key: string]: PresetValue };

const COUNTING = ["calculate", "get_timestamp", "search_tools", "list_categories"];
const READING = ["read_file", "list_directory", "search_files", "search_text", "query_database"];
const WEB = ["web_search", "web_fetch"];
const CHANGING = ["write_file", "edit_file", "import_csv", "run_command"];
const SERVER = { resources: { allowed: ["server://info"] }, prompts: { allowed: ["code_review"] } };

export const PRESETS: readonly Preset[] = [
  {
    name: "offline",
    about: "Nothing leaves this machine: no network at all, and none of the tools that need it.",
    content: {
      network: { offline: true },
      tools: { allowed: [...COUNTING, ...READING], denied: WEB },
      ...SERVER,
    },
  },
  {
    name: "read-only",
    about: "Nothing is changed: files are read and never written, nothing is run, the web may be searched.",
    content: {
      network: { allowed_endpoints: SEARCH_PAGES.map((host) => ({ host, ports: [443] })) },
      filesystem: { read_only: true },
      tools: { allowed: [...COUNTING, ...READING, ...WEB], denied: CHANGING },
      ...SERVER,
    },
  },
  {
    name: "developer",
    about: "Work on a project: files, searches and the usual sources of packages; what destroys is asked for first.",
    content: {
      network: {
        allowed_endpoints: [
          ...SEARCH_PAGES,
          "registry.npmjs.org",
          "pypi.org",
          "files.pythonhosted.org",
          "api.github.com",
          "raw.githubusercontent.com",
        ].map((host) => ({ host, ports: [443] })),
      },
      filesystem: {
        denied_paths: ["**/.ssh/**", "**/.gnupg/**", "**/.aws/**", "**/*.pem", "**/*.key", "**/.env", "**/.env.*"],
        denied_write_paths: ["**/.git/hooks/**", "**/.git/config", "**/node_modules/**"],
      },
      tools: { allowed: [...COUNTING, ...READING, ...WEB, ...CHANGING] },
      approvals: [{ approve: "destructive" }, { approve: ["run_command"] }],
      ...SERVER,
      prompts: { allowed: ["code_review", "analyze_logs"] },
    },
  },
];

export const PRESET_NAMES: readonly string[] = PRESETS.map(({ name }) => name);
