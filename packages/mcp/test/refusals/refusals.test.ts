// Plays the corpus of what must be refused: each case in every state it names, and then the next message is served.
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Server } from "@secure-local/mcp/server";
import { envelope, handshake, type Message, serveStub, turns } from "../support/stub-transport.js";

/** Text, or pieces of it, some many times. */
type Text = string | readonly (string | { readonly repeat: string; readonly times: number })[];

interface Refusal {
  readonly name: string;
  /** "before" any handshake, the date of a session's revision, or "2026-07-28" for enveloped requests; `all` by default. */
  readonly in?: readonly string[] | "sessions" | "all";
  /** A message, which gets an envelope in 2026-07-28, or what stands on the wire. */
  readonly message?: Message;
  readonly text?: Text;
  /** Expected; absent: silence. `id` is "unreadable" by default: null or left out, as the revision has it. */
  readonly error?: {
    readonly code: number | Readonly<Record<string, number>>;
    readonly message: string;
    readonly data?: object;
  };
  readonly id?: unknown;
  readonly isError?: string;
}

const SESSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const ALL = [...SESSIONS, "2026-07-28"];
const NULL_IDS = new Set(["before", "2024-11-05", "2025-03-26", "2025-06-18"]);
const FOLDER = new URL(".", import.meta.url);

function refusing(): Server {
  const server = new Server({ name: "s", version: "1", limits: { batch: 3, messageBytes: 10_000, depth: 32 } });
  server.tool("add", {
    input: {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
      additionalProperties: false,
    },
    run: ({ a, b }) => a + b,
  });
  server.tool("throws", {
    run: () => {
      throw new Error("hunter2");
    },
  });
  server.prompt("review", { arguments: { code: { required: true, complete: ["a"] } }, run: () => "" });
  server.resource("test://a", { read: () => "a" });
  server.resourceTemplate("test://notes/{id}", { read: () => undefined });
  return server;
}

// One for all: a refusal leaves nothing at a server.
const SERVER = refusing();

describe.each(readdirSync(FOLDER).filter((name) => name.endsWith(".json")))("%s", (file) => {
  const cases = JSON.parse(readFileSync(new URL(file, FOLDER), "utf8")) as readonly Refusal[];
  const played = cases.flatMap((refusal) => statesOf(refusal).map((state) => [refusal.name, state, refusal] as const));

  it.each(played)("%s (%s)", async (_name, state, refusal) => {
    const peer = serveStub(SERVER);
    if (SESSIONS.includes(state)) {
      peer.send(handshake(0, state));
      await peer.answer(0);
    }
    const before = peer.written.length;
    peer.send(textOf(refusal, state));
    await turns(4);
    const answers = peer.written.slice(before);
    if (refusal.error === undefined && refusal.isError === undefined) expect(answers).toEqual([]);
    else judge(answers, refusal, state);
    await expectServed(peer, state);
  });
});

function statesOf(refusal: Refusal): readonly string[] {
  if (refusal.in === "sessions") return SESSIONS;
  return refusal.in === undefined || refusal.in === "all" ? ALL : refusal.in;
}

function textOf({ message, text }: Refusal, state: string): string {
  if (typeof text === "string") return text;
  if (text !== undefined)
    return text.map((piece) => (typeof piece === "string" ? piece : piece.repeat.repeat(piece.times))).join("");
  if (message === undefined || state !== "2026-07-28" || Array.isArray(message)) return JSON.stringify(message);
  const params = message["params"] as Message | undefined;
  return JSON.stringify({ ...message, params: { _meta: envelope(), ...params } });
}

function judge(answers: readonly Message[], { error, id = "unreadable", isError }: Refusal, state: string): void {
  expect(answers).toHaveLength(1);
  const answer = answers[0] as Message;
  const unreadable = NULL_IDS.has(state) ? null : undefined;
  expect(answer["id"]).toBe(id === "unreadable" ? unreadable : id);
  if (isError !== undefined) {
    expect(answer["result"]).toMatchObject({ isError: true, content: [{ type: "text" }] });
    expect((answer["result"] as { content: { text: string }[] }).content[0]?.text).toContain(isError);
  }
  if (error === undefined) return;
  const { code, message, data } = answer["error"] as { code: number; message: string; data: unknown };
  expect(code).toBe(typeof error.code === "number" ? error.code : (error.code[state] ?? error.code["else"]));
  expect(message).toContain(error.message);
  if (error.data !== undefined) expect(data).toMatchObject(error.data);
}

async function expectServed(peer: ReturnType<typeof serveStub>, state: string): Promise<void> {
  if (state === "before") peer.send(handshake(99));
  else
    peer.send(
      JSON.stringify({
        jsonrpc: "2.0",
        id: 99,
        method: "tools/list",
        params: state === "2026-07-28" ? { _meta: envelope() } : {},
      }),
    );
  expect(await peer.answer(99)).toHaveProperty("result");
}

it("a batch of messages of 2026-07-28 on a fresh pipe is refused as a whole, with one answer", async () => {
  const peer = serveStub(SERVER);
  const one = (id: number): object => ({ jsonrpc: "2.0", id, method: "tools/list", params: { _meta: envelope() } });
  peer.send(JSON.stringify([one(1), one(2), { jsonrpc: "2.0", id: 3, method: "ping" }]));
  await turns(4);
  expect(peer.written).toEqual([
    expect.objectContaining({ error: expect.objectContaining({ code: -32600 }) as unknown }),
  ]);
});
