// The classes of protected names: written so that they are found, refused for what they say and for nothing else; git's own files.
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileError } from "../../src/capabilities/files/files.js";
import { FileRules } from "../../src/capabilities/files/file-rules.js";
import { foldName, protectionOf } from "../../src/capabilities/files/protection-of.js";
import { ownFiles } from "../../src/capabilities/files/own-files.js";
import { FileSystem } from "../../src/capabilities/files/file-system.js";
import { plainPath } from "../../src/capabilities/files/plain-path.js";
import { KERNEL_FOLDERS, NAME_CLASSES, namesIn } from "../../src/capabilities/files/protected-names.js";
import type { FileOperation } from "../../src/policy/decide.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { sampled } from "../../../mcp/test/support/soak.js";
import { SECRET } from "./attacked-folder.js";
import { HONEST, spellings } from "./attacks.js";
import { filePolicy, filesIn, textOf, tree } from "./tree.js";

const ALL = NAME_CLASSES.flatMap((names) => namesIn(names).map((each) => ({ ...each, class: names.id })));
const EVIL = new TextEncoder().encode("evil");
const OPERATIONS: readonly FileOperation[] = ["read", "list", "write", "delete"];

/** A path that a protected name stands for. */
function pathFor(name: string): string {
  const plain = name.replaceAll("*", "x");
  if (plain.startsWith("~/")) return join(homedir(), plain.slice(2));
  return plain.startsWith("/") ? plain : `/data/p/${plain}`;
}

async function everywhere(): Promise<FileRules> {
  return FileRules.byName(
    await parsePolicy('version: "1.0"\nfilesystem: { allowed_paths: ["/**"] }\n', { file: "/p" }),
  );
}

describe("the classes of protected names", () => {
  it("write each name as it is compared, once, with a page that says what reads it", () => {
    for (const { name, source } of ALL) {
      const parts = name.replace(/^(?:~\/|\/)/, "").split("/");
      expect(parts.map((part) => foldName(part))).toEqual(parts);
      expect(source).toMatch(/^https:\/\/\S+$/);
    }
    const names = ALL.map(({ name }) => name);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it("let examples of environment files be used, and nothing that only looks like one", async () => {
    const rules = await everywhere();
    const refused = (name: string): boolean => rules.judge(`/data/p/${name}`, "read") !== undefined;
    for (const kind of ["example", "sample", "template", "dist"]) {
      for (const name of [`.env.${kind}`, `.env.test.${kind}`, `.ENV.Production.${kind}`, `a/.env.${kind}`])
        expect([name, refused(name)]).toEqual([name, false]);
      for (const name of [
        `.env.${kind}.local`,
        `.env${kind}`,
        `.env-${kind}`,
        `.env.${kind}s`,
        `.envrc.${kind}`,
        `.env.${kind}/.env`,
        `.env.a.b.${kind}`,
        `.env.${kind}~`,
      ])
        expect([name, refused(name)]).toEqual([name, true]);
    }
  });

  it("refuse what they say, in every spelling, below them too, and allow to read what may only not be written", async () => {
    const rules = await everywhere();
    const wrong: string[] = [];
    for (const { name, from } of ALL) {
      const paths =
        name.startsWith("~") || name.startsWith("/")
          ? [pathFor(name)]
          : [name, ...sampled(spellings(name), 4)].map(pathFor);
      for (const path of paths.flatMap((each) => [each, `${each}/below/x.txt`])) {
        for (const op of OPERATIONS) {
          const refused = rules.judge(path, op) !== undefined;
          const wanted = op === "write" || op === "delete" || protectionOf(path)?.from === "read and write";
          if (refused !== wanted) wrong.push(`${op} ${path}`);
        }
      }
      if (from === "read and write" && protectionOf(pathFor(name))?.from !== from) wrong.push(`${name} can be read`);
    }
    expect(wrong).toEqual([]);
  });

  it("bind what begins with the root or the home folder to it", async () => {
    const rules = await everywhere();
    for (const path of [
      "/data/project/bin/run.sh",
      "/data/rootfs/usr/bin/x",
      "/data/go/bin/x",
      "/data/pkg/etc/default/x",
    ])
      expect(rules.judge(path, "write")).toBeUndefined();
    for (const path of [join(homedir(), "bin/git"), "/usr/bin/x", "/etc/default/x"])
      expect(rules.judge(path, "write")?.rule).toContain("built-in protection");
  });

  it("leave the names of everyday work alone", async () => {
    const rules = await everywhere();
    const everyday = [
      ...[
        "package.json",
        "Makefile",
        "README.md",
        "tsconfig.json",
        "Dockerfile",
        "src/config.ts",
        "Cargo.toml",
        "pyproject.toml",
      ],
      ...[
        "AGENTS.md",
        "CLAUDE.md",
        ".gitattributes",
        ".gitignore",
        ".nvmrc",
        ".python-version",
        "go.mod",
        ".editorconfig",
      ],
      ...[
        "src/Head.tsx",
        "src/head/index.ts",
        "src/objects/a.ts",
        "src/hooks/use-x.ts",
        "refs/a.md",
        "logs/app.log",
        "HEAD.md",
      ],
      ...[
        "locales/en/auth.json",
        "tokens.json",
        "design/tokens.css",
        "terraform/main.tf",
        "infra/variables.tf",
        ".eslintrc.js",
      ],
      ...[
        "certs/ca.pem",
        "certs/server-cert.pem",
        "fullchain.pem",
        "public.pem",
        "id.pub",
        "public_key.pem",
        "root.crt",
      ],
      ...["pack-list.md", "pack-1234.json", "ab/cdef.json", "src/mise/plan.ts", "src/go/env/config.ts", ".sops.yaml"],
    ];
    const refused = [...HONEST, ...everyday].filter((name) =>
      OPERATIONS.some((op) => rules.judge(`/data/p/${name}`, op) !== undefined),
    );
    expect(refused).toEqual([]);
  });

  it("take a key for a key whatever else its name says", () => {
    const keys = [
      "server.pem",
      "key.pem",
      "privkey.pem",
      "ca-key.pem",
      "cert-private.pem",
      "server.key",
      "ca.secret.key",
      "dump.p12",
    ];
    expect(keys.filter((name) => protectionOf(`/p/${name}`)?.class !== "keys")).toEqual([]);
  });

  it.each(KERNEL_FOLDERS)("keep /%s out of reach whatever the policy allows", async (folder) => {
    const rules = await everywhere();
    for (const op of OPERATIONS) {
      for (const path of [`/${folder}`, `/${folder}/self/environ`])
        expect(rules.judge(path, op)?.rule).toBe(`built-in protection of /${folder}: it is a door into the kernel`);
    }
    expect(rules.judge(`/data/${folder}/x`, "read")).toBeUndefined();
  });

  it("hold where a protected name is a link, for what it leads to", async () => {
    const t = tree();
    for (const name of [
      "dotfiles/bashrc",
      "hooks-src/pre-commit",
      "settings/user.json",
      "store/x",
      "plain/a.txt",
      "cargo-kept/x",
      "shared/x",
    ])
      t.put(name);
    mkdirSync(join(t.inside, ".config/Code/User"), { recursive: true });
    for (const folder of [".git", ".local/bin"]) mkdirSync(join(t.inside, folder), { recursive: true });
    const links: Record<string, string> = {
      ".bashrc": "dotfiles/bashrc",
      ".husky": "hooks-src",
      ".config/Code/User/settings.json": "settings/user.json",
      ".git/hooks": "store",
      ".idea": ".",
      ".local/bin/tool": "plain/a.txt",
      "plain-link": "plain",
      ".cargo": "cargo-kept",
      ".local/share": "shared",
    };
    for (const folder of ["shared/applications", "shared/plain"]) mkdirSync(join(t.inside, folder));
    for (const [name, target] of Object.entries(links)) symlinkSync(join(t.inside, target), join(t.inside, name));
    const files = await filesIn(t);
    const names = [
      "dotfiles/bashrc",
      "hooks-src/pre-commit",
      "hooks-src/pre-push",
      "settings/user.json",
      "store/pre-commit",
      "cargo-kept/config.toml",
      "shared/applications/x.desktop",
    ];
    for (const name of names)
      await expect(files.write(join(t.inside, name), EVIL)).rejects.toMatchObject({ code: "denied" });
    await expect(files.read(join(t.inside, "dotfiles/bashrc"))).rejects.toMatchObject({ code: "denied" });
    await files.read(join(t.inside, "hooks-src/pre-commit"));
    for (const name of ["plain/a.txt", "dotfiles/README.md", "cargo-kept/plain", "shared/plain/x"])
      await files.write(join(t.inside, name), EVIL);
  });

  it("tell the sandbox what a path is protected from", async () => {
    const t = tree();
    const own = join(t.inside, "policy.yaml");
    const rules = await FileRules.of(await filePolicy(t), ownFiles({ ...(await filePolicy(t)), file: own }, []));
    const from = (name: string): unknown => rules.protection(join(t.inside, name));
    expect(from("policy.yaml")).toMatchObject({ class: "own", from: "read and write" });
    expect(from(".git/objects")).toMatchObject({ class: "git-store", from: "read and write" });
    expect(from(".husky/pre-commit")).toMatchObject({ class: "hooks", from: "write" });
    expect(from("src/a.ts")).toBeUndefined();
  });
});

describe("the program's own files", () => {
  it("are neither read nor changed when secrets come from them", async () => {
    const t = tree();
    t.put("keys/token", SECRET);
    const link = join(t.inside, "link");
    symlinkSync(join(t.inside, "keys"), link);
    const policy = await parsePolicy(
      `version: "1.0"\nfilesystem: { allowed_paths: ["${t.inside}/**"] }\nsecrets: { k: { from: "file:${link}/token", hosts: [x.example] } }\n`,
      { file: join(t.inside, "policy.yaml") },
    );
    const system = new FileSystem(() => policy);
    const files = system.files();
    for (const path of ["keys/token", "link/token", "KEYS/TOKEN", "keys/token.old"].map((name) =>
      join(t.inside, name),
    )) {
      await expect(files.read(path)).rejects.toBeInstanceOf(FileError);
      await expect(files.write(path, EVIL)).rejects.toMatchObject({ code: "denied" });
    }
    await files.write(join(t.inside, "keys/other"), EVIL);
    system.close();
  });

  it("are not changed where its code lies, Node's either, and may be read there", async () => {
    const rules = await everywhere();
    const folder = dirname(dirname(dirname(import.meta.dirname)));
    const own = [process.execPath, realpathSync(process.execPath)];
    const files = ["dist/mcp-secure-local.cjs", "dist/main.cjs", "package.json", "launcher/launcher.cjs"];
    for (const path of [...own, ...files.map((name) => join(ownPackage(folder), name))]) {
      expect([path, rules.judge(path, "write")?.rule]).toEqual([
        path,
        expect.stringContaining("built-in protection of"),
      ]);
      expect(rules.judge(path, "delete")).toBeDefined();
    }
    expect(rules.judge(join(ownPackage(folder), "package.json"), "read")).toBeUndefined();
    for (const name of ["node_modules/mcp-secure-local/dist/x.cjs", "node_modules/.bin/mcp-secure-local"])
      expect(rules.judge(`/data/p/${name}`, "write")).toBeDefined();
  });
});

/** The package this test belongs to, from wherever it runs. */
function ownPackage(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "packages/secure-local/package.json"))) return join(folder, "packages/secure-local");
    if (folder === dirname(folder)) throw new Error("no package above this test");
  }
}

it("a path that ends as Linux marks deleted files is refused: it could not be told from one", () => {
  for (const path of ["/data/a (deleted)", "/data/a (deleted)/", "/data/.env (deleted)"]) {
    expect(() => plainPath(path, "linux")).toThrow("ends as the system marks deleted files");
  }
  expect(plainPath("/data/a (deleted).txt", "linux")).toBe("/data/a (deleted).txt");
  expect(plainPath("/data/a (deleted)", "darwin")).toBe("/data/a (deleted)");
});

/** What git demands of a folder before it takes it for a repository, in two forms. */
const SHAPES = [
  { HEAD: "ref: refs/heads/main\n", "objects/x": "", "refs/x": "", config: "[core]\n\tfsmonitor = evil\n" },
  { HEAD: "ref: refs/heads/main\n", commondir: "../elsewhere\n", config: "[core]\n\tfsmonitor = evil\n" },
];

function orders(names: readonly string[]): string[][] {
  if (names.length < 2) return [[...names]];
  return names.flatMap((name) => orders(names.filter((other) => other !== name)).map((rest) => [name, ...rest]));
}

describe("git's own files", () => {
  it.each(["commondir", "gitdir", "config", "HEAD", "index", "hooks/pre-commit", "worktrees/x/gitdir", "x"])(
    "are not written: .git/%s",
    async (name) => {
      const t = tree();
      mkdirSync(join(t.inside, ".git"));
      const files = await filesIn(t);
      for (const folder of [".git", "lib/.git", ".GIT", "git~1", ".g\u200cit"]) {
        const path = join(t.inside, folder, name);
        await expect(files.write(path, EVIL, { folders: true })).rejects.toMatchObject({ code: "denied" });
        await expect(files.write(dirname(path), EVIL)).rejects.toMatchObject({ code: "denied" });
      }
      expect(existsSync(join(t.inside, "lib"))).toBe(false);
    },
  );

  it("cannot be put together by any order of writes", async () => {
    for (const shape of SHAPES) {
      for (const order of sampled(orders(Object.keys(shape)), 3)) {
        const t = tree();
        const files = await filesIn(t);
        for (const name of order) {
          const text = new TextEncoder().encode(shape[name as keyof typeof shape]);
          await files.write(join(t.inside, "data", name), text, { folders: true }).catch(() => undefined);
        }
        expect(existsSync(join(t.inside, "data/HEAD"))).toBe(false);
      }
    }
  });

  it("stay as they are in a folder that a HEAD makes a repository, and are not completed there", async () => {
    const t = tree();
    const files = await filesIn(t);
    t.put("bare/HEAD", "ref: refs/heads/main\n");
    for (const name of [
      "objects/ab/x",
      "refs/heads/main",
      "commondir",
      "config",
      "hooks/post-checkout",
      "info/attributes",
    ])
      await expect(files.write(join(t.inside, "bare", name), EVIL, { folders: true })).rejects.toMatchObject({
        code: "denied",
      });
    await files.write(join(t.inside, "bare/notes.txt"), EVIL);
    t.put("react/Head/index.ts");
    await files.write(join(t.inside, "react/hooks/use-x.ts"), EVIL, { folders: true });
  });

  it("are read by the reader of git history and nobody else", async () => {
    const t = tree();
    const hash = "ab".repeat(19);
    const names = [
      ...[".git/HEAD", ".git/index", ".git/logs/HEAD", ".git/lfs/objects/ab/cd/x", `.git/objects/ab/${hash}`],
      ...["bare/HEAD", "bare/refs/heads/main", "bare/objects/info/packs", "bare/packed-refs", "bare/logs/HEAD"],
    ];
    // Wherever they lie, whatever is around them.
    const anywhere = [`copy/ab/${hash}`, `alternates/pack-${"ab".repeat(20)}.pack`, `copy/ab/cd/abcd${"0".repeat(60)}`];
    for (const name of [...names, ...anywhere]) t.put(name, SECRET);
    const policy = await filePolicy(t);
    const system = new FileSystem(() => policy);
    const git = system.files(undefined, "git");
    for (const name of [...names, ...anywhere]) {
      const path = join(t.inside, name);
      const files = system.files();
      for (const ask of [() => files.read(path), () => files.open(path), () => files.info(path)])
        await expect(ask()).rejects.toMatchObject({ code: "denied" });
      expect(textOf(await git.read(path))).toBe(SECRET);
      for (const ask of [() => git.write(path, EVIL), () => git.remove(path)])
        await expect(ask()).rejects.toMatchObject({ code: "denied" });
      expect(readFileSync(path, "utf8")).toBe(SECRET);
    }
    const walked: string[] = [];
    for await (const { path } of system.files().walk(t.inside)) walked.push(path.slice(t.inside.length + 1));
    expect(walked.filter((name) => /HEAD|objects|pack|[0-9a-f]{38}/.test(name))).toEqual([]);
    // What git runs is not even its reader's.
    writeFileSync(join(t.inside, ".git/config"), SECRET);
    await expect(git.read(join(t.inside, ".git/config"))).rejects.toMatchObject({ code: "denied" });
    system.close();
  });
});
