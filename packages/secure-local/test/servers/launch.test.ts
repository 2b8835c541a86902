// Whatever a launch names is pinned, or said not to be; and what was compared is what is started.
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { ServerGrant } from "../../src/policy/policy.js";
import {
  approvedLaunch,
  dataNamed,
  isAsApproved,
  launchDifference,
  launchDigest,
  serverLaunch,
  takeLaunch,
  unpinnedOf,
} from "../../src/server/server-launch.js";
import { Household, said, tool } from "./household.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "launch-"));
  mkdirSync(join(folder, "pkg"));
  for (const name of ["h.js", "plain", "pkg/index.js"]) writeFileSync(join(folder, name), "1");
  symlinkSync(join(folder, "h.js"), join(folder, "link.js"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function grantOf(entry: object): Promise<ServerGrant> {
  const text = JSON.stringify({ version: "1.0", servers: { ev: entry } });
  return (await parsePolicy(text, { file: "policy.yaml" })).servers.get("ev") as ServerGrant;
}

/** Ways of naming `F`, a file. */
const WAYS: Readonly<Record<string, (file: string) => object>> = {
  "an argument": (file) => ({ command: ["node", file] }),
  "a relative argument": () => ({ command: ["node", "h.js"], working_directory: "DIR" }),
  "a relative argument up and down": () => ({ command: ["node", "./pkg/../h.js"], working_directory: "DIR" }),
  "a name without an extension": () => ({ command: ["node", "plain"], working_directory: "DIR" }),
  "a link": () => ({ command: ["node", "DIR/link.js"] }),
  "an option": (file) => ({ command: ["node", `--require=${file}`, "-"] }),
  "an option of its own": (file) => ({ command: ["node", "--import", file] }),
  "a short option": (file) => ({ command: ["node", `-r${file}`] }),
  "a URL": (file) => ({ command: ["node", "--import", `file://${file}`] }),
  "a script of a shell": (file) => ({ command: ["sh", "-c", `exec node "${file}" && true`] }),
  "a variable": (file) => ({ command: ["node", "-"], env: { NODE_OPTIONS: `--no-warnings --require=${file}` } }),
  "a path of several": (file) => ({ command: ["node", "-"], env: { PRELOADS: `/nowhere/x:${file}` } }),
  "the program": (file) => ({ command: [file] }),
};

it.each(Object.keys(WAYS))("pins the bytes of a file that is named by %s", async (way) => {
  const file = join(folder, way.includes("without") ? "plain" : "h.js");
  if (way === "the program") writeFileSync(file, "#!/bin/sh\n", { mode: 0o755 });
  if (way === "the program") (await import("node:fs")).chmodSync(file, 0o755);
  const entry = JSON.parse(
    JSON.stringify((WAYS[way] as (file: string) => object)(file)).replaceAll("DIR", folder),
  ) as object;
  const grant = await grantOf(entry);
  const before = launchDigest(serverLaunch(grant));
  expect(launchDigest(serverLaunch(grant))).toBe(before);
  const copies = join(folder, "copies");
  const taken = takeLaunch(grant, copies);
  expect(launchDigest(taken.launch)).toBe(before);
  const copy = taken.copies.find(({ copy: path }) => readFileSync(path, "utf8") === readFileSync(file, "utf8"));
  expect(copy).toBeDefined();
  const was = readFileSync(file, "utf8");
  appendFileSync(file, "\n// changed");
  expect(launchDigest(serverLaunch(grant))).not.toBe(before);
  expect(readFileSync((copy as { copy: string }).copy, "utf8")).toBe(was);
  expect(launchDigest(takeLaunch(grant, copies).launch)).not.toBe(before);
});

/** Each character by its escape, one of them, or none. */
const escaped = (path: string, which: (at: number) => boolean): string =>
  [...path]
    .map((each, at) =>
      each !== "/" && which(at) ? encodeURIComponent(each).replace(each, `%${each.charCodeAt(0).toString(16)}`) : each,
    )
    .join("");

/** Ways in which programs that read URLs take the name of a file. */
const SPELLED = fc.tuple(
  fc.constantFrom("file://", "FILE://", "file:", "file://localhost", "File://LOCALHOST", "", "@"),
  fc.constantFrom(
    () => false,
    () => true,
    (at: number) => at % 3 === 0,
    (at: number) => at === 20,
  ),
  fc.constantFrom("", "?x=1", "#part", "?a=/b&c#d"),
  fc.constantFrom(
    (word: string) => ({ command: ["node", word, "main.mjs"] }),
    (word: string) => ({ command: ["node", "--import", word, "main.mjs"] }),
    (word: string) => ({ command: ["node", `--import=${word}`, "main.mjs"] }),
    (word: string) => ({ command: ["node", "-e", `import("${word}")`] }),
    (word: string) => ({ command: ["node", "-"], env: { NODE_OPTIONS: `--no-warnings --import=${word}` } }),
  ),
);

it("pins the bytes of a file whose name is spelled as a URL, with a blank in it, too", async () => {
  const file = join(folder, "my tools.mjs");
  await fc.assert(
    fc.asyncProperty(SPELLED, async ([scheme, which, end, entry]) => {
      // What is no URL has a blank only where it stands alone.
      const isUrl = scheme.includes(":");
      const named = isUrl
        ? file.replace(" ", "%20")
        : (writeFileSync(join(folder, "plain.mjs"), "1"), join(folder, "plain.mjs"));
      const real = isUrl ? file : named;
      writeFileSync(real, "1");
      const word = `${scheme}${
        isUrl
          ? named
              .split("%20")
              .map((part) => escaped(part, which))
              .join("%20")
          : escaped(named, which)
      }${end}`;
      const grant = await grantOf(entry(word));
      const before = launchDigest(serverLaunch(grant));
      writeFileSync(real, "2");
      expect(launchDigest(serverLaunch(grant)), word).not.toBe(before);
    }),
    { numRuns: 300 },
  );
});

/** Files that hold data, by the variable or argument that names them; each is written anew by a server that is well. */
const DATA: readonly (readonly [string, string, (file: string) => object])[] = [
  ["m.jsonl", "{}\n", (file) => ({ command: ["node", "h.js"], env: { MEMORY_FILE_PATH: file } })],
  ["notes.md", "# a", (file) => ({ command: ["node", "h.js"], env: { NOTES: file } })],
  ["run.log", "a", (file) => ({ command: ["node", "h.js"], env: { LOG_FILE: file } })],
  ["my.db", "SQLite format 3\0", (file) => ({ command: ["node", "h.js", "--db-path", file] })],
  ["plain", "SQLite format 3\0", (file) => ({ command: ["node", "h.js", file] })],
  [
    "memory.json",
    "{}",
    (file) => ({ command: ["node", "h.js"], env: { MEMORY: file }, filesystem: { allowed_paths: ["DIR/**"] } }),
  ],
];

/** The same files where something may load them. */
const LOADED: readonly (readonly [string, string, (file: string) => object])[] = [
  ["m.jsonl", "1", (file) => ({ command: ["node", file] })],
  ["m.txt", "1", (file) => ({ command: ["node", "h.js"], env: { BASH_ENV: file } })],
  ["m.txt", "1", (file) => ({ command: ["node", "h.js"], env: { NODE_OPTIONS: `--require=${file}` } })],
  ["m.txt", "1", (file) => ({ command: ["node", "h.js"], env: { LD_PRELOAD: file } })],
  ["m.txt", "#!/bin/sh\n", (file) => ({ command: ["node", "h.js"], env: { HOOK: file } })],
  [
    "m.js",
    "1",
    (file) => ({ command: ["node", "h.js"], env: { HOOK: file }, filesystem: { allowed_paths: ["DIR/**"] } }),
  ],
  ["m.json", "{}", (file) => ({ command: ["node", "h.js"], env: { CONFIG: file } })],
  ["m.json", "{}", (file) => ({ command: ["node", file], filesystem: { allowed_paths: ["DIR/**"] } })],
];

it.each([...DATA.map((each) => [false, ...each] as const), ...LOADED.map((each) => [true, ...each] as const)])(
  "pinned %s: %s, which begins %j, in %s",
  async (pinned, name, text, entry) => {
    const file = join(folder, name);
    writeFileSync(file, text);
    const given = JSON.stringify({ working_directory: folder, ...entry(file) }).replaceAll("DIR", folder);
    const grant = await grantOf(JSON.parse(given) as object);
    const before = serverLaunch(grant);
    appendFileSync(file, "2");
    expect(launchDigest(serverLaunch(grant)) !== launchDigest(before)).toBe(pinned);
    expect(launchDifference(before, serverLaunch(grant))).toBe(pinned ? `the file ${name}` : "");
    if (!pinned) expect(dataNamed(grant).join()).toContain(file);
    // Nor is it news that there is such a file: a server writes it at its first call.
    rmSync(file);
    expect(launchDigest(serverLaunch(grant)) !== launchDigest(before)).toBe(pinned);
    appendFileSync(file, `${text}2`);
    // Seen in its sandbox either way: as the entry grants it, or as it is now.
    const seen = takeLaunch(grant, join(folder, "copies")).copies.some(({ at }) => at === file);
    expect(seen || given.includes("allowed_paths")).toBe(true);
  },
);

it("does not compare whether there is a folder that a server may make, and does of every other", async () => {
  const path = join(folder, "store");
  const digestOf = async (grants: object): Promise<string> => {
    const entry = { command: ["node", join(folder, "h.js"), "--store", path], env: { STORE: path }, ...grants };
    return launchDigest(serverLaunch(await grantOf(entry)));
  };
  const writes = { filesystem: { allowed_paths: [`${folder}/**`] } };
  const [own, other] = [await digestOf(writes), await digestOf({})];
  mkdirSync(path);
  expect([(await digestOf(writes)) === own, (await digestOf({})) === other]).toEqual([true, false]);
});

describe("a folder that was approved as it is, and that a server may write since", () => {
  const entry = (grants: object = {}): object => ({
    command: ["node", join(folder, "h.js"), join(folder, "pkg")],
    ...grants,
  });
  const writing = (path: string): object => ({ filesystem: { allowed_paths: [path] } });

  it("makes no other launch of it, and neither does taking the grant back", async () => {
    const approved = serverLaunch(await grantOf(entry()));
    const wider = await grantOf(entry(writing(join(folder, "pkg/**"))));
    expect(launchDigest(serverLaunch(wider))).not.toBe(launchDigest(approved));
    expect(isAsApproved(wider, approved)).toBe(true);
    expect(launchDigest(approvedLaunch(wider, approved))).toBe(launchDigest(takeLaunch(wider, folder).launch));
    expect(isAsApproved(await grantOf(entry()), approved)).toBe(true);
  });

  it.each([
    ["a file that was pinned may be written", () => ({ ...entry(), ...writing(join(folder, "**")) }), "plain"],
    ["a folder more is named", () => entry({ env: { MORE: folder } }), undefined],
    [
      "the program is another one",
      () => ({ ...entry(writing(join(folder, "pkg/**"))), command: ["node", folder] }),
      undefined,
    ],
  ])("does not let pass that %s", async (_, later, more) => {
    const named = more === undefined ? {} : { env: { MORE: join(folder, more) } };
    const approved = serverLaunch(await grantOf(entry(named)));
    expect(isAsApproved(await grantOf({ ...later(), ...named }), approved)).toBe(false);
  });

  it("does not let pass a folder that was approved as data, and is none any more", async () => {
    const approved = serverLaunch(await grantOf(entry(writing(join(folder, "pkg/**")))));
    expect(isAsApproved(await grantOf(entry()), approved)).toBe(false);
  });
});

describe("what is not pinned is said", () => {
  it.each([
    [{ command: ["node", "DIR/pkg"] }, /the folder .*pkg/],
    [{ command: ["node", "h.js"], working_directory: "DIR" }, /working directory/],
    [{ command: ["npx", "-y", "some-server"] }, /npx fetches/],
    [{ command: ["sh", "-c", "some-server"] }, /sh starts/],
    [{ command: ["node", "DIR/plain"], filesystem: { allowed_paths: ["DIR/**"] } }, /plain, which it may write/],
  ])("%j", async (entry, words) => {
    const grant = await grantOf(JSON.parse(JSON.stringify(entry).replaceAll("DIR", folder)) as object);
    expect([...unpinnedOf(serverLaunch(grant)), ...dataNamed(grant)].join("\n")).toMatch(words);
  });

  it.each([
    [["uvx", "mcp-server-time"], "what uvx fetches: name an exact version"],
    [["uvx", "mcp-server-time@latest"], "what uvx fetches: name an exact version"],
    [["uvx", "--from", "pkg>=1", "tool"], "what uvx fetches: name an exact version"],
    [["uvx", "pkg@1.2.3"], "what uvx fetches as pkg@1.2.3: its files are compared with nothing"],
    [["/usr/bin/uvx", "--from", "pkg[cli]==1.2", "tool"], "what uvx fetches as pkg[cli]==1.2: its files are compared"],
    [["uv", "tool", "run", "pkg==1.0rc1"], "what uv fetches as pkg==1.0rc1: its files are compared with nothing"],
    [["pipx", "run", "pkg==2"], "what pipx fetches as pkg==2: its files are compared with nothing"],
  ])("%j", async (command, text) => {
    expect(unpinnedOf(serverLaunch(await grantOf({ command }))).join("\n")).toContain(text);
  });

  it("nothing, where there is nothing", async () => {
    expect(unpinnedOf(serverLaunch(await grantOf({ command: ["node", join(folder, "h.js")] })))).toEqual([]);
  });
});

describe("by the built command", () => {
  const house = new Household();
  afterAll(() => house.close());
  afterEach(() => house.closeClients());

  it("starts a server whose folder it may write since, without a review", async () => {
    const source = house.program("notes", {
      tools: [tool("save")],
      answers: {
        save: `async () => {
          const { writeFileSync } = await import("node:fs");
          try { return writeFileSync(process.argv[2] + "/a.txt", "a") ?? "saved" } catch (error) { return error.code }
        }`,
      },
    });
    const kept = join(house.folder, "kept");
    mkdirSync(kept);
    const write = (grants: string): void =>
      house.write(`version: "1.0"
tools: { allowed: ["notes__*"] }
servers: { notes: { command: [node, ${source}, ${kept}], filesystem: { ${grants} } } }\n`);
    write(`readable_paths: ["${house.folder}/programs/**", "${kept}/**"]`);
    expect(await house.approve()).toMatchObject({ code: 0 });
    expect(await said(await house.client(), "notes__save")).toBe("EROFS");
    write(`readable_paths: ["${house.folder}/programs/**"], allowed_paths: ["${kept}/**"]`);
    expect(await said(await house.client(), "notes__save")).toBe("saved");
    expect(await house.run(["servers", "list"])).toMatchObject({ code: 0 });
    expect((await house.run(["servers", "review"])).stdout).toContain("as it was approved");
    expect((await house.run(["policy", "explain", "notes__save"])).stdout).not.toContain("not as it was approved");
  });

  it("says in the list of tools and in the check of the policy that a server is withheld, and why", async () => {
    const source = house.program("papers", { tools: [tool("read")] });
    const write = (more: string): void =>
      house.write(`version: "1.0"
tools: { allowed: ["papers__*"] }
servers: { papers: { command: [node, ${source}${more}], ${house.readable} } }\n`);
    write("");
    const before = await house.run(["tools"]);
    expect(before.stderr).toContain(
      `The server papers is withheld: nothing of it is approved yet. Look at it: mcp-secure-local servers review papers --policy ${house.policy}`,
    );
    await house.approve();
    expect((await house.run(["tools"])).stderr).toBe("");
    write(", --more");
    expect((await house.run(["tools"])).stderr).toContain(
      "The server papers is withheld: not as it was approved: its command. Look at it",
    );
    expect((await house.run(["policy", "check"])).stdout).toMatch(
      /note {2}\S+:3:\d+: the server papers is withheld: not as it was approved: its command\. Look at it: mcp-secure-local servers review papers/,
    );
  });

  it("shows a server its own bytes as they were approved, and says in the review what is not pinned", async () => {
    const source = house.program("notes", {
      tools: [tool("read")],
      answers: { read: '() => readFileSync(import.meta.filename, "utf8").slice(-20)' },
    });
    house.write(`version: "1.0"
tools: { allowed: ["notes__*"] }
servers:
  notes:
    command: [node, ${source}]
    working_directory: ${house.folder}/programs
    ${house.readable}
`);
    const review = await house.approve("notes");
    expect(review).toMatchObject({ code: 0, stdout: expect.stringContaining("not pinned") });
    const client = await house.client();
    const before = await said(client, "notes__read");
    appendFileSync(source, "// exchanged while it runs");
    expect(await said(client, "notes__read")).toBe(before);
    const next = await house.client();
    expect(await said(next, "notes__read")).toMatch(
      /^Denied\..*launch was changed: the file notes\.mjs\); look at it: mcp-secure-local servers review notes\./s,
    );
    const { stdout } = await house.run(["servers", "list"]);
    expect(stdout).toContain(`not as it was approved: the file ${source}`);
  });
});
