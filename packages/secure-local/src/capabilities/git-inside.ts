// Says what a program in a sandbox may do to a repository of git where the policy lets it work with git: its history, and of its
// configuration what makes git run nothing.
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import type { Judge } from "../sandbox/wall.js";

/** The name of a repository's own folder, and what follows. */
const REPOSITORY = /^(.*)\/\.git(?:\/(.*))?$/s;
/** History, what is staged, where branches are. Not `hooks`, `config`, `info`, `modules`, `worktrees`, what a rebase is to run. */
const HISTORY =
  /^(?:(?:objects(?!\/info\/(?:http-)?alternates)|refs|logs|branches)(?:\/.*)?|(?:HEAD|(?:ORIG|FETCH|MERGE|CHERRY_PICK|REVERT|BISECT)_HEAD|MERGE_MSG|MERGE_MODE|SQUASH_MSG|COMMIT_EDITMSG|AUTO_MERGE|BISECT_(?:START|LOG|NAMES|TERMS|RUN|EXPECTED_REV|ANCESTORS_OK|FIRST_PARENT)|head-name|index|index\.stash\.\d+|packed-refs|shallow|description|gc\.pid|gc\.log)(?:\.lock|\.new)?|config\.lock|info(?:\/(?:refs|rev-cache|exclude)(?:_\w+|\.lock)?)?|t[A-Za-z0-9]{6})$/s;
/** By a link of such a name `git init` finds out whether there are links. */
const LINK_TRIED = /^t[A-Za-z0-9]{6}$/;
const NAMES_OF_GIT = /\/\.git(?=\/|$)/gi;
const MOST_BYTES = 65_536;
/** `O_PATH`, which Node does not name. */
const O_PATH = 0o10000000;

/**
 * A judge that lets git be worked with in the folders of `judge`: repositories are read whole and written as far as that runs
 * nothing. A `.git` is made as a folder, never as a file or link that leads elsewhere.
 */
export function withGit(judge: Judge): Judge {
  return (path, op) => {
    if (judge(path, op)) return true;
    const [, above = "", rest] = REPOSITORY.exec(path) ?? [];
    // One repository in another's folder is none.
    if (above === "" || (path.match(NAMES_OF_GIT)?.length ?? 0) !== 1) return false;
    const reads = op === "read" || op === "list";
    if (!judge(above, reads ? op : "write")) return false;
    if (reads) return true;
    if (rest === undefined) return op === "folder";
    if (op === "bring" || op === "fill") return LINK_TRIED.test(rest);
    return HISTORY.test(rest) || (op === "mode" && rest === "config");
  };
}

/**
 * Takes what git wrote to `config.lock` for the configuration of the repository in `folder`, if no line in it is new but those that
 * make git run nothing. What is put in place is a file that nobody has open.
 */
export function takeGitConfig(folder: string): boolean {
  const handle = openSync(folder, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const at = `/proc/self/fd/${handle}`;
  const name = `${at}/config.${randomBytes(8).toString("hex")}`;
  try {
    if (!readlinkSync(at, { encoding: "buffer" }).equals(Buffer.from(folder))) return false;
    const text = textOf(`${at}/config.lock`);
    if (text === undefined || !isHarmless(text, textOf(`${at}/config`) ?? "")) return false;
    writeFileSync(name, text, { flag: "wx", mode: 0o644 });
    renameSync(name, `${at}/config`);
    rmSync(`${at}/config.lock`, { force: true });
    return true;
  } finally {
    rmSync(name, { force: true });
    closeSync(handle);
  }
}

function textOf(path: string): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    return stats.isFile() && stats.size <= MOST_BYTES ? readFileSync(fd, "utf8") : undefined;
  } finally {
    closeSync(fd);
  }
}

const HEADER = /^\[([a-z]+)(?: "([^"\\\]]*)")?\]$/i;
const ENTRY = /^([a-z][a-z0-9-]*) = ([^"\\;#]*)$/i;
const SWITCH = /^(?:true|false)$/;
/** A place to fetch from that runs no program of its own choice. */
const PLACE = /^(?:(?:https?|ssh|git|file):\/\/[^\s-]\S*|\.{0,2}\/\S*|[A-Za-z0-9_][\w.-]*@[\w.-]+:[^\s:-]\S*)$/;
const REF = /^[\w./-]+$/;

/** Of each section the keys that make git run nothing, with what they may say. */
const HARMLESS: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  core: {
    repositoryformatversion: /^[01]$/,
    filemode: SWITCH,
    bare: /^false$/,
    logallrefupdates: SWITCH,
    symlinks: SWITCH,
    ignorecase: SWITCH,
    precomposeunicode: SWITCH,
  },
  remote: { url: PLACE, fetch: /^\+?[\w./*-]+:[\w./*-]+$/, tagopt: /^--(?:no-)?tags$/, prune: SWITCH },
  branch: { remote: REF, merge: REF, rebase: SWITCH },
  user: { name: /^.*$/, email: /^.*$/ },
  extensions: { objectformat: /^sha(?:1|256)$/ },
};

/** Line by line: each stands in the same section already, or says something harmless. */
function isHarmless(text: string, before: string): boolean {
  const known = new Set(linesOf(before).map(({ section, line }) => `${section}\n${line}`));
  return linesOf(text).every(({ section, line }) => {
    // What a line that goes on means depends on the next.
    if (line.endsWith("\\")) return false;
    if (known.has(`${section}\n${line}`) || line === "" || line === section)
      return line !== section || HEADER.test(line);
    const [, name = ""] = HEADER.exec(section) ?? [];
    const [, key = "", value = ""] = ENTRY.exec(line) ?? [];
    return HARMLESS[name.toLowerCase()]?.[key.toLowerCase()]?.test(value.trim()) === true;
  });
}

function linesOf(text: string): { readonly section: string; readonly line: string }[] {
  let section = "";
  return text.split("\n").map((raw) => {
    const line = raw.trim();
    if (line.startsWith("[")) section = line;
    return { section, line };
  });
}
