// A guard before tools that read and send, whose people say yes to whatever they are asked and have it remembered where they may.
import { toFetch } from "@secure-local/mcp/fetch";
import { Server } from "@secure-local/mcp/server";
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import { JSON_TYPES, modern, modernHeaders } from "../../../mcp/test/http/http-fixture.js";
import { MemoryAudit } from "../../src/audit/event-text.js";
import type { CallerMemory } from "../../src/guard/rate-limits.js";
import { Guard } from "../../src/guard/guard.js";
import { TaintBook } from "../../src/guard/taints.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { STATEFUL } from "./approving-server.js";

/** One entry of `approvals`. */
export interface SendRule {
  readonly approve: "all" | "tainted" | readonly string[];
  readonly answer_by?: readonly ("client" | "terminal")[];
  readonly remember?: "none" | "session" | number;
}

export type Step = "own" | "strange" | "send" | "act";

/** What came of a step: whether it was done, and who was asked on the way. */
export interface Outcome {
  readonly text: string;
  readonly askedAt: "client" | "terminal" | undefined;
}

export interface Senders {
  /** In one session of a client that has forms. */
  step(name: Step): Promise<Outcome>;
  /** By a program of one user's, each of which is told apart as `attach` does. */
  stepOf(program: string, name: Step, revision?: string): Promise<Outcome>;
  /** As `step`, with this to send. */
  send(args: Readonly<Record<string, unknown>>): Promise<Outcome>;
  /** What is remembered, and the way to take it back. */
  readonly consents: Guard["approvals"];
  readonly audit: MemoryAudit;
  /** Is done while the next question waits. */
  meanwhile: (() => Promise<unknown>) | undefined;
}

/** Tools `own` (reads what is private), `strange` (brings in texts of strangers), `send`, and `act`, which sends as a plugin. */
export async function senders(rules: readonly SendRule[], memory?: CallerMemory): Promise<Senders> {
  const policy = await parsePolicy(JSON.stringify({ version: "1.0", tools: { allowed: ["*"] }, approvals: rules }), {
    file: "policy.yaml",
  });
  let askedAt: Outcome["askedAt"];
  const book = new TaintBook();
  const asked = async (where: NonNullable<Outcome["askedAt"]>): Promise<void> => {
    askedAt = where;
    const { meanwhile } = made;
    made.meanwhile = undefined;
    await meanwhile?.();
    askedAt = where;
  };
  const server = new Server({ name: "guarded", version: "1", report: false });
  const audit = new MemoryAudit();
  const guard: Guard = new Guard({
    ...{ policy, audit, exists: () => true, memory, book },
    flow: (_, { name }) => ({ private: name === "own", untrusted: name === "strange", sends: name === "send" }),
    channel: {
      async ask({ remember }) {
        await asked("terminal");
        return { answer: remember === undefined ? "approve" : "remember" };
      },
    },
  });
  server.use(guard.middleware);
  for (const name of ["own", "strange"]) server.tool(name, { run: () => name });
  server.tool("send", {
    input: { type: "object", properties: { paths: { type: "array" } } },
    run: async (given, ctx) =>
      (await guard.consent({ ctx, tool: "send", destructive: false, arguments: given }))?.text ?? "sent",
  });
  server.tool("act", {
    run: async (_, ctx) => {
      const done = await guard.acts({ ctx, actor: "plugin:p", tool: "send", arguments: {} });
      return "text" in done ? done.text : "sent";
    },
  });
  const peer = await connectInMemory(server, {
    revision: STATEFUL,
    capabilities: { elicitation: {} },
    answer: {
      "elicitation/create": async ({ requestedSchema }) => {
        await asked("client");
        const { properties } = requestedSchema as { properties: { decision: { enum: string[] } } };
        return { action: "accept", content: { decision: properties.decision.enum.at(-1) ?? "" } };
      },
    },
  });
  const over = toFetch(server, {
    sessions: false,
    authenticate: (request) => {
      const program = request.header("x-program") ?? "";
      book.meet(program, true);
      return { identity: { principal: "owner", scopes: [], program } };
    },
  });
  const done = async (call: Promise<string>): Promise<Outcome> => {
    askedAt = undefined;
    const text = await call;
    return { text, askedAt };
  };
  const made: Senders = {
    meanwhile: undefined,
    consents: guard.approvals,
    audit,
    step: (name) => done(inSession(peer, name)),
    send: (args) => done(inSession(peer, "send", args)),
    stepOf: (program, name, revision) => done(byProgram((request) => over(request), { program, name, revision })),
  };
  return made;
}

async function inSession(peer: MemoryPeer, name: Step, args: object = {}): Promise<string> {
  const { content } = (await peer.request("tools/call", { name, arguments: { ...args } })) as {
    content: { text: string }[];
  };
  return content[0]?.text ?? "";
}

interface ByProgram {
  readonly program: string;
  readonly name: Step;
  /** Of the handshake era, without a session. Default: the stateless one. */
  readonly revision?: string | undefined;
}

async function byProgram(
  over: (request: Request) => Promise<Response>,
  { program, name, revision }: ByProgram,
): Promise<string> {
  const params = { name, arguments: {} };
  const message = revision === undefined ? modern("tools/call", params) : { ...BARE, params };
  const era = revision === undefined ? modernHeaders(message) : { "mcp-protocol-version": revision };
  const headers = { ...JSON_TYPES, ...era, "x-program": program };
  const body = JSON.stringify(message);
  const answer = await over(new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }));
  return (await answer.text()).replace(/^.*"text":"|"\}\].*$/gs, "");
}

const BARE = { jsonrpc: "2.0", id: 1, method: "tools/call" };
