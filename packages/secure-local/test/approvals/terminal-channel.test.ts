// Questions put to a terminal over the local socket, and what of the way back is believed.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { answerOne } from "../../src/cli/approve-command.js";
import { ApprovalsInbox } from "../../src/guard/approvals/approvals-inbox.js";
import {
  type ApprovalQuestion,
  type ApprovalReply,
  TerminalChannel,
} from "../../src/guard/approvals/terminal-channel.js";
import { digestOfText, MAX_LINE, terminalLine } from "../../src/guard/approvals/terminal-message.js";

const QUESTION: ApprovalQuestion = {
  id: "ab12cd34",
  text: 'Allow "erase"?\n  "path": "/a"',
  remember: undefined,
  timeoutMs: 5_000,
};

describe.skipIf(process.platform === "win32")("the terminal channel", () => {
  let folder: string;
  let channel: TerminalChannel;
  let inbox: ApprovalsInbox;
  let over: AbortController;
  let said: string[];

  beforeEach(() => {
    vi.spyOn(process.stderr, "write").mockImplementation(() => true);
    const lines: string[] = (said = []);
    folder = join(mkdtempSync(join(tmpdir(), "channel-")), "approvals");
    channel = new TerminalChannel(folder, (line) => lines.push(line));
    inbox = new ApprovalsInbox(folder);
    over = new AbortController();
  });

  afterEach(() => {
    vi.restoreAllMocks();
    over.abort();
    inbox.close();
    rmSync(join(folder, ".."), { recursive: true, force: true });
  });

  /** Asks, and resolves once there is a socket to answer at. */
  async function ask(question = QUESTION): Promise<{ reply: Promise<ApprovalReply>; socket: string }> {
    const reply = channel.ask(question, over.signal);
    const sockets = (): string[] => (statSync(folder, { throwIfNoEntry: false }) ? readdirSync(folder) : []);
    await expect.poll(sockets).toHaveLength(1);
    await expect.poll(() => said).toHaveLength(1);
    return { reply, socket: join(folder, sockets()[0] as string) };
  }

  function raw(socket: string): { link: Socket; shown: Promise<void> } {
    const link = connect(socket);
    link.on("error", () => undefined);
    return { link, shown: new Promise((resolve) => link.once("data", () => resolve())) };
  }

  it("takes an answer, keeps everybody else out, and leaves nothing behind", async () => {
    const { reply, socket } = await ask();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    inbox.look();
    const waiting = await inbox.next();
    expect(waiting).toMatchObject({ id: QUESTION.id, text: QUESTION.text });
    expect(waiting.secondsLeft).toBeGreaterThan(0);
    expect(waiting.secondsLeft).toBeLessThanOrEqual(QUESTION.timeoutMs / 1_000);
    waiting.answer("approve");
    expect(await reply).toEqual({ answer: "approve" });
    await expect.poll(() => readdirSync(folder)).toEqual([]);
    // The socket is gone with its question; the next question has another one.
    expect((await ask({ ...QUESTION, id: "other" })).socket).not.toBe(socket);
  });

  it.each([
    ["the code", "ab12", "approve"],
    ["the code in capitals", " AB12 ", "approve"],
    ["yes", "y", "deny"],
    ["nothing", "", "deny"],
    ["another code", "ab13", "deny"],
    ["keep, where nothing is kept", "ab12 keep", "deny"],
    ["more than the code", "ab12x", "deny"],
  ])("reads %s as it was meant", async (_what, typed, answer) => {
    const { reply } = await ask();
    inbox.look();
    await answerOne(await inbox.next(), () => Promise.resolve(typed));
    expect(await reply).toEqual({ answer });
  });

  it("remembers where that is offered", async () => {
    const { reply } = await ask({ ...QUESTION, remember: "for 10 minutes" });
    inbox.look();
    await answerOne(await inbox.next(), () => Promise.resolve("ab12 keep"));
    expect(await reply).toEqual({ answer: "remember" });
  });

  it("refuses when the terminal that showed the question is closed", async () => {
    const { reply, socket } = await ask();
    const { link, shown } = raw(socket);
    await shown;
    link.destroy();
    expect(await reply).toEqual({ answer: undefined, reason: "the terminal was closed" });
  });

  it("believes no answer to a text it did not show, to another question, or that is no answer", async () => {
    const { reply, socket } = await ask();
    const { link, shown } = raw(socket);
    await shown;
    const answer = { kind: "answer", id: QUESTION.id, shown: digestOfText(QUESTION.text), answer: "approve" } as const;
    for (const line of ["", "{}", "null", "[1]", '{"kind":"answer"}', JSON.stringify({ ...answer, answer: true })])
      link.write(`${line}\n`);
    link.write(terminalLine({ ...answer, id: "ffff" }));
    link.write(terminalLine({ ...answer, shown: digestOfText("Allow a harmless thing?") }));
    link.write(terminalLine(answer));
    expect(await reply).toEqual({ answer: undefined, reason: "the terminal had shown another text" });
    link.destroy();
  });

  it("cuts off who sends without end", async () => {
    const { reply, socket } = await ask();
    const { link, shown } = raw(socket);
    await shown;
    link.write("x".repeat(MAX_LINE + 1));
    expect(await reply).toMatchObject({ answer: undefined });
  });

  it("takes a question back from the terminal that shows it", async () => {
    const { reply } = await ask();
    inbox.look();
    const waiting = await inbox.next();
    over.abort();
    expect(await reply).toEqual({ answer: undefined, reason: "the question was withdrawn" });
    await expect.poll(() => waiting.gone.aborted).toBe(true);
  });

  it("forgets the question of a server that was killed, and removes its socket", async () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // A socket at which nobody listens any more, as a kill leaves it.
    const path = join(folder, "1-dead.ask");
    const { spawnSync } = await import("node:child_process");
    const script = `require("node:net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))`;
    spawnSync(process.execPath, ["-e", script, path]);
    expect(readdirSync(folder)).toEqual(["1-dead.ask"]);
    inbox.look();
    await expect.poll(() => readdirSync(folder)).toEqual([]);
  });

  it("hides nothing behind escapes a hostile server might send", async () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    let heard = "";
    const server = createServer((link) => {
      link.on("data", (text) => (heard += String(text)));
      const text = "Allow it?\u001b[2K\u001b[1A";
      link.write(terminalLine({ kind: "question", id: "ab12cd34", text, secondsLeft: 5 }));
    });
    await new Promise<void>((resolve) => server.listen(join(folder, "1-a.ask"), resolve));
    inbox.look();
    await answerOne(await inbox.next(), () => Promise.resolve("ab12"));
    await expect.poll(() => heard).toContain('"answer":"deny"');
    inbox.close();
    server.close();
  });
});
