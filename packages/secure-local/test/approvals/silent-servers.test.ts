// A server that runs and does not say what it remembers: nobody is told that nothing is remembered, or that it was taken back.
import { mkdirSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { rememberedAnswers, takeBackAnswers } from "../../src/control/control-client.js";
import { run } from "../cli/command.js";
import { temporaryFolder } from "../audit/temporary-folder.js";

const ERROR = '{"error":"UNREACHABLE: Redis is away"}\n';
const ANSWERS: readonly (readonly [how: string, answer: string])[] = [
  ["says an error", ERROR],
  ["says what is no JSON", "what?\n"],
  ["ends without a word", ""],
];

let listening: Server | undefined;
afterEach(() => void listening?.close());

async function serverThat(answer: string): Promise<string> {
  const home = temporaryFolder();
  const folder = join(home, "state/mcp-secure-local/run");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  listening = createServer((peer) => peer.on("data", () => peer.end(answer)).on("error", () => undefined));
  await new Promise<void>((resolve) => listening?.listen(join(folder, "4711.run"), resolve));
  return home;
}

describe.each(ANSWERS)("a running server that %s", (_how, answer) => {
  it("is named by whoever asks it for what it remembers, and where something is taken back", async () => {
    const folder = join(await serverThat(answer), "state/mcp-secure-local/run");
    expect(await rememberedAnswers(folder)).toEqual({ answers: [], unanswered: [4711] });
    expect(await takeBackAnswers(folder, undefined, "console")).toEqual({ taken: [], unanswered: [4711] });
  });

  it("is named in a terminal, with what to do and a failed exit", async () => {
    const home = await serverThat(answer);
    for (const words of [["remembered"], ["take-back", "all"], ["take-back", "abc"]]) {
      const { code, stdout } = await run(["approve", ...words], { home });
      expect(stdout).toMatch(/Process 4711 .*end it: what it remembers ends with it/s);
      expect(stdout).not.toMatch(/No answer is remembered|asks again\.?\n?$/);
      expect(code).toBe(1);
    }
  });
});
