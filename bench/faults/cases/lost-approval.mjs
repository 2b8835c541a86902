// F27: a call waits for consent, and whoever was to give it goes away, or the server does. It is denied, and never run later.
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { MODERN } from "../../measure/mcp-requests.mjs";
import { arena } from "../arena.mjs";
import { startProduct } from "../stdio-client.mjs";

const TIMEOUT_S = 1;
/** What would be run late is run by then. */
const LATER_MS = 400;
const FORMS = { elicitation: {} };
const YES = { action: "accept", content: { decision: "approve this one call" } };

export async function run({ full }) {
  const rounds = full ? 20 : 3;
  const rows = [];
  for (const [what, scene] of Object.entries(SCENES)) rows.push(await repeated(what, scene, rounds));
  rows.push(await honest());
  return rows;
}

/** Each scene resolves with what is wrong, undefined when nothing is. Where it is about a terminal the client shows no forms. */
const SCENES = {
  "the client goes away": async ({ client, place, asked }) => {
    void client.call("write_file", file(place));
    await asked(1);
    await client.stop();
    return deniedOnRecord(place);
  },
  "the client cancels, and agrees afterwards": async ({ client, place, asked }) => {
    void client.request("tools/call", { name: "write_file", arguments: file(place) }, { id: "waits" });
    const [question] = await asked(1);
    client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "waits" } });
    await delay(20);
    client.send({ jsonrpc: "2.0", id: question.id, result: YES });
    await delay(LATER_MS);
    return deniedOnRecord(place);
  },
  "nobody answers in time, and then agrees": async ({ client, place, asked }) => {
    const call = client.call("write_file", file(place));
    const [question] = await asked(1);
    const { ok, text } = await call;
    client.send({ jsonrpc: "2.0", id: question.id, result: YES });
    await delay(LATER_MS);
    return ok || !/nobody answered in time/.test(text) ? `answered: ${text}` : deniedOnRecord(place);
  },
  "the server is killed and starts again, and the client agrees then": async ({ client, place, asked, again }) => {
    void client.call("write_file", file(place));
    const [question] = await asked(1);
    client.child.kill("SIGKILL");
    await client.exited;
    const next = await again();
    next.send({ jsonrpc: "2.0", id: question.id, result: YES });
    await delay(LATER_MS);
    await next.stop();
    return place.records().some(({ kind }) => kind === "approval.given") ? "a consent is on record" : undefined;
  },
  "the terminal is closed": async ({ client, place }) => {
    const call = client.call("write_file", file(place));
    const socket = await shownAt(place);
    socket.destroy();
    const { ok, text } = await call;
    await delay(LATER_MS);
    return ok || !/terminal was closed/.test(text) ? `answered: ${text}` : deniedOnRecord(place);
  },
  "the server is killed while a terminal shows the question, which agrees then": async ({ client, place, again }) => {
    void client.call("write_file", file(place));
    const socket = await shownAt(place);
    client.child.kill("SIGKILL");
    await client.exited;
    const next = await again();
    socket.write(`${JSON.stringify({ kind: "answer", id: socket.question.id, shown: "", answer: "approve" })}\n`);
    await delay(LATER_MS);
    const sockets = readdirSync(approvals(place)).length;
    await next.stop();
    socket.destroy();
    // The dead server's socket may lie there; nobody listens at it, and no other question is open.
    return sockets > 1 ? `${sockets} sockets are left` : undefined;
  },
  "a stateless client's question outlives its server, and its retry agrees": async ({ client, place, again }) => {
    const first = await client.request("tools/call", modernCall(place));
    const { inputRequests, requestState } = first.result ?? {};
    if (inputRequests === undefined) return `was not asked: ${JSON.stringify(first).slice(0, 200)}`;
    client.child.kill("SIGKILL");
    await client.exited;
    const next = await again();
    const answers = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, YES]));
    const retry = await next.request("tools/call", modernCall(place, { inputResponses: answers, requestState }));
    await delay(LATER_MS);
    await next.stop();
    const isRun =
      retry.result?.isError !== true && retry.result?.inputRequests === undefined && retry.error === undefined;
    return isRun ? "it was run with the consent to another life's call" : undefined;
  },
};

async function repeated(what, scene, rounds) {
  const faults = [];
  let effects = 0;
  for (let n = 0; n < rounds; n += 1) {
    const { wrong, made } = await staged(scene, what.includes("terminal") ? {} : FORMS);
    effects += made;
    if (wrong !== undefined) faults.push(wrong);
  }
  return {
    what,
    measured: `${rounds} times: ${effects} run${faults.length === 0 ? "" : `; ${faults.length} wrong: ${faults[0]}`}`,
    limit: "0 run, denied",
    passed: effects === 0 && faults.length === 0,
  };
}

async function staged(scene, capabilities) {
  const place = arena({
    tools: ["write_file"],
    body: `approvals: [{ approve: [write_file], timeout: ${TIMEOUT_S}, answer_by: [client, terminal] }]`,
  });
  const started = [];
  const begin = async () => {
    const questions = [];
    const client = startProduct(place, { asks: { "elicitation/create": () => undefined } });
    client.child.stdout.on("data", (text) => questions.push(...questionsIn(text)));
    started.push(client);
    await client.initialize(capabilities);
    return { client, questions };
  };
  try {
    const { client, questions } = await begin();
    const wrong = await scene({
      client,
      place,
      asked: async (count) => {
        for (const end = performance.now() + 5_000; questions.length < count; await delay(2)) {
          if (performance.now() > end) throw new Error(`no question came: ${client.stderr.slice(-300)}`);
        }
        return questions;
      },
      again: async () => (await begin()).client,
    });
    for (const each of started) if (!each.hasEnded) await each.stop();
    return { wrong: wrong ?? place.auditFault(), made: place.effects().length };
  } finally {
    for (const each of started) each.child.kill("SIGKILL");
    place.remove();
  }
}

/** The same call with a consent in time is run, or the rows above would show nothing. */
async function honest() {
  const place = arena({ tools: ["write_file"], body: `approvals: [{ approve: [write_file], timeout: ${TIMEOUT_S} }]` });
  const client = startProduct(place, { asks: { "elicitation/create": () => YES } });
  try {
    await client.initialize(FORMS);
    const { ok, text } = await client.call("write_file", file(place));
    const made = place.effects().length;
    return {
      what: "the client agrees in time",
      measured: ok ? `${made} run` : text,
      limit: "1 run",
      passed: ok && made === 1,
    };
  } finally {
    await client.stop();
    place.remove();
  }
}

function file(place) {
  return { path: join(place.work, "approved.txt"), content: "approved" };
}

function modernCall(place, more = {}) {
  const prefix = "io.modelcontextprotocol/";
  const _meta = {
    [`${prefix}protocolVersion`]: MODERN,
    [`${prefix}clientInfo`]: { name: "bench", version: "1.0.0" },
    [`${prefix}clientCapabilities`]: FORMS,
  };
  return { name: "write_file", arguments: file(place), _meta, ...more };
}

function deniedOnRecord(place) {
  const kinds = place.records().map(({ kind }) => kind);
  if (!kinds.includes("approval.asked")) return "the question is not on record";
  if (kinds.includes("approval.given")) return "a consent is on record";
  return kinds.includes("approval.denied") ? undefined : "the denial is not on record";
}

function questionsIn(text) {
  return String(text)
    .split("\n")
    .filter((line) => line.includes('"elicitation/create"'))
    .map((line) => JSON.parse(line));
}

function approvals(place) {
  return join(place.env.XDG_STATE_HOME, "mcp-secure-local", "approvals");
}

/** A terminal that has been shown the question. */
async function shownAt(place) {
  for (const end = performance.now() + 5_000; performance.now() < end; await delay(5)) {
    const name = openIn(approvals(place));
    if (name === undefined) continue;
    const socket = connect(join(approvals(place), name));
    socket.on("error", () => {});
    socket.question = await new Promise((resolve) => {
      socket.once("data", (text) => resolve(JSON.parse(String(text).split("\n")[0])));
      socket.once("close", () => resolve(undefined));
    });
    if (socket.question !== undefined) return socket;
  }
  throw new Error("no question was put to a terminal");
}

function openIn(folder) {
  try {
    return readdirSync(folder).find((name) => name.endsWith(".ask"));
  } catch {
    return undefined;
  }
}
