// What the policy starts without a hash is read and not written: a tool that wrote it would have its text run by the guard itself.
import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { rememberBases } from "../../src/capabilities/files/bases.js";
import { checkedExecutable } from "../../src/capabilities/policy-run.js";
import { PluginCache } from "../../src/plugins/plugin-cache.js";
import { reviewPolicy } from "../../src/policy/review-policy.js";
import { kindOfPath } from "../../src/cli/write-new-file.js";
import type { Policy } from "../../src/policy/policy.js";
import { ownFiles } from "../../src/capabilities/files/own-files.js";
import { FileRules } from "../../src/capabilities/files/file-rules.js";
import { grantedPolicy } from "../../src/policy/granted-policy.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { tree } from "./tree.js";

const HASH = "a".repeat(64);
const NOTHING = { network: {}, filesystem: {} };

it("programs, plugins and what all programs see are not written by any tool, command or plugin", async () => {
  const { inside } = tree();
  const at = (name: string): string => join(inside, name);
  for (const folder of ["plug/data", "real", "server"]) mkdirSync(at(folder), { recursive: true });
  symlinkSync(at("real"), at("linked"));
  const plugin = (name: string, path: string, more: object = {}): object => ({
    name,
    path: at(path),
    ...NOTHING,
    ...more,
  });
  const policy = await parsePolicy(
    JSON.stringify({
      version: "1.0",
      filesystem: { allowed_paths: [`${inside}/**`] },
      sandbox: { read_only_paths: [at("seen")] },
      commands: {
        allowed: [
          { name: "one", executable: at("tool.sh") },
          { name: "hashed", executable: at("hashed.sh"), sha256: HASH },
          { name: "far", executable: at("linked/tool") },
        ],
      },
      plugins: {
        load: [
          plugin("plug", "plug", { filesystem: { allowed_paths: [`${inside}/plug/data/**`] } }),
          plugin("pinned", "pinned", { sha256: HASH }),
        ],
      },
      servers: { served: { command: [at("server/run"), at("server/code.js")] } },
    }),
    { file: "/nowhere/policy.yaml", environment: {} },
  );
  const { network, filesystem } = policy;
  for (const under of [policy, grantedPolicy(policy, { network, filesystem })]) {
    const rules = await FileRules.of(under, ownFiles(under, []));
    const refused = (names: readonly string[]): string[] =>
      names.filter((name) => rules.judge(at(name), "write") !== undefined);
    const started = [
      "tool.sh",
      "linked/tool",
      "real/tool",
      "plug",
      "plug/index.mjs",
      "plug/lib/x.js",
      "seen/x",
      "server/run",
    ];
    expect(refused(started)).toEqual(started);
    expect(started.filter((name) => rules.judge(at(name), "read") !== undefined)).toEqual([]);
    expect(
      refused(["hashed.sh", "pinned/index.mjs", "plug/data/x", "real/other", "server/code.js", "tool.sh.txt"]),
    ).toEqual([]);
    expect(rules.judge(at("plug/index.mjs"), "write")?.rule).toContain("without a hash (sha256)");
  }
});

/** What the policy starts by a path, and how that is started. */
const KINDS: Readonly<
  Record<
    string,
    {
      readonly section: (path: string) => object;
      readonly start?: (policy: Policy, path: string) => Promise<unknown>;
    }
  >
> = {
  program: {
    section: (path) => ({ commands: { allowed: [{ name: "c", executable: path }] } }),
    start: async ({ commands }) => {
      for (const command of commands.allowed.values()) await checkedExecutable(command);
    },
  },
  plugin: {
    section: (path) => ({ plugins: { load: [{ name: "p", path, ...NOTHING }] } }),
    start: async (_, path) => {
      const cache = new PluginCache(undefined);
      try {
        await cache.take(path, { own: [] });
      } finally {
        cache.close();
      }
    },
  },
  "server's program": { section: (path) => ({ servers: { s: { command: [path] } } }) },
};
/** What is a link, of `top/mid/file`. */
const LINKS = ["top/mid/file", "top/mid", "top"];
const SCRIPT = "#!/bin/sh\necho\n";

async function linked(kind: string, link: string) {
  const t = tree();
  const path = join(t.inside, "top/mid/file");
  mkdirSync(dirname(path), { recursive: true });
  t.put("top/mid/file", SCRIPT);
  t.put("top/mid/beside", "text");
  renameSync(join(t.inside, link), join(t.inside, "real"));
  symlinkSync(`${"../".repeat(link.split("/").length - 1)}real`, join(t.inside, link));
  const writer = { servers: { w: { command: ["/usr/bin/w"], filesystem: { allowed_paths: [`${t.inside}/**`] } } } };
  const own = KINDS[kind]?.section(path) as { readonly servers?: object };
  const policy = await parsePolicy(
    JSON.stringify({
      version: "1.0",
      filesystem: { allowed_paths: [`${t.inside}/**`] },
      ...own,
      servers: { ...writer.servers, ...own.servers },
    }),
    { file: "/nowhere/policy.yaml", environment: {} },
  );
  rememberBases(policy);
  return { t, path, policy };
}

describe.each(Object.keys(KINDS).flatMap((kind) => LINKS.map((link) => ({ kind, link }))))(
  "a $kind behind the link $link",
  ({ kind, link }) => {
    it("keeps that link, and nothing beside it", async () => {
      const { t, policy } = await linked(kind, link);
      const rules = await FileRules.of(policy, ownFiles(policy, []));
      const refused = (name: string): boolean => rules.judge(join(t.inside, name), "write") !== undefined;
      const at = `real${"top/mid/file".slice(link.length)}`;
      expect([link, at, "top/mid/file"].map(refused)).toEqual([true, true, true]);
      // What is a folder as a whole is what a plugin consists of.
      expect(["top/mid/beside", "real-other", "more"].map(refused)).toEqual([false, false, false]);
    });

    it.runIf(KINDS[kind]?.start !== undefined)("is not started when somebody exchanged it all the same", async () => {
      const { t, path, policy } = await linked(kind, link);
      const start = (): Promise<unknown> => KINDS[kind]?.start?.(policy, path) ?? Promise.resolve();
      await start();
      for (const by of ["link", "folder"]) {
        rmSync(join(t.inside, link), { recursive: true });
        if (by === "folder") t.put("top/mid/file", SCRIPT);
        else {
          t.put(`other${"top/mid/file".slice(link.length)}`, SCRIPT);
          symlinkSync(join(t.inside, "other"), join(t.inside, link));
        }
        await expect(start(), by).rejects.toThrow(/was exchanged since the policy was loaded/);
      }
      // Whoever loads the policy anew has looked.
      rememberBases(policy);
      await start();
    });
  },
);

it("an interpreter of a script, and the interpreter of that, are not written", async () => {
  const t = tree();
  for (const folder of ["bin", "x"]) mkdirSync(join(t.inside, folder));
  t.put("bin/tool", `#! ${t.inside}/link/interp -x\n`);
  t.put("x/interp", "#!x/below\n");
  t.put("x/below", SCRIPT);
  symlinkSync("x", join(t.inside, "link"));
  const policy = await parsePolicy(
    JSON.stringify({
      version: "1.0",
      filesystem: { allowed_paths: [`${t.inside}/**`] },
      commands: { allowed: [{ name: "c", executable: join(t.inside, "bin/tool"), working_directory: t.inside }] },
    }),
    { file: "/nowhere/policy.yaml", environment: {} },
  );
  const rules = await FileRules.of(policy, ownFiles(policy, []));
  const names = ["bin/tool", "link", "link/interp", "x/interp", "x/below"];
  expect(names.filter((name) => rules.judge(join(t.inside, name), "write") === undefined)).toEqual([]);
  expect(rules.judge(join(t.inside, "x/other"), "write")).toBeUndefined();
});

it("what an interpreter is told to run is not written where it exists, and noted where it does not", async () => {
  const t = tree();
  const folder = t.inside;
  for (const name of ["build.mjs", "pre.cjs", "tool.py", "notes.txt"]) t.put(name, "text");
  mkdirSync(join(folder, "src"));
  const command = (name: string, executable: string, fixed: readonly string[], env: object = {}): object => ({
    name,
    executable,
    arguments: fixed.map((text) => ({ fixed: text })),
    env,
    working_directory: folder,
  });
  const policy = await parsePolicy(
    JSON.stringify({
      version: "1.0",
      filesystem: { allowed_paths: [`${folder}/**`] },
      commands: {
        allowed: [
          command("build", "/usr/bin/node", ["--require=./pre.cjs", "build.mjs", "src"]),
          command("later", "/usr/bin/node", ["-p", "1"], { NODE_OPTIONS: `--require ${folder}/gone.cjs` }),
          command("module", "/usr/bin/python3", ["-m", "tool"]),
          command("word", "/usr/bin/wc", ["notes.txt"]),
        ],
      },
    }),
    { file: "/nowhere/policy.yaml", environment: {} },
  );
  const rules = await FileRules.of(policy, ownFiles(policy, []));
  const names = ["pre.cjs", "build.mjs", "tool.py", "notes.txt", "src/a", "gone.cjs"];
  const refused = names.filter((name) => rules.judge(join(folder, name), "write") !== undefined);
  expect(refused).toEqual(["pre.cjs", "build.mjs", "tool.py"]);
  const notes = reviewPolicy(policy, [], { kindOf: kindOfPath }).map(({ message }) => message);
  const named = notes.filter((note) => note.includes("may be written"));
  expect(named.join("\n")).toMatch(/^"later" names \S+gone\.cjs.*\n"module" names .*\n"word" names \S+notes\.txt,/);
});

/** Each way in which a policy names the file `run.cjs` to what runs it: parts of an entry of `commands.allowed`. */
const WAYS: Readonly<Record<string, (file: string) => object>> = {
  "a flag's value": (file) => ({ flags: [{ flag: "--require", fixed: file }] }),
  "a flag of one letter": (file) => ({ flags: [{ flag: "-r", fixed: file }] }),
  "one of several values of a flag": (file) => ({ flags: [{ flag: "--import", enum: ["node:fs", file] }] }),
  "flag and value in one text": (file) => ({ arguments: [{ fixed: `--require=${file}` }] }),
  "flag and value without a blank": (file) => ({ arguments: [{ fixed: `-r${file}` }] }),
  "a URL": (file) => ({ arguments: [{ fixed: "--import" }, { fixed: `file://${file}` }] }),
  "a list": (file) => ({ arguments: [{ fixed: "-cp" }, { fixed: `/usr/lib/x.jar:${file}` }] }),
  "a file of arguments": (file) => ({ arguments: [{ fixed: `@${file}` }] }),
  "one of several operands": (file) => ({ arguments: [{ enum: ["other.cjs", file] }] }),
  "an optional operand": (file) => ({ arguments: [{ fixed: file, optional: true }] }),
  "a line for a shell": (file) => ({
    executable: "/bin/sh",
    arguments: [{ fixed: "-c" }, { fixed: `. ${file} && date` }],
  }),
  "code that loads it": (file) => ({ arguments: [{ fixed: "-e" }, { fixed: `require("${file}")` }] }),
  "a launcher and its interpreter": (file) => ({
    executable: "/usr/bin/env",
    arguments: [{ fixed: "-i" }, { fixed: "node" }, { fixed: file }],
  }),
  "a launcher": (file) => ({ executable: "/usr/bin/timeout", arguments: [{ fixed: "10" }, { fixed: file }] }),
  "a launcher's variable": (file) => ({
    executable: "/usr/bin/env",
    arguments: [{ fixed: `NODE_OPTIONS=--require=${file}` }, { fixed: "date" }],
  }),
  "the loader of the system": (file) => ({ executable: "/lib64/ld-linux-x86-64.so.2", arguments: [{ fixed: file }] }),
  "a program that makes": (file) => ({ executable: "/usr/bin/make", flags: [{ flag: "-f", fixed: file }] }),
  "the variable LD_PRELOAD": (file) => ({ executable: "/usr/bin/wc", env: { LD_PRELOAD: `/usr/lib/a.so:${file}` } }),
  "the variable GIT_EXTERNAL_DIFF": (file) => ({
    executable: "/usr/bin/git",
    env: { GIT_EXTERNAL_DIFF: `${file} -x` },
  }),
  "the variable JDK_JAVA_OPTIONS": (file) => ({
    executable: "/usr/bin/date",
    env: { JDK_JAVA_OPTIONS: `-Xmx1g -javaagent:${file}=x` },
  }),
};

it.each(Object.keys(WAYS).flatMap((way) => ["absolute", "relative"].map((spelt) => ({ way, spelt }))))(
  "what $way names, $spelt, is not written",
  async ({ way, spelt }) => {
    const t = tree();
    t.put("run.cjs", "text");
    t.put("notes.txt", "text");
    const named = spelt === "absolute" || way === "a URL" ? join(t.inside, "run.cjs") : "./run.cjs";
    const entry = { name: "c", executable: "/usr/bin/node", working_directory: t.inside, ...WAYS[way]?.(named) };
    const policy = await parsePolicy(
      JSON.stringify({
        version: "1.0",
        filesystem: { allowed_paths: [`${t.inside}/**`] },
        commands: { allowed: [entry] },
      }),
      { file: "/nowhere/policy.yaml", environment: {} },
    );
    const { network, filesystem } = policy;
    for (const under of [policy, grantedPolicy(policy, { network, filesystem })]) {
      const rules = await FileRules.of(under, ownFiles(under, []));
      expect(rules.judge(join(t.inside, "run.cjs"), "write")?.rule).toContain("without a hash (sha256)");
      expect(rules.judge(join(t.inside, "run.cjs"), "read")).toBeUndefined();
      expect(rules.judge(join(t.inside, "notes.txt"), "write")).toBeUndefined();
    }
  },
);

it("texts that are no paths, however long, keep nobody from the files", async () => {
  const t = tree();
  t.put("notes.txt", "text");
  t.put("a.py", "text");
  const code = `import a\nprint("${"long text / ".repeat(600)}")\n# notes.txt\0 and a.py`;
  const policy = await parsePolicy(
    JSON.stringify({
      version: "1.0",
      filesystem: { allowed_paths: [`${t.inside}/**`] },
      commands: {
        allowed: [
          {
            name: "c",
            executable: "/usr/bin/python3",
            arguments: [{ fixed: "-c" }, { fixed: code }, { fixed: join(t.inside, "notes.txt/x") }],
            flags: [{ flag: "--long", fixed: "y".repeat(5_000) }],
            env: { PYTHONSTARTUP: "z".repeat(5_000) },
            working_directory: t.inside,
          },
        ],
      },
    }),
    { file: "/nowhere/policy.yaml", environment: {} },
  );
  rememberBases(policy);
  const rules = await FileRules.of(policy, ownFiles(policy, []));
  expect(rules.judge(join(t.inside, "notes.txt"), "write")).toBeUndefined();
  expect(rules.judge(join(t.inside, "a.py"), "write")).toBeDefined();
  reviewPolicy(policy, [], { kindOf: kindOfPath });
});

async function reviewed(inside: string, sections: object) {
  const policy = await parsePolicy(
    JSON.stringify({ version: "1.0", filesystem: { allowed_paths: [`${inside}/**`] }, ...sections }),
    { file: "/nowhere/policy.yaml", environment: {} },
  );
  const rules = await FileRules.of(policy, ownFiles(policy, []));
  const notes = reviewPolicy(policy, [], { kindOf: kindOfPath }).map(({ message }) => message);
  return {
    refused: (name: string): boolean => rules.judge(join(inside, name), "write") !== undefined,
    note: notes.find((note) => note.includes("may be written")) ?? "",
  };
}

it("what flags and variables name to other programs, do not name yet or have looked through is noted", async () => {
  const t = tree();
  for (const name of ["settings.ini", "out.csv"]) t.put(name, "text");
  mkdirSync(join(t.inside, "lib"));
  const { refused, note } = await reviewed(t.inside, {
    commands: {
      allowed: [
        {
          name: "all",
          executable: "/usr/bin/tool",
          flags: [{ flag: "--config", fixed: join(t.inside, "settings.ini") }],
          env: { PYTHONPATH: `/usr/lib/python:${t.inside}/lib`, NODE_OPTIONS: `-r ${t.inside}/gone.cjs` },
        },
      ],
    },
  });
  for (const name of ["settings.ini", "lib", "gone.cjs"]) expect(note).toContain(join(t.inside, name));
  expect(note).not.toContain("/usr/lib");
  expect(["settings.ini", "lib/x.py", "gone.cjs"].filter(refused)).toEqual([]);
  const made = { name: "c", executable: "/usr/bin/node", flags: [{ flag: "--out", fixed: join(t.inside, "out.csv") }] };
  const later = { ...made, name: "d", flags: [{ flag: "--require", fixed: join(t.inside, "later.cjs") }] };
  const more = await reviewed(t.inside, { commands: { allowed: [made, later] } });
  expect(more.refused("out.csv")).toBe(false);
  expect((await reviewed(t.inside, { commands: { allowed: [later] } })).note).toContain("later.cjs");
});

it("the script of a server is not written, and its data is", async () => {
  const t = tree();
  for (const name of ["server.py", "start", "hook.cjs", "data.db", "package.json", "tool.py"]) t.put(name, "text");
  const at = (name: string): string => join(t.inside, name);
  const { refused } = await reviewed(t.inside, {
    servers: {
      a: { command: ["python3", at("server.py"), "--db", at("data.db")] },
      b: { command: ["node", "--require", at("hook.cjs"), "-e", "1"], working_directory: t.inside },
      c: { command: ["/usr/bin/env", "sh", at("start")] },
      d: { command: ["python3", "-m", "tool"], working_directory: t.inside },
      e: { command: ["npx", "some-server", at("package.json")] },
    },
  });
  expect(["server.py", "start", "hook.cjs", "data.db", "package.json", "tool.py"].filter(refused)).toEqual([
    "server.py",
    "start",
    "hook.cjs",
    "tool.py",
  ]);
});
