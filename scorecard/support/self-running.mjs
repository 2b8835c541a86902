// Programs that read a file without being told, each with the file, what to write into it, and how to start the program so that
// it shows: `MARK` is a file that exists afterwards, or text in what the program prints.
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** A program that waits for somebody is ended. */
const TIME_LIMIT_MS = 60_000;
const MARK = "it-ran-by-itself";
const touch = (mark) => `touch '${mark}'\n`;
const git = ["init", "-q", "work"];

/**
 * `name`: the file, below a folder that is home and working folder. `text`: its content, by the path of the mark. `args`: how
 * the program is started. `before`: commands that make what it needs. `prints`: the mark is looked for in its output.
 */
const PROGRAMS = [
  { program: "bash", name: ".bashrc", text: touch, args: ["-i", "-c", "true"] },
  { program: "bash", name: ".bash_profile", text: touch, args: ["-l", "-c", "true"] },
  { program: "bash", name: ".bash_login", text: touch, args: ["-l", "-c", "true"] },
  { program: "bash", name: ".profile", text: touch, args: ["-l", "-c", "true"] },
  { program: "bash", name: ".bash_logout", text: touch, args: ["-l", "-c", "exit"] },
  {
    program: "bash",
    name: ".inputrc",
    text: (mark) => `"x": "${mark}"\n`,
    args: ["-i", "-c", "bind -s"],
    prints: true,
  },
  { program: "dash", name: ".profile", text: touch, args: ["-l", "-c", "true"] },
  { program: "zsh", name: ".zshenv", text: touch, args: ["-c", "true"] },
  { program: "fish", name: ".config/fish/config.fish", text: touch, args: ["-c", "true"] },
  { program: "ksh", name: ".profile", text: touch, args: ["-l", "-c", "true"] },
  { program: "tcsh", name: ".tcshrc", text: touch, args: ["-c", "true"] },
  { program: "git", name: ".gitconfig", text: monitor, before: [git], args: ["-C", "work", "status"] },
  { program: "git", name: ".config/git/config", text: monitor, before: [git], args: ["-C", "work", "status"] },
  { program: "git", name: "work/.git/config", text: monitor, before: [git], args: ["-C", "work", "status"] },
  { program: "git", name: "work/.git/hooks/pre-commit", text: script, before: [git], args: commit("work") },
  {
    program: "git",
    name: "work/.git/info/attributes",
    text: () => "* diff=x\n",
    before: [git],
    args: ["-C", "work", "check-attr", "diff", "y"],
    prints: "diff: x",
  },
  { program: "vim", name: ".vimrc", text: vim, args: vimArgs() },
  { program: "vim", name: ".vim/plugin/x.vim", text: vim, args: vimArgs() },
  { program: "nvim", name: ".config/nvim/init.vim", text: vim, args: ["--headless", "-c", "qa!"] },
  {
    program: "emacs",
    name: ".emacs",
    text: (mark) => `(write-region "" nil "${mark}")\n`,
    args: ["-nw", "--eval", "(kill-emacs)"],
  },
  {
    program: "python3",
    name: ".pdbrc",
    text: (mark) => `open(${JSON.stringify(mark)}, "w")\n`,
    before: [],
    files: { "x.py": "1\n" },
    args: ["-m", "pdb", "-c", "q", "x.py"],
  },
  { program: "python3", name: "PYTHON_SITE/usercustomize.py", text: python, args: ["-c", "1"] },
  {
    program: "python3",
    name: "PYTHON_SITE/sitecustomize.py",
    text: python,
    args: ["-c", "1"],
    needs: "a Python without a sitecustomize of its own",
  },
  {
    program: "python3",
    name: "PYTHON_SITE/x.pth",
    text: (mark) => `import os; open(${JSON.stringify(mark)}, "w")\n`,
    args: ["-c", "1"],
  },
  {
    program: "python3",
    name: "venv/pyvenv.cfg",
    text: (mark) => `home = ${mark}\nversion = 3\n`,
    files: { "venv/lib/x": "" },
    link: ["venv/bin/python3", "python3"],
    args: [
      "-c",
      `import subprocess, sys; print(subprocess.run(["venv/bin/python3", "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True).stdout)`,
    ],
    prints: "venv",
  },
  {
    program: "pip3",
    name: ".config/pip/pip.conf",
    text: (mark) => `[global]\nindex-url = https://x.example/${mark}\n`,
    args: ["config", "list"],
    prints: true,
  },
  {
    program: "npm",
    name: ".npmrc",
    text: (mark) => `init-author-name=${mark}\n`,
    args: ["config", "get", "init-author-name"],
    prints: true,
  },
  {
    program: "perl",
    name: ".perldb",
    text: (mark) => `open(F, ">${mark}");\n`,
    args: ["-d", "-e", "1"],
    env: { PERLDB_OPTS: "NonStop=1" },
  },
  {
    program: "sqlite3",
    name: ".sqliterc",
    text: (mark) => `.shell touch '${mark}'\n`,
    args: [":memory:", "SELECT 1"],
    needs: "the home folder of the account itself",
  },
  { program: "gdb", name: ".gdbinit", text: (mark) => `shell touch '${mark}'\n`, args: ["-batch", "-ex", "quit"] },
  {
    program: "gdb",
    name: ".config/gdb/gdbinit",
    text: (mark) => `shell touch '${mark}'\n`,
    args: ["-batch", "-ex", "quit"],
  },
  {
    program: "lldb",
    name: ".lldbinit",
    text: (mark) => `platform shell touch '${mark}'\n`,
    args: ["-b", "-o", "quit"],
  },
  { program: "curl", name: ".curlrc", text: (mark) => `output = "${mark}"\n`, args: ["-s", "file:///etc/hostname"] },
  {
    program: "wget",
    name: ".wgetrc",
    text: (mark) => `${mark.split("/").at(-1)} = 1\n`,
    args: ["-q", "http://127.0.0.1:1/"],
    prints: true,
  },
  {
    program: "gpg",
    name: ".gnupg/gpg.conf",
    text: (mark) => `${mark.split("/").at(-1)}\n`,
    args: ["--list-keys"],
    prints: "gpg.conf",
  },
  {
    program: "cargo",
    name: ".cargo/config.toml",
    text: (mark) => `[alias]\n"${mark.split("/").at(-1)}" = "build"\n`,
    args: ["--list"],
    prints: true,
  },
  { program: "mvn", name: ".mavenrc", text: touch, args: ["-v"] },
  {
    program: "mvn",
    name: ".mvn/jvm.config",
    text: (mark) => `-D${mark.split("/").at(-1)} -XshowSettings:properties\n`,
    args: ["-v"],
    prints: true,
  },
  {
    program: "irb",
    name: ".irbrc",
    text: (mark) => `File.write(${JSON.stringify(mark)}, "")\n`,
    args: ["--noreadline"],
  },
  {
    program: "R",
    name: ".Rprofile",
    text: (mark) => `file.create(${JSON.stringify(mark)})\n`,
    args: ["-s", "-e", "1"],
  },
  {
    program: "psql",
    name: ".psqlrc",
    text: (mark) => `\\! touch '${mark}'\n`,
    args: ["-l"],
    needs: "a PostgreSQL server to connect to",
  },
  { program: "ssh", name: ".ssh/config", text: () => "", args: [], needs: "the home folder of the account itself" },
  { program: "hg", name: ".hgrc", text: (mark) => `[hooks]\npre-version = touch ${mark}\n`, args: ["version"] },
];

function monitor(mark) {
  return `[core]\n\tfsmonitor = "touch '${mark}' #"\n`;
}

function script(mark) {
  return `#!/bin/sh\ntouch '${mark}'\n`;
}

function vim(mark) {
  return `call writefile(['x'], '${mark}')\n`;
}

function python(mark) {
  return `open(${JSON.stringify(mark)}, "w")\n`;
}

function vimArgs() {
  return ["-T", "dumb", "--not-a-term", "-n", "-c", "qa!"];
}

function commit(folder) {
  return [
    "-C",
    folder,
    "-c",
    "user.name=x",
    "-c",
    "user.email=x@x.example",
    "commit",
    "-q",
    "--allow-empty",
    "-m",
    "x",
  ];
}

/** Where a program is that this machine has, past the stand-ins that version managers put before it. */
function installed(program) {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    if (folder.includes("shims")) continue;
    try {
      accessSync(join(folder, program), constants.X_OK);
      return join(folder, program);
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}

/** The programs, each made for a folder; those that cannot be tried say why. */
export function selfRunning(home) {
  const site = pythonSite(home);
  return PROGRAMS.map((each) => {
    const path = installed(each.program);
    const absent = path === undefined ? "it is not installed" : each.needs && `it needs ${each.needs}`;
    const name = each.name.replace("PYTHON_SITE", site ?? ".local/lib/python3/site-packages");
    const mark = join(home, MARK);
    const env = { PATH: process.env.PATH, HOME: home, TERM: "dumb", CARGO_NET_OFFLINE: "true", ...rust(), ...each.env };
    const run = (file, args) =>
      spawnSync(file, args, { cwd: home, env, input: "", encoding: "utf8", timeout: TIME_LIMIT_MS });
    return {
      title: `${each.program} ${name}`,
      absent,
      name,
      text: each.text(mark),
      /** Makes what the program needs beside the file. */
      prepare() {
        for (const args of each.before ?? []) run(path, args);
        for (const [file, text] of Object.entries(each.files ?? {})) put(join(home, file), text);
        if (each.link !== undefined)
          run("sh", ["-c", `mkdir -p venv/bin && ln -sf "$(readlink -f ${path})" ${each.link[0]}`]);
      },
      put() {
        put(join(home, name), each.text(mark));
      },
      /** Whether the program did what the file says. */
      ran() {
        rmSync(mark, { force: true });
        const { stdout, stderr } = run(path, each.args);
        const wanted = each.prints === true ? MARK : each.prints;
        return wanted === undefined ? existsSync(mark) : `${stdout}${stderr}`.includes(wanted);
      },
    };
  });
}

function put(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode: 0o700 });
}

function rust() {
  const { HOME = "/root", RUSTUP_HOME = join(HOME, ".rustup") } = process.env;
  return { RUSTUP_HOME };
}

/** The user's own folder of modules, below the home. */
function pythonSite(home) {
  const python = installed("python3");
  if (python === undefined) return undefined;
  const asked = ["-c", "import site; print(site.getusersitepackages())"];
  const { stdout } = spawnSync(python, asked, { env: { PATH: process.env.PATH, HOME: home }, encoding: "utf8" });
  const path = stdout.trim();
  return path.startsWith(`${home}/`) ? path.slice(home.length + 1) : undefined;
}
