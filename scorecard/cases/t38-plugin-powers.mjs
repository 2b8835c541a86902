// T38: plugins act within a call: what they ask for without one, for another one, over its rate or without consent is not done.
import * as fs from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

export const goal = { id: "T38", title: "Plugins act within a call", atLeast: 100, refusalMs: 15_000 };

/** The product's own parts, as `run` is handed them. */
let parts;

export const defences = [
  {
    name: "an ask needs a call under way",
    file: "secure-local/src/plugins/plugin-process.ts",
    find: "if (call === undefined) return this.#refused(asked);",
    replace:
      "if (call === undefined) return this.#options.answer(asked, { signal: new AbortController().signal, leave: () => Promise.resolve({}) });",
  },
  {
    name: "a command counts as run_command",
    file: "secure-local/src/server/plugin-registrations.ts",
    find: 'return acts({ actor, tool: "run_command", arguments:',
    replace: "return acts({ actor, arguments:",
  },
  {
    name: "the person is asked",
    file: "secure-local/src/guard/guard.ts",
    find: "if (refused !== undefined) return refused;\n    return ctx.signal.aborted ? NO_CALL",
    replace: "return ctx.signal.aborted ? NO_CALL",
  },
  {
    name: "a plugin is named like a tool",
    file: "secure-local/src/policy/decide-command.ts",
    find: "actor !== undefined && approve.find(actor) !== undefined",
    replace: "actor !== undefined && approve.find(actor) === null",
  },
  {
    name: "what was asked for ends with its call",
    file: "secure-local/src/plugins/plugin-process.ts",
    find: "        over.abort();\n",
    replace: "",
  },
];

/** What a plugin may ask for; each would leave a mark where it is done. */
const ASKS = {
  "a command": { run: { command: "note", args: [] } },
  "a request": { fetch: { url: "http://127.0.0.1:9/" } },
  "to keep something": { storage: { set: "mark", value: 1 } },
  "to read what it keeps": { storage: { keys: true } },
};
/** Calls it may claim to ask for. */
const CLAIMS = ["none", "ended", 0, -1, 1e9, 1.5, "1", "", null, true, [1], { id: 1 }, "__proto__", "constructor"];
/** Ways to be called. */
const CALLS = {
  "a tool": (name, args) => ["tools/call", { name: `${name}_ask`, arguments: args }],
  "another tool": (name, args) => ["tools/call", { name: `${name}_wait`, arguments: args }],
};

export async function run(report, given) {
  parts = given;
  const base = fs.mkdtempSync(join(homedir(), ".scorecard-powers-"));
  const mark = join(base, "mark");
  fs.mkdirSync(mark);
  for (const name of ["asker", "other"]) {
    fs.mkdirSync(join(base, name));
    for (const [file, text] of Object.entries(parts.askingPlugin(name, mark)))
      fs.writeFileSync(join(base, name, file), text);
  }
  fs.writeFileSync(join(mark, "note.sh"), `#!/bin/sh\necho ran >> ${mark}/ran\n`, { mode: 0o755 });
  fs.writeFileSync(join(mark, "slow.sh"), `#!/bin/sh\nsleep 2\necho ran >> ${mark}/ran\n`, { mode: 0o755 });
  try {
    await early(report, { base, mark });
    await forged(report, { base, mark });
    await rates(report, { base, mark });
    await consents(report, { base, mark });
    await endings(report, { base, mark });
  } finally {
    fs.rmSync(base, { recursive: true, force: true });
  }
}

/** The product with two plugins that ask for what they are told to; `sandbox: none`, since nothing here is about the wall. */
async function served({ base, mark }, { approvals = "", decide, rate = 100_000 } = {}) {
  fs.rmSync(join(mark, "ran"), { force: true });
  const grant = "commands: [note, slow], storage_kb: 4";
  const text = `version: "1.0"
sandbox: none
tools: { allowed: ["*"], rate_limits: { default: 100000, run_command: ${rate} }, timeouts: { asker_wait: 1 } }
prompts: { allowed: ["*"] }
resources: { allowed: ["asker://*"] }
commands: { allowed: [{ name: note, executable: ${mark}/note.sh }, { name: slow, executable: ${mark}/slow.sh }] }
plugins: { folder: ${base}, load: [{ name: asker, ${grant} }, { name: other, ${grant} }] }
${approvals === "" ? "" : `approvals: [${approvals}]\n`}`;
  const policy = await parts.parsePolicy(text, { file: join(base, "policy.yaml"), environment: {} });
  const audit = new parts.MemoryAudit();
  const questions = [];
  const ask = (question) => (questions.push(question), Promise.resolve({ answer: decide }));
  const secure = new parts.SecureServer({
    policy,
    audit,
    version: "1",
    storage: join(base, "storage"),
    ...(decide === undefined ? {} : { channel: { ask } }),
  });
  secure.start();
  const isReady = () =>
    secure.pluginHealth().length === 2 && secure.pluginHealth().every(({ state }) => state === "ready");
  for (let tries = 0; tries < 500 && !isReady(); tries += 1) await wait(10);
  const peer = await parts.connectInMemory(secure.server, { revision: "2025-11-25" });
  const request = async (method, params) =>
    JSON.stringify(await peer.request(method, params).catch((error) => ({ refused: error.message })));
  const records = (kind) => audit.records().filter((record) => record.kind === kind);
  return { secure, peer, questions, request, records, stop: () => secure.stop() };
}

const ran = (mark) => fs.existsSync(join(mark, "ran"));
const kept = (base) =>
  fs.existsSync(join(base, "storage", "asker")) && fs.readdirSync(join(base, "storage", "asker")).length > 0;

async function early(report, place) {
  report.kind("asks before any call", { found: "reader" });
  fs.writeFileSync(join(place.mark, "early"), "");
  const server = await served(place);
  let told = "";
  for (let tries = 0; tries < 300 && (told.match(/acts within a call/g) ?? []).length < 3; tries += 1) {
    told = await server.request("tools/call", { name: "asker_told", arguments: {} });
    await wait(10);
  }
  fs.rmSync(join(place.mark, "early"));
  await report.attack("a command, a request and storage", () => {
    const refused = (told.match(/acts within a call/g) ?? []).length;
    return refused === 3 || `${refused} were refused: ${told.slice(0, 300)}`;
  });
  await report.attack("nothing of it was done", () => !ran(place.mark) || "it ran");
  await report.attack("and it is on record", () => server.records("denied").length >= 3 || "not on record");
  await server.stop();
}

async function forged(report, place) {
  report.kind("asks for a call that is none of its own under way", { found: "attack" });
  const server = await served(place);
  await server.request("tools/call", { name: "asker_leave", arguments: {} });
  for (const [call, asked] of Object.entries(CALLS))
    for (const [what, ask] of Object.entries(ASKS))
      for (const claim of CLAIMS)
        await report.attack(`${what} for ${JSON.stringify(claim)}, in ${call}`, async () => {
          const before = server.records("denied").length;
          const answer = await server.request(...asked("asker", { ask, for: claim }));
          if (ran(place.mark)) report.sideEffect(`${what} ran for ${JSON.stringify(claim)}`);
          if (kept(place.base)) report.sideEffect(`${what} was kept for ${JSON.stringify(claim)}`);
          if (!answer.includes("acts within a call")) return answer.slice(0, 200);
          // Of a process only the first few are recorded, so that no log fills.
          return server.records("denied").length > before || before >= 16 || "not on record";
        });
  await report.benign("a command for its own call", async () =>
    (await server.request("tools/call", { name: "asker_ask", arguments: {} })).includes("exitCode"),
  );
  await server.stop();
  report.kind("asks for a call that has ended", { found: "attack" });
  const again = await served(place);
  for (let round = 0; round < 20; round += 1)
    await report.attack(`round ${round}`, async () => {
      await again.request("tools/call", { name: "asker_leave", arguments: {} });
      return !ran(place.mark) || "it ran";
    });
  await again.stop();
}

async function rates(report, place) {
  report.kind("more than the rate of run_command", { found: "reader" });
  const ways = {
    "a tool": ["tools/call", { name: "asker_ask", arguments: {} }],
    "a prompt": ["prompts/get", { name: "asker_ask" }],
    "a resource": ["resources/read", { uri: "asker://ask" }],
    "another plugin": ["tools/call", { name: "other_ask", arguments: {} }],
  };
  for (const [first, one] of Object.entries(ways))
    for (const [second, other] of Object.entries(ways)) {
      const server = await served(place, { rate: 3 });
      for (let call = 0; call < 3; call += 1)
        await report.benign(`${first}, ${call}`, async () => (await server.request(...one)).includes("exitCode"));
      await report.attack(`${second} after ${first}`, async () => {
        const answer = await server.request(...other);
        return /Too many calls of run_command/.test(answer) || answer.slice(0, 200);
      });
      await report.attack(`${second} after ${first}: no more ran`, () => {
        const count = fs.readFileSync(join(place.mark, "ran"), "utf8").split("\n").length - 1;
        return count === 3 || `${count} ran`;
      });
      await server.stop();
    }
}

const RULES = {
  "{ approve: [run_command] }": true,
  '{ approve: ["run_*"] }': true,
  '{ approve: ["plugin:asker"] }': true,
  '{ approve: ["plugin:*"] }': true,
  "{ approve: all }": true,
  "{ approve: destructive }": true,
  "{ approve: [run_command], when: { command: note } }": true,
  '{ approve: ["plugin:asker"], when: { plugin: asker } }': true,
  '{ approve: ["plugin:other"] }': false,
  "{ approve: [run_command], when: { command: slow } }": false,
  "{ approve: [web_fetch] }": false,
};

async function consents(report, place) {
  report.kind("commands that a person has to be asked about", { found: "reader" });
  for (const [rule, asks] of Object.entries(RULES))
    for (const decide of ["deny", undefined, "approve"])
      for (const [way, asked] of Object.entries({
        "a tool": ["tools/call", { name: "asker_ask", arguments: {} }],
        "a prompt": ["prompts/get", { name: "asker_ask" }],
      })) {
        const server = await served(place, { approvals: rule, decide });
        const answer = await server.request(...asked);
        const done = ran(place.mark);
        const what = `${rule}, ${way}, ${decide ?? "nobody to ask"}`;
        if (asks && decide !== "approve") await report.attack(what, () => !done || `it ran: ${answer.slice(0, 200)}`);
        else await report.benign(what, () => done || answer.slice(0, 300));
        if (asks && decide === "approve")
          await report.attack(`${what}: was asked`, () => server.questions.length > 0 || "nobody was asked");
        await server.stop();
      }
}

async function endings(report, place) {
  report.kind("commands that outlive their call", { found: "attack" });
  const slow = { ask: { run: { command: "slow", args: [] } } };
  const server = await served(place);
  await report.attack("out of time", async () => {
    const answer = await server.request("tools/call", { name: "asker_wait", arguments: slow });
    await wait(1_500);
    return (/timed out/.test(answer) && !ran(place.mark)) || `${answer.slice(0, 200)}, ran: ${ran(place.mark)}`;
  });
  await report.attack("answered before", async () => {
    await server.request("tools/call", { name: "asker_begin", arguments: slow });
    await wait(2_500);
    return !ran(place.mark) || "it ran to its end";
  });
  await server.stop();
}
