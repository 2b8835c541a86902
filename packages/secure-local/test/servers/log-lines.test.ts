// What a server writes on its standard error is shown without secrets, and with all that steers a terminal or hides as what it is.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { rememberSecret } from "../../src/audit/secret-shapes.js";
import { ServerLog, serverLogFile, shownLine } from "../../src/server/server-log.js";

const VALUE = "tkt_LogLineValue_41f0c2";
rememberSecret("logged", VALUE);
const folder = mkdtempSync(join(tmpdir(), "log-lines-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a line of a server", () => {
  it.each([
    ["\u001b[2Jcleared", "\\u001b[2Jcleared"],
    ["a\u202eb\u200bc", "a\\u202eb\\u200bc"],
    ["\u{e0041}tag\u009b1m", "\\udb40\\udc41tag\\u009b1m"],
    ["over\rwritten\u0007\u2028", "over\\u000dwritten\\u0007\\u2028"],
    ["\u001b[1;31mred\u001b[0m", "red"],
    ["a\tb\nc", "a b\\nc"],
    ["plain: 50 %", "plain: 50 %"],
  ])("%j is shown as %j", (line, shown) => expect(shownLine(line)).toBe(shown));

  it("is cut where it is long, and says how long it is", () => {
    expect(shownLine("x".repeat(100_000))).toMatch(/^x{2000} \[cut: the line has 100000 characters\]$/);
    expect(shownLine("\u0007".repeat(400)).length).toBeLessThan(2_100);
  });

  it("holds no secret, also not at its cut and not with characters in it that nobody sees", () => {
    for (let at = 1_960; at < 2_010; at += 7)
      expect(shownLine("y".repeat(at) + VALUE)).not.toContain(VALUE.slice(0, 10));
    expect(shownLine(`a ${VALUE.slice(0, 9)}\u200b${VALUE.slice(9)} b`)).toBe("a [secret logged] b");
  });

  it("never looks like one of ours, in the file as it is shown", async () => {
    const file = serverLogFile(folder, "p.yaml", "posing");
    const log = new ServerLog(folder, file);
    const ours = ["started", "stopped", "ended: it went away", "could not be started: a\nstopped"];
    const around = [
      "",
      " ",
      "\r",
      "\t",
      "\n",
      "\u001b[0m",
      "\u001b[2K\u001b[G",
      "\u0008\u0008",
      "2026-11-30T00:00:00.000Z ",
      "\u2028",
    ];
    const posing = ours.flatMap((line) => around.flatMap((before) => [before + line, `x${before}${line}`]));
    for (const line of ours) log.add(line);
    for (const line of posing) log.heard(line);
    await log.settled();
    const shown = readFileSync(file, "utf8").trimEnd().split("\n").map(shownLine);
    expect(shown).toHaveLength(ours.length + posing.length);
    for (const [at, line] of shown.entries()) expect(/^\S+Z \| /.test(line), line).toBe(at >= ours.length);
  });

  it("stands so in the file", async () => {
    const log = new ServerLog(folder, serverLogFile(folder, "p.yaml", "up"));
    log.heard("\u001b]0;title\u0007 hi\u202e");
    await log.settled();
    const text = readFileSync(serverLogFile(folder, "p.yaml", "up"), "utf8");
    expect(text).toMatch(/Z \| \\u001b\]0;title\\u0007 hi\\u202e\n$/);
  });
});
