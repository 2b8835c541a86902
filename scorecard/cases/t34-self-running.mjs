// T34: what programs run without being told cannot be written, keys and token stores cannot be read, and git's own files are
// nobody's but its reader's: by every name of every class, in every spelling, and shown with the programs themselves.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative } from "node:path";
import { linksNoText, noTextDefended } from "../support/links-no-text.mjs";
import { mountedStarts, mountsDefended } from "../support/mounted-starts.mjs";
import { place, SECRET } from "../support/place.mjs";
import { selfRunning } from "../support/self-running.mjs";
import { session, wasDenied, wasServed } from "../support/session.mjs";
import { refusal } from "../report/own-faults.mjs";

export const goal = { id: "T34", title: "Files that run by themselves, keys, git's own files", atLeast: 30_000 };

const rules = "packages/secure-local/src/capabilities/files/file-rules.ts";
const names = "packages/secure-local/src/capabilities/files/protection-of.ts";
export const defences = [
  {
    name: "what runs by itself is not written",
    steps: ["whatAReaderTried"],
    file: names,
    find: "weaker ??= found;",
    replace: "weaker ??= undefined;",
  },
  {
    name: "git's own files are nobody's",
    steps: ["everyName"],
    file: rules,
    find: 'if (reader === "git" && protection.class === GIT_STORE && !changes(op)) return undefined;',
    replace: "if (protection.class === GIT_STORE && !changes(op)) return undefined;",
  },
  {
    name: "a file HEAD makes a repository of a folder",
    steps: ["repositories"],
    file: rules,
    find: "return refusalOf(this.#repositoryProtection(path, op), { op, reader });",
    replace: "return undefined;",
  },
  {
    name: "what protected links lead to is protected",
    steps: ["links"],
    file: rules,
    find: "const linked = [path, ...names].flatMap((name) => this.#linkedNames(name));",
    replace: "const linked: string[] = [];",
  },
  {
    name: "git's objects are known by their names",
    steps: ["history"],
    file: names,
    find: "if (isGitObject(folded, index)) yield GIT_OBJECT;",
    replace: "",
  },
  {
    name: "what the flags of a command name to an interpreter is not written",
    steps: ["namedByCommands"],
    file: "packages/secure-local/src/policy/started-files.ts",
    find: "...valued.flatMap(({ flag, text }) =>\n      namedIn(",
    replace: "...[].flatMap(({ flag, text }) =>\n      namedIn(",
  },
  {
    name: "no case of a letter makes another name",
    steps: ["everyName"],
    file: "packages/secure-local/src/policy/path-matcher.ts",
    find: "return text.toLowerCase().toUpperCase().toLowerCase();",
    replace: "return text.toLowerCase();",
  },
  ...noTextDefended,
  ...mountsDefended,
];

const EVIL = new TextEncoder().encode("evil");
/** What a reader could write of 37 tried, and read of 24. */
const WRITTEN = [
  ...[".config/Code/User/settings.json", ".config/Code/User/tasks.json", ".config/Cursor/User/settings.json"],
  ...[".cargo/config.toml", ".cargo/env", ".nvm/nvm.sh", ".local/bin/git", ".husky/pre-commit", ".hg/hgrc", ".psqlrc"],
  ...[".pre-commit-config.yaml", ".irbrc", ".Rprofile", ".ipython/profile_default/startup/x.py", ".config/i3/config"],
  ...[
    ".config/sway/config",
    ".local/share/applications/x.desktop",
    ".tool-versions",
    "mise.toml",
    ".yarn/releases/yarn.cjs",
  ],
  ...[
    ".pnpmfile.cjs",
    "bunfig.toml",
    ".gradle/init.d/x.gradle",
    ".mvn/jvm.config",
    ".dir-locals.el",
    "x.code-workspace",
  ],
  ...["lefthook.yml", ".config/systemd/user/x.service", ".config/helix/languages.toml", ".config/go/env", ".latexmkrc"],
];
const READ = [
  ...["server.key", "private.pem", "x.p12", "x.pfx", "release.jks", "debug.keystore", ".config/sops/age/keys.txt"],
  ...[
    "terraform.tfstate",
    "terraform.tfstate.backup",
    "credentials.json",
    ".config/Code/User/globalStorage/state.vscdb",
  ],
  ...[".config/stripe/config.toml", ".config/doctl/config.yaml", ".fly/config.yml", ".supabase/access-token"],
  ...[".local/share/com.vercel.cli/auth.json", ".config/.wrangler/config/default.toml", ".config/netlify/config.json"],
  ...[".config/gcloud/application_default_credentials.json", ".config/gh/hosts.yml", ".config/rclone/rclone.conf"],
  ...[".cache/huggingface/token", ".config/pypoetry/auth.toml", ".local/share/keyrings/login.keyring"],
];
const EVERYDAY = [
  ...[
    "src/config.ts",
    "package.json",
    "Makefile",
    "README.md",
    "tsconfig.json",
    "Dockerfile",
    "Cargo.toml",
    "pyproject.toml",
  ],
  ...["AGENTS.md", "CLAUDE.md", ".gitattributes", ".gitignore", ".nvmrc", ".github/workflows/ci.yml", "src/Head.tsx"],
  ...[
    "src/objects/a.ts",
    "src/refs/a.ts",
    "src/hooks/use.ts",
    "config/app.yaml",
    "logs/app.log",
    "index",
    "certs/ca.pem",
  ],
  ...[
    "certs/server-cert.pem",
    "keys/public.pem",
    "locales/de/auth.json",
    "main.tf",
    "bin/run.sh",
    "lib/git.ts",
    "vite.config.ts",
  ],
];

export async function run(report, parts) {
  const steps = {
    everyName,
    whatAReaderTried,
    namedByCommands,
    links,
    linksNoText,
    mountedStarts,
    programs,
    repositories,
    history,
    honest,
  };
  await report.take(steps, parts);
}

function policyFor(parts, folder) {
  const text = `version: "1.0"\nfilesystem:\n  allowed_paths: ["${folder}/**"]\n`;
  return parts.parsePolicy(text, { file: "/nowhere/policy.yaml" });
}

async function allowing(parts, folder) {
  const policy = await policyFor(parts, folder);
  const system = new parts.FileSystem(() => policy);
  return { files: system.files(), close: () => system.close() };
}

/** `true` when it was refused by a rule of ours, whatever is there. */
async function denied({ FileError }, act) {
  const got = await act().catch(refusal);
  if (!(got instanceof FileError)) return got instanceof Error ? String(got) : "done";
  if (got.message.includes(SECRET)) return "the error tells the secret";
  return got.code === "denied" || `${got.code}: ${got.message}`;
}

async function everyName(report, parts) {
  const at = place();
  const { files, close } = await allowing(parts, at.inside);
  for (const names of parts.NAME_CLASSES) {
    report.kind(`protected names: ${names.title}`);
    for (const { name, from } of parts.namesIn(names)) {
      if (name.startsWith("/") || name.startsWith("~")) continue;
      const plain = name.replaceAll("*", "x");
      for (const spelling of new Set([plain, `sub/${plain}`, ...parts.spellings(plain), `${plain}/below/x`])) {
        const path = join(at.inside, spelling);
        const changes = {
          write: () => files.write(path, EVIL, { folders: true }),
          remove: () => files.remove(path),
        };
        const looks = { read: () => files.read(path), list: () => files.list(path) };
        for (const [op, act] of Object.entries(from === "write" ? changes : { ...changes, ...looks }))
          await report.attack(`${op} ${JSON.stringify(spelling)}`, () => denied(parts, act));
      }
    }
  }
  await anchored(report, parts);
  for (const name of readdirSync(at.inside, { recursive: true }))
    if (statSync(join(at.inside, name)).isFile() && readFileSync(join(at.inside, name), "utf8") === "evil")
      report.sideEffect(`written: ${name}`);
  close();
  at.remove();
}

/** Names that only the home folder or the root have: judged by their words, since nothing may be written there here. */
async function anchored(report, parts) {
  report.kind("names of the home folder and the root");
  const { files, close } = await allowing(parts, "");
  for (const { name, from } of parts.NAME_CLASSES.flatMap((names) => parts.namesIn(names))) {
    if (!name.startsWith("/") && !name.startsWith("~")) continue;
    const path = name.replaceAll("*", "x").replace(/^~/, homedir());
    for (const op of from === "write" ? ["write", "delete"] : ["write", "delete", "read", "list"])
      await report.attack(`${op} ${path}`, () => denied(parts, () => files.judge(path, op)));
  }
  close();
}

async function whatAReaderTried(report, parts) {
  const at = place();
  const policy = `version: "1.0"
filesystem: { allowed_paths: ["${at.inside}/**"] }
resources: { allowed: ["file:///*"] }
tools:
  allowed: ["search_*", "read_file", "write_file", "edit_file", "list_directory"]`;
  const { call, request, close } = await session(parts, { policy, revision: "2026-07-28" });
  report.kind("what editors, shells and tools read, by the tools", { found: "reader" });
  for (const name of WRITTEN) {
    const path = join(at.inside, name);
    const content = "evil";
    await report.attack(`write_file ${name}`, async () => wasDenied(await call("write_file", { path, content })));
    at.put(name, "old");
    for (const [tool, more] of [
      ["write_file", { content }],
      ["edit_file", { edits: [{ old_text: "old", new_text: "evil" }] }],
    ])
      await report.attack(`${tool} ${name}, there`, async () => wasDenied(await call(tool, { path, ...more })));
    if (readFileSync(path, "utf8") !== "old") report.sideEffect(`${name} was changed`);
    rmSync(path);
  }
  report.kind("keys and token stores, by the tools", { found: "reader" });
  for (const name of READ) {
    const path = at.put(name, SECRET);
    await report.attack(`read_file ${name}`, async () => wasDenied(await call("read_file", { path })));
    const uri = `file://${encodeURI(path)}`;
    for (const [what, got] of [
      ["the resource of", () => request("resources/read", { uri })],
      ["search_text over", () => call("search_text", { path: at.inside, query: SECRET.slice(0, 10) })],
      ["search_files over", () => call("search_files", { path: at.inside, pattern: path.split("/").at(-1) })],
    ])
      await report.attack(`${what} ${name}`, async () => {
        const { answer } = await got();
        const text = JSON.stringify(answer.error ?? answer);
        return !text.includes(SECRET) && !/"matches":\[\{/.test(text) ? true : text.slice(0, 300);
      });
    rmSync(path);
  }
  await close();
  at.remove();
}

/** By an interpreter: where the entry of a command may name the file that is run. */
const NAMED = {
  "a flag": (flag, file) => ({ flags: [{ flag, fixed: file }] }),
  "one of several values": (flag, file) => ({ flags: [{ flag, enum: ["x", file] }] }),
  "two arguments": (flag, file) => ({ arguments: [{ fixed: flag }, { fixed: file }] }),
  "one argument": (flag, file) => ({ arguments: [{ fixed: `${flag}=${file}` }] }),
  "optional arguments": (flag, file) => ({
    arguments: [
      { fixed: flag, optional: true },
      { enum: [file], optional: true },
    ],
  }),
  "arguments of a launcher": (flag, file, executable) => ({
    executable: "/usr/bin/env",
    arguments: [{ fixed: executable }, { fixed: flag }, { fixed: file }],
  }),
};
const INTERPRETERS = {
  node: ["--require", "-r", "--import", "--loader"],
  perl: ["--require", "-S"],
  python3: ["-i", "-X"],
  ruby: ["-r", "-S"],
  bash: ["--rcfile", "--init-file"],
  java: ["-jar", "-cp", "-javaagent"],
  php: ["-f", "-c"],
  make: ["-f", "--file"],
  pwsh: ["-File"],
};

async function namedByCommands(report, parts) {
  report.kind("files that a policy's commands name to what runs them", { found: "attack" });
  for (const [program, flags] of Object.entries(INTERPRETERS))
    for (const flag of flags)
      for (const [where, entry] of Object.entries(NAMED)) {
        const at = place();
        const file = at.put("hook", "old");
        const other = at.put("notes", "old");
        const executable = `/usr/bin/${program}`;
        const command = { name: "c", executable, ...entry(flag, file, executable) };
        const policy = `version: "1.0"
filesystem: { allowed_paths: ["${at.inside}/**"] }
tools:
  allowed: [write_file, edit_file]
commands: { allowed: [${JSON.stringify(command)}] }`;
        const { call, close } = await session(parts, { policy, revision: "2026-07-28" });
        await report.benign(`write beside it: ${program} ${flag}, ${where}`, async () =>
          wasServed(await call("write_file", { path: other, content: "new" })),
        );
        const edits = [{ old_text: "old", new_text: "evil" }];
        for (const [tool, more] of [
          ["write_file", { content: "evil" }],
          ["edit_file", { edits }],
        ])
          await report.attack(`${tool}: ${program} ${flag}, ${where}`, async () =>
            wasDenied(await call(tool, { path: file, ...more })),
          );
        if (readFileSync(file, "utf8") !== "old")
          report.sideEffect(`${program} ${flag}, ${where}: the file was changed`);
        await close();
        at.remove();
      }
}

/** Protected names that are links, as people keep their dotfiles in a folder of their own: what they lead to is run as well. */
async function links(report, parts) {
  report.kind("protected names that are links", { found: "attack" });
  // A link in a folder of commands leads to what people work on, and is followed by name only.
  for (const [index, name] of WRITTEN.filter((each) => !each.startsWith(".local/bin")).entries()) {
    const parents = dirname(name) === "." ? [] : [dirname(name)];
    for (const link of [name, ...parents]) {
      const at = place();
      const target = `kept/x${index}`;
      const file = link === name ? target : `${target}/${name.split("/").at(-1)}`;
      const to = join(at.inside, target);
      mkdirSync(dirname(join(at.inside, link)), { recursive: true });
      const kept = at.put(file, "old");
      const other = place();
      const { files: without, close: end } = await allowing(parts, other.inside);
      const honest = await without.write(other.put(file, "old"), EVIL).then(
        () => true,
        () => false,
      );
      end();
      other.remove();
      symlinkSync(link.length % 2 === 0 ? to : relative(dirname(join(at.inside, link)), to), join(at.inside, link));
      const { files, close } = await allowing(parts, at.inside);
      await report.benign(`write ${target} to which nothing leads`, () => honest);
      const isProtected = await files.write(join(at.inside, name), EVIL).then(
        () => false,
        () => true,
      );
      // A folder above the name may itself be nobody's business: then only the name is.
      if (isProtected && (link === name || (await linkIsProtected(parts, files, join(at.inside, link)))))
        for (const path of [kept, join(at.inside, "kept/./", file.slice("kept/".length))])
          await report.attack(`write ${file}, to which ${link} leads`, () =>
            denied(parts, () => files.write(path, EVIL)),
          );
      close();
      at.remove();
    }
  }
}

async function linkIsProtected({ FileError }, files, link) {
  const got = await files.write(link, EVIL).catch(refusal);
  return got instanceof FileError && got.code === "denied";
}

/** Each file, with the program that reads it: it does, and no tool writes it. */
async function programs(report, parts) {
  report.kind("start files, with the programs that run them", { found: "reader" });
  const unshown = [];
  for (let turn = 0; ; turn += 1) {
    const at = place();
    const program = selfRunning(at.inside)[turn];
    if (program === undefined) {
      at.remove();
      break;
    }
    const { files, close } = await allowing(parts, at.inside);
    const path = join(at.inside, program.name);
    if (program.absent !== undefined) console.log(`T34: ${program.title} is not tried: ${program.absent}`);
    else program.prepare();
    const before = existsSync(path) ? readFileSync(path) : undefined;
    for (const mode of ["either", "create", "replace"])
      await report.attack(`${mode} ${program.title}`, () =>
        denied(parts, () => files.write(path, new TextEncoder().encode(program.text), { mode, folders: true })),
      );
    if (program.absent === undefined) {
      if (program.ran()) report.sideEffect(`${program.title}: ran what a tool wrote`);
      if (before !== undefined) rmSync(path);
      program.put();
      if (!program.ran()) unshown.push(program.title);
    }
    close();
    at.remove();
  }
  report.demand(
    "every program that is installed is shown to read its file by itself",
    unshown.length === 0,
    unshown.join(", "),
  );
}

const GIT = { ...process.env, GIT_CONFIG_NOSYSTEM: "1", GIT_TERMINAL_PROMPT: "0" };

function git(folder, ...args) {
  const who = ["-c", "user.name=x", "-c", "user.email=x@x.example"];
  return spawnSync("git", [...who, ...args], {
    cwd: folder,
    env: { ...GIT, HOME: folder },
    encoding: "utf8",
    input: "",
  });
}

/** As prompts and editors ask by themselves, and as a person asks in a repository that has no work tree. */
function asked(folder) {
  git(folder, "status");
  git(folder, "ls-remote", "origin");
}

function orders(names) {
  if (names.length < 2) return [[...names]];
  return names.flatMap((name) => orders(names.filter((other) => other !== name)).map((rest) => [name, ...rest]));
}

/** Folders that git would take for a repository, by the files a model would have to write. `runs`: where git is asked. */
function shapes(mark) {
  const config = `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "touch '${mark}' #"\n\tbare = false\n\tworktree = .\n[remote "origin"]\n\turl = .\n\tuploadpack = "touch '${mark}' #"\n`;
  const HEAD = "ref: refs/heads/main\n";
  const whole = (folder) => ({
    [`${folder}/HEAD`]: HEAD,
    [`${folder}/config`]: config,
    [`${folder}/objects/x`]: "",
    [`${folder}/refs/x`]: "",
  });
  return {
    "commondir of a repository": {
      files: { ".git/commondir": "../api\n", "api/config": config, "api/objects/x": "", "api/refs/x": "" },
      runs: ".",
      init: true,
    },
    "a file .git": { files: { "lib/.git": "gitdir: ./data\n", ...whole("lib/data") }, runs: "lib" },
    "a folder .git": { files: whole("lib/.git"), runs: "lib" },
    "a bare repository": { files: whole("data"), runs: "data" },
    "a bare repository with commondir": {
      files: {
        "data/HEAD": HEAD,
        "data/commondir": "../api\n",
        "api/config": config,
        "api/objects/x": "",
        "api/refs/x": "",
      },
      runs: "data",
    },
  };
}

async function repositories(report, parts) {
  const mark = (at) => join(at.inside, "it-ran");
  const titles = Object.keys(shapes(""));
  for (const title of titles) {
    report.kind(`git takes what a tool wrote: ${title}`, { found: "reader" });
    for (const spelling of [
      (name) => name,
      (name) => name.replace(".git", ".GIT"),
      (name) => name.replace("HEAD", "head"),
    ]) {
      const names = Object.keys(shapes("")[title].files);
      for (const order of orders(names).filter((_, index) => index % 4 === 0)) {
        const at = place();
        const { files: wanted, runs, init } = shapes(mark(at))[title];
        if (init) git(at.inside, "init", "-q");
        const { files, close } = await allowing(parts, at.inside);
        await report.attack(`${title}: ${order.map(spelling).join(", ")}`, async () => {
          const refused = [];
          for (const name of order)
            await files
              .write(join(at.inside, spelling(name)), new TextEncoder().encode(wanted[name]), { folders: true })
              .catch((error) => refused.push(error));
          if (existsSync(join(at.inside, runs))) asked(join(at.inside, runs));
          if (existsSync(mark(at))) return "git ran it";
          // On a system where case counts, a `head` is no HEAD.
          return refused.length > 0 || spelling("HEAD") === "head" || "nothing was refused";
        });
        close();
        at.remove();
      }
    }
  }
  const at = place();
  const shown = titles.filter((title) => {
    const base = join(at.inside, title.replaceAll(" ", "-"));
    const { files, runs, init } = shapes(join(base, "ran"))[title];
    mkdirSync(base, { recursive: true });
    if (init) git(base, "init", "-q");
    for (const [name, text] of Object.entries(files)) at.put(join(title.replaceAll(" ", "-"), name), text);
    asked(join(base, runs));
    return existsSync(join(base, "ran"));
  });
  const all = shown.length === titles.length;
  report.demand(
    "git is shown to run what each of these folders says",
    all,
    `${shown.length} of ${titles.length}: ${shown.join("; ")}`,
  );
  at.remove();
}

/** A repository with a `.env` in its history, in each form git keeps one, and every way to its bytes. */
async function history(report, parts) {
  const at = place();
  const work = join(at.inside, "work");
  at.put("work/.env", SECRET);
  at.put("work/README.md", "hello");
  git(work, "init", "-q", "-b", "main");
  git(work, "add", "-f", ".");
  git(work, "commit", "-q", "-m", "x");
  git(at.inside, "clone", "-q", "--no-hardlinks", "work", "packed");
  git(join(at.inside, "packed"), "repack", "-q", "-a", "-d");
  git(at.inside, "clone", "-q", "--bare", "--no-hardlinks", "work", "bare");
  git(
    at.inside,
    "clone",
    "-q",
    "--no-hardlinks",
    "--separate-git-dir",
    join(at.inside, "apart/store"),
    "work",
    "separate",
  );
  git(work, "worktree", "add", "-q", "-b", "other", join(at.inside, "tree"));
  cpSync(join(work, ".git/objects"), join(at.inside, "backup/of-objects"), { recursive: true });
  cpSync(join(at.inside, "packed/.git/objects/pack"), join(at.inside, "backup/packs"), { recursive: true });
  symlinkSync("work/.git", join(at.inside, "link"));
  for (const env of ["work", "packed", "separate", "tree"]) rmSync(join(at.inside, env, ".env"), { force: true });
  const policy = `version: "1.0"
filesystem: { readable_paths: ["${at.inside}/**"] }
resources: { allowed: ["file:///*", "git:///*"] }
tools:
  allowed: ["search_*", "read_file", "list_directory"]`;
  const { call, request, close } = await session(parts, { policy, revision: "2026-07-28" });
  report.kind("git's objects, index, packs and logs, read as files", { found: "reader" });
  const stored = readdirSync(at.inside, { recursive: true }).filter(
    (name) => /(?:^|\/)(?:\.git|bare|store|backup)(?:\/|$)/.test(name) && statSync(join(at.inside, name)).isFile(),
  );
  const paths = stored.flatMap((name) =>
    name.startsWith("work/.git/") ? [name, name.replace("work/.git", "link")] : [name],
  );
  for (const name of paths.filter((each) => !/\/(?:description|hooks\/.*\.sample|exclude)$/.test(each))) {
    const path = join(at.inside, name);
    await report.attack(`read_file ${name}`, async () => wasDenied(await call("read_file", { path })));
    await report.attack(`file:// ${name}`, async () => {
      const { answer } = await request("resources/read", { uri: `file://${path}` });
      return answer.error !== undefined || "answered";
    });
    await report.attack(`list_directory of ${dirname(name)}`, async () => {
      const { answer } = await call("list_directory", { path: dirname(path) });
      return !JSON.stringify(answer).includes(`"${name.split("/").at(-1)}"`) || "listed";
    });
  }
  for (const folder of ["work", "packed", "bare"])
    await report.attack(`git:// ${folder}?path=.env`, async () => {
      const { answer } = await request("resources/read", { uri: `git://${join(at.inside, folder)}?path=.env` });
      return answer.error !== undefined && !JSON.stringify(answer).includes(SECRET);
    });
  for (const folder of ["work", "packed", "bare"])
    await report.benign(`git history of ${folder}`, async () =>
      wasServed(await request("resources/read", { uri: `git://${join(at.inside, folder)}?path=README.md` })),
    );
  report.demand("repositories of every form were there to be read", paths.length > 40, `${paths.length} files`);
  await close();
  at.remove();
}

async function honest(report, parts) {
  const at = place();
  const { files, close } = await allowing(parts, at.inside);
  for (const name of [...parts.HONEST, ...EVERYDAY]) {
    const path = join(at.inside, "honest", name);
    await report.benign(`write ${name}`, async () => (await files.write(path, EVIL, { folders: true })).size === 4);
    await report.benign(`read ${name}`, async () => (await files.read(path)).size === 4);
    await report.benign(`remove ${name}`, async () => (await files.remove(path)) === undefined);
  }
  for (const name of [
    ".husky/pre-commit",
    "mise.toml",
    ".pre-commit-config.yaml",
    "rust-toolchain.toml",
    ".Rprofile",
    ".psqlrc",
  ]) {
    const path = at.put(name, "text");
    await report.benign(`read ${name}`, async () => (await files.read(path)).size === 4);
  }
  close();
  at.remove();
}
