// People who say no, nothing, or nonsense, clients that cannot ask, and whoever else writes to the socket where terminals answer.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { approving, ASK, ASKED, askedOf, FORMS, NO, nothingRan, outcome, STATEFUL } from "./approving.mjs";
import { session, wasDenied, wasRefused } from "./session.mjs";

const NEVER = () => new Promise(() => undefined);
const accept = (decision) => ({ action: "accept", content: { decision } });

/** Answers of a form that are not its yes. */
const NOT_YES = {
  declined: NO,
  cancelled: { action: "cancel" },
  "no decision": { action: "accept", content: {} },
  "nothing filled in": { action: "accept" },
  deny: accept("deny"),
  yes: accept("yes"),
  true: accept(true),
  "a number": accept(1),
  "a list": accept(["approve this one call"]),
  "other letters": accept("Approve this one call"),
  "a space more": accept("approve this one call "),
  "a look-alike": accept("\u0430pprove this one call"),
  "keep, where nothing is kept": accept("approve this very call for 10 minutes"),
  "a decision beside the form": { action: "accept", decision: "approve this one call" },
  "declined with a yes in it": { action: "decline", content: { decision: "approve this one call" } },
  "another action": { action: "ok", content: { decision: "approve this one call" } },
  nothing: {},
};
/** Whoever declares this cannot be shown a form. */
const NO_FORMS = [{}, { sampling: {} }, { elicitation: { url: {} } }];

export async function nobodyAnswers(report, parts) {
  report.kind("nobody to ask, no answer, and answers that are none");
  for (const [what, answer] of Object.entries(NOT_YES)) {
    await report.attack(`a form that comes back: ${what}`, async () => {
      const server = await approving(parts, ASK);
      return nothingRan(server, await outcome(parts.erase(await server.connect(parts.person(() => answer)), ASKED)));
    });
    await report.attack(`a stateless client that says: ${what}`, async () => {
      const server = await approving(parts, ASK);
      const { peer, asked } = await askedOf(parts, server);
      return nothingRan(server, await outcome(peer.request("tools/call", parts.retry(asked, answer, ASKED))));
    });
  }
  for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", STATEFUL, "2026-07-28"])
    for (const capabilities of NO_FORMS)
      for (const rules of [ASK, "  - { approve: destructive, answer_by: [client] }"])
        await report.attack(`nobody to ask in ${revision}, ${JSON.stringify(capabilities)}`, async () => {
          const server = await approving(parts, rules);
          return nothingRan(
            server,
            await outcome(parts.erase(await server.connect({ revision, capabilities }), ASKED)),
          );
        });
  await report.attack("rules that agree on nobody", async () => {
    const rules = "  - { approve: destructive, answer_by: [client] }\n  - { approve: [erase], answer_by: [terminal] }";
    const server = await approving(parts, rules, async () => ({ answer: "approve" }));
    return nothingRan(server, await outcome(parts.erase(await server.connect(parts.person(parts.yes)), ASKED)));
  });
  await report.attack("a client that refuses to show it", async () => {
    const server = await approving(parts, ASK);
    const peer = await server.connect({ revision: STATEFUL, capabilities: FORMS });
    return nothingRan(server, await outcome(parts.erase(peer, ASKED)));
  });
  await tooLate(report, parts);
  await channels(report, parts);
}

/** Answers that come when the question is over. */
async function tooLate(report, parts) {
  report.kind("answers that come too late");
  const short = "  - { approve: destructive, timeout: 0.02 }";
  await report.attack("nobody answers the form in time", async () => {
    const server = await approving(parts, short);
    return nothingRan(server, await outcome(parts.erase(await server.connect(parts.person(NEVER)), ASKED)));
  });
  await report.attack("the form is answered too late", async () => {
    const server = await approving(parts, short);
    let answer;
    const late = new Promise((resolve) => (answer = resolve));
    const got = await outcome(parts.erase(await server.connect(parts.person(() => late)), ASKED));
    answer(parts.yes());
    await new Promise(setImmediate);
    return nothingRan(server, got);
  });
  await report.attack("a stateless client answers too late", async () => {
    const server = await approving(parts, short);
    const { peer, asked } = await askedOf(parts, server);
    await until(() => server.audit.records().some(({ kind }) => kind === "approval.denied"));
    // On a busy machine the time is over before the question is out.
    if (asked.inputRequests === undefined) return nothingRan(server, await outcome(asked));
    return nothingRan(server, await outcome(peer.request("tools/call", parts.retry(asked, parts.yes(), ASKED))));
  });
  for (const [what, leave] of [
    ["is gone", (peer) => peer.close()],
    ["has cancelled", (peer) => peer.notify("notifications/cancelled", { requestId: 2 })],
  ])
    for (const by of ["client", "terminal"])
      await report.attack(`the ${by} says yes when the caller ${what}`, async () => {
        let asked;
        let answer;
        const put = new Promise((resolve) => (asked = resolve));
        const said = new Promise((resolve) => (answer = resolve));
        const channel = () => (asked(), said.then(() => ({ answer: "approve" })));
        const server = await approving(parts, ASK, by === "terminal" ? channel : undefined);
        const form = () => (asked(), said.then(parts.yes));
        const peer = await server.connect(by === "client" ? parts.person(form) : { revision: STATEFUL });
        void outcome(parts.erase(peer, ASKED));
        await put;
        await leave(peer);
        answer();
        await until(() => server.audit.records().some(({ kind }) => kind === "call.result"));
        return nothingRan(server, { answer: {}, refused: true });
      });
}

/** Channels that fail in every way, and one that is not meant. */
async function channels(report, parts) {
  report.kind("channels that fail");
  const failing = {
    "says no": async () => ({ answer: "deny" }),
    "has no answer": async () => ({ answer: undefined, reason: "the terminal was closed" }),
    throws: async () => {
      throw new Error("broken");
    },
    "is silent": NEVER,
  };
  for (const [what, channel] of Object.entries(failing))
    await report.attack(`a channel that ${what}`, async () => {
      const server = await approving(parts, "  - { approve: destructive, timeout: 0.02 }", channel);
      return nothingRan(server, await outcome(parts.erase(await server.connect({ revision: STATEFUL }), ASKED)));
    });
  await report.attack("a channel that may not answer", async () => {
    const rules = "  - { approve: destructive, answer_by: [client] }";
    const server = await approving(parts, rules, async () => ({ answer: "approve" }));
    const got = await outcome(parts.erase(await server.connect({ revision: STATEFUL }), ASKED));
    return server.questions.length > 0 ? "it was asked" : nothingRan(server, got);
  });
}

/** The socket where terminals answer: strangers' lines on it, and tools that try to reach it. */
export async function terminals(report, parts) {
  report.kind("what is sent to the terminals' socket, or typed");
  if (process.platform === "win32") return;
  const question = { id: "ab12cd34", text: 'Allow "erase"?', remember: undefined, timeoutMs: 5_000 };
  const good = { ask: "answer", id: question.id, shown: parts.digestOfText(question.text), answer: "approve" };
  const lines = {
    "an answer to another text": { ...good, shown: parts.digestOfText("Allow a harmless thing?") },
    "an answer to no text": { ...good, shown: "" },
    "an answer to another question": { ...good, id: "ffffffff" },
    "an answer without a name": { ...good, id: undefined },
    "keep, where nothing is kept": { ...good, answer: "remember" },
    "another word": { ...good, answer: "yes" },
    "a truth": { ...good, answer: true },
    "another kind": { ...good, ask: "questions" },
    "no kind": { ...good, ask: undefined },
    "a list": [good],
    nothing: null,
    noise: "\x00\xff",
  };
  for (const [what, line] of Object.entries(lines))
    await report.attack(`at the terminals' socket: ${what}`, () =>
      written(parts, question, `${JSON.stringify(line)}\n`),
    );
  await report.attack("at the terminals' socket: half an answer", () =>
    written(parts, question, JSON.stringify(good).slice(0, -1)),
  );
  await report.attack("at the terminals' socket: a line without end", () =>
    written(parts, question, "x".repeat(600_000)),
  );
  for (const typed of ["", "y", "yes", "ab13", "ab12x", "ab12 keep", "ab12cd34 ", "AB 12", "\u0430b12", "ab12\u200b"])
    await report.attack(`typed at the terminal: ${JSON.stringify(typed)}`, async () => {
      let given;
      const answer = async (said) => ({ answer: (given = said), counted: true });
      const waiting = { ...question, gone: new AbortController().signal, answer };
      await quietly(() => parts.answerOne(waiting, async () => typed));
      return given === "deny" || String(given);
    });
  await outOfReach(report, parts);
}

/** Puts a question, writes to the control socket where it is shown and leaves; `true` when that was no yes. */
async function written(parts, question, text) {
  const folder = mkdtempSync(join(tmpdir(), "channel-"));
  const control = await parts.ControlSocket.open(folder, {}, () => undefined);
  const over = new AbortController();
  const reply = control.questions.ask(question, over.signal);
  const link = connect(join(folder, readdirSync(folder)[0]), () => link.write('{"ask":"questions"}\n'));
  link.on("error", () => undefined);
  await new Promise((resolve) => link.once("data", resolve));
  link.end(text);
  const { answer } = await reply;
  over.abort();
  await control.close();
  rmSync(folder, { recursive: true, force: true });
  return answer === undefined || answer === "deny" || answer;
}

/** A policy that opens every file opens neither the folder of the sockets nor what lies in it. */
async function outOfReach(report, parts) {
  report.kind("the place of questions, by the file tools");
  const own = mkdtempSync(join(tmpdir(), "state-"));
  const policy = `version: "1.0"
filesystem: { allowed_paths: ["/**"] }
tools:
  allowed: [read_file, write_file, edit_file, list_directory]`;
  const { call, close } = await session(parts, { policy, own: [own] });
  const paths = [
    own,
    join(own, "run"),
    join(own, "run/1-a.run"),
    join(own, "../", own.slice(own.lastIndexOf("/")), "x"),
  ];
  const tools = { read_file: {}, write_file: { content: "x" }, list_directory: {} };
  for (const path of paths)
    for (const [tool, args] of Object.entries(tools))
      await report.attack(`${tool} ${path.replace(own, "STATE")}`, async () => {
        const got = await call(tool, { path, ...args });
        return wasRefused(got) === true ? wasDenied(got) : wasRefused(got);
      });
  await close();
  rmSync(own, { recursive: true, force: true });
}

async function quietly(act) {
  const write = process.stderr.write;
  process.stderr.write = () => true;
  await act().finally(() => (process.stderr.write = write));
}

async function until(holds) {
  const end = performance.now() + 2_000;
  while (!holds() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 1));
}
