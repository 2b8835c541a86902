// A served policy with servers in this process: every start and every request that reaches one of them is counted.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, type ClientOptions, connect } from "@secure-local/mcp/client";
import { EVERYTHING_ASKABLE, readOffer } from "@secure-local/mcp/gateway";
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import { Server } from "@secure-local/mcp/server";
import { connectInMemory } from "@secure-local/mcp/testing";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { loadPolicy } from "../../src/policy/load-policy.js";
import type { Policy } from "../../src/policy/policy.js";
import { type PluginLock, readLock, relocked, serverLockFile, writeLock } from "../../src/server/plugin-lock.js";
import { SecureServer, type SecureServerOptions } from "../../src/server/secure-server.js";
import { serverItems } from "../../src/server/server-reviews.js";
import { serverLaunch } from "../../src/server/server-launch.js";

/** Makes a server anew for each start. */
type Make = () => Server;

type Peer = Awaited<ReturnType<typeof connectInMemory>>;

export class Fleet {
  readonly folder: string = mkdtempSync(join(tmpdir(), "fleet-"));
  readonly audit: MemoryAudit = new MemoryAudit();
  /** Starts, and methods that were asked for, by server. Reading the lists right after a start is none. */
  readonly starts: string[] = [];
  readonly asked: string[] = [];
  readonly said: string[] = [];
  secure!: SecureServer;
  /** The revision that servers speak. Default: the newest. */
  spoken: string | undefined;
  readonly #made = new Map<string, Make>();
  readonly #parts: SecureServer[] = [];
  readonly #peers: Peer[] = [];
  readonly #clients: Client[] = [];

  /** The program of a server, whose bytes are its launch. */
  program(name: string): string {
    return join(this.folder, `${name}.mjs`);
  }

  /** What a server is from its next start on. */
  make(name: string, make: Make): void {
    this.#made.set(name, make);
  }

  /** The launch of a server is another one from now on. */
  touch(name: string): void {
    writeFileSync(this.program(name), `// changed ${Math.random()}`);
  }

  async policy(body: string, entries: Readonly<Record<string, string>> = {}): Promise<Policy> {
    const servers = [...this.#made.keys()].map((name) => {
      writeFileSync(this.program(name), "// as it is");
      return `  ${name}: { command: [${process.execPath}, ${this.program(name)}]${entries[name] ?? ""} }\n`;
    });
    const file = join(this.folder, "policy.yaml");
    writeFileSync(file, `version: "1.0"\n${body}\nservers:\n${servers.join("")}`);
    return loadPolicy(file);
  }

  /** Approves what they offer now. */
  async approve(policy: Policy, names: readonly string[] = [...this.#made.keys()]): Promise<void> {
    const file = serverLockFile(policy.file as string);
    const lock = new Map<string, PluginLock extends ReadonlyMap<string, infer Locked> ? Locked : never>(readLock(file));
    for (const name of names) {
      const client = await connect((this.#made.get(name) as Make)(), EVERYTHING_ASKABLE);
      const grant = policy.servers.get(name);
      if (grant === undefined) throw new Error(`the policy names no ${name}`);
      lock.set(name, relocked(lock.get(name), serverItems(await readOffer(client), serverLaunch(grant))));
      await client.close();
    }
    writeLock(file, lock);
  }

  async serve(policy: Policy): Promise<void> {
    this.secure = this.part(policy);
    await this.secure.serversReady;
  }

  /** One more server for a part of the policy, or with something special. */
  part(policy: Policy, more: Partial<SecureServerOptions> = {}): SecureServer {
    const secure = new SecureServer({
      policy,
      audit: this.audit,
      version: "9.9.9",
      say: (line) => this.said.push(line),
      openServer: (grant, options) => this.#open(grant.name, options),
      ...more,
    });
    this.#parts.push(secure);
    return secure;
  }

  async client(revision: string, options: object = {}): Promise<Peer> {
    const peer = await connectInMemory(this.secure.server, { revision, ...options });
    this.#peers.push(peer);
    return peer;
  }

  /** One who can be asked everything; calls a tool by its name. */
  async person(
    revision: string,
    asked: (method: string, params: JsonObject) => JsonObject,
  ): Promise<(tool: string) => Promise<unknown>> {
    const client = await connect(this.secure.server, {
      revision,
      elicit: (request) => asked("elicitation/create", { ...request }) as never,
      sample: (request) => asked("sampling/createMessage", { ...request }) as never,
      roots: () => asked("roots/list", {})["roots"] as never,
    });
    this.#clients.push(client);
    return (tool) => client.call(tool, {}).catch((error: unknown) => error);
  }

  async close(): Promise<void> {
    for (const client of this.#clients.splice(0)) await client.close();
    for (const peer of this.#peers.splice(0)) await peer.close();
    for (const part of this.#parts.splice(0)) await part.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #open(name: string, options: ClientOptions): Promise<Client> {
    this.starts.push(name);
    const server = (this.#made.get(name) as Make)();
    server.use((call, next) => {
      if (!/^(?:initialize|server\/discover|ping|.*\/list)$/.test(call.method))
        this.asked.push(`${name} ${call.method}`);
      return next();
    });
    return connect(server, { ...options, ...(this.spoken === undefined ? {} : { revision: this.spoken }) });
  }
}

/** A server with one thing of each kind; `described` says something else of some. */
export function everyKind(described: Readonly<Record<string, string>> = {}): Server {
  const about = (name: string): string => described[name] ?? "An honest thing.";
  const server = new Server({ name: "every", version: "1" });
  server.tool("num", { description: about("num"), input: { type: "object" }, run: () => "called" });
  server.prompt("pr", {
    description: about("pr"),
    arguments: { q: { description: "What.", complete: () => ["completed"] } },
    run: () => "prompted",
  });
  server.resource("note://a", { name: "a", description: about("note://a"), read: () => "read a" });
  server.resourceTemplate("memo://{id}", {
    name: "memo",
    description: about("memo://{id}"),
    complete: { id: () => ["completed"] },
    read: (uri) => `read ${uri}`,
  });
  return server;
}
