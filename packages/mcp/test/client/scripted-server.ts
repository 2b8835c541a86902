// A server that answers by a script, seen from the client's end of a link: every message, every link that was opened.
import type { Dialer } from "../../src/client/options.js";
import type { Arrival, Transport, MessageSink, Outgoing } from "../../src/jsonrpc/transport.js";
import { LocalError } from "../../src/jsonrpc/errors.js";
import type { JsonObject, RequestId } from "../../src/jsonrpc/message.js";

export type Sent = JsonObject & { readonly id?: RequestId; readonly method?: string; readonly params?: JsonObject };

/** What a script can do about one message, or at any time. */
export interface Talk {
  /** Number of the link the message came on, from 1. */
  readonly link: number;
  answer(result: JsonObject): void;
  fail(error: { code: number; message?: string; data?: unknown }, status?: number): void;
  lost(code: string, status?: number): void;
  say(message: unknown, info?: Arrival): void;
  end(code?: string): void;
}

export type Script = (message: Sent, talk: Talk) => void;

export class StatusFailure extends LocalError {
  readonly status: number | undefined;

  constructor(code: string, status: number | undefined) {
    super(code, `the script says ${code} ${status ?? ""}`);
    this.status = status;
  }
}

export class ScriptedServer {
  /** Everything the client sent, over all links. */
  readonly sent: Sent[] = [];
  readonly outgoing: Outgoing[] = [];
  readonly links: ScriptedLink[] = [];
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  get methods(): string[] {
    return this.sent.map(({ method }) => method ?? "response");
  }

  /** Links that are open now. */
  get open(): number {
    return this.links.filter((link) => !link.isClosed).length;
  }

  dialer(kind = "stdio", extra: Partial<Dialer> = {}): Dialer {
    return { link: () => this.link(kind), ...extra };
  }

  link(kind: string): Transport {
    const link = new ScriptedLink(kind, this.links.length + 1, (message, talk) => {
      this.outgoing.push(message);
      const parsed = JSON.parse(message.text) as Sent;
      this.sent.push(parsed);
      this.#script(parsed, talk(parsed));
    });
    this.links.push(link);
    return link;
  }

  /** Says something on the newest link. */
  say(message: unknown): void {
    this.links.at(-1)?.say(message);
  }
}

type OnSend = (message: Outgoing, talk: (message: Sent) => Talk) => void;

export class ScriptedLink implements Transport {
  readonly kind: string;
  readonly forgotten: RequestId[] = [];
  isClosed = false;
  established_: unknown;
  readonly #number: number;
  readonly #onSend: OnSend;
  #sink: MessageSink | undefined;

  constructor(kind: string, number: number, onSend: OnSend) {
    this.kind = kind;
    this.#number = number;
    this.#onSend = onSend;
  }

  describe(): string {
    return `the scripted ${this.kind} server`;
  }

  start(sink: MessageSink): Promise<void> {
    this.#sink = sink;
    return Promise.resolve();
  }

  send(message: Outgoing): void {
    queueMicrotask(() => {
      if (!this.isClosed) this.#onSend(message, (parsed) => this.#talk(parsed));
    });
  }

  forget(id: RequestId): boolean {
    this.forgotten.push(id);
    return this.kind === "http";
  }

  established(agreement: unknown): void {
    this.established_ = agreement;
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }

  say(message: unknown, info?: Arrival): void {
    void this.#sink?.receive(typeof message === "string" ? message : JSON.stringify(message), info);
  }

  noise(line: string): void {
    this.#sink?.noise(line);
  }

  end(code?: string): void {
    this.isClosed = true;
    this.#sink?.closed(code === undefined ? undefined : new LocalError(code, `the script says ${code}`));
  }

  #talk({ id }: Sent): Talk {
    return {
      link: this.#number,
      answer: (result) => this.say({ jsonrpc: "2.0", id, result }),
      fail: ({ code, message = "no", data }, status) =>
        this.say({ jsonrpc: "2.0", id, error: { code, message, data } }, { status }),
      lost: (code, status) => this.#sink?.lost(id as RequestId, new StatusFailure(code, status)),
      say: (message, info) => this.say(message, info),
      end: (code) => this.end(code),
    };
  }
}

const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

export const DISCOVERED: JsonObject = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: CAPABILITIES,
  ttlMs: 0,
  cacheScope: "private",
  _meta: { "io.modelcontextprotocol/serverInfo": { name: "scripted", version: "1.0.0" } },
};

export function initialized(protocolVersion: string, capabilities: JsonObject = CAPABILITIES): JsonObject {
  return { protocolVersion, capabilities, serverInfo: { name: "scripted", version: "1.0.0" } };
}

/** Serves the handshake in one revision, or discovery, and hands everything else to the script. */
export function serving(revision: string, script: Script): Script {
  return (message, talk) => {
    if (message.method === "initialize") talk.answer(initialized(revision));
    else if (message.method === "server/discover") {
      if (revision === "2026-07-28") talk.answer(DISCOVERED);
      else talk.fail({ code: -32601 });
    } else if (message.method !== "notifications/initialized") script(message, talk);
  };
}

/** A tool's answer of one text. */
export const said = (text: string): JsonObject => ({ content: [{ type: "text", text }] });

/** What a promise is rejected with, by its code. */
export const code = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "resolved",
    (error: { code: unknown }) => error.code,
  );
