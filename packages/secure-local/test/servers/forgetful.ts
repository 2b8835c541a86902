// A server at a URL, written by hand, that forgets its session when it is told to, and may be another server in the next one.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { connect } from "@secure-local/mcp/client/node";
import { EVERYTHING_ASKABLE, readOffer } from "@secure-local/mcp/gateway";
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import { connectInMemory } from "@secure-local/mcp/testing";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { loadPolicy } from "../../src/policy/load-policy.js";
import type { Policy, ServerGrant } from "../../src/policy/policy.js";
import { relocked, serverLockFile, writeLock } from "../../src/server/plugin-lock.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { serverItems } from "../../src/server/server-reviews.js";
import { serverLaunch } from "../../src/server/server-launch.js";

/** What a server is, from its next session on. */
export interface Self {
  readonly name: string;
  readonly instructions: string;
  readonly description: string;
  readonly capabilities: JsonObject;
  /** Milliseconds until its lists are told. */
  readonly lateMs: number;
}

/** How it answers a request of a session that it has forgotten. */
export interface Forgetting {
  readonly status: number;
  readonly body: string;
  /** Whether it has done what it was asked before it says so. */
  readonly done?: boolean;
  /** Each call is answered so, in a session that it knows too. */
  readonly everyCall?: boolean;
}

interface Asked {
  readonly method: string;
  readonly session: string;
  readonly headers: IncomingMessage["headers"];
  /** What the call was given, of a call. */
  readonly tag: string;
}

export const HONEST: Self = {
  name: "notes",
  instructions: "Say what you want.",
  description: "Says what it was given.",
  capabilities: { tools: { listChanged: true } },
  lateMs: 0,
};

export class Forgetful {
  /** Each request, in the order in which it came. */
  readonly asked: Asked[] = [];
  /** What was done, by the tag of its call. */
  readonly done: string[] = [];
  /** Lists that were told, by session. */
  readonly listed: string[] = [];
  self: Self = HONEST;
  forgetting: Forgetting | undefined;
  /** Whether it speaks without sessions. */
  stateless = false;
  /** Whether it has a stream for what it says by itself. */
  streams = false;
  connections = 0;
  readonly #web: Server;
  #sessions = 0;
  #known = new Set<string>();
  readonly #open = new Set<ServerResponse>();

  constructor() {
    this.#web = createServer((request, response) => void this.#answer(request, response));
    this.#web.on("connection", () => this.connections++);
  }

  get port(): number {
    return (this.#web.address() as AddressInfo).port;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#web.listen(0, "127.0.0.1", resolve));
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#web.close(resolve).closeAllConnections());
  }

  /** It is another one from now on, and knows none of the sessions before. */
  forget(self: Partial<Self>, forgetting: Forgetting): void {
    this.self = { ...this.self, ...self };
    this.forgetting = forgetting;
    this.#known = new Set();
    for (const stream of this.#open) stream.end();
    this.#open.clear();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
    const session = String(request.headers["mcp-session-id"] ?? "");
    const { id, method, params } = (text === "" ? { method: request.method } : JSON.parse(text)) as JsonObject;
    const { arguments: given } = (params ?? {}) as { arguments?: { tag?: string } };
    const asked = { method: String(method), session, headers: request.headers, tag: given?.tag ?? "" };
    this.asked.push(asked);
    if (request.method === "DELETE") return void response.writeHead(this.#known.delete(session) ? 204 : 404).end();
    if (request.method !== "POST") return this.#streamed(session, response);
    if (id === undefined) return void response.writeHead(202).end();
    const forgot = this.#forgets(asked);
    if (forgot !== undefined) {
      if (forgot.done === true) this.done.push(asked.tag);
      response.writeHead(forgot.status, { "content-type": "application/json" });
      return void response.end(forgot.body.replace("ID", JSON.stringify(id)));
    }
    const said = await this.#said(asked);
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (method === "initialize") this.#known.add((headers["mcp-session-id"] = `session-${++this.#sessions}`));
    response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
  }

  /** What it says by itself, which is nothing: until it forgets the session. */
  #streamed(session: string, response: ServerResponse): void {
    if (!this.streams) return void response.writeHead(405).end();
    if (!this.#known.has(session)) return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": "text/event-stream" }).write("retry: 1\n\n");
    this.#open.add(response);
  }

  /** Without sessions it is a call that it has not heard of. */
  #forgets({ method, session }: Asked): Forgetting | undefined {
    if (this.forgetting === undefined || method === "initialize" || method === "server/discover") return undefined;
    const isKnown = this.#known.has(session) && !(this.forgetting.everyCall === true && method === "tools/call");
    if (!this.stateless) return isKnown ? undefined : this.forgetting;
    if (method !== "tools/call") return undefined;
    const { forgetting } = this;
    this.forgetting = undefined;
    return forgetting;
  }

  async #said({ method, session, tag }: Asked): Promise<JsonObject> {
    const { name, instructions, description, capabilities, lateMs } = this.self;
    const serverInfo = { name, version: "1" };
    const hints = this.stateless ? { resultType: "complete", ttlMs: 0, cacheScope: "private" } : {};
    const result = (value: JsonObject): JsonObject => ({ result: { ...hints, ...value } });
    if (method === "initialize" && !this.stateless)
      return result({ protocolVersion: "2025-06-18", capabilities, serverInfo, instructions });
    if (method === "server/discover" && this.stateless) {
      const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo };
      return result({ supportedVersions: ["2026-07-28"], capabilities, instructions, _meta });
    }
    if (method === "tools/list") {
      await wait(lateMs);
      this.listed.push(session);
      return result({ tools: [{ name: "say", description, inputSchema: { type: "object" } }] });
    }
    if (method !== "tools/call") return { error: { code: -32601, message: "Method not found" } };
    this.done.push(tag);
    return result({ content: [{ type: "text", text: `said ${tag}` }] });
  }
}

/** The product in front of it, in this process. */
export class Guarded {
  readonly audit: MemoryAudit = new MemoryAudit();
  readonly said: string[] = [];
  readonly upstream: Forgetful = new Forgetful();
  secure!: SecureServer;
  readonly #folder = mkdtempSync(join(tmpdir(), "forgetful-"));
  #peer!: Awaited<ReturnType<typeof connectInMemory>>;

  /** A policy of this entry: `more` beside its URL. */
  policy(entries: string, more = ""): Promise<Policy> {
    const file = join(this.#folder, "policy.yaml");
    writeFileSync(file, `version: "1.0"\ntools: { allowed: ["*"] }\nservers:\n${entries}${more}`);
    return loadPolicy(file);
  }

  entry(more = ""): string {
    return `  notes: { url: "http://127.0.0.1:${this.upstream.port}/mcp"${more} }\n`;
  }

  async serve(policy: Policy): Promise<void> {
    const grant = policy.servers.get("notes") as ServerGrant;
    const client = await connect(`http://127.0.0.1:${this.upstream.port}/mcp`, EVERYTHING_ASKABLE);
    const locked = relocked(undefined, serverItems(await readOffer(client), serverLaunch(grant)));
    await client.close();
    writeLock(serverLockFile(policy.file as string), new Map([["notes", locked]]));
    for (const list of [this.upstream.asked, this.upstream.listed]) list.splice(0);
    this.secure = new SecureServer({
      policy,
      audit: this.audit,
      version: "9.9.9",
      say: (line) => this.said.push(line),
    });
    await this.secure.serversReady;
    this.#peer = await connectInMemory(this.secure.server, { revision: "2025-06-18" });
  }

  /** What the call comes to, in words. */
  async call(tag: string): Promise<string> {
    const answer = await this.#peer
      .request("tools/call", { name: "notes__say", arguments: { tag } })
      .catch((error: unknown) => ({ content: [{ text: String(error) }] }));
    return (answer["content"] as { text: string }[]).map(({ text }) => text).join("\n");
  }

  /** Records of one kind. */
  records(kind: string): Record<string, unknown>[] {
    return this.audit.records().filter((record) => record["kind"] === kind);
  }

  async close(): Promise<void> {
    await this.#peer?.close();
    await this.secure?.stop();
    await this.upstream.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
