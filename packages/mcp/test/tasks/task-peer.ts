// A raw peer for tests of tasks: every message of the server is judged, and a principal can be given.
import { expect, onTestFinished } from "vitest";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import {
  connectInMemory,
  type MemoryPeer,
  type MemoryPeerOptions,
  type WireMessage,
} from "../../src/serve/connect-in-memory.js";
import type { ServerOptions } from "../../src/server/lean-server.js";
import { Server } from "../../src/server/server.js";
import { specValidator } from "../support/spec-schema.js";

export const REQUESTED = "2025-11-25";
export const DIRECTED = "2026-07-28";
export const EXTENSION = "io.modelcontextprotocol/tasks";
export const RELATED = "io.modelcontextprotocol/related-task";

/** Capabilities of a client that knows tasks and can be asked everything. */
export const ABLE = { elicitation: {}, sampling: {}, roots: {}, extensions: { [EXTENSION]: {} } };

export function newServer(options: Partial<ServerOptions> = {}): Server {
  return new Server({ name: "tasks", version: "1.0.0", ...options });
}

/** Connects in one of the two revisions that have tasks; the test fails at its end if a message of the server was wrong. */
export async function connectTasks(
  server: Server,
  revision: string,
  options: MemoryPeerOptions = {},
): Promise<MemoryPeer> {
  const faults: string[] = [];
  const asked = new Map<unknown, string>([[1, "initialize"]]);
  const peer = await connectInMemory(server, { revision, capabilities: ABLE, ...options });
  const messages = peer.messages as WireMessage[];
  const judge = (message: WireMessage): void => {
    for (const fault of faultsOf(message, revision, asked))
      faults.push(`${fault} in ${JSON.stringify(message).slice(0, 400)}`);
  };
  if (revision === REQUESTED) messages.forEach(judge);
  else asked.clear();
  messages.push = (...added) => {
    added.forEach(judge);
    return Array.prototype.push.apply(messages, added);
  };
  const send = peer.send.bind(peer);
  peer.send = (text) => {
    const { id, method } = JSON.parse(text) as { id?: unknown; method?: string };
    if (id !== undefined && method !== undefined) asked.set(id, method);
    send(text);
  };
  onTestFinished(async () => {
    await peer.close();
    expect(faults).toEqual([]);
  });
  return peer;
}

function faultsOf(message: WireMessage, revision: string, asked: ReadonlyMap<unknown, string>): string[] {
  const requestMethod = asked.get(message.id);
  return specValidator(revision).validateServerMessage(message, { requestMethod });
}

/** Looks at a task until it has the status. */
export async function untilStatus(peer: MemoryPeer, taskId: string, status: string): Promise<JsonObject> {
  for (;;) {
    const task = await peer.request("tasks/get", { taskId });
    if (task["status"] === status) return task;
    if (["completed", "failed", "cancelled"].includes(task["status"] as string)) {
      throw new Error(`The task is ${String(task["status"])} and will never be ${status}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** A promise and its handles. */
export function latch<T = void>(): {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** The error a request was answered with. */
export async function refusal(answer: Promise<unknown>): Promise<{ code: number; message: string; data?: unknown }> {
  return answer.then(
    () => expect.unreachable("it was answered"),
    (error: unknown) => error as never,
  );
}
