// What processes sign and record of each other's logs, and what is found by it: rewritten, cut and missing ones, and forged words.
import { generateKeyPairSync } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { memoryStores } from "@secure-local/mcp/cluster";
import { describe, expect, it } from "vitest";
import { AuditLog } from "../../src/audit/audit-log.js";
import { type ChainHead, chainOf, headText, readHeadText } from "../../src/audit/checkpoint.js";
import { bodyHash, lineBody, sealText } from "../../src/audit/event-text.js";
import { verifyChains } from "../../src/audit/verify-chains.js";
import { AuditHeads, joinedMetrics, signedHeads } from "../../src/cluster/open-cluster.js";
import { temporaryFolder } from "../audit/temporary-folder.js";

const key = (): ReturnType<typeof generateKeyPairSync>["privateKey"] => generateKeyPairSync("ed25519").privateKey;

interface Written {
  readonly audit: AuditLog;
  readonly heads: AuditHeads;
  readonly file: string;
}

/** Two processes that record something, and know of each other. */
async function twoLogs(folder: string, records = memoryStores().records): Promise<readonly [Written, Written]> {
  const open = async (node: string): Promise<Written> => {
    const heads = new AuditHeads({ node, records, key: key() });
    const file = join(folder, `${node}.log`);
    const audit = await AuditLog.open(file, { sync: false, checkpoints: heads });
    await heads.start(audit, {});
    for (let n = 0; n < 5; n++) await audit.record({ kind: "call.result", id: n });
    return { audit, heads, file };
  };
  const one = await open("one");
  await one.audit.close();
  const two = await open("two");
  await two.audit.close();
  return [one, two];
}

async function reasons(folder: string, heads: Parameters<typeof verifyChains>[1] = []): Promise<readonly string[]> {
  return (await verifyChains(folder, heads)).map(({ ok, reason }) => (ok ? "ok" : (reason ?? "")));
}

/** The log again without its last records, as whole as any. */
function cut(file: string, lines: number): void {
  writeFileSync(file, `${readFileSync(file, "utf8").trimEnd().split("\n").slice(0, -lines).join("\n")}\n`);
  rmSync(`${file}.head`, { force: true });
}

/** The log again with other records, as whole as any. */
function rewritten(file: string): void {
  let prev = "0".repeat(64);
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const text = lines.map((line, at) => {
    if (at === 0) {
      prev = (JSON.parse(line) as { hash: string }).hash;
      return `${line}\n`;
    }
    const body = lineBody(at + 1, prev, ',"kind":"call.result","id":"other"');
    prev = bodyHash(body);
    return body + sealText(prev);
  });
  writeFileSync(file, text.join(""));
  rmSync(`${file}.head`, { force: true });
}

describe("the logs of two processes", () => {
  it("are checked by what the one recorded of the other, without anything else", async () => {
    const folder = temporaryFolder();
    const [one] = await twoLogs(folder);
    expect(await reasons(folder)).toEqual(["ok", "ok"]);
    const whole = readFileSync(one.file);
    cut(one.file, 2);
    expect(await reasons(folder)).toEqual(["records 5 to 6 were cut off at the end", "ok"]);
    writeFileSync(one.file, whole);
    rewritten(one.file);
    expect(await reasons(folder)).toEqual(["the log was rewritten: another process remembers another record", "ok"]);
    rmSync(one.file);
    expect(await reasons(folder)).toEqual([
      "ok",
      "the chain of the process one, which its machine has in a file one.log, is missing: others remember it up to record 6",
    ]);
  });

  it("are checked by what both have signed, by the keys their logs name and no other", async () => {
    const folder = temporaryFolder();
    const { records } = memoryStores();
    const [, two] = await twoLogs(folder, records);
    expect(await reasons(folder, await signedHeads(records))).toEqual(["ok", "ok"]);
    const chain = (await chainOf(two.file)) ?? "";
    // Another process that has the key to what is shared says that this log was longer.
    await records.put(
      "heads",
      "forged",
      headText({ chain, node: "two", file: "two.log", seq: 99, hash: "f" }, key()),
      60_000,
    );
    expect(await reasons(folder, await signedHeads(records))).toEqual(["ok", "ok"]);
    cut(two.file, 1);
    const [first, second] = await reasons(folder, await signedHeads(records));
    expect([first, second?.replace(/\d+/g, "N")]).toEqual(["ok", "record N was cut off at the end"]);
  });
});

describe("words of others in a log", () => {
  const head = (more: Partial<ChainHead> = {}): ChainHead => ({
    ...{ chain: "c".repeat(64), node: "gone", file: "gone.log", seq: 7, hash: "h" },
    ...more,
  });
  async function logWith(...heads: (readonly ChainHead[] | undefined)[]): Promise<string> {
    const folder = temporaryFolder();
    const audit = await AuditLog.open(join(folder, "one.log"), { sync: false });
    for (const each of heads)
      await audit.record({ kind: "cluster.heads", ...(each === undefined ? {} : { detail: { heads: each } }) });
    await audit.close();
    return folder;
  }

  it("count up to the furthest, in whatever order they come", async () => {
    const folder = await logWith([head({ seq: 3 })], [head({ seq: 9 }), head({ seq: 4 })]);
    expect((await reasons(folder))[1]).toContain("up to record 9");
  });

  it("that name no head say nothing, and a line that is no record is found where it stands", async () => {
    const folder = await logWith(undefined, []);
    expect(await reasons(folder)).toEqual(["ok"]);
    appendFileSync(join(folder, "one.log"), '{"kind":"cluster.heads","detail":{"heads":[{"seq":1\n');
    const [one] = await verifyChains(folder);
    expect(one).toMatchObject({ ok: false, at: `${join(folder, "one.log")}:3` });
  });

  it("that contradict each other are believed by nobody, in either order", async () => {
    const folder = temporaryFolder();
    const [one] = await twoLogs(folder);
    const chain = (await chainOf(one.file)) ?? "";
    const [, line = ""] = readFileSync(one.file, "utf8").split("\n");
    const { hash } = JSON.parse(line) as { hash: string };
    const word = { node: "one", file: "one.log", publicKey: "", chain, seq: 2 };
    const audit = await AuditLog.open(join(folder, "three.log"), { sync: false });
    await audit.record({
      kind: "cluster.heads",
      detail: {
        heads: [
          { ...word, hash },
          { ...word, hash },
        ],
      },
    });
    expect((await reasons(folder))[0]).toBe("ok");
    await audit.record({
      kind: "cluster.heads",
      detail: {
        heads: [
          { ...word, hash: "other" },
          { ...word, hash },
        ],
      },
    });
    await audit.close();
    expect((await reasons(folder))[0]).toContain("the log was rewritten");
  });

  it("are looked for in the folders of a folder, and no deeper; a log of which the head alone is left is missed", async () => {
    const folder = temporaryFolder();
    const one = await AuditLog.open(join(folder, "in", "one.log"), { sync: false });
    await one.record({ kind: "start" });
    await one.close();
    mkdirSync(join(folder, "in", "deeper"));
    writeFileSync(join(folder, "in", "deeper", "two.log"), "no log\n");
    writeFileSync(join(folder, "notes.txt"), "no log\n");
    expect((await verifyChains(folder)).map(({ file, ok }) => [file, ok])).toEqual([[one.file, true]]);
    rmSync(one.file);
    expect((await verifyChains(folder)).map(({ file, ok }) => [file, ok])).toEqual([[one.file, false]]);
  });
});

it("reads no head whose text was changed", () => {
  const head: ChainHead = { chain: "c", node: "one", file: "audit.log", seq: 7, hash: "h" };
  const text = headText(head, key());
  expect(readHeadText(text)).toMatchObject(head);
  expect(readHeadText(text.replace('\\"seq\\":7', '\\"seq\\":8'))).toBeUndefined();
  expect(readHeadText("{}")).toBeUndefined();
});

it("joins the metrics of processes, each sample with its process, those of one metric together", () => {
  const text = '# HELP a Help.\n# TYPE a counter\na 1\na{b="c"} 2\n# HELP z Help.\n# TYPE z gauge\nz 3\n';
  expect(
    joinedMetrics(
      new Map([
        ["two", text],
        ["one", text],
      ]),
    ),
  ).toBe(
    '# HELP a Help.\n# TYPE a counter\na{node="one"} 1\na{b="c",node="one"} 2\na{node="two"} 1\na{b="c",node="two"} 2\n' +
      '# HELP z Help.\n# TYPE z gauge\nz{node="one"} 3\nz{node="two"} 3\n',
  );
});
