// The product's server with tools that need consent, a person who answers, a channel, and an audit log in memory.
import { type MemoryPeer, type MemoryPeerOptions, connectInMemory } from "@secure-local/mcp/testing";
import { MemoryAudit } from "../../src/audit/event-text.js";
import type { ApprovalChannel, ApprovalQuestion, ApprovalReply } from "../../src/guard/approvals/approvals.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import type { AnyTool } from "../../src/server/catalogue.js";

export const STATEFUL = "2025-11-25";
export const STATELESS = "2026-07-28";
export const APPROVE = "approve this one call";

type Json = Record<string, unknown>;

export interface Approving {
  readonly secure: SecureServer;
  readonly audit: MemoryAudit;
  /** What tools were run with, in order. */
  readonly ran: { readonly tool: string; readonly args: unknown }[];
  /** Questions the channel was asked. */
  readonly questions: ApprovalQuestion[];
  reload(approvals: string): Promise<void>;
  connect(options?: MemoryPeerOptions): Promise<MemoryPeer>;
}

/** Tools `erase` (destructive), `count` (idempotent, not destructive), `look` (reads only), each of which may take `seconds`. */
export async function approvingServer(
  approvals: string,
  channel?: ApprovalChannel["ask"],
  seconds = 30,
): Promise<Approving> {
  const audit = new MemoryAudit();
  const ran: Approving["ran"] = [];
  const questions: ApprovalQuestion[] = [];
  const policy = (text: string): ReturnType<typeof parsePolicy> =>
    parsePolicy(`version: "1.0"\ntools: { allowed: ["*"], timeout: ${seconds} }\napprovals:\n${text}\n`, {
      file: "policy.yaml",
    });
  const secure = new SecureServer({
    policy: await policy(approvals),
    audit,
    version: "1.0.0",
    tools: ["erase", "count", "look"].map((name) => tool(name, ran)),
    ...(channel === undefined
      ? {}
      : { channel: { ask: (question, signal) => (questions.push(question), channel(question, signal)) } }),
  });
  return {
    secure,
    audit,
    ran,
    questions,
    reload: async (text) => secure.reload(await policy(text)),
    connect: (options) => connectInMemory(secure.server, options),
  };
}

function tool(name: string, ran: Approving["ran"]): AnyTool {
  const [readOnlyHint, destructiveHint] = [name === "look", name === "erase"];
  return {
    name,
    title: name,
    description: name,
    input: {
      type: "object",
      properties: { path: { type: "string" }, text: { type: "string" }, force: { type: "boolean", default: true } },
    },
    annotations: { readOnlyHint, destructiveHint, idempotentHint: name === "count", openWorldHint: false },
    run: (args: unknown) => (ran.push({ tool: name, args }), "done"),
  };
}

/** A client whose user answers each form with what `answer` gives; `forms` collects what was shown. */
export function person(answer: (message: string) => Json | Promise<Json>, forms: string[] = []): MemoryPeerOptions {
  return {
    revision: STATEFUL,
    capabilities: { elicitation: {} },
    answer: {
      "elicitation/create": async (params) => {
        forms.push(params["message"] as string);
        return answer(params["message"] as string);
      },
    },
  };
}

export const yes = (): Json => ({ action: "accept", content: { decision: APPROVE } });

export function erase(peer: MemoryPeer, args: Json = { path: "/a" }): Promise<Json> {
  return peer.request("tools/call", { name: "erase", arguments: args });
}

/** The request with the answers of a stateless client to all that was asked. */
export function retry(asked: Json, answer: Json, args: Json = { path: "/a" }): Json {
  const keys = Object.keys(asked["inputRequests"] as Json);
  const inputResponses = Object.fromEntries(keys.map((key) => [key, answer]));
  return { name: "erase", arguments: args, requestState: asked["requestState"], inputResponses };
}

/** The kinds of the records, in order. */
export function kinds({ audit }: Approving): unknown[] {
  return audit.records().map(({ kind }) => kind);
}

export const deny = (reason: string): ApprovalReply => ({ answer: undefined, reason });

/** The name of the question that the second record is about. */
export function questionOf(audit: MemoryAudit): unknown {
  return (audit.records()[1]?.detail as Readonly<Record<string, unknown>> | undefined)?.["question"];
}
