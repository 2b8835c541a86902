// Conversations are recorded as they were, and replayed from either side.
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import {
  messageDifferences,
  type RecordedLine,
  readRecording,
  readSessions,
  RecordingFile,
} from "../../src/recording/recording.js";
import type { Message } from "../../src/remote/text-link.js";
import { recordChild, recordLink } from "../../src/recording/record-link.js";
import { replayClient, ReplayServer } from "../../src/recording/replay-client.js";
import { temporaryFolder } from "../../../secure-local/test/audit/temporary-folder.js";
import { scriptedLink, TOOL } from "../doctor/scripted-server.js";

const ECHO = `
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => console.log(line));
process.stdin.on("end", () => { process.exitCode = 7; });`;
const HELLO = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25" } };
const LIST = { jsonrpc: "2.0", id: 2, method: "tools/list", params: {} };

const client = (message: Message, at = 0): RecordedLine => ({ at, from: "client", message });
const server = (message: Message, at = 0): RecordedLine => ({ at, from: "server", message });

function newRecording(): { file: string; recording: RecordingFile } {
  const file = join(temporaryFolder(), "session.jsonl");
  return { file, recording: new RecordingFile(file, "a test") };
}

describe("record", () => {
  it("passes every byte on, keeps each line, and ends as the server did", async () => {
    const { file, recording } = newRecording();
    const streams = { input: new PassThrough(), output: new PassThrough() };
    const text = `${JSON.stringify(LIST)}\nnot JSON\r\n{"b":1, "a":2}\n`;
    const ended = recordChild(
      { kind: "command", command: process.execPath, args: ["-e", ECHO], env: {} },
      recording,
      streams,
    );
    streams.input.end(text);
    expect(await ended).toBe(7);
    recording.close();
    expect(String(streams.output.read())).toBe(text.replace("\r", ""));
    const entries = readRecording(file);
    expect(entries.filter(({ from }) => from === "client")).toEqual([
      { at: expect.any(Number) as number, from: "client", message: LIST },
      { at: expect.any(Number) as number, from: "client", line: "not JSON" },
      { at: expect.any(Number) as number, from: "client", message: { b: 1, a: 2 }, line: '{"b":1, "a":2}' },
    ]);
    expect(entries.filter(({ from }) => from === "server")).toHaveLength(3);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("says that a command cannot be started", async () => {
    const { recording } = newRecording();
    const streams = { input: new PassThrough(), output: new PassThrough() };
    const target = { kind: "command", command: "/no/such/program", args: [], env: {} } as const;
    await expect(recordChild(target, recording, streams)).rejects.toMatchObject({ code: "SPAWN_FAILED" });
    recording.close();
  });

  it("overwrites nothing without being told to, and nothing but recordings", () => {
    const { file, recording } = newRecording();
    recording.take("client", JSON.stringify(LIST));
    recording.close();
    const before = readFileSync(file, "utf8");
    expect(() => new RecordingFile(file, "again")).toThrow("add --append to go on in it, or --force to replace it");
    expect(readFileSync(file, "utf8")).toBe(before);
    new RecordingFile(file, "again", "append").close();
    expect(readFileSync(file, "utf8").startsWith(before)).toBe(true);
    expect(readSessions(file).map((entries) => entries.length)).toEqual([1, 0]);
    new RecordingFile(file, "again", "replace").close();
    expect(readSessions(file)).toEqual([[]]);
    for (const existing of ["keep", "append", "replace"] as const) {
      writeFileSync(file, "my notes");
      expect(() => new RecordingFile(file, "again", existing)).toThrow("is no recording");
      expect(readFileSync(file, "utf8")).toBe("my notes");
    }
    expect(() => new RecordingFile(temporaryFolder(), "a folder")).toThrow("cannot be written");
  });

  it("keeps conversations apart that are written to one file at the same time", () => {
    const calls = (from: number): Message[] => [0, 1, 2, 3].map((at) => ({ ...LIST, id: from + at }));
    const both = ([first, second]: [RecordingFile, RecordingFile]): void => {
      for (const [at, message] of calls(10).entries()) {
        first.take("client", JSON.stringify(message));
        second.take("client", JSON.stringify(calls(20)[at]));
      }
      first.close();
      second.close();
    };
    const messages = (file: string): unknown[] =>
      readSessions(file).map((entries) => entries.map((one) => one.message));
    const { file, recording } = newRecording();
    both([recording, new RecordingFile(file, "again", "append")]);
    expect(messages(file)).toEqual([calls(10), calls(20)]);
    const older = new RecordingFile(file, "again", "replace");
    older.take("client", JSON.stringify(HELLO));
    both([older, new RecordingFile(file, "again", "replace")]);
    expect(messages(file)).toEqual([calls(20)]);
  });

  it("loses no other conversation where one was killed in the middle of a line, at any of its characters", () => {
    const { file, recording } = newRecording();
    recording.take("client", JSON.stringify(LIST));
    const whole = readFileSync(file, "utf8");
    const last = whole.trimEnd().lastIndexOf("\n") + 1;
    for (let end = last + 6; end < whole.length - 1; end++) {
      writeFileSync(file, whole.slice(0, end));
      const other = new RecordingFile(file, "again", "append");
      writeFileSync(file, whole.slice(last, end), { flag: "a" });
      other.take("client", JSON.stringify(HELLO));
      other.close();
      expect(readSessions(file).map((entries) => entries.map(({ message }) => message))).toEqual([[], [HELLO]]);
    }
    recording.close();
  });

  it("reads what older versions recorded, which named no session", () => {
    const { file, recording } = newRecording();
    recording.take("client", JSON.stringify(LIST));
    recording.close();
    const older = readFileSync(file, "utf8").replaceAll(/,"session":"[^"]*"/g, "");
    writeFileSync(file, older.repeat(2));
    expect(older).not.toContain("session");
    expect(readSessions(file).map((entries) => entries.length)).toEqual([1, 1]);
  });

  it("keeps an older recording from others before it writes into it", () => {
    const { file, recording } = newRecording();
    recording.close();
    for (const existing of ["append", "replace"] as const) {
      chmodSync(file, 0o644);
      new RecordingFile(file, "again", existing).close();
      expect(statSync(file).mode & 0o777).toBe(0o600);
    }
  });

  it("writes what nobody sees as escapes, and reads it back as it was", () => {
    const { file, recording } = newRecording();
    const message = { jsonrpc: "2.0", id: 1, method: "\u202e\u2066\u200b\u009b\u{e0041}" };
    recording.take("client", JSON.stringify(message));
    recording.take("server", "\u009d no JSON \u{e0041}");
    recording.close();
    expect(readFileSync(file, "utf8")).toMatch(/^[\n\x20-\x7e]*$/);
    const [one, two] = readRecording(file);
    expect([one?.message, two?.line]).toEqual([message, "\u009d no JSON \u{e0041}"]);
  });

  it("stands between a client on stdio and a link", async () => {
    const { file, recording } = newRecording();
    const streams = { input: new PassThrough(), output: new PassThrough() };
    const done = recordLink(scriptedLink(), recording, streams);
    streams.input.end(`${JSON.stringify(HELLO)}\n${JSON.stringify(LIST)}\n`);
    await done;
    recording.close();
    expect(readRecording(file).map(({ from }) => from)).toEqual(["client", "server", "client", "server"]);
    expect(String(streams.output.read())).toContain('"tools":[');
  });
});

describe("a recording", () => {
  it.each([
    ["", "is no recording"],
    ['{"format":"other"}', "is no recording"],
    ['{"format":"mcp-recording","version":1}\n{"at":1}', ":2: an entry has"],
    ['{"format":"mcp-recording","version":1}\n\n{', ":3: not JSON"],
  ])("%j is refused", (text, message) => {
    const file = join(temporaryFolder(), "x.jsonl");
    writeFileSync(file, text);
    expect(() => readRecording(file)).toThrow(message);
  });
});

const CALL = {
  jsonrpc: "2.0",
  id: 3,
  method: "tools/call",
  params: { name: "a", arguments: { x: 1, y: 2 }, _meta: { progressToken: "p3" } },
};
const SESSION: RecordedLine[] = [
  client(HELLO),
  server({ jsonrpc: "2.0", id: 1, result: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} } }),
  client({ jsonrpc: "2.0", method: "notifications/initialized" }),
  client(CALL),
  server({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: "p3", progress: 1 } }),
  server({ jsonrpc: "2.0", id: 90, method: "elicitation/create", params: {} }),
  client({ jsonrpc: "2.0", id: 90, result: { action: "decline" } }),
  server({ jsonrpc: "2.0", id: 3, result: { content: [{ type: "text", text: "first" }] } }),
  client({ ...CALL, id: 4 }),
  server({ jsonrpc: "2.0", id: 4, result: { content: [{ type: "text", text: "second" }] } }),
];

function replaying(strict = false): { server: ReplayServer; sent: Message[]; say: (message: object) => void } {
  const sent: Message[] = [];
  const replay = new ReplayServer(SESSION, { strict, send: (message) => sent.push(message) });
  return { server: replay, sent, say: (message) => replay.receive(JSON.stringify({ jsonrpc: "2.0", ...message })) };
}

describe("replay as the server", () => {
  const call = { method: "tools/call", params: { _meta: { progressToken: 7 }, arguments: { y: 2, x: 1 }, name: "a" } };

  it("answers by method and params under the ids and tokens of now, each answer once, the last one for ever", () => {
    const { sent, say } = replaying();
    say({ id: "a", method: "initialize", params: { protocolVersion: "2024-11-05" } });
    say({ id: "b", ...call });
    expect(sent.map(({ id, method }) => id ?? method)).toEqual(["a", "notifications/progress", 90]);
    expect(sent[1]).toMatchObject({ params: { progressToken: 7 } });
    say({ id: 90, result: { action: "accept" } });
    say({ id: "c", ...call });
    say({ id: "d", ...call });
    const texts = sent.slice(3).map(({ id, result }) => [id, JSON.stringify(result)]);
    expect(texts).toEqual([
      ["b", expect.stringContaining("first")],
      ["c", expect.stringContaining("second")],
      ["d", expect.stringContaining("second")],
    ]);
  });

  it("refuses what was never asked, and lives on", () => {
    const { sent, say, server: replay } = replaying();
    say({ id: 1, method: "tools/call", params: { name: "b" } });
    say({ id: 2, method: "ping" });
    replay.receive("{");
    expect(sent).toMatchObject([
      { id: 1, error: { code: -32603 } },
      { id: 2, result: {} },
      { error: { code: -32700 } },
    ]);
  });

  it("keeps to the order when it is strict", () => {
    const { sent, say, server: replay } = replaying(true);
    say({ id: 1, method: "initialize" });
    say({ id: 2, ...call });
    expect(sent[1]).toMatchObject({
      id: 2,
      error: { message: expect.stringContaining("notifications/initialized") as string },
    });
    say({ method: "notifications/initialized" });
    say({ id: 3, ...call });
    expect(sent[2]).toMatchObject({ method: "notifications/progress" });
    expect(replay.deviations).toHaveLength(1);
  });
});

describe("replay as the client", () => {
  const asked: RecordedLine[] = [
    client(HELLO),
    server({
      jsonrpc: "2.0",
      id: 1,
      result: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "scripted", version: "1.2.3" } },
    }),
    client({ jsonrpc: "2.0", method: "notifications/initialized" }),
    client(LIST),
    server({ jsonrpc: "2.0", id: 2, result: { tools: [TOOL] } }),
  ];

  it("finds what is answered in another way", async () => {
    const comparisons = await replayClient(scriptedLink(), asked, 500);
    expect(comparisons.map(({ request }) => request)).toEqual(["initialize", "tools/list {}"]);
    expect(comparisons[0]?.differences[0]).toMatch(/^result\.capabilities\.tools: nothing was recorded/);
    expect(comparisons[1]?.differences).toEqual([]);
  });

  it("says where no answer comes", async () => {
    const deaf = scriptedLink(({ method }) => (method === "tools/list" ? [] : undefined));
    const [, list] = await replayClient(deaf, asked, 20);
    expect(list?.differences).toEqual(["no answer came"]);
  });

  it("overlooks times and random ids", () => {
    const then = { a: "at 2026-01-31T10:00:00.123Z", b: "9b2c9f0e-3f0d-4a53-8a0e-0d3a3a0e1b11", c: [1] };
    const now = { a: "at 2027-02-28T11:30:00Z", b: "00000000-3f0d-4a53-8a0e-0d3a3a0e1b11", c: [1, 2] };
    expect(messageDifferences(then, now)).toEqual(["c[1]: nothing was recorded, 2 came"]);
  });
});
