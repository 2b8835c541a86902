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
const SEARCH_PAGES = ["html.duckduckgo.com", "lite.duckduckgo.com", "duckduckgo.com"];

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
