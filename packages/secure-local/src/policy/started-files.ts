// Lists what a policy has run: programs, plugins, and the files that its commands and servers name to what runs them.
//
// Whoever writes such a file has their text run. All ways by which a policy names one come together here.
import { basename, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { PathMatcher } from "./path-matcher.js";
import type { AllowedCommand, ArgumentGrammar, Policy, ServerGrant, StartedFile } from "./policy.js";

/** What a policy starts, and what it shows to every program that it starts. */
export function startedFiles({ started, plugins, commands, servers, sandbox }: Policy): readonly StartedFile[] {
  if (started !== undefined) return started;
  const programs = [...commands.allowed.values()].flatMap(({ executable, sha256, workingDirectory: from }) =>
    sha256 === undefined ? [{ path: executable, except: undefined, from }] : [],
  );
  const served = [...servers.values()].flatMap(({ launch }) =>
    launch.kind === "command" ? launch.command.slice(0, 1).filter((word) => isAbsolute(word)) : [],
  );
  const named = [
    ...[...commands.allowed.values()].flatMap(filesNamed),
    ...[...servers.values()].flatMap(filesNamedByServer),
  ].flatMap(({ path, runs }) => (runs ? [{ path, except: undefined, existing: true }] : []));
  return [
    ...programs,
    ...named,
    ...[...served, ...sandbox.readOnlyPaths].map((path) => ({ path, except: undefined })),
    ...[...plugins.load.values()].flatMap(({ path, sha256, filesystem }) => {
      if (sha256 !== undefined) return [];
      const data = filesystem.allowed.rules.filter(
        ({ pattern }) => pattern.startsWith(`${path}/`) && !/^[^/]*[*?]/.test(pattern.slice(path.length + 1)),
      );
      return [{ path, except: data.length === 0 ? undefined : new PathMatcher(data, false) }];
    }),
  ];
}

/** Programs that run what their first arguments name; the loader of the system among them. */
const INTERPRETER =
  /^(?:node(?:js)?|deno|bun|tsx|ts-node|qjs|gjs|python[\d.]*|pypy[\d.]*|ruby[\d.]*|perl[\d.]*|php[\d.]*|lua(?:jit)?[\d.]*|Rscript|java|groovy|scala|kotlin|dotnet|mono|julia|elixir|escript|guile|racket|runghc|tclsh[\d.]*|wish[\d.]*|expect|osascript|pwsh|powershell|[gmn]?awk|g?make|just|rake|ld(?:-linux|-musl|\d*)?[\w.-]*\.so[\d.]*|sh|bash|dash|ash|zsh|ksh|fish)(?:\.exe)?$/i;
/** Programs that start the one which their arguments name. */
const LAUNCHER =
  /^(?:env|nice|ionice|timeout|nohup|setsid|stdbuf|time|chrt|taskset|prlimit|busybox|xargs|sudo|doas|unshare|setpriv|flock|strace|npx|pnpx|bunx|npm|pnpm|yarn|uv|uvx|pipx|poetry|pipenv|bundle)$/i;
/** Names of files that are made to be run or loaded. */
const CODE =
  /\.(?:[cm]?[jt]s|[jt]sx|pyw?|pyz|rb|p[lmh]|php|phar|lua|r|jar|war|sh|bash|zsh|ksh|fish|ps1|tcl|exp|jl|exs?|groovy|scala|kts|awk|mk|so(?:\.[\d.]+)?|dylib|dll|node|wasm)$/i;
/** Flags that name what is made, not what is read. */
const OUTPUT = /^--?(?:o|out(?:put)?(?:-?(?:file|dir|path))?|log(?:-?file)?|report(?:-?file)?|dest(?:ination)?)$/i;
/** Variables by which programs are told to run more. */
const CODE_VARIABLES: ReadonlySet<string> = new Set(
  (
    "NODE_OPTIONS BUN_OPTIONS RUBYOPT PERL5OPT BASH_ENV ENV PYTHONSTARTUP JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS " +
    "CLASSPATH LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES LUA_INIT R_PROFILE R_PROFILE_USER R_ENVIRON R_ENVIRON_USER PHPRC " +
    "OPENSSL_CONF MAKEFILES PYTEST_ADDOPTS RUSTC RUSTC_WRAPPER CC CXX SHELL PAGER MANPAGER EDITOR VISUAL BROWSER LESSOPEN " +
    "LESSCLOSE SSH_ASKPASS GIT_ASKPASS GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR " +
    "GIT_PROXY_COMMAND GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM"
  ).split(" "),
);
/** Variables with the folders in which programs look for what they run. */
const FOLDER_VARIABLES: ReadonlySet<string> = new Set(
  (
    "PATH PYTHONPATH PYTHONHOME NODE_PATH PERL5LIB PERLLIB RUBYLIB GEM_HOME GEM_PATH LUA_PATH LUA_CPATH R_LIBS R_LIBS_USER " +
    "TCLLIBPATH JULIA_LOAD_PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH GCONV_PATH ZDOTDIR GIT_EXEC_PATH GIT_TEMPLATE_DIR"
  ).split(" "),
);

export interface NamedFile {
  readonly path: string;
  /** Whether the command runs it for certain: its program is an interpreter, or a variable says so. */
  readonly runs: boolean;
  /** Whether it is run as soon as it exists. */
  readonly later: boolean;
  /** Whether it is a folder in which something to run is looked for. */
  readonly folder?: boolean;
}

/** What the arguments, flags and variables of a command name, as far as the policy writes them; whether it is there nobody has looked. */
export function filesNamed({ executable, positions, flags, env, workingDirectory }: AllowedCommand): NamedFile[] {
  const fixed = positions.flatMap(({ grammar }) => textsOf(grammar));
  const valued = flags.flatMap(({ flag, value }) =>
    value === undefined ? [] : textsOf(value).map((text) => ({ flag, text })),
  );
  const isLauncher = LAUNCHER.test(basename(executable));
  const programs = isLauncher ? fixed.slice(0, launchedBy(fixed)) : [];
  const runsAll = [executable, ...(isLauncher ? fixed : [])].some((word) => INTERPRETER.test(basename(word)));
  const runs = (text: string): boolean => runsAll || programs.includes(text);
  const modules = [
    ...fixed.filter((_, index) => runsAll && fixed[index - 1] === "-m"),
    ...valued.flatMap(({ flag, text }) => (runsAll && flag === "-m" ? [text] : [])),
  ];
  return [
    ...fixed.flatMap((text) => namedIn(text, { folder: workingDirectory, runs: runs(text) })),
    ...valued.flatMap(({ flag, text }) =>
      namedIn(text, { folder: workingDirectory, runs: runs(text) && !OUTPUT.test(flag) }),
    ),
    ...modules.flatMap((text) => moduleFiles(text, workingDirectory)),
    ...variablesName(env, workingDirectory),
    ...variablesName(assignments(isLauncher ? fixed : []), workingDirectory),
  ];
}

/** The same of a server. What else it is told is its data, which it may write itself. */
export function filesNamedByServer({ launch, env, workingDirectory }: ServerGrant): NamedFile[] {
  if (launch.kind !== "command") return [];
  const [program = "", ...words] = launch.command;
  const isLauncher = LAUNCHER.test(basename(program));
  const runsAll = [program, ...(isLauncher ? words : [])].some((word) => INTERPRETER.test(basename(word)));
  const launched = isLauncher ? launchedBy(words) : 0;
  const plain = words.slice(launched).find((word) => !word.startsWith("-"));
  const ran = [words[launched - 1], ...(runsAll ? [plain] : [])];
  const named = words.flatMap((text) =>
    namedIn(text, { folder: workingDirectory, runs: runsAll || isLauncher }).filter(
      ({ path }) => CODE.test(path) || ran.includes(text),
    ),
  );
  const modules = words.filter((_, index) => runsAll && words[index - 1] === "-m");
  return [
    ...named.filter(({ runs }) => runs),
    ...modules.flatMap((text) => moduleFiles(text, workingDirectory)),
    ...variablesName(env, workingDirectory),
    ...variablesName(assignments(isLauncher ? words : []), workingDirectory),
  ];
}

/** What may stand there as the policy writes it; what a caller chooses is judged when it is chosen. */
function textsOf(grammar: ArgumentGrammar): readonly string[] {
  if (grammar.kind === "fixed") return [grammar.text];
  return grammar.kind === "enum" ? grammar.values : [];
}

/** How many words a launcher has up to the program that it starts, that one included. */
function launchedBy(words: readonly string[]): number {
  return words.findIndex((word) => !/^-|^\w+=|^[\d.]+[smhd]?$/.test(word)) + 1;
}

/** As `env` takes them: `NAME=value`. */
function assignments(words: readonly string[]): [string, string][] {
  return words.flatMap((word): [string, string][] => {
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value]];
  });
}

interface Where {
  readonly folder: string | undefined;
  readonly runs: boolean;
}

/** One argument. Of a text with several words, which is code or a line for a shell, only what is code by its name is run for certain. */
function namedIn(text: string, { folder, runs }: Where): NamedFile[] {
  const whole = pathsIn(text, folder).map((path) => ({ path, runs, later: runs && isAbsolute(text) && path === text }));
  const words = text.split(/[\s;&|()<>"'`$={}]+/);
  if (words.length < 2) return whole;
  const parts = [...new Set(words)].flatMap((word) => pathsIn(word, folder));
  return [...whole, ...parts.map((path) => ({ path, runs: runs && CODE.test(path), later: false }))];
}

/** All that an argument may mean by a path: itself, the value of its flag, one of a list, with or without a blank between. */
function pathsIn(word: string, folder: string | undefined): string[] {
  const texts = [
    word,
    word.replace(/^[^=]*=/, ""),
    word.replace(/^(?:-[A-Za-z]|@)/, ""),
    word.replace(/^[^/]+(?=\/)/, ""),
    ...word.split(/[=:;,@]+/),
  ];
  return [...new Set(texts.flatMap((text) => at(text, folder)))];
}

/** No system takes a longer path. */
const LONGEST_PATH = 4_095;

function at(word: string, folder: string | undefined): string[] {
  if (word === "" || word.startsWith("-") || word.length > LONGEST_PATH || word.includes("\0")) return [];
  if (/^file:\/\//i.test(word)) return URL.canParse(word) ? fromUrl(word) : [];
  if (isAbsolute(word)) return [word];
  return folder === undefined ? [] : [join(folder, word)];
}

function fromUrl(url: string): string[] {
  try {
    return [fileURLToPath(url)];
  } catch {
    return [];
  }
}

function moduleFiles(name: string, folder: string | undefined): NamedFile[] {
  return at(name.replaceAll(".", "/"), folder).flatMap((path) =>
    [`${path}.py`, `${path}/__init__.py`, `${path}/__main__.py`].map((one) => ({ path: one, runs: true, later: true })),
  );
}

function variablesName(env: Iterable<readonly [string, string]>, folder: string | undefined): NamedFile[] {
  return [...env].flatMap(([name, value]) => {
    if (CODE_VARIABLES.has(name)) {
      const told = value.split(/\s+/).flatMap((word) => at(word.replace(/^-[^=]*=|^-r(?=.)/, ""), folder));
      const others = [value, ...value.split(/\s+/)].flatMap((word) => pathsIn(word, folder));
      return [
        ...told.map((path) => ({ path, runs: true, later: true })),
        ...others.map((path) => ({ path, runs: true, later: false })),
      ];
    }
    if (!FOLDER_VARIABLES.has(name)) return [];
    const folders = value.split(/[:;]/).flatMap((each) => at(beforePattern(each), folder));
    return folders.map((path) => ({ path, runs: false, later: false, folder: true }));
  });
}

/** The folder of a pattern such as `/x/?.lua`; what has no `?` is a folder by itself. */
function beforePattern(text: string): string {
  const mark = text.indexOf("?");
  return mark < 0 ? text : text.slice(0, Math.max(0, text.lastIndexOf("/", mark)));
}
