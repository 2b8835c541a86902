// `audit tail` as a person runs it: the newest records of all logs in the order of time, and each new one of any log.
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { start } from "./command.js";

const BEGAN = Date.parse("2026-06-15T11:30:00.000Z");

/** A refusal by its second: an entry of one record. */
const line = (second: number, tool = `t${second}`, filler = ""): string =>
  `${JSON.stringify({ seq: second, time: new Date(BEGAN + second * 1000).toISOString(), kind: "denied", tool, outcome: "denied", decision: { allowed: false }, arguments: { filler } })}\n`;

interface Tail {
  /** The tools of the next so many records. */
  next(count: number): Promise<string[]>;
}

function tailOf(home: string, ...words: string[]): Tail {
  const child = start(["audit", "tail", "--json", ...words], { home });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async next(count) {
      const tools: string[] = [];
      while (tools.length < count)
        tools.push((JSON.parse((await lines.next()).value as string) as { tool: string }).tool);
      return tools;
    },
  };
}

function logIn(home: string, name = "audit.log"): string {
  const file = join(home, "state/mcp-secure-local", name);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  return file;
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, n) => from + n);
const tools = (from: number, to: number): string[] => range(from, to).map((second) => `t${second}`);

describe("audit tail", () => {
  it("begins with the newest of all logs, in the order of time", async () => {
    const home = temporaryFolder();
    const [one, two] = [logIn(home), logIn(home, "audit.2.log")];
    writeFileSync(
      one,
      range(0, 40)
        .map((n) => (n % 2 === 0 ? line(n) : ""))
        .join(""),
    );
    writeFileSync(
      two,
      range(0, 40)
        .map((n) => (n % 2 === 1 ? line(n) : ""))
        .join(""),
    );
    const tail = tailOf(home);
    expect(await tail.next(10)).toEqual(tools(30, 40));
    appendFileSync(one, line(40));
    expect(await tail.next(1)).toEqual(["t40"]);
  });

  it("looks for what is wanted further back than the end, in full files too", async () => {
    const home = temporaryFolder();
    const file = logIn(home);
    const filler = "x".repeat(2_000);
    writeFileSync(
      `${file}.0000000000000012`,
      range(0, 12)
        .map((n) => line(n, "wanted", filler))
        .join(""),
    );
    writeFileSync(
      file,
      line(20, "wanted") +
        range(21, 421)
          .map((n) => line(n, "other", filler))
          .join(""),
    );
    const tail = tailOf(home, "tool=wanted");
    expect(await tail.next(10)).toHaveLength(10);
    appendFileSync(file, line(500, "other") + line(501, "wanted"));
    expect(await tail.next(1)).toEqual(["wanted"]);
  });

  it("tells what is written to a log that a server began after it", async () => {
    const home = temporaryFolder();
    writeFileSync(logIn(home), line(0));
    const tail = tailOf(home);
    expect(await tail.next(1)).toEqual(["t0"]);
    const later = logIn(home, "audit.2.log");
    writeFileSync(later, line(1) + line(2));
    expect(await tail.next(2)).toEqual(["t1", "t2"]);
    appendFileSync(later, line(3));
    expect(await tail.next(1)).toEqual(["t3"]);
  });
});
