// Opens links to small programs and records what they bring; closes them all at the end of a test.
import { readdirSync } from "node:fs";
import { onTestFinished } from "vitest";
import type { Excerpt, MessageSink, Outgoing } from "../../src/jsonrpc/transport.js";
import type { LocalError, RpcError } from "../../src/jsonrpc/errors.js";
import type { RequestId } from "../../src/jsonrpc/message.js";
import { type ChildCommand, childTransport } from "../../src/node/child-transport.js";
import { TREE_VARIABLE } from "../../src/node/child-tree.js";
import { initialEnvironment, processEntry } from "../../src/node/process-table.js";

/** Answers every request with its params. */
export const ECHO = `
let rest = "";
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  rest += chunk;
  const lines = rest.split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, params } = JSON.parse(line);
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: params ?? {} }));
  }
});`;

export class Recorded implements MessageSink {
  readonly link: ReturnType<typeof childTransport>;
  readonly texts: string[] = [];
  readonly noises: string[] = [];
  readonly faults: { error: RpcError; excerpt: Excerpt | undefined }[] = [];
  readonly losses = new Map<RequestId, LocalError>();
  /** Each call of `closed`, with its reason. */
  readonly ends: (LocalError | undefined)[] = [];
  /** Set it to hold up intake. */
  onText: (text: string) => void | Promise<void> = () => undefined;
  #listening: (() => void)[] = [];

  constructor(command: ChildCommand) {
    this.link = childTransport(command);
    onTestFinished(() => this.link.close());
  }

  receive(text: string): void | Promise<void> {
    this.texts.push(text);
    this.#heard();
    return this.onText(text);
  }

  unreadable(error: RpcError, _info?: unknown, excerpt?: Excerpt): void {
    this.faults.push({ error, excerpt });
    this.#heard();
  }

  lost(id: RequestId, error: LocalError): void {
    this.losses.set(id, error);
    this.#heard();
  }

  noise(line: string): void {
    this.noises.push(line);
    this.#heard();
  }

  closed(error?: LocalError): void {
    this.ends.push(error);
    this.#heard();
  }

  request(id: RequestId, params: object = {}): void | Promise<void> {
    return this.link.send(request(id, params));
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((next) => this.#listening.push(next));
  }

  /** The reason of the end, once it has come. */
  async end(): Promise<LocalError | undefined> {
    await this.until(() => this.ends.length > 0);
    return this.ends[0];
  }

  /** The JSON of the message at `index`, once it has come. */
  async message(index: number): Promise<Record<string, unknown>> {
    await this.until(() => this.texts.length > index);
    return JSON.parse(this.texts[index] as string) as Record<string, unknown>;
  }

  #heard(): void {
    for (const next of this.#listening.splice(0)) next();
  }
}

export function request(id: RequestId, params: object = {}): Outgoing {
  return { text: JSON.stringify({ jsonrpc: "2.0", id, method: "m", params }), kind: "request", id, method: "m" };
}

/** A link to a program of Node, open. */
export function openScript(script: string, { args = [], ...rest }: Partial<ChildCommand> = {}): Promise<Recorded> {
  return opened({ command: process.execPath, args: ["-e", script, ...args], ...rest });
}

/** A link to a script of the shell, start: it starts in a twentieth of the time of a program of Node. */
export function openShell(script: string, { args = [], ...rest }: Partial<ChildCommand> = {}): Promise<Recorded> {
  return opened({ command: "/bin/sh", args: ["-c", script, ...args], ...rest });
}

/** A link that is open. */
export async function opened(command: ChildCommand): Promise<Recorded> {
  const recorded = new Recorded(command);
  await recorded.link.start(recorded);
  return recorded;
}

/** Resolves once none of these processes runs any more; one that has ended and was not collected does not run. */
export async function gone(...pids: readonly number[]): Promise<void> {
  for (const pid of pids) {
    while (runs(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Counts the processes that carry the mark of this child's tree. To be made while the child runs. */
export function treeCounter({ link }: Recorded): () => number {
  const leader = Number(/process (\d+)/.exec(link.describe?.() ?? "")?.[1]);
  let mark = markOf(leader);
  // While a process loads another program (`exec`), the system shows no variables of it.
  for (let tries = 0; mark === undefined && tries < 10_000; tries += 1) mark = markOf(leader);
  if (mark === undefined) throw new Error(`process ${leader} has no mark`);
  const pids = (): number[] => readdirSync("/proc").map(Number).filter(Boolean);
  return () => pids().filter((pid) => runs(pid) && markOf(pid) === mark).length;
}

function markOf(pid: number): string | undefined {
  return new RegExp(`(?:^|\0)${TREE_VARIABLE}=([^\0]*)`).exec(initialEnvironment(pid) ?? "")?.[1];
}

export function runs(pid: number): boolean {
  return processEntry(pid)?.ended === false;
}
