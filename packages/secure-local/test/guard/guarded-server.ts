// A library server behind the guard, with tools of the test's own, a clock it moves, and an audit log in memory.
import { type MemoryPeer, type MemoryPeerOptions, connectInMemory } from "@secure-local/mcp/testing";
import { type Context, type Middleware, Server } from "@secure-local/mcp/server";
import type { AuditSink } from "../../src/audit/audit-event.js";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { Guard } from "../../src/guard/guard.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";

export const POLICY = `version: "1.0"
tools:
  allowed: ["echo", "slow", "broken", "rude", "ask", "gone"]
  denied: ["rude"]
  rate_limits: { default: 60, echo: 3 }
  timeouts: { default: 5, slow: 0.02 }
  task_timeout: 0.06
  max_output_bytes: 1024
resources: { allowed: ["test://open"] }
prompts: { allowed: ["greet"] }
`;

export type Run = (args: { readonly text: string }, ctx: Context) => unknown;

export interface Guarded {
  readonly server: Server;
  readonly guard: Guard;
  readonly audit: MemoryAudit;
  readonly clock: { now: number };
  /** Tools by name; what a test puts here is run. */
  readonly tools: Record<string, Run>;
  /** What handlers were begun, in order. */
  readonly begun: string[];
  connect(options?: MemoryPeerOptions): Promise<MemoryPeer>;
}

export function policyOf(text: string): Promise<Policy> {
  return parsePolicy(text, { file: "policy.yaml" });
}

/** Tools `echo`, `slow`, `broken`, `rude`, `ask`, `unnamed`; resources `test://open`, `test://shut`; prompt `greet`. */
export async function guardedServer(
  given: { sink?: AuditSink; policy?: string; around?: Middleware; within?: Middleware } = {},
): Promise<Guarded> {
  const audit = new MemoryAudit();
  const clock = { now: 1_000 };
  const begun: string[] = [];
  const tools: Record<string, Run> = { echo: ({ text }) => text };
  const server = new Server({
    name: "guarded",
    version: "1.0.0",
    report: (_level, _message, details) => {
      if (details?.["errorId"] !== undefined) guard.noteFault(details["errorId"] as string, details["error"]);
    },
  });
  const input = { type: "object", properties: { text: { type: "string" } } } as const;
  const names = ["echo", "slow", "broken", "rude", "ask", "unnamed"];
  for (const name of names) {
    const run: Run = (args, ctx) => {
      begun.push(name);
      return tools[name]?.(args, ctx);
    };
    server.tool(name, { input, run: run as never, ...(name === "slow" ? { task: "optional" as const } : {}) });
  }
  for (const uri of ["test://open", "test://shut"]) {
    server.resource(uri, { read: () => (begun.push(uri), "\u001b[31mred\u001b[0m") });
  }
  server.prompt("greet", {
    arguments: { name: { complete: ["Ada", "Bob"] } },
    run: ({ name }) => (begun.push("greet"), `Hello, ${name}`),
  });
  const known = new Set([...names, "test://open", "test://shut", "greet"]);
  const policy = await policyOf(given.policy ?? POLICY);
  const exists = ({ name }: { name: string }): boolean => known.has(name);
  const guard = new Guard({ policy, audit: given.sink ?? audit, exists, now: () => clock.now });
  for (const each of [given.around, guard.middleware, given.within]) if (each !== undefined) server.use(each);
  return { server, guard, audit, clock, tools, begun, connect: (options) => connectInMemory(server, options) };
}

/** The text of a tool's result. */
export function textOf(result: unknown): string {
  return (result as { content: { text: string }[] }).content[0]?.text ?? "";
}

export function call(
  peer: MemoryPeer,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  return peer.request("tools/call", { name, arguments: args });
}
