// `mcp-secure-local completion bash|zsh|fish`: the script that completes commands and options, made of the command reference.
import { COMMAND_PAGES } from "./command-reference.js";
import { COMMON_OPTIONS, OPTION_PAGES } from "./option-reference.js";
import { type CommandLine, nearest, UsageError } from "./command-line.js";
import { ExitCode, tell } from "./terminal.js";

const SHELLS: Readonly<Record<string, () => string>> = { bash, zsh, fish };

export async function completionCommand(line: CommandLine): Promise<number> {
  const [shell, ...rest] = line.words;
  if (shell === undefined || !Object.hasOwn(SHELLS, shell) || rest.length > 0) {
    const near = shell === undefined ? "" : nearest(shell, Object.keys(SHELLS));
    throw new UsageError(`completion needs one of bash, zsh, fish${near}`);
  }
  const script = SHELLS[shell]!();
  tell(line, { shell, script }, script);
  return ExitCode.Ok;
}

/** Commands with the actions of each, in the order of the reference. */
function commands(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { name } of COMMAND_PAGES) {
    const [command = "", action] = name.split(" ");
    const actions = found.get(command) ?? [];
    found.set(command, action === undefined ? actions : [...actions, action]);
  }
  found.set("completion", Object.keys(SHELLS));
  return found;
}

/** The options of a command, all its actions together. */
function optionsOf(command: string): string[] {
  const pages = COMMAND_PAGES.filter(({ name }) => name.split(" ")[0] === command);
  return [...new Set([...pages.flatMap(({ options = [] }) => options), ...COMMON_OPTIONS])];
}

/** Options that a name of a file follows. */
function fileOptions(): string[] {
  return Object.entries(OPTION_PAGES)
    .filter(([, { value }]) => value === "FILE" || value === "PATH" || value === "FOLDER")
    .map(([name]) => name);
}

function bash(): string {
  const cases = [...commands()].map(
    ([command, actions]) =>
      `    ${command}) actions="${actions.join(" ")}"; options="${optionsOf(command).join(" ")}" ;;`,
  );
  return `# bash completion of mcp-secure-local
_mcp_secure_local() {
  local cur prev command actions options
  cur="\${COMP_WORDS[COMP_CWORD]}"
  prev="\${COMP_WORDS[COMP_CWORD-1]}"
  command="\${COMP_WORDS[1]}"
  actions="" options="${COMMON_OPTIONS.join(" ")}"
  case "$prev" in
    ${fileOptions().join("|")}) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "${[...commands().keys()].join(" ")} $options" -- "$cur")
    return
  fi
  case "$command" in
${cases.join("\n")}
  esac
  if [[ "$cur" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$actions" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$actions" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}
complete -F _mcp_secure_local mcp-secure-local`;
}

function zsh(): string {
  const about = (command: string): string =>
    COMMAND_PAGES.find(({ name }) => name.split(" ")[0] === command)?.about ?? "";
  const list = [...commands().keys()].map(
    (command) => `    ${quoted(`${command}:${about(command).replaceAll(":", "\\:")}`)}`,
  );
  const cases = [...commands()].map(([command, actions]) => {
    const words = actions.length === 0 ? "_files" : `(( CURRENT == 3 )) && compadd ${actions.join(" ")} || _files`;
    return `    ${command}) if [[ $PREFIX == -* ]]; then compadd -- ${optionsOf(command).join(" ")}; else ${words}; fi ;;`;
  });
  return `#compdef mcp-secure-local
_mcp_secure_local() {
  local -a commands
  commands=(
${list.join("\n")}
  )
  if (( CURRENT == 2 )); then
    if [[ $PREFIX == -* ]]; then compadd -- ${COMMON_OPTIONS.join(" ")}; else _describe command commands; fi
    return
  fi
  case "$words[CURRENT-1]" in
    ${fileOptions().join("|")}) _files; return ;;
  esac
  case "$words[2]" in
${cases.join("\n")}
  esac
}
if [ "$funcstack[1]" = "_mcp_secure_local" ]; then _mcp_secure_local "$@"; else compdef _mcp_secure_local mcp-secure-local; fi`;
}

function fish(): string {
  const at = "complete -c mcp-secure-local";
  const lines = ["# fish completion of mcp-secure-local"];
  for (const [command, actions] of commands()) {
    const about = COMMAND_PAGES.find(({ name }) => name.split(" ")[0] === command)?.about ?? "";
    lines.push(`${at} -n __fish_use_subcommand -f -a ${command} -d ${quoted(about)}`);
    const inside = `-n "__fish_seen_subcommand_from ${command}"`;
    if (actions.length > 0) lines.push(`${at} ${inside} -f -a "${actions.join(" ")}"`);
    for (const option of optionsOf(command)) {
      const { value, about: does } = OPTION_PAGES[option]!;
      const takes = value === undefined ? "" : fileOptions().includes(option) ? " -r -F" : " -x";
      lines.push(`${at} ${inside} -l ${option.slice(2)}${takes} -d ${quoted(does)}`);
    }
  }
  return lines.join("\n");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
