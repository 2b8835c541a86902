// Runs the built command, with a home of its own for everything it writes.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const COMMAND = fileURLToPath(new URL("../../dist/mcp-secure-local.cjs", import.meta.url));

/** Compiling the command takes a sixth of its start, so its code is kept for the next test and the next run of them. */
export const CACHE: string = fileURLToPath(new URL("../../../../node_modules/.cache", import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** Stands for the person's home folder. */
  readonly home: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly cwd?: string;
}

export async function run(args: readonly string[], options: RunOptions): Promise<Ran> {
  const child = start(args, options);
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => (output[name] += text));
  }
  child.stdin.on("error", () => undefined).end(options.input ?? "");
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...output };
}

/** What a command that approves says has to be named to approve what it showed; undefined where nothing waits. */
export function digestIn({ stderr }: Pick<Ran, "stderr">): string | undefined {
  return /--digest ([0-9a-f]{64})/.exec(stderr)?.[1];
}

/** Approves what the plugins of a policy are shown to be. */
export async function approvePlugins(policy: string, home: string): Promise<Ran> {
  const words = ["plugins", "lock", "--policy", policy];
  const shown = await run(words, { home });
  const digest = digestIn(shown);
  return digest === undefined ? shown : run([...words, "--yes", "--digest", digest], { home });
}

export function start(args: readonly string[], { home, env = {}, cwd }: RunOptions): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [COMMAND, ...args], { cwd, env: { ...environmentOf(home), ...env } });
}

/** Seals the code that all tests share; each home has a state folder of its own. */
const KEY = Buffer.alloc(32, "tests");

/** What the command finds in its environment besides what a test adds. */
export function environmentOf(home: string): Record<string, string> {
  const own = `${home}/state/mcp-secure-local`;
  mkdirSync(own, { recursive: true, mode: 0o700 });
  if (!existsSync(`${own}/code-key`)) writeFileSync(`${own}/code-key`, KEY, { mode: 0o600 });
  const { PATH = "" } = process.env;
  return { PATH, HOME: home, XDG_STATE_HOME: `${home}/state`, XDG_CACHE_HOME: CACHE };
}

/** A client of a served command: raw messages, each answer by its id, everything else in order. */
export class RawClient {
  readonly child: ChildProcessWithoutNullStreams;
  readonly messages: Record<string, unknown>[] = [];
  stderr = "";
  readonly #waiting = new Set<{
    fits(message: Record<string, unknown>): boolean;
    resolve(message: Record<string, unknown>): void;
  }>();
  #ids = 0;

  constructor(args: readonly string[], options: RunOptions) {
    this.child = start(args, options);
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      const message = JSON.parse(line) as Record<string, unknown>;
      this.messages.push(message);
      for (const waiting of this.#waiting) {
        if (!waiting.fits(message)) continue;
        this.#waiting.delete(waiting);
        waiting.resolve(message);
      }
    });
  }

  async open(capabilities: object = {}): Promise<void> {
    const clientInfo = { name: "test", version: "1.0" };
    await this.request("initialize", { protocolVersion: "2025-11-25", clientInfo, capabilities });
    this.#send({ method: "notifications/initialized" });
  }

  request(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = (this.#ids += 1);
    const answer = this.next((message) => message["id"] === id);
    this.#send({ id, method, params });
    return answer;
  }

  /** The next message that fits, from now on. */
  next(fits: (message: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    return new Promise((resolve) => this.#waiting.add({ fits, resolve }));
  }

  /** Resolves when stderr holds this text. */
  async complained(text: string): Promise<void> {
    while (!this.stderr.includes(text)) await once(this.child.stderr, "data");
  }

  async close(): Promise<number | null> {
    this.child.stdin.end();
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, "exit");
    return this.child.exitCode;
  }

  #send(message: object): void {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }
}
