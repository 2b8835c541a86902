// The contract's peer over HTTP: each line is a request of its own, and any of 3 or of 10 members gets it.
import { hasRedis, prefix, startRedisFor } from "./redis-fixture.js";
import { redisCluster } from "../../src/redis/redis-stores.js";
import type { Open } from "../contract/transports.js";
import { contractServer } from "../contract/contract-server.mjs";
import { LinePeer, type Revision, type Wire } from "../contract/line-peer.js";
import type { Message } from "../support/stub-transport.js";
import { inMemory, KEY, type Later, startCluster } from "./cluster-fixture.js";

const STATELESS = "2026-07-28";
const STREAMABLE: readonly Revision[] = ["2025-03-26", "2025-06-18", "2025-11-25", STATELESS];

/** Each count of members in each revision, over Streamable HTTP, and over HTTP+SSE where that is all there was. */
export const BALANCED: readonly { readonly name: string; readonly revision: Revision; readonly open: Open }[] = [
  3, 10,
].flatMap((count) => [
  ...STREAMABLE.map((revision) => ({ name: `http to ${count} members`, revision, open: overHttp(count) })),
  { name: `sse to ${count} members`, revision: "2024-11-05" as const, open: overSse(count) },
]);

function overHttp(count: number): Open {
  return async (revision) => {
    const { url, end } = await start(count);
    return new LinePeer(revision, (received) => new HttpLines(url, revision, { received, end }).wire).open();
  };
}

function overSse(count: number): Open {
  return async (revision) => {
    const { url, end } = await start(count);
    const lines = new SseLines(end);
    const peer = new LinePeer(revision, (received) => lines.wire(received));
    await lines.connect(new URL("/sse", url));
    return peer.open();
  };
}

async function start(count: number): Promise<{ readonly url: string; end(): Promise<void> }> {
  const closing: Parameters<Later>[0][] = [];
  const later: Later = (ending) => void closing.push(ending);
  const counts = { started: 0, aborted: 0 };
  // Over Redis where there is one, so that what is shared goes over its wire too; each member with connections of its own.
  const redis = hasRedis ? await startRedisFor(later) : undefined;
  const own = prefix();
  const shareOf =
    redis === undefined ? inMemory() : (n: number) => redisCluster(redis.url, { key: KEY, prefix: own, node: `m${n}` });
  const { url } = await startCluster({ count, random: true, later, shareOf, server: () => contractServer(counts) });
  const end = async (): Promise<void> => {
    for (const each of closing.splice(0).reverse()) await each();
  };
  return { url, end };
}

/** Reads events as they come, and gives the data of each. */
async function readEvents(
  body: ReadableStream<Uint8Array>,
  hear: (data: string, event: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(chunk, { stream: true });
    for (let at = rest.indexOf("\n\n"); at >= 0; at = rest.indexOf("\n\n")) {
      const lines = rest.slice(0, at).split("\n");
      rest = rest.slice(at + 2);
      const of = (name: string): string[] =>
        lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
      // An event that only opens the stream has no data.
      if (of("data").join("") !== "") hear(of("data").join("\n"), of("event")[0] ?? "message");
    }
  }
}

const TYPES = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/** How a client of Streamable HTTP sends lines. */
class HttpLines {
  readonly wire: Wire;
  readonly #url: string;
  readonly #stateless: boolean;
  readonly #revision: string;
  readonly #received: (text: string) => void;
  readonly #sent = new Map<unknown, AbortController>();
  readonly #all = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #session: string | undefined;
  /** What has to be answered first: a client opens its session before it uses it. */
  #first: Promise<void> = Promise.resolve();

  constructor(
    url: string,
    revision: Revision,
    { received, end }: { readonly received: (text: string) => void; readonly end: () => Promise<void> },
  ) {
    this.#url = url;
    this.#revision = revision;
    this.#stateless = revision === STATELESS;
    this.#received = received;
    let closed!: () => void;
    this.wire = {
      write: (text) => this.#write(text),
      // Whoever asks nothing more reads what is still to come, and goes.
      end: () => void Promise.all(this.#running).then(() => this.#close(end).then(closed)),
      close: () => void this.#close(end).then(closed),
      closed: new Promise<void>((resolve) => (closed = resolve)),
    };
  }

  async #close(end: () => Promise<void>): Promise<void> {
    if (this.#session !== undefined) await fetch(this.#url, { method: "DELETE", headers: this.#headers({}) });
    else this.#all.abort();
    await Promise.all(this.#running);
    await end();
  }

  #write(text: string): void {
    const message = messageIn(text);
    if (this.#stateless && this.#cancelled(message)) return;
    const sending = this.#first.then(() => this.#post(text, message)).catch(() => undefined);
    if (/initialize/.test(String(message["method"]))) this.#first = sending;
    this.#running.add(sending);
    void sending.then(() => this.#running.delete(sending));
  }

  /** In the stateless era a client gives a call up by closing its stream, and answers its own caller. */
  #cancelled({ method, params }: Message): boolean {
    const { requestId, id } = (params ?? {}) as { requestId?: unknown; id?: unknown };
    if (method !== "notifications/cancelled" && method !== "$/cancelRequest") return false;
    this.#sent.get(requestId ?? id)?.abort();
    if (id !== undefined)
      this.#received(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32800, message: "cancelled" } }));
    return true;
  }

  #headers({ method, params }: Message): Record<string, string> {
    if (this.#stateless) {
      const { name, uri } = (params ?? {}) as { name?: string; uri?: string };
      const about = name ?? uri;
      return {
        ...TYPES,
        "mcp-protocol-version": STATELESS,
        ...(method === undefined ? {} : { "mcp-method": method as string }),
        ...(about === undefined ? {} : { "mcp-name": about }),
      };
    }
    const version = this.#revision >= "2025-06-18" ? { "mcp-protocol-version": this.#revision } : {};
    return { ...TYPES, ...(this.#session === undefined ? {} : { "mcp-session-id": this.#session, ...version }) };
  }

  async #post(text: string, message: Message): Promise<void> {
    const own = new AbortController();
    if (message["id"] !== undefined) this.#sent.set(message["id"], own);
    const signal = AbortSignal.any([own.signal, this.#all.signal]);
    const response = await fetch(this.#url, { method: "POST", headers: this.#headers(message), body: text, signal });
    this.#session ??= response.headers.get("mcp-session-id") ?? undefined;
    const type = response.headers.get("content-type") ?? "";
    if (type.startsWith("text/event-stream") && response.body !== null) await readEvents(response.body, this.#received);
    else {
      const whole = await response.text();
      if (whole !== "") this.#received(whole);
    }
  }
}

/** How a client of HTTP+SSE sends lines: all that comes back comes on one stream. */
class SseLines {
  readonly #end: () => Promise<void>;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #closed!: () => void;
  #received: (text: string) => void = () => undefined;
  #address: URL | undefined;
  #answered = 0;
  #asked = 0;
  #over = false;

  constructor(end: () => Promise<void>) {
    this.#end = end;
  }

  wire(received: (text: string) => void): Wire {
    this.#received = received;
    const closed = new Promise<void>((resolve) => (this.#closed = resolve));
    const end = (): void => {
      this.#over = true;
      this.#look();
    };
    return { write: (text) => this.#write(text), end, close: () => void this.#close(), closed };
  }

  async connect(url: URL): Promise<void> {
    const response = await fetch(url, { headers: { accept: "text/event-stream" }, signal: this.#stop.signal });
    await new Promise<void>((resolve) => {
      const reading = readEvents(response.body as ReadableStream<Uint8Array>, (data, event) => {
        if (event !== "endpoint") return this.#hear(data);
        this.#address = new URL(data, url);
        return resolve();
      });
      reading.catch(() => undefined);
    });
  }

  #hear(data: string): void {
    if (messageIn(data)["method"] === undefined) this.#answered++;
    this.#received(data);
    this.#look();
  }

  #look(): void {
    if (this.#over && this.#answered >= this.#asked) void this.#close();
  }

  async #close(): Promise<void> {
    await Promise.all(this.#running);
    this.#stop.abort();
    await this.#end();
    this.#closed();
  }

  #write(text: string): void {
    const message = messageIn(text);
    if (message["id"] !== undefined && message["method"] !== undefined) this.#asked++;
    const posting = fetch(this.#address as URL, { method: "POST", headers: TYPES, body: text }).then(
      async (response) => {
        const whole = await response.text();
        // What is no message is answered where it came.
        if (response.status === 400) this.#received(whole);
      },
    );
    this.#running.add(posting);
    void posting.finally(() => this.#running.delete(posting));
  }
}

function messageIn(text: string): Message {
  try {
    return JSON.parse(text) as Message;
  } catch {
    return {};
  }
}
