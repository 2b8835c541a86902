// Questions put at the control socket to those who watch there, and what of the way back is believed.
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { answerOne } from "../../src/cli/approve-command.js";
import {
  ApprovalsInbox,
  controlLine,
  digestOfText,
  MAX_REQUEST,
  runningServers,
  type SettledQuestion,
} from "../../src/control/control-client.js";
import { ControlSocket } from "../../src/control/control-socket.js";
import type { SecureServer } from "../../src/server/secure-server.js";
import type { ApprovalQuestion, ApprovalReply } from "../../src/guard/approvals/approvals.js";

const QUESTION: ApprovalQuestion = {
  id: "ab12cd34",
  text: 'Allow "erase"?\n  "path": "/a"',
  remember: undefined,
  timeoutMs: 5_000,
};

/** A server with nothing in it. */
const SECURE = {
  policy: { hash: "" },
  tools: () => [],
  pluginHealth: () => [],
  pluginReviews: () => [],
  serverTools: () => [],
  serverHealth: () => [],
  clients: () => [],
  restartServer: () => Promise.resolve(false),
  stopServer: () => Promise.resolve(false),
} as unknown as SecureServer;

describe.skipIf(process.platform === "win32")("questions at the control socket", () => {
  let folder: string;
  let control: ControlSocket;
  let inbox: ApprovalsInbox;
  let over: AbortController;
  let said: string[];

  beforeEach(async () => {
    vi.spyOn(process.stderr, "write").mockImplementation(() => true);
    const lines: string[] = (said = []);
    folder = join(mkdtempSync(join(tmpdir(), "channel-")), "run");
    const about = { secure: SECURE, version: "1", auditFile: "/log", transport: "stdio" } as const;
    control = (await ControlSocket.open(folder, about, (line) => lines.push(line))) as ControlSocket;
    inbox = new ApprovalsInbox(folder, "terminal");
    over = new AbortController();
  });

  afterEach(async () => {
    vi.restoreAllMocks();
    over.abort();
    inbox.close();
    await control.close();
    rmSync(join(folder, ".."), { recursive: true, force: true });
  });

  const socketNow = (): string => join(folder, readdirSync(folder)[0] as string);

  /** Asks, and resolves once the operator was told. */
  async function ask(question = QUESTION): Promise<{ reply: Promise<ApprovalReply>; socket: string }> {
    const reply = control.questions.ask(question, over.signal);
    await expect.poll(() => said).toHaveLength(1);
    return { reply, socket: socketNow() };
  }

  function raw(socket: string): { link: Socket; shown: Promise<void> } {
    const link = connect(socket, () => link.write(controlLine({ ask: "questions" })));
    link.on("error", () => undefined);
    return { link, shown: new Promise((resolve) => link.once("data", () => resolve())) };
  }

  it("takes an answer, keeps everybody else out, and is gone with its server", async () => {
    const { reply, socket } = await ask();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    inbox.look();
    const waiting = await inbox.next();
    expect(waiting).toMatchObject({ id: QUESTION.id, text: QUESTION.text });
    expect(waiting.secondsLeft).toBeGreaterThan(0);
    expect(waiting.secondsLeft).toBeLessThanOrEqual(QUESTION.timeoutMs / 1_000);
    expect(await waiting.answer("approve")).toEqual({
      answer: "approve",
      reason: undefined,
      by: "terminal",
      counted: true,
    });
    expect(await reply).toEqual({ answer: "approve", by: "terminal" });
    await control.close();
    expect(readdirSync(folder)).toEqual([]);
  });

  it("takes one answer of all that are given, and tells everybody whose it was", async () => {
    const others = [1, 2].map(() => new ApprovalsInbox(folder, "console"));
    const { reply } = await ask();
    const shown = await Promise.all(
      [inbox, ...others].map((each) => {
        each.look();
        return each.next();
      }),
    );
    const told = await Promise.all(shown.map((each, index) => each.answer(index === 0 ? "deny" : "approve")));
    const { answer, by } = (await reply) as { answer?: string; by?: string };
    expect(by).toBe(told[0]?.counted ? "terminal" : "console");
    expect(new Set(told.map((each) => each?.by))).toEqual(new Set([by]));
    expect(told.filter((each) => each?.counted)).toHaveLength(1);
    expect(new Set(told.map((each) => each?.answer))).toEqual(new Set([answer]));
    expect(told.find((each) => each?.counted)?.answer).toBe(answer);
    for (const each of others) {
      expect(each.settled.get(QUESTION.id)).toMatchObject({ answer });
      each.close();
    }
  });

  it("lets one answer count of two that are given at one inbox, and says to the other what became of it", async () => {
    const { reply } = await ask();
    inbox.look();
    const waiting = await inbox.next();
    const [first, second] = await Promise.all([waiting.answer("deny"), waiting.answer("approve")]);
    expect([first?.counted, second?.counted, second?.answer]).toEqual([true, false, "deny"]);
    expect(await reply).toEqual({ answer: "deny", by: "terminal" });
  });

  it("answers how its server is at the same socket, also while questions are open there", async () => {
    const { reply } = await ask();
    expect(await runningServers(folder)).toMatchObject([{ pid: process.pid, auditFile: "/log", state: "running" }]);
    over.abort();
    await reply;
  });

  it("has room for eight who watch, and for those who ask how it is beside them", async () => {
    const { socket } = await ask();
    const watching = Array.from({ length: 8 }, () => raw(socket));
    await Promise.all(watching.map(({ shown }) => shown));
    const ninth = raw(socket);
    const heard = await new Promise((resolve) => ninth.link.once("data", (text) => resolve(String(text))));
    expect(heard).toContain("too many");
    expect(await runningServers(folder)).toHaveLength(1);
    for (const { link } of watching) link.destroy();
  });

  it("is shown once where several servers show it, and is answered at each", async () => {
    const about = { secure: SECURE, version: "1", auditFile: "/log", transport: "stdio" } as const;
    const other = (await ControlSocket.open(folder, about, () => undefined)) as ControlSocket;
    const replies = [control, other].map(({ questions }) => questions.ask(QUESTION, over.signal));
    const another = other.questions.ask({ ...QUESTION, id: "ffff0000" }, over.signal);
    inbox.look();
    await expect.poll(() => inbox.open()).toHaveLength(2);
    // Both have told the inbox what they have once both answer it.
    await expect.poll(async () => (await runningServers(folder)).length).toBe(2);
    void inbox
      .open()
      .find(({ id }) => id === QUESTION.id)
      ?.answer("approve");
    expect(await Promise.all(replies)).toEqual([
      { answer: "approve", by: "terminal" },
      { answer: "approve", by: "terminal" },
    ]);
    await expect.poll(() => inbox.open().map(({ id }) => id)).toEqual(["ffff0000"]);
    over.abort();
    await another;
    await other.close();
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
    expect(await reply).toEqual({ answer, by: "terminal" });
  });

  it.each([
    ["the one where it counted says so last", ["echo", "counted"], "allowed"],
    ["the one where it counted says so first", ["counted", "echo"], "allowed"],
    ["it counted at none of them", ["echo", "echo"], "no longer open: it was answered at another process: approve"],
  ])(
    "says of the only answer what became of it, however the servers that share tell of it: %s",
    async (_, order, told) => {
      // Each heard the answer of this terminal; one by the others before it had read it here.
      const id = QUESTION.id;
      const messages: Record<string, Parameters<typeof controlLine>[0]> = {
        echo: { kind: "settled", id, reason: "it was answered at another process: approve", counted: false },
        counted: { kind: "settled", id, answer: "approve", by: "terminal", counted: true },
      };
      await control.close();
      const peers: Socket[] = [];
      let answers = 0;
      const say = (): void => {
        if ((answers += 1) < 2) return;
        // The second one says it when the first one's word has been taken in.
        peers[0]?.write(controlLine(messages[order[0] as string] as (typeof messages)[string]));
        setImmediate(() => peers[1]?.write(controlLine(messages[order[1] as string] as (typeof messages)[string])));
      };
      const servers = ["1-a.run", "2-b.run"].map((name) =>
        createServer((peer) => {
          peers.push(peer);
          peer.on("error", () => undefined);
          let asked = false;
          peer.on("data", () => {
            if (asked) return say();
            asked = true;
            // With one more of its own, by which is seen that both were read.
            for (const each of [id, name])
              peer.write(controlLine({ kind: "question", id: each, text: QUESTION.text, secondsLeft: 5 }));
          });
        }).listen(join(folder, name)),
      );
      await vi.waitFor(() => expect(readdirSync(folder)).toHaveLength(2));
      inbox.look();
      await vi.waitFor(() => expect(inbox.open()).toHaveLength(3));
      const question = inbox.open().find((each) => each.id === id);
      if (question === undefined) throw new Error("nothing was asked");
      await answerOne(question, () => Promise.resolve(id.slice(0, 4)));
      const lines = vi.mocked(process.stderr.write).mock.calls.map(([line]) => String(line));
      expect(lines.at(-1)).toBe(`${told}\n`);
      for (const server of servers) server.close();
    },
  );

  it("rings once in a terminal, and shows no escape for it", async () => {
    await ask();
    inbox.look();
    let written = "";
    const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => ((written += String(text)), true));
    const { isTTY } = process.stderr;
    process.stderr.isTTY = true;
    try {
      await answerOne(await inbox.next(), () => Promise.resolve("n"));
    } finally {
      process.stderr.isTTY = isTTY;
      write.mockRestore();
    }
    expect(written.split("\u0007").length).toBe(2);
    expect(written).not.toContain("u0007");
  });

  it("remembers where that is offered", async () => {
    const { reply } = await ask({ ...QUESTION, remember: "for 10 minutes" });
    inbox.look();
    await answerOne(await inbox.next(), () => Promise.resolve("ab12 keep"));
    expect(await reply).toEqual({ answer: "remember", by: "terminal" });
  });

  it("refuses when the terminal that showed the question is closed", async () => {
    const { reply, socket } = await ask();
    const { link, shown } = raw(socket);
    await shown;
    link.destroy();
    expect(await reply).toEqual({ answer: undefined, reason: "the terminal was closed" });
  });

  it("stays open when the console that showed it is gone, and is shown to whoever comes next", async () => {
    const { reply, socket } = await ask();
    let answered = false;
    void reply.then(() => (answered = true));
    const link = connect(socket, () => link.write(controlLine({ ask: "questions", by: "console" })));
    await new Promise((resolve) => link.once("data", resolve));
    link.destroy();
    // The one who runs the server is told again that somebody has to answer.
    await expect.poll(() => said).toHaveLength(2);
    expect(answered).toBe(false);
    inbox.look();
    await answerOne(await inbox.next(), () => Promise.resolve("ab12"));
    expect(await reply).toEqual({ answer: "approve", by: "terminal" });
  });

  it("is refused by a terminal that is closed after a console, which has refused nothing", async () => {
    const { reply, socket } = await ask();
    const console = new ApprovalsInbox(folder, "console");
    console.look();
    await console.next();
    const { link, shown } = raw(socket);
    await shown;
    console.close();
    // What the server is asked after that, it answers after it has seen it.
    for (const _ of [1, 2]) await runningServers(folder);
    link.destroy();
    expect(await reply).toEqual({ answer: undefined, reason: "the terminal was closed" });
  });

  it("believes no answer to a text it did not show, or to another question", async () => {
    const { reply, socket } = await ask();
    const { link, shown } = raw(socket);
    await shown;
    const answer = { ask: "answer", id: QUESTION.id, shown: digestOfText(QUESTION.text), answer: "approve" } as const;
    const by = "terminal";
    link.write(controlLine({ ...answer, by, id: "ffff" }));
    link.write(controlLine({ ...answer, by, shown: digestOfText("Allow a harmless thing?") }));
    link.write(controlLine({ ...answer, by }));
    expect(await reply).toEqual({ answer: undefined, reason: "the terminal had shown another text" });
    link.destroy();
  });

  it.each(["", "{}", "null", "[1]", '{"ask":"answer"}', '{"ask":"erase"}', '{"ask":"restart"}', "\u0000"])(
    "takes %j for no answer, and whoever says it for no person who was asked",
    async (line) => {
      const { reply, socket } = await ask();
      const { link, shown } = raw(socket);
      await shown;
      link.write(`${line}\n`);
      expect(await reply).toEqual({ answer: undefined, reason: "the terminal was closed" });
    },
  );

  it("cuts off who sends without end", async () => {
    const { reply, socket } = await ask();
    const { link, shown } = raw(socket);
    await shown;
    link.write("x".repeat(MAX_REQUEST + 1));
    expect(await reply).toMatchObject({ answer: undefined });
  });

  it("takes a question back from the terminal that shows it", async () => {
    const { reply } = await ask();
    inbox.look();
    const waiting = await inbox.next();
    over.abort();
    expect(await reply).toEqual({ answer: undefined, reason: "the question was withdrawn" });
    await expect.poll(() => waiting.gone.aborted).toBe(true);
    expect(waiting.gone.reason as SettledQuestion).toMatchObject({ answer: undefined, counted: false });
    expect(await waiting.answer("approve")).toMatchObject({ reason: "the question was withdrawn", counted: false });
  });

  it("forgets the question of a server that was killed, and removes its socket", async () => {
    await control.close();
    // A socket at which nobody listens any more, as a kill leaves it.
    const path = join(folder, "1-dead.run");
    const { spawnSync } = await import("node:child_process");
    const script = `require("node:net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))`;
    spawnSync(process.execPath, ["-e", script, path]);
    expect(readdirSync(folder)).toEqual(["1-dead.run"]);
    inbox.look();
    await expect.poll(() => readdirSync(folder)).toEqual([]);
  });

  it("hides nothing behind escapes a hostile server might send", async () => {
    await control.close();
    let heard = "";
    const server = createServer((link) => {
      link.on("data", (text) => {
        heard += String(text);
        if (heard.includes("answer"))
          link.write(controlLine({ kind: "settled", id: "ab12cd34", answer: "deny", counted: true }));
      });
      const text = "Allow it?\u001b[2K\u001b[1A";
      link.write(controlLine({ kind: "question", id: "ab12cd34", text, secondsLeft: 5 }));
    });
    await new Promise<void>((resolve) => server.listen(join(folder, "1-a.run"), resolve));
    inbox.look();
    await answerOne(await inbox.next(), () => Promise.resolve("ab12"));
    await expect.poll(() => heard).toContain('"answer":"deny"');
    inbox.close();
    server.close();
  });
});
