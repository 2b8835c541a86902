// A call that sends and was let through: it goes on sending by what was said of it, and ends once its session has read what must
// not be sent on that word; the same for every revision, way to the server, kind of consent, and tool that sends.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { type Client, connect } from "@secure-local/mcp/client";
import { serveHttp } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";
import { connectInMemory } from "@secure-local/mcp/testing";
import { afterAll, beforeAll, expect, it, type TestContext } from "vitest";
import { stdioTransport } from "../../../mcp/src/node/stdio-server.js";
import { MemoryAudit } from "../../src/audit/event-text.js";
import type { ApprovalQuestion, ApprovalReply } from "../../src/guard/approvals/approvals.js";
import { Guard } from "../../src/guard/guard.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";

const REVISIONS = ["2025-06-18", "2025-11-25", "2026-07-28"] as const;
const WAYS = ["stdio", "HTTP"] as const;

/** What the policy says of the tool, beside that a person is asked where what was read could be sent. */
const CONSENTS: Readonly<Record<string, (tool: string) => object[]>> = {
  "a form of the client": (tool) => [{ approve: [tool], answer_by: ["client"] }],
  "the terminal": (tool) => [{ approve: [tool], answer_by: ["terminal"] }],
  "what is remembered": (tool) => [{ approve: [tool], remember: "session" }],
  "nobody, as none is wanted": () => [],
};

const folder = mkdtempSync(join(homedir(), ".sending-on-"));
const notes = join(folder, "notes.txt");
writeFileSync(notes, "private words");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Pages: `/start/ID` leads to `/end/ID` once that is let go; `/strange` has words of a stranger. */
const [started, letGo, reached] = [new Set<string>(), new Map<string, () => void>(), new Set<string>()];
const pages = createServer((request, response) => {
  const [, page, id = ""] = (request.url ?? "").split("/");
  const leads = (): void => void response.writeHead(302, { location: `/end/${id}` }).end();
  if (page === "start") return void (started.add(id), letGo.set(id, leads));
  if (page === "end") reached.add(id);
  response.writeHead(200, { "content-type": "text/plain" }).end("hello from the page");
});
let origin = "";
beforeAll(async () => {
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
});
afterAll(() => (pages.closeAllConnections(), pages.close()));

const SCRIPT = 'touch "$0.began"; while ! [ -e "$0.go" ]; do sleep 0.02; done; touch "$0.sent"';

interface Sender {
  readonly args: (id: string) => object;
  /** Whether it has begun to send. */
  readonly began: (id: string) => boolean;
  /** Has it send the rest. */
  readonly goOn: (id: string) => void;
  readonly sent: (id: string) => boolean;
}

const SENDERS: Readonly<Record<string, Sender>> = {
  web_fetch: {
    args: (id) => ({ url: `${origin}/start/${id}` }),
    began: (id) => started.has(id),
    goOn: (id) => letGo.get(id)?.(),
    sent: (id) => reached.has(id),
  },
  run_command: {
    args: (id) => ({ command: "send", arguments: ["-c", SCRIPT, join(folder, id)] }),
    began: (id) => existsSync(join(folder, `${id}.began`)),
    goOn: (id) => writeFileSync(join(folder, `${id}.go`), ""),
    sent: (id) => existsSync(join(folder, `${id}.sent`)),
  },
};

/** What it can send out is known of no command without a wall, so that it could be anything. */
const policyOf = (approvals: readonly object[]) =>
  parsePolicy(
    JSON.stringify({
      version: "1.0",
      tools: { allowed: ["*"], rate_limits: { default: 10_000 } },
      filesystem: { allowed_paths: [`${folder}/**`] },
      network: {
        allowed_endpoints: [{ host: "127.0.0.1", ports: [Number(origin.split(":")[2])] }],
        allowed_ranges: ["127.0.0.0/8"],
      },
      commands: {
        allowed: [
          {
            name: "send",
            executable: "/bin/sh",
            arguments: [{ fixed: "-c" }, { fixed: SCRIPT }, { pattern: ".*" }],
          },
        ],
      },
      sandbox: "none",
      approvals: [...approvals, { approve: "tainted" }],
    }),
    { file: "policy.yaml" },
  );

/** Says yes, but not to sending out what was read. */
const answers = (text: string): "yes" | "no" => (text.includes("it can send out") ? "no" : "yes");

interface Reached {
  readonly way: (typeof WAYS)[number];
  readonly revision: string;
  readonly onTestFinished: TestContext["onTestFinished"];
}

async function clientOf(secure: SecureServer, { way, revision, onTestFinished }: Reached): Promise<Client> {
  const elicit = ({ message, requestedSchema }: Record<string, unknown>) => {
    const { properties } = requestedSchema as { properties: { decision: { enum: string[] } } };
    const choices = properties.decision.enum;
    return {
      action: "accept",
      content: { decision: answers(message as string) === "no" ? choices[0] : choices.at(-1) },
    };
  };
  const options = { revision, elicit, verdicts: false } as never;
  if (way === "HTTP") {
    const serving = await serveHttp(secure.server, { signals: false, authenticate: () => "ada" });
    onTestFinished(() => serving.close());
    return connect(serving.url, options);
  }
  const [up, down] = [new PassThrough(), new PassThrough()];
  const serving = await serveStdio(secure.server, { input: up, output: down, signals: false });
  onTestFinished(() => serving.close());
  return connect(() => stdioTransport({ input: down, output: up }), options);
}

const ROWS = REVISIONS.flatMap((revision) =>
  WAYS.flatMap((way) =>
    Object.keys(CONSENTS).flatMap((consent) =>
      Object.keys(SENDERS)
        // What a command has brought in and could read counts as read once it has run: nothing of it is remembered without that.
        .filter((tool) => !(consent === "what is remembered" && tool === "run_command"))
        .flatMap((tool) => [true, false].map((reads) => ({ revision, way, consent, tool, reads }))),
    ),
  ),
);

let ids = 0;

it.concurrent.for(ROWS)(
  "$tool in $revision over $way, let through by $consent, where its session has read both since: $reads",
  { timeout: 30_000 },
  async ({ revision, way, consent, tool, reads }, { expect, onTestFinished }) => {
    const id = `call-${++ids}`;
    const sender = SENDERS[tool] as Sender;
    const audit = new MemoryAudit();
    const ask = ({ text, remember }: ApprovalQuestion): Promise<ApprovalReply> => {
      const yes = remember === undefined ? "approve" : "remember";
      return Promise.resolve({ answer: answers(text) === "no" ? "deny" : yes });
    };
    const policy = await policyOf((CONSENTS[consent] as (tool: string) => object[])(tool));
    const secure = new SecureServer({ policy, audit, version: "1.0.0", channel: { ask } });
    const client = await clientOf(secure, { way, revision, onTestFinished });
    const call = async (name: string, args: object): Promise<string> =>
      JSON.stringify((await client.call(name, args as never)).content);
    const sends = (): Promise<string> => call(tool, sender.args(id));
    const begun = (): Promise<void> => expect.poll(() => sender.began(id), { timeout: 10_000 }).toBe(true);
    if (consent === "what is remembered") {
      const before = sends();
      await begun();
      sender.goOn(id);
      await before;
      started.delete(id);
      reached.delete(id);
    }
    const sending = sends();
    await begun();
    if (reads) {
      expect(await call("web_fetch", { url: `${origin}/strange` })).toContain("hello");
      expect(await call("read_file", { path: notes })).toContain("private words");
    }
    // A command is ended at once; what is fetched, where it would be sent on.
    if (tool === "run_command" && reads) await sending;
    sender.goOn(id);
    const text = await sending;
    expect(text.includes("Denied"), text).toBe(reads);
    expect(sender.sent(id)).toBe(!reads);
    const asked = consent !== "nobody, as none is wanted";
    expect(audit.records().some(({ kind }) => kind === "approval.given")).toBe(asked);
    await client.close();
  },
);

it.each(REVISIONS)(
  "ends also while its handler asks something else, and is told no more once it is over (%s)",
  async (revision) => {
    const policy = await parsePolicy(
      JSON.stringify({ version: "1.0", tools: { allowed: ["*"] }, approvals: [{ approve: "tainted" }] }),
      { file: "policy.yaml" },
    );
    const guard: Guard = new Guard({
      ...{ policy, audit: new MemoryAudit(), exists: () => true },
      flow: (_, { name }) => ({ private: name === "own", untrusted: name === "strange", sends: name === "send" }),
    });
    const server = new Server({ name: "guarded", version: "1", report: false });
    server.use(guard.middleware);
    for (const name of ["own", "strange"]) server.tool(name, { run: () => name });
    const signals: (AbortSignal | undefined)[] = [];
    server.tool("send", {
      async run(_args, ctx) {
        await guard.consent({ ctx, tool: "send", destructive: false, arguments: {} });
        signals.push(guard.sendingOver(ctx));
        const { content } = await ctx.elicit({ message: "Which?", schema: { v: { type: "string" } } });
        return `sent ${content?.["v"]}`;
      },
    });
    let given = (): void => undefined;
    const answer = { action: "accept", content: { v: "this" } };
    const peer = await connectInMemory(server, {
      revision,
      principal: "ada",
      capabilities: { elicitation: {} },
      answer: { "elicitation/create": () => new Promise((resolve) => (given = () => resolve(answer))) },
    });
    const call = (name: string, more: object = {}) => peer.request("tools/call", { name, arguments: {}, ...more });
    const send = async (meanwhile: () => Promise<unknown>): Promise<unknown> => {
      const first = call("send");
      const count = signals.length + 1;
      await expect.poll(() => signals.length).toBe(count);
      if (revision !== "2026-07-28") return (await meanwhile(), given(), first);
      const { requestState } = await first;
      await meanwhile();
      return call("send", { requestState, inputResponses: { "ask-1": answer } });
    };
    // The form comes a moment later than the signal.
    const asked = () => new Promise((resolve) => setTimeout(resolve, 50));
    expect(JSON.stringify(await send(asked))).toContain("sent this");
    const reading = async (): Promise<void> => {
      await asked();
      for (const name of ["own", "strange"]) await call(name);
      expect(signals.map((over) => over?.aborted)).toEqual([false, true]);
    };
    expect(JSON.stringify(await send(reading))).toContain("sent this");
  },
);
