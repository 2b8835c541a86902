// The file of a secret is replaced while the server runs: its new value is in no answer and no record, from the first moment on.
import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectInMemory } from "@secure-local/mcp/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { repeated } from "../../../mcp/test/support/soak.js";
import { eventText, MemoryAudit, redactString } from "../../src/audit/event-text.js";
import { followSecretFile } from "../../src/audit/secret-spellings.js";
import { rememberSecret, replaceKnown } from "../../src/audit/secret-shapes.js";
import { beforeItIsCut } from "../../src/capabilities/known-secrets.js";
import { cleanResult, cleanValue } from "../../src/guard/cleaning/clean-result.js";
import { cleanLine } from "../../src/guard/cleaning/clean-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { rememberSecrets } from "../../src/server/follow-policy-file.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { tree } from "../files/tree.js";

let count = 0;
/** Of one length, so that the size of a file tells nothing, and of no token's shape. */
const valueNo = (n: number): string => `wordy value ${String(n).padStart(6, "0")}`;
const next = (): string => valueNo((count += 1));

/** Ways to give a file another value. */
const REPLACED: Readonly<Record<string, (file: string, value: string) => void>> = {
  "written anew": (file, value) => writeFileSync(file, value),
  "emptied and written": (file, value) => {
    truncateSync(file);
    writeFileSync(file, value);
  },
  "written with its old time": (file, value) => {
    writeFileSync(file, value);
    utimesSync(file, 1, 1);
  },
  "exchanged for another file": (file, value) => {
    writeFileSync(`${file}.new`, `${value}\n`);
    renameSync(`${file}.new`, file);
  },
  "removed and made": (file, value) => {
    rmSync(file);
    writeFileSync(file, value);
  },
  "made a link": (file, value) => {
    writeFileSync(`${file}-${value}`, value);
    rmSync(file);
    symlinkSync(`${file}-${value}`, file);
  },
};

/** Nothing waits between two of these: the very next text is clean. */
const LEAVING: Readonly<Record<string, (text: string) => string>> = {
  "a result": (text) => JSON.stringify(cleanResult({ content: [{ type: "text", text }] })),
  "a result of blocks": (text) =>
    JSON.stringify(cleanResult({ content: [...text].map((each) => ({ type: "text", text: each })) })).replace(
      /[^\w\s]|text|type|content/g,
      "",
    ),
  "the bytes of a result": (text) => {
    const data = Buffer.from(text).toString("base64");
    const { content } = cleanResult({ content: [{ type: "image", mimeType: "text/plain", data }] });
    return Buffer.from(content[0]?.data ?? "", "base64").toString();
  },
  "an argument to be shown": (text) => JSON.stringify(cleanValue({ text })),
  "a record": (text) => eventText({ kind: "call.result", arguments: { text } }),
  "the tool of a record": (text) => eventText({ kind: "call.result", tool: text }),
};

describe.each(Object.keys(REPLACED))("a file that was %s", (way) => {
  const replace = REPLACED[way] as (file: string, value: string) => void;

  it.each(Object.keys(LEAVING))("gives its new value to %s by name, at once", async (what) => {
    const t = tree();
    const file = t.put("token", "long before");
    const policy = await parsePolicy(
      JSON.stringify({ version: "1.0", secrets: { s: { from: `file:${file}`, hosts: ["example.com"] } } }),
      { file: "/nowhere/policy.yaml", environment: {} },
    );
    rememberSecrets(policy, () => undefined);
    const leave = LEAVING[what] as (text: string) => string;
    for (const value of [next(), next(), next()]) {
      // What was not a secret a moment ago is written, and kept as it was written.
      expect(leave(value)).toContain(value);
      replace(file, value);
      expect(leave(value)).not.toContain(value);
      expect(leave("long before")).not.toContain("long before");
    }
  });

  it("has its values in no answer and no record of the server", async () => {
    const t = tree();
    mkdirSync(join(t.inside, "open"));
    const file = t.put("token", next());
    const text = `version: "1.0"
filesystem: { allowed_paths: ["${t.inside}/open/**"] }
tools: { allowed: [read_file, search_text, write_file] }
output: { redact_secrets: false }
secrets: { s: { from: "file:${file}", hosts: [example.com] } }`;
    const audit = new MemoryAudit();
    const policy = await parsePolicy(text, { file: "policy.yaml", environment: {} });
    const { server } = new SecureServer({ policy, audit, version: "1.0.0" });
    const peer = await connectInMemory(server, { revision: "2026-07-28" });
    onTestFinished(() => peer.close());
    const call = async (name: string, args: object): Promise<string> =>
      JSON.stringify(await peer.request("tools/call", { name, arguments: args }).catch(String));
    for (const value of [next(), next()]) {
      const path = t.put("open/notes.txt", `value: ${value}, so`);
      expect(await call("read_file", { path })).toContain(value);
      replace(file, value);
      const told = [
        await call("read_file", { path }),
        await call("search_text", { path: join(t.inside, "open"), query: "value" }),
        await call("write_file", { path: join(t.inside, "open/copy.txt"), content: value }),
        await call(value, {}),
      ];
      expect(told.join("\n")).not.toContain(value);
      expect(told[0]).toContain("value: [secret s], so");
      expect(audit.lines.slice(-6).join("\n")).not.toContain(value);
    }
  });
});

it("every other text that is cleaned later in the turn of the program knows the new value", async () => {
  const t = tree();
  const file = t.put("token", next());
  followSecretFile("later", file, (value) => rememberSecret("later", value));
  for (const clean of [replaceKnown, beforeItIsCut, cleanLine, redactString]) {
    const value = next();
    writeFileSync(file, value);
    await Promise.resolve();
    await Promise.resolve();
    expect(await clean(`a ${value} b`)).toBe("a [secret later] b");
  }
});

it("however often a value is replaced, the new one is known, and so are the latest before it", () => {
  const t = tree();
  const files = ["one", "two", "three"].map((name) => [name, t.put(name, next())] as const);
  for (const [name, file] of files) followSecretFile(name, file, (value) => rememberSecret(name, value));
  const before: string[] = [];
  const kept = next();
  rememberSecret("kept", kept);
  for (let round = 0; round < repeated(50, 150); round += 1)
    for (const [, file] of files) {
      before.push(next());
      writeFileSync(file, before.at(-1) ?? "");
      const latest = before.slice(-24);
      const told = JSON.stringify(cleanResult({ content: [{ type: "text", text: [kept, ...latest].join("; ") }] }));
      for (const value of [kept, ...latest]) expect(told).not.toContain(value);
    }
  // A value that two have is known as long as one of them has it.
  const shared = next();
  rememberSecret("kept", shared);
  for (let round = 0; round < 100; round += 1) rememberSecret("one", round === 0 ? shared : next());
  expect(replaceKnown(shared)).toBe("[secret kept]");
});

it("a file that cannot be read, or is none, has no value; the ones before it stay known", () => {
  const t = tree();
  const [old, later] = [next(), next()];
  const file = t.put("token", old);
  followSecretFile("gone", file, (value) => rememberSecret("gone", value));
  const cleaned = (text: string): string => cleanResult({ content: [{ type: "text", text }] }).content[0]?.text ?? "";
  rmSync(file);
  expect(cleaned(old)).toBe("[secret gone]");
  mkdirSync(file);
  expect(cleaned(old)).toBe("[secret gone]");
  rmSync(file, { recursive: true });
  if (process.platform !== "win32") {
    // Nobody writes to this pipe: to read it would be to wait for ever.
    expect(spawnSync("mkfifo", [file]).status).toBe(0);
    expect(cleaned(old)).toBe("[secret gone]");
    rmSync(file);
  }
  writeFileSync(file, "x".repeat(70_000));
  expect(cleaned("x".repeat(1_000))).toBe("x".repeat(1_000));
  writeFileSync(file, later);
  expect(cleaned(`${old}, ${later}`)).toBe("[secret gone], [secret gone]");
});

it("is said once of a value that is too short, however many parts of a policy are served", async () => {
  const place = temporaryFolder();
  const file = join(place, "short");
  writeFileSync(file, "ab", { mode: 0o600 });
  const policy = await parsePolicy(
    `version: "1.0"\nnetwork: { allowed_endpoints: [{ host: b.example, ports: [443] }] }\nsecrets: { board: { from: "file:${file}", hosts: [b.example] } }\n`,
    { file: join(place, "policy.yaml") },
  );
  const said: string[] = [];
  const say = (line: string): void => void said.push(line);
  rememberSecrets(policy, say);
  rememberSecrets(policy, say);
  expect(said).toEqual([expect.stringMatching(/^secrets\.board: the value is too short/)]);
  writeFileSync(file, "c", { mode: 0o600 });
  rememberSecrets(policy, say);
  expect(said).toHaveLength(2);
});
