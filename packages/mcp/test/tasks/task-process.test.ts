// Tasks in a process of their own, used by the official client: asked, reported, killed, and found again afterwards.
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type ChildProcess, spawn } from "node:child_process";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CallToolResultSchema, CreateTaskResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

const program = resolve(import.meta.dirname, "fixtures/task-server.mjs");
const clients: Client[] = [];
let folder: string;

beforeAll(async () => {
  if (!existsSync(resolve(import.meta.dirname, "../../dist/task-files.js"))) {
    throw new Error("Build first (npm run build): these tests run the built library");
  }
  folder = await mkdtemp(join(tmpdir(), "task-process-"));
});

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

afterAll(() => rm(folder, { recursive: true }));

async function connect(): Promise<{ readonly client: Client; kill(): Promise<void> }> {
  const client = new Client({ name: "official", version: "1.0.0" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ada" } }));
  const transport = new StdioClientTransport({ command: process.execPath, args: [program, folder] });
  await client.connect(transport);
  clients.push(client);
  const kill = async (): Promise<void> => {
    const closed = new Promise<void>((onclose) => Object.assign(client, { onclose }));
    process.kill(transport.pid as number, "SIGKILL");
    await closed;
  };
  return { client, kill };
}

describe("the official client", () => {
  it("runs a task, is asked in it, hears of its progress, and finds it after a SIGKILL", async () => {
    const first = await connect();
    expect(first.client.getServerCapabilities()?.tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } });
    await first.client.listTools();
    const progress: unknown[] = [];
    const kinds: string[] = [];
    let taskId = "";
    const options = { onprogress: ({ message }: { message?: string }) => progress.push(message) };
    const stream = first.client.experimental.tasks.callToolStream(
      { name: "greet", arguments: {} },
      CallToolResultSchema,
      options as never,
    );
    for await (const message of stream) {
      if (kinds.at(-1) !== message.type) kinds.push(message.type);
      if (message.type === "taskCreated") taskId = message.task.taskId;
      if (message.type === "result") expect(message.result.content).toEqual([{ type: "text", text: "Hello, Ada!" }]);
      if (message.type === "error") throw message.error;
    }
    expect(kinds).toEqual(["taskCreated", "taskStatus", "result"]);
    expect(progress).toEqual(["asking", "greeting"]);
    const running = await first.client.request(
      { method: "tools/call", params: { name: "endless", task: {} } },
      CreateTaskResultSchema,
    );
    await first.kill();

    const second = await connect();
    const { tasks } = second.client.experimental;
    expect(await tasks.getTask(taskId)).toMatchObject({ status: "completed" });
    const result = await tasks.getTaskResult(taskId, CallToolResultSchema);
    expect(result.content).toEqual([{ type: "text", text: "Hello, Ada!" }]);
    expect(await tasks.getTask(running.task.taskId)).toMatchObject({
      status: "failed",
      statusMessage: expect.stringContaining("restarted") as string,
    });
    await expect(tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
  });
});

describe("a server whose client leaves", () => {
  it("ends its tasks, keeps why, and exits", async () => {
    const child: ChildProcess = spawn(process.execPath, [program, folder], { stdio: ["pipe", "pipe", "inherit"] });
    const before = new Set(await readdir(folder));
    const clientInfo = { name: "raw", version: "1.0.0" };
    const messages = [
      { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } },
      { id: 2, method: "tools/call", params: { name: "endless", task: {} } },
    ];
    let output = "";
    child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stdin?.write(messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
    while (!output.includes('"taskId"')) await once(child.stdout as NodeJS.ReadableStream, "data");
    child.stdin?.end();
    expect((await once(child, "exit"))[0]).toBe(0);
    const [file] = (await readdir(folder)).filter((name) => !before.has(name)) as [string];
    const kept = JSON.parse(await readFile(join(folder, file), "utf8")) as { task: unknown };
    expect(kept.task).toMatchObject({ status: "failed", statusMessage: expect.stringContaining("stopped") as string });
  });
});
