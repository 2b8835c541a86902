// What the interoperability tests need of a client, whichever official SDK it is made of and whatever revision it speaks.
import type {
  CallToolResult,
  CompleteRequest,
  CompleteResult,
  GetPromptResult,
  Implementation,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListToolsResult,
  ReadResourceResult,
  ServerCapabilities,
} from "@modelcontextprotocol/client";
import { fileURLToPath } from "node:url";
import { everythingServer } from "../../../../examples/everything/server.mjs";
import { soaking } from "../support/soak.js";
import type { Server } from "../../src/server/server.js";
import { type Answering, specValidator } from "../support/spec-schema.js";

/** The repository's root folder. */
export const ROOT: string = fileURLToPath(new URL("../../../../", import.meta.url));

/** The program to start, and what it is to be told. */
export interface Target {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Makes the same server in this process; then no program is started. */
  readonly here?: () => Server;
}

/** The server with every feature, as the program it is. */
export const EVERYTHING: Target = { args: ["examples/everything/server.mjs"] };
/** The same in this process, where a pipe would add nothing to what is tested; with SOAK=1 the program. */
export const EVERYTHING_HERE: Target = soaking
  ? EVERYTHING
  : { ...EVERYTHING, here: () => everythingServer({ limits: { pageSize: 5 }, report: () => undefined }) };

export interface CallOptions {
  readonly onprogress?: (progress: {
    progress: number;
    total?: number | undefined;
    message?: string | undefined;
  }) => void;
  readonly signal?: AbortSignal;
  /** Lowest level of log messages wanted: a session's level, or the request's own. */
  readonly logLevel?: LogLevel;
}

export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";
export type Params = Readonly<Record<string, unknown>>;

/** What the person, the model and the host behind the client answer; tests replace it. */
export interface Answers {
  elicit(params: Params): Params;
  sample(params: Params): Params;
  roots(): Params;
}

/** The answers of somebody who says no to everything. */
export function refusing(): Answers {
  const refuse = (): never => {
    throw new Error("Nobody expected this question");
  };
  return { elicit: () => ({ action: "decline" }), sample: refuse, roots: refuse };
}

/** Everything a client of any revision can do; where a revision lacks something the SDK's own refusal comes back. */
export interface OfficialClient {
  readonly revision: string;
  readonly server: Implementation | undefined;
  readonly instructions: string | undefined;
  readonly capabilities: ServerCapabilities | undefined;
  readonly arrived: Arrivals;
  readonly tap: Tap;
  answers: Answers;
  call(name: string, args?: Params, options?: CallOptions): Promise<CallToolResult>;
  listTools(): Promise<ListToolsResult>;
  listPrompts(): Promise<ListPromptsResult>;
  listResources(): Promise<ListResourcesResult>;
  listResourceTemplates(): Promise<ListResourceTemplatesResult>;
  readResource(uri: string): Promise<ReadResourceResult>;
  getPrompt(name: string, args?: Record<string, string>): Promise<GetPromptResult>;
  complete(params: CompleteRequest["params"]): Promise<CompleteResult>;
  ping(): Promise<unknown>;
  /** A method of the server's own. */
  custom(method: string, params: Params): Promise<Params>;
  /** Asks for changes of a resource; resolves with what ends it. */
  subscribe(uri: string): Promise<() => Promise<unknown>>;
  /** Asks for changes of all lists; resolves with what ends it. */
  watchLists(): Promise<() => Promise<unknown>>;
  rootsChanged(): Promise<void>;
  close(): Promise<void>;
}

/** What the client declares that it can be asked. */
export const CLIENT_CAPABILITIES = {
  roots: { listChanged: true },
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
};

/** Notifications as the SDK handed them on. */
export class Arrivals {
  readonly all: { readonly method: string; readonly params: Params }[] = [];
  readonly #waiting = new Set<() => void>();

  add(method: string, params: Params = {}): void {
    this.all.push({ method, params });
    for (const look of this.#waiting) look();
  }

  of(method: string): Params[] {
    return this.all.filter((one) => one.method === method).map(({ params }) => params);
  }

  /** Resolves with the params of the first `count` notifications of a method, once there are so many. */
  async several(method: string, count: number): Promise<Params[]> {
    while (this.of(method).length < count) {
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.#waiting.delete(look);
          resolve();
        };
        this.#waiting.add(look);
      });
    }
    return this.of(method).slice(0, count);
  }

  clear(): void {
    this.all.length = 0;
  }
}

type Message = Readonly<Record<string, unknown>>;

/** A transport of either SDK, as far as listening in on it goes. */
interface Tappable {
  send(message: never): Promise<void>;
}

/** Listens in on a transport: what the client sent, and what the official schema says of the server's messages. */
export class Tap {
  readonly #sent = new Map<unknown, string>();
  readonly received: Message[] = [];

  /** `revise` may change what the client sends. */
  constructor(transport: Tappable, revise: (message: Message) => Message = (message) => message) {
    const send = transport.send.bind(transport) as (message: Message, ...rest: unknown[]) => Promise<void>;
    transport.send = (message: Message, ...rest: unknown[]) => {
      const { id, method } = message;
      if (id !== undefined && typeof method === "string") this.#sent.set(id, method);
      return send(revise(message), ...rest);
    };
    // Both SDKs call a listener that is already there before their own.
    Object.assign(transport, { onmessage: (message: Message) => this.received.push(message) });
  }

  /** How often the client has sent a request of this method. */
  sent(method: string): number {
    return [...this.#sent.values()].filter((one) => one === method).length;
  }

  /** Methods of the requests that no answer has come for. */
  unanswered(): string[] {
    const answered = new Set(this.received.filter((one) => !("method" in one)).map(({ id }) => id));
    return [...this.#sent].filter(([id]) => !answered.has(id)).map(([, method]) => method);
  }

  /** What the revision's own schema says against the server's messages. */
  faults(revision: string): string[] {
    const validator = specValidator(revision);
    const answering: Answering = { methodOf: (id) => this.#sent.get(id) };
    return this.received.flatMap((message) =>
      validator.validateServerMessage(message, answering).map((fault) => `${fault} in ${JSON.stringify(message)}`),
    );
  }
}
