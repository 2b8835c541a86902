// Full files that were archived are missed by nobody; files that were removed, by whatever means, still are.
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { archiveFiles, archivedFiles } from "../../src/audit/archive.js";
import { AuditLog } from "../../src/audit/audit-log.js";
import { archivedNotes } from "../../src/cli/audit-command.js";
import { chainOf, checkpointKey, publicKeyPath, signedCheckpoint } from "../../src/audit/checkpoint.js";
import { bodyHash, lineBody, sealText } from "../../src/audit/event-text.js";
import { archivedPath, archivesOf, headPath, readHead } from "../../src/audit/log-file.js";
import { verifyAudit, type VerifyOptions } from "../../src/audit/verify-audit.js";
import { verifyChains } from "../../src/audit/verify-chains.js";
import { repeated } from "../../../mcp/test/support/soak.js";
import { run, start } from "../cli/command.js";
import { temporaryFolder } from "./temporary-folder.js";

const pemOf = (key: KeyObject): string => createPublicKey(key).export({ type: "spki", format: "pem" }).toString();

/** A log with full files, the key that is its owner's, and the folder that files are archived to. */
interface Scene {
  readonly log: string;
  readonly to: string;
  readonly key: KeyObject;
  readonly options: VerifyOptions;
}

async function written(log: string, count: number): Promise<void> {
  const open = await AuditLog.open(log, { rotateBytes: 1_000, sync: false });
  for (let at = 0; at < count; at++) await open.record({ kind: "call.intent", tool: `t${at}` });
  await open.close();
}

/** So many that the log begun last has some. */
const COUNT = 33;

async function scene(): Promise<Scene> {
  const folder = temporaryFolder();
  const log = join(folder, "logs", "audit.log");
  await written(log, COUNT);
  const { privateKey: key } = generateKeyPairSync("ed25519");
  const options = { archives: { publicKey: pemOf(key), keyFile: "/keys/audit-key.pem.pub" } };
  return { log, to: join(folder, "archive"), key, options };
}

/** Archives the first so many full files; all of them where none is said. */
async function archived({ log, to, key, options }: Scene, count?: number): Promise<void> {
  const { full } = await verifyAudit(log, { ...options, full: true });
  await archiveFiles(log, full!.files.slice(0, count), { to, key, chain: full!.chain });
}

const linesOf = (file: string): string[] => readFileSync(file, "utf8").split("\n").slice(0, -1);

describe("a log whose full files were archived", () => {
  it("is searched with a note of how many records lie in each folder, but for those that were brought back", async () => {
    const its = await scene();
    expect(archivedNotes([its.log])).toEqual([]);
    const second = `${its.to} 2`;
    await archived(its, 2);
    const there = archivedFiles(its.log).at(-1)!.seq;
    await archived({ ...its, to: second });
    const all = archivedFiles(its.log).at(-1)!.seq;
    const noted = (count: number, to: string): string =>
      `${count} older records are archived in ${to} and were not searched: --audit ${join(to, "audit.log")}`;
    expect(archivedNotes([its.log])).toEqual([noted(there, its.to), noted(all - there, second)]);
    expect(archivedNotes([join(its.to, "audit.log")])).toEqual([]);
    for (const { file, to } of archivedFiles(its.log))
      if (to === its.to) cpSync(join(to, file), join(dirname(its.log), file));
    expect(archivedNotes([its.log])).toEqual([noted(all - there, second)]);
  });

  it("is missed from its beginning too, in the folder that it was archived to, and not in another one before that", async () => {
    const its = await scene();
    const first = `${its.to} 1`;
    await archived({ ...its, to: first }, 2);
    await archived(its);
    const verified = (to: string): ReturnType<typeof verifyAudit> =>
      verifyAudit(join(to, "audit.log"), { ...its.options, named: true });
    // The second folder goes on after the first one.
    expect(await verified(its.to)).toMatchObject({ ok: true, continues: { to: first } });
    for (const to of [first, its.to]) {
      const files = archivesOf(join(to, "audit.log"));
      for (let gone = 1; gone < files.length; gone += 1) {
        rmSync(files[gone - 1]!);
        const report = await verified(to);
        expect(report).toMatchObject({
          ok: false,
          reason: expect.stringContaining("is missing, which was archived here") as string,
        });
        expect(report.reason).toContain(basename(files[gone - 1]!));
        const chains = await verifyChains(to, [], its.options);
        expect(chains).toMatchObject([{ ok: false }]);
      }
    }
  });

  it("verifies, says from where it goes on, and is written on", async () => {
    const its = await scene();
    const files = archivesOf(its.log).map((file) => basename(file));
    const chain = await chainOf(its.log);
    await archived(its);
    expect(archivesOf(its.log)).toEqual([]);
    const report = await verifyAudit(its.log, its.options);
    const last = archivedFiles(its.log).at(-1)!;
    expect(report).toMatchObject({
      ok: true,
      records: COUNT - last.seq,
      continues: { file: files.at(-1), to: its.to },
    });
    expect(await chainOf(its.log)).toBe(chain);
    await written(its.log, 30);
    expect(await verifyAudit(its.log, its.options)).toMatchObject({ ok: true, records: COUNT + 30 - last.seq });

    // What lies in the archive is whole by itself, and so is what is archived elsewhere later.
    const second = { ...its, to: `${its.to} 2` };
    await archived(second);
    const there = (to: string): Promise<unknown> => verifyAudit(join(to, "audit.log"), { ...its.options, named: true });
    expect(readdirSync(its.to).toSorted()).toEqual([...files, "audit.log.archived"].toSorted());
    expect(await there(its.to)).toMatchObject({ ok: true, records: last.seq, archive: last.seq });
    expect(await there(second.to)).toMatchObject({ ok: true, continues: { file: files.at(-1) } });
    expect(await verifyAudit(its.log, its.options)).toMatchObject({
      ok: true,
      continues: { to: second.to },
      earlierArchives: [{ to: its.to, file: files.at(-1) }],
    });
    for (const folder of [dirname(its.log), its.to, second.to])
      expect(await verifyChains(folder, [], its.options)).toMatchObject([{ ok: true }]);
  });

  it("goes on where it was, although nothing was written since a file was put away", async () => {
    const its = await scene();
    const last = readHead(its.log)!;
    const full = archivesOf(its.log).at(-1)!;
    rmSync(its.log);
    writeFileSync(its.log, "");
    const { seq, hash } = JSON.parse(linesOf(full).at(-1)!) as { seq: number; hash: string };
    writeFileSync(headPath(its.log), JSON.stringify({ records: seq, hash }));
    expect(last.seq).toBeGreaterThan(seq);
    await archived(its);
    expect(await verifyAudit(its.log, its.options)).toMatchObject({ ok: true, records: 0, continues: { seq } });
    await written(its.log, 1);
    expect(JSON.parse(linesOf(its.log)[0]!)).toMatchObject({ seq: seq + 1, prev: hash });
    expect(await verifyAudit(its.log, its.options)).toMatchObject({ ok: true, records: 1 });
  });

  it("is archived on where the first time was interrupted, and says nothing twice", async () => {
    const its = await scene();
    const before = join(dirname(its.to), "before");
    cpSync(dirname(its.log), before, { recursive: true });
    await archived(its);
    const words = readFileSync(archivedPath(its.log), "utf8");
    for (const left of archivesOf(join(before, "audit.log")).slice(1))
      cpSync(left, join(dirname(its.log), basename(left)));
    expect(await verifyAudit(its.log, its.options)).toMatchObject({ ok: true, continues: { to: its.to } });
    await archived(its);
    expect(readFileSync(archivedPath(its.log), "utf8")).toBe(words);
    expect(archivesOf(its.log)).toEqual([]);
    expect(await verifyAudit(its.log, its.options)).toMatchObject({ ok: true });
  });

  it("is still compared with its checkpoints, of which an archive has only some", async () => {
    const its = await scene();
    await archived(its);
    const file = join(dirname(its.to), "checkpoints.jsonl");
    const head = readHead(its.log)!;
    const last = archivedFiles(its.log).at(-1)!;
    const write = (...links: { seq: number; hash: string }[]): void =>
      writeFileSync(file, links.map((link) => signedCheckpoint(its.log, link, its.key)).join(""));
    const options = { ...its.options, checkpoints: { file, publicKey: its.options.archives!.publicKey! } };
    write(last, head);
    expect(await verifyAudit(its.log, options)).toMatchObject({ ok: true, checkpoints: 1 });
    expect(await verifyAudit(join(its.to, "audit.log"), { ...options, named: true })).toMatchObject({ ok: true });
    write({ ...head, seq: head.seq + 1 });
    expect(await verifyAudit(its.log, options)).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/cut off/) as never,
    });
  });
});

describe("somebody who may write where the log lies, and has no key, is found who", () => {
  /** Each takes something away. Two files have been archived, and the rest is there. */
  const forgeries: Readonly<Record<string, (its: Scene) => void | Promise<void>>> = {
    "removes the next full file": ({ log }) => rmSync(archivesOf(log)[0]!),
    "removes all that is left but the word": ({ log }) => {
      for (const file of [...archivesOf(log), log, headPath(log)]) rmSync(file);
    },
    "removes the word of it": ({ log }) => rmSync(archivedPath(log)),
    "empties the word of it": ({ log }) => writeFileSync(archivedPath(log), ""),
    "removes the last word": ({ log }) => writeFileSync(archivedPath(log), `${linesOf(archivedPath(log))[0]}\n`),
    "adds a word without a signature": ({ log }) => {
      const [first] = archivesOf(log);
      const { seq, hash } = JSON.parse(linesOf(first!).at(-1)!) as { seq: number; hash: string };
      const word = { ...archivedFiles(log).at(-1)!, file: basename(first!), seq, hash };
      writeFileSync(archivedPath(log), `${JSON.stringify(word)}\n`, { flag: "a" });
      rmSync(first!);
    },
    "archives the next file with a key of his own": async (its) => {
      await archived({ ...its, key: generateKeyPairSync("ed25519").privateKey, to: `${its.to} 2` }, 1);
    },
    "puts the word of another log in its place": async ({ log, key, options }) => {
      const other = { log: join(temporaryFolder(), "audit.log"), to: temporaryFolder(), key, options };
      await written(other.log, COUNT);
      await archived(other);
      cpSync(archivedPath(other.log), archivedPath(log));
    },
    "cuts the log before where it was then, its head file too": ({ log }) => {
      const lines = linesOf(log);
      writeFileSync(log, `${lines.slice(0, -1).join("\n")}\n`);
      rmSync(headPath(log));
    },
    "puts the rest of another log behind it": async ({ log }) => {
      const other = join(temporaryFolder(), "audit.log");
      await written(other, COUNT);
      for (const file of [...archivesOf(other), other, headPath(other)])
        cpSync(file, join(dirname(log), basename(file)));
      for (const file of archivesOf(log).slice(0, 2)) rmSync(file);
    },
    "writes anew what followed, with hashes that fit, its head file too": ({ log }) => {
      let { seq, hash } = archivedFiles(log).at(-1)!;
      const rest = [...archivesOf(log), log].flatMap(linesOf).map(() => {
        const body = lineBody((seq += 1), hash, ',"kind":"call.intent","tool":"forged"');
        hash = bodyHash(body);
        return body + sealText(hash);
      });
      for (const file of archivesOf(log)) rmSync(file);
      writeFileSync(log, rest.join(""));
      writeFileSync(headPath(log), JSON.stringify({ records: seq, hash }));
    },
    "lets the log's folder pass for an archive": ({ log }) => {
      for (const file of [log, headPath(log), ...archivesOf(log).slice(1)]) rmSync(file);
    },
  };

  it.each(Object.keys(forgeries))("%s", async (name) => {
    const its = await scene();
    await archived(its, 2);
    expect(await verifyAudit(its.log, { ...its.options, named: true })).toMatchObject({ ok: true });
    await forgeries[name]!(its);
    for (const named of [true, false])
      expect(await verifyAudit(its.log, { ...its.options, named }), name).toMatchObject({ ok: false });
    expect(await verifyChains(dirname(its.log), [], its.options)).toMatchObject([{ ok: false }]);
  });

  it("edits any character of the word", async () => {
    const its = await scene();
    await archived(its);
    const text = readFileSync(archivedPath(its.log), "utf8");
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 94 }), async (at, shift) => {
        const index = at % text.length;
        const other = String.fromCharCode(32 + ((text.charCodeAt(index) - 32 + shift) % 95));
        const edited = text.slice(0, index) + other + text.slice(index + 1);
        fc.pre(edited !== text);
        writeFileSync(archivedPath(its.log), edited);
        const { ok } = await verifyAudit(its.log, its.options);
        // The last bits of a signature's text say nothing.
        const said = (): string => JSON.stringify(archivedFiles(its.log).map((word) => ({ ...word, signature: "" })));
        const then = said();
        writeFileSync(archivedPath(its.log), text);
        expect(ok && then !== said(), edited).toBe(false);
      }),
      { numRuns: repeated(60, 2_000) },
    );
  });
});

describe("nothing is archived", () => {
  const refused: Readonly<Record<string, [change: (its: Scene) => void, why: RegExp]>> = {
    "that was changed since it was verified": [
      ({ log }) => writeFileSync(archivesOf(log)[0]!, "x", { flag: "a" }),
      /was changed since it was verified/,
    ],
    "where another file of that name lies": [
      ({ log, to }) => {
        mkdirSync(to);
        writeFileSync(join(to, basename(archivesOf(log)[0]!)), "x");
      },
      /another file of that name.*name another folder/,
    ],
    "where another log was archived": [
      ({ log, to }) => {
        mkdirSync(to);
        writeFileSync(join(to, basename(archivedPath(log))), "{}\n");
      },
      /archive of another log.*name another folder/,
    ],
    "where a log of that name is": [
      ({ to }) => {
        mkdirSync(to);
        writeFileSync(join(to, "audit.log"), "");
      },
      /a log of that name.*name another folder/,
    ],
  };

  it.each(Object.keys(refused))("%s", async (name) => {
    const its = await scene();
    const [change, why] = refused[name]!;
    const { full } = await verifyAudit(its.log, { ...its.options, full: true });
    change(its);
    const { to, key } = its;
    await expect(archiveFiles(its.log, full!.files, { to, key, chain: full!.chain })).rejects.toThrow(why);
    expect(archivesOf(its.log)).toHaveLength(full!.files.length);
    expect(existsSync(archivedPath(its.log))).toBe(false);
    expect(readdirSync(to).filter((file) => file.endsWith(".part"))).toEqual([]);
  });

  it("into the folder of the log", async () => {
    const its = await scene();
    await expect(archived({ ...its, to: dirname(its.log) })).rejects.toThrow("the log itself lies there");
  });
});

it("a log that was archived says which key is missing, and one that has all its files needs none", async () => {
  const its = await scene();
  const without = { archives: { publicKey: undefined, keyFile: "/keys/audit-key.pem.pub" } };
  const before = join(dirname(its.to), "before");
  cpSync(dirname(its.log), before, { recursive: true });
  await archived(its);
  expect(await verifyAudit(its.log, without)).toMatchObject({
    ok: false,
    reason: expect.stringMatching(/no public key.*at \/keys\/audit-key\.pem\.pub; copy it there/) as never,
  });
  for (const file of archivesOf(join(before, "audit.log"))) cpSync(file, join(dirname(its.log), basename(file)));
  expect(await verifyAudit(its.log, without)).toMatchObject({ ok: true, records: COUNT });
});

it("is archived to no file, and to no folder of a path that is not there", async () => {
  const its = await scene();
  writeFileSync(its.to, "");
  await expect(archived(its)).rejects.toThrow(`${its.to}: this is a file; name a folder.`);
  const to = join(dirname(its.to), "unmounted", "archive");
  await expect(archived({ ...its, to })).rejects.toThrow(
    /there is no folder .*unmounted; check the spelling.*, or make it/,
  );
  expect(existsSync(dirname(to))).toBe(false);
  expect(archivesOf(its.log).length).toBeGreaterThan(0);
});

it("audit archive moves what verifies, says where to, and leaves alone what does not", async () => {
  const home = temporaryFolder();
  const log = join(home, "state/mcp-secure-local/audit.log");
  const [to, ours] = [join(home, "archive"), (...args: string[]) => run(["audit", ...args], { home })];
  await written(log, COUNT);
  const [first] = archivesOf(log);
  const whole = readFileSync(first!);
  writeFileSync(first!, whole.toString().replace("t0", "t1"));
  expect(await ours("archive", to)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/was changed.*Nothing of this log was/) as never,
  });
  expect([existsSync(to), existsSync(archivedPath(log))]).toEqual([false, false]);
  writeFileSync(first!, whole);
  const { code, stdout } = await ours("archive", to);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^archived .* to check: audit verify/) });
  expect(await ours("verify")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/; continues from audit\.log\.\d{16}, archived to/) as never,
  });
  expect(await ours("verify", join(to, "audit.log"))).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/; an archive, which ends/) as never,
  });
  expect((await ours("query", "--audit", join(to, "audit.log"))).stdout).toMatch(/ t0 +-/);
  const { seq } = archivedFiles(log).at(-1)!;
  const note = `${seq} older records are archived in ${to} and were not searched: --audit ${join(to, "audit.log")}`;
  for (const words of [["query"], ["query", "--json"], ["query", "tool=t0"], ["report", "--output", `${home}/a.html`]])
    expect((await ours(...words)).stderr, words.join(" ")).toContain(note);
  expect(readFileSync(`${home}/a.html`, "utf8")).toContain(`${seq} older records are archived in`);
  expect((await ours("query", "--audit", join(to, "audit.log"))).stderr).not.toContain("not searched");
  const following = start(["audit", "tail"], { home });
  for await (const text of following.stderr.setEncoding("utf8")) if (String(text).includes(note)) break;
  following.kill();
  expect(await ours("archive", to)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^No file of the log is full/) as never,
  });
  expect(pemOf(checkpointKey(join(home, "state/mcp-secure-local/audit-key.pem")))).toBe(
    readFileSync(publicKeyPath(join(home, "state/mcp-secure-local/audit-key.pem")), "utf8"),
  );
  const left = linesOf(log);
  writeFileSync(log, `${left.slice(1).join("\n")}\n`);
  expect(await ours("verify")).toMatchObject({ code: 1 });
});
