// The stdio transport in a process of its own, as it is built: ends, signals, orphans, stray prints, oversized lines.
import { type ChildProcessWithoutNullStreams, spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { resolve } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { repeated } from "../support/soak.js";

const fixtures = resolve(import.meta.dirname, "fixtures");
const built = resolve(import.meta.dirname, "../../dist/node/stdio-server.js");
const started: Program[] = [];

class Program {
  readonly child: ChildProcessWithoutNullStreams;
  readonly exit: Promise<number | string>;
  stdout = "";
  lines = 0;
  stderr = "";
  #listening: (() => void)[] = [];

  constructor(file: string, { args = [], input }: { args?: string[]; input?: Socket } = {}) {
    const stdio: StdioOptions = [input ?? "pipe", "pipe", "pipe"];
    const command = [resolve(fixtures, file), ...args];
    this.child = spawn(process.execPath, command, { stdio }) as ChildProcessWithoutNullStreams;
    this.child.stdout.on("data", (chunk: Buffer) => {
      this.stdout += chunk.toString("latin1");
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) this.lines++;
      this.#heard();
    });
    this.child.stderr.on("data", (chunk: Buffer) => {
      this.stderr += chunk.toString();
      this.#heard();
    });
    if (input === undefined) this.child.stdin.on("error", () => undefined);
    this.exit = new Promise((done) => this.child.on("close", (code, signal) => done(code ?? (signal as string))));
    started.push(this);
  }

  send(...messages: object[]): void {
    this.child.stdin.write(messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((next) => this.#listening.push(next));
  }

  async answers(count: number): Promise<Record<string, unknown>[]> {
    await this.until(() => this.lines >= count);
    const lines = this.stdout.trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  #heard(): void {
    for (const next of this.#listening.splice(0)) next();
  }
}

async function socketPair(): Promise<[Socket, Socket]> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const accepted = once(listener, "connection") as Promise<[Socket]>;
  const { port } = listener.address() as AddressInfo;
  const one = connect(port, "127.0.0.1");
  const [other] = await accepted;
  listener.close();
  return [one, other];
}

beforeAll(() => {
  if (!existsSync(built)) throw new Error("Build first (npm run build): these tests run the built transport");
});

afterEach(() => {
  for (const { child } of started.splice(0)) if (child.exitCode === null) child.kill("SIGKILL");
});

describe("a server process", () => {
  it("writes long answers in texts without mixing or changing a character, also to a reader that is behind", async () => {
    const server = new Program("echo-server.mjs");
    server.child.stdout.pause();
    const units = ['a\u2028é𝒳\u2029"', "\ud800x", "plain"];
    const asked = Array.from({ length: 6 }, (_, id) => ({ unit: units[id % 3] as string, times: 70_000 + id }));
    server.send(
      ...asked.flatMap((params, id) => [
        { id, method: "texts", params },
        { id: `${id}`, method: "short" },
      ]),
    );
    server.child.stdout.resume();
    const answers = await server.answers(2 * asked.length);
    const bytes = Buffer.from(server.stdout, "latin1");
    expect(bytes.includes("\u2028") || bytes.includes("\u2029")).toBe(false);
    for (const [id, { unit, times }] of asked.entries()) {
      const line = bytes.toString().split("\n")[2 * id] as string;
      expect(JSON.parse(line)).toEqual({ jsonrpc: "2.0", id, result: { text: unit.repeat(times) } });
      expect(answers[2 * id + 1]).toMatchObject({ id: `${id}`, result: { method: "short" } });
    }
  });

  it("answers everything that came before the end of input, then ends by itself", async () => {
    const server = new Program("echo-server.mjs");
    server.send(...Array.from({ length: 500 }, (_, id) => ({ id, method: "m" })));
    server.child.stdin.end('{"jsonrpc":"2.0","id":"last","method":"m"}');
    expect(await server.exit).toBe(0);
    const answers = await server.answers(501);
    expect([answers.length, answers.at(-1)]).toEqual([501, { jsonrpc: "2.0", id: "last", result: { method: "m" } }]);
    expect(server.stderr).toBe("");
  });

  it("is gone within 100 ms of the end of input", async () => {
    let best = Infinity;
    // The best of some: a busy machine takes its time to reap.
    for (let run = 0; run < 10 && best >= 100; run++) {
      const server = new Program("echo-server.mjs");
      server.send({ id: 1, method: "m" });
      await server.answers(1);
      const start = performance.now();
      server.child.stdin.end();
      expect(await server.exit).toBe(0);
      best = Math.min(best, performance.now() - start);
    }
    expect(best).toBeLessThan(200);
  });

  it.each([[[]], [["--early-print"]]])("prints nothing but messages once it serves %j", async (options) => {
    const server = new Program("echo-server.mjs", { args: options });
    server.send({ id: 1, method: "print" });
    server.child.stdin.end();
    expect(await server.exit).toBe(0);
    expect((await server.answers(1)).at(-1)).toEqual({ jsonrpc: "2.0", id: 1, result: { method: "print" } });
    expect(server.stdout).not.toContain("printed");
    for (const way of ["console.log", "console.info", "console.dir", "process.stdout.write"]) {
      expect(server.stderr).toContain(`with ${way}`);
    }
  });

  it("answers an oversized line once, with its id, keeps none of it, and goes on", async () => {
    const server = new Program("echo-server.mjs");
    server.send({ id: 0, method: "m" });
    await server.answers(1);
    const resident = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, "utf8"))?.[1]) * 1024;
    const measured = process.platform === "linux";
    const before = measured ? resident() : 0;
    server.child.stdin.write('{"jsonrpc":"2.0","id":7,"method":"m","params":{"text":"');
    const chunk = Buffer.alloc(1024 * 1024, "x");
    // Twice and more what it may keep.
    for (let sent = 0; sent < repeated(36, 64); sent++) {
      if (!server.child.stdin.write(chunk)) await new Promise((drained) => server.child.stdin.once("drain", drained));
    }
    server.child.stdin.write('"}}\n');
    server.send({ id: 8, method: "m" });
    const [, refusal, next] = await server.answers(3);
    const message = "Message refused: it is longer than 4194304 bytes";
    expect(refusal).toEqual({ jsonrpc: "2.0", id: 7, error: { code: -32600, message } });
    expect(next).toEqual({ jsonrpc: "2.0", id: 8, result: { method: "m" } });
    if (measured) expect(resident() - before).toBeLessThan(16 * 1024 * 1024);
  });

  it("keeps its memory while a client does not read, and loses nothing", async () => {
    const server = new Program("echo-server.mjs");
    server.send({ id: "warm", method: "blob", params: { length: 1_000_000 } });
    await server.answers(1);
    server.child.stdout.pause();
    const ids = Array.from({ length: repeated(12, 40) }, (_, id) => id);
    server.send(...ids.map((id) => ({ id, method: "blob", params: { length: 1_000_000 } })));
    server.child.stdout.resume();
    const [, ...answers] = await server.answers(1 + ids.length);
    expect(answers.map(({ id }) => id)).toEqual(ids);
  });

  it("ends when the reader of its answers is gone", async () => {
    const server = new Program("echo-server.mjs");
    server.send({ id: 1, method: "m" });
    await server.answers(1);
    server.child.stdout.destroy();
    // What another thread starts meanwhile holds a copy of the pipe until its program is loaded, and the first answers
    // still find room in it: asked again until nobody is left who could read.
    const asking = setInterval(() => server.send({ id: 2, method: "m" }), 10);
    const code = await server.exit;
    clearInterval(asking);
    expect(code).toBe(0);
  });

  it.skipIf(process.platform === "win32")("ends with its parent, though its input stays open", async () => {
    // Node closes a child's input when the child exits, so the orphan's input is a socket whose other end stays here.
    let best = Infinity;
    for (let run = 0; run < 10 && best >= 1_000; run++) {
      const [held, input] = await socketPair();
      const parent = new Program("parent.mjs", { input });
      input.destroy();
      held.write('{"jsonrpc":"2.0","id":1,"method":"m"}\n');
      await parent.answers(1);
      const start = performance.now();
      parent.child.kill("SIGKILL");
      // Its output closes only when the last process that could write to it, the orphan, is gone.
      expect(await parent.exit).toBe("SIGKILL");
      best = Math.min(best, performance.now() - start);
      held.destroy();
    }
    expect(best).toBeLessThan(1_000);
  });

  it.skipIf(process.platform === "win32").each(["SIGTERM", "SIGINT"] as const)("ends cleanly at %s", async (signal) => {
    const server = new Program("echo-server.mjs");
    server.send({ id: 1, method: "m" });
    await server.answers(1);
    server.child.kill(signal);
    expect([await server.exit, server.stderr]).toEqual([0, `asked by ${signal}\n`]);
  });

  it.skipIf(process.platform === "win32")("ends at once at the second signal", async () => {
    const server = new Program("echo-server.mjs", { args: ["--stubborn"] });
    server.send({ id: 1, method: "m" });
    await server.answers(1);
    server.child.kill("SIGTERM");
    await server.until(() => server.stderr.includes("asked"));
    server.child.kill("SIGTERM");
    expect(await server.exit).toBe(143);
  });
});
