// Programs of others that are exchanged after a person has agreed to a call of them: each kind of program, and each way to exchange it.
import * as fs from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { FORMS, keep, NO, STATEFUL } from "./approving.mjs";

const YES = { action: "accept", content: { decision: "approve this one call" } };
const KEPT = keep("for 10 minutes");
/** Reading a plugin anew takes a moment; more than this is none. */
const MOST_MS = 15_000;

const COMMAND = (word) => `#!/bin/sh\necho ${word}\n`;

/** How the file of a program becomes another one. */
const WAYS = {
  "written anew": (file, text) => fs.writeFileSync(file, text),
  "saved beside and renamed": (file, text) => {
    fs.writeFileSync(`${file}.new`, text, { mode: 0o755 });
    fs.renameSync(`${file}.new`, file);
  },
  "written anew, its time set back": (file, text) => {
    const { atime, mtime } = fs.statSync(file);
    fs.writeFileSync(file, text);
    fs.utimesSync(file, atime, mtime);
  },
};

/** A link to the program leads to another one. */
const byLink = (file, text) => {
  fs.writeFileSync(`${file}.other`, text, { mode: 0o755 });
  fs.rmSync(file);
  fs.symlinkSync(`${file}.other`, file);
};

const tail = (name) => ` - { approve: [${name}], remember: 10 }`;

/** Each kind of program: how it is served, which call asks it, and how it is exchanged. */
function programs(parts, folder) {
  const run = async (policyText, more = {}) => {
    const policy = await parts.parsePolicy(policyText, { file: "policy.yaml", environment: {} });
    const secure = new parts.SecureServer({ policy, audit: new parts.MemoryAudit(), version: "1", ...more });
    secure.start();
    return { secure, close: () => secure.stop() };
  };
  const command = (at) => ({
    call: ["run_command", { command: "note" }],
    async serve() {
      const file = join(at, "note.sh");
      fs.writeFileSync(file, COMMAND("ONE"), { mode: 0o755 });
      const open = await run(
        `version: "1.0"\nsandbox: none\ntools: { allowed: ["*"] }\ncommands: { allowed: [{ name: note, executable: ${file} }] }\napprovals:\n${tail("run_command")}\n`,
      );
      return { ...open, file, text: COMMAND("TWO") };
    },
  });
  const plugin = (at, { persistent }) => ({
    call: ["pg_go", {}],
    async serve() {
      const file = join(at, "pg", "main.sh");
      fs.mkdirSync(join(at, "pg"));
      fs.writeFileSync(file, SHELL("ONE"), { mode: 0o755 });
      const manifest = { name: "pg", version: "1", run: ["sh", "main.sh"], persistent, tools: [{ name: "go" }] };
      fs.writeFileSync(join(at, "pg", "manifest.yaml"), JSON.stringify(manifest));
      const open = await run(
        `version: "1.0"\nsandbox: none\ntools: { allowed: ["*"] }\nplugins: { folder: ${at}, load: [{ name: pg }] }\napprovals:\n${tail("pg_go")}\n`,
      );
      await until(() => open.secure.tools().some(({ name }) => name === "pg_go"));
      return { ...open, file, text: SHELL("TWO") };
    },
  });
  const server = (change) => ({
    call: ["s__go", {}],
    async serve() {
      const fleet = new parts.Fleet();
      const made =
        (word, description = "Does it.") =>
        () => {
          const one = new parts.Server({ name: "s", version: "1" });
          one.tool("go", { description, run: () => word });
          return one;
        };
      fleet.make("s", made("ONE"));
      const policy = await fleet.policy(`sandbox: none\ntools: { allowed: ["*"] }\napprovals:\n${tail("s__go")}`);
      await fleet.approve(policy);
      await fleet.serve(policy);
      const exchange = async () => {
        fleet.make("s", made("TWO", change === "its definition" ? "Does something else." : undefined));
        if (change === "its launch") fleet.touch("s");
        await fleet.approve(policy);
        fleet.secure.reload(policy);
      };
      return { secure: fleet.secure, exchange, close: () => fleet.close() };
    },
  });
  let count = 0;
  const place = () => {
    const at = join(folder, `${(count += 1)}`);
    fs.mkdirSync(at);
    return at;
  };
  return [
    ...Object.entries({ ...WAYS, "led elsewhere by a link": byLink }).map(([how, exchange]) => ({
      name: `a command's program, ${how}`,
      make: () => command(place()),
      exchange,
    })),
    ...Object.entries(WAYS).flatMap(([how, exchange]) =>
      [true, false].map((persistent) => ({
        name: `a plugin ${persistent ? "that stays" : "for each call"}, ${how}`,
        make: () => plugin(place(), { persistent }),
        exchange,
      })),
    ),
    ...["its launch", "its definition"].map((change) => ({
      name: `a server, ${change} approved anew`,
      make: () => server(change),
    })),
  ];
}

/** Answers each call with one word. */
const SHELL = (word) =>
  `while read -r line; do id=$(printf %s "$line" | sed 's/.*"id":\\([0-9]*\\).*/\\1/'); printf '{"id":%s,"content":"${word}"}\\n' "$id"; done\n`;

async function until(holds) {
  const end = performance.now() + MOST_MS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error("it did not come about in time");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A person, the call, and what came of it. */
async function caller(parts, { secure }, [name, args]) {
  const one = { asked: 0, answer: () => NO };
  const answer = { "elicitation/create": async () => ((one.asked += 1), one.answer()) };
  const peer = await parts.connectInMemory(secure.server, { revision: STATEFUL, capabilities: FORMS, answer });
  one.call = async () => {
    // While a server is mounted anew there is a moment without it.
    const got = await peer.request("tools/call", { name, arguments: args }).catch(({ message }) => `ONE: ${message}`);
    return JSON.stringify(got);
  };
  return one;
}

async function attempt(parts, { make, exchange }, when) {
  const program = make();
  const served = await program.serve();
  const change = async () => (exchange ? exchange(served.file, served.text) : served.exchange());
  try {
    const one = await caller(parts, served, program.call);
    let last = "";
    // What is still of the program before is answered as it was agreed to.
    const changed = async () => {
      await until(async () => !(last = await one.call()).includes("ONE"));
    };
    if (when === "remembered") {
      one.answer = () => KEPT;
      if (!(last = await one.call()).includes("ONE")) return `it was not done: ${last}`;
      one.answer = () => NO;
      await change();
      await changed();
      return !last.includes("TWO") || `done by another program: ${last}`;
    }
    one.answer = async () => {
      await change();
      const other = await caller(parts, served, program.call);
      other.answer = () => YES;
      // Until the other program is the one that would do it.
      await until(async () => !(await other.call()).includes("ONE"));
      return YES;
    };
    last = await one.call();
    return !last.includes("TWO") || `done by another program: ${last}`;
  } finally {
    await served.close();
  }
}

/** The very same program: a person need not be asked again. */
async function same(parts, { make }) {
  const program = make();
  const served = await program.serve();
  try {
    const one = await caller(parts, served, program.call);
    one.answer = () => KEPT;
    for (const time of [1, 2]) {
      const got = await one.call();
      if (!got.includes("ONE") || one.asked !== 1) return `call ${time}, asked ${one.asked} times: ${got}`;
    }
    return true;
  } finally {
    await served.close();
  }
}

export async function exchangedExecutors(parts) {
  const folder = fs.mkdtempSync(join(homedir(), ".exchanged-"));
  const all = programs(parts, folder);
  const cases = all.flatMap((one) => [
    ...["remembered", "waiting"].map((when) => ({
      name: `${one.name}, the consent ${when}`,
      isAttack: true,
      run: () => attempt(parts, one, when),
    })),
    ...(one.name.endsWith("written anew") || one.name.includes("definition")
      ? [{ name: `${one.name.split(",")[0]} that is the same`, isAttack: false, run: () => same(parts, one) }]
      : []),
  ]);
  return { cases, remove: () => fs.rmSync(folder, { recursive: true, force: true }) };
}
