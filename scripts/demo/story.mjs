// The demo in a newcomer's words: what happens to the calls of an AI client, and what the audit log says of them.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const POISONED = fileURLToPath(new URL("poisoned-server.mjs", import.meta.url));
const SGR = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };
const colours = !process.env.NO_COLOR && Boolean(process.env.FORCE_COLOR || process.stdout.isTTY);
const styled = (style, text) => (colours ? `\u001b[${SGR[style]}m${text}\u001b[0m` : text);
const say = (text = "") => console.log(text);

/** Runs the story in `folder` with the command `server`. Resolves to what did not go as told. */
export async function tellStory(server, folder) {
  const story = new Story(server, folder);
  await story.tell();
  return story.faults;
}

class Story {
  faults = [];
  #server;
  #folder;
  #environment;

  constructor(server, folder) {
    this.#server = server;
    this.#folder = folder;
    // A home of its own: nobody's policy and log are touched.
    this.#environment = {
      ...process.env,
      HOME: folder,
      XDG_CONFIG_HOME: join(folder, "config"),
      XDG_STATE_HOME: join(folder, "state"),
    };
  }

  async tell() {
    const { notes, policy } = this.#prepare();
    say(styled("bold", "An AI client gets tools on this machine. The policy lists what it may do:"));
    for (const line of readFileSync(policy, "utf8").trim().split("\n")) say(styled("dim", `    ${line}`));
    const client = new Client(this.#server, ["--policy", policy], this.#environment);
    await client.open();
    this.#title(1, "It reads a file that the policy lists");
    this.#shown(await client.call("read_file", { path: join(notes, "plan.txt") }), "allowed", "buy milk");
    this.#title(2, "It tries to read a file that the policy does not list");
    this.#shown(await client.call("read_file", { path: "/etc/passwd" }), "denied", "Denied.");
    this.#title(3, "It wants to change a file, so a person is asked first");
    client.onQuestion = (message) => {
      // The lines of a longer value begin with "|".
      for (const line of message.split("\n").filter((each) => /Allow|"(?:path|content)"|^\s*\|/.test(each)))
        say(styled("cyan", `    ? ${line}`));
      say(`    ${styled("green", "the person approves")} ${styled("dim", "(here the demo does)")}`);
    };
    const write = { path: join(notes, "plan.txt"), content: "buy milk and bread\n" };
    this.#shown(await client.call("write_file", write), "approved", "");
    this.#expect(readFileSync(write.path, "utf8") === write.content, "the file was not written after the approval");
    await client.close();
    this.#title(4, "Somebody offers a server whose tool description gives orders to the model");
    const inspected = this.#run("inspect", "--", process.execPath, POISONED);
    const found = inspected.split("\n").filter((line) => /^ {2,}It (?:gives|sets|asks|tells)/.test(line));
    for (const line of found.slice(0, 2)) say(`    ${styled("red", "caught")}  ${line.trim()}`);
    this.#expect(found.length > 0, "the poisoned description was not found");
    this.#title(5, "All of it is in the audit log");
    const query = this.#run("audit", "query", "--policy", policy);
    for (const line of query
      .trim()
      .split("\n")
      .filter((each) => /time|_file/.test(each)))
      say(`    ${/ denied /.test(line) ? styled("red", line) : line}`);
    this.#expect(/\/etc\/passwd +denied/.test(query), "the log does not show what was denied");
    this.#title(6, "and nobody can change it unnoticed");
    const verified = this.#run("audit", "verify", "--policy", policy);
    say(`    ${styled("green", verified.trim())}`);
    this.#expect(verified.startsWith("ok"), "the log does not verify");
    const log = join(this.#folder, "audit.log");
    writeFileSync(log, readFileSync(log, "utf8").replace("/etc/passwd", "/etc/motd"));
    say(styled("dim", "    Now somebody edits one record:"));
    const tampered = this.#run("audit", "verify", "--policy", policy);
    say(`    ${styled("red", tampered.trim())}`);
    this.#expect(tampered.includes("changed"), "the change was not noticed");
  }

  #prepare() {
    const notes = join(this.#folder, "notes");
    mkdirSync(notes, { recursive: true });
    writeFileSync(join(notes, "plan.txt"), "buy milk\n");
    const policy = join(this.#folder, "policy.yaml");
    const text = `version: "1.0"
tools: { allowed: [read_file, write_file] }
filesystem: { allowed_paths: [${JSON.stringify(`${notes}/**`)}] }
approvals: [{ approve: [write_file] }]
audit: { log_file: ${JSON.stringify(join(this.#folder, "audit.log"))} }
`;
    writeFileSync(policy, text, { mode: 0o600 });
    return { notes, policy };
  }

  #title(number, text) {
    say(`\n${styled("bold", `${number}. ${text}`)}`);
  }

  /** The answer in a line, held against how the story goes. */
  #shown({ text, failed }, verdict, wanted) {
    const went = failed === (verdict === "denied") && text.includes(wanted);
    this.#expect(went, `expected ${verdict}, got: ${text}`);
    say(`    ${styled(failed ? "red" : "green", verdict)}  ${text.trim().split("\n")[0]}`);
  }

  #expect(holds, fault) {
    if (!holds) this.faults.push(fault);
  }

  #run(...args) {
    const { stdout, stderr } = spawnSync(process.execPath, [this.#server, ...args], {
      env: this.#environment,
      encoding: "utf8",
    });
    return stdout + stderr;
  }
}

/** Just enough of an AI client: opens a session, calls tools, puts the server's questions to its person. */
class Client {
  onQuestion = () => undefined;
  #child;
  #waiting = new Map();
  #ids = 0;

  constructor(server, args, env) {
    this.#child = spawn(process.execPath, [server, ...args], { env, stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#heard(JSON.parse(line)));
  }

  async open() {
    const clientInfo = { name: "demo-client", version: "1.0" };
    await this.#request("initialize", { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo });
    this.#send({ method: "notifications/initialized" });
  }

  async call(name, given) {
    const { result, error } = await this.#request("tools/call", { name, arguments: given });
    if (error !== undefined) return { text: error.message, failed: true };
    return { text: result.content.map(({ text = "" }) => text).join("\n"), failed: result.isError === true };
  }

  close() {
    this.#child.stdin.end();
    return new Promise((resolve) => this.#child.once("exit", resolve));
  }

  #heard(message) {
    if (message.method === "elicitation/create") {
      this.onQuestion(message.params.message);
      const [field] = Object.keys(message.params.requestedSchema?.properties ?? {});
      const choices = field === undefined ? [] : (message.params.requestedSchema.properties[field].enum ?? []);
      const content =
        field === undefined ? {} : { [field]: choices.find((choice) => /approve|allow/i.test(choice)) ?? true };
      this.#send({ id: message.id, result: { action: "accept", content } });
    }
    this.#waiting.get(message.id)?.(message);
  }

  #request(method, params) {
    const id = (this.#ids += 1);
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send({ id, method, params });
    });
  }

  #send(message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }
}

/** Runs it in a folder of its own, which is removed. */
export async function storyIn(folder, server) {
  try {
    return await tellStory(server, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
