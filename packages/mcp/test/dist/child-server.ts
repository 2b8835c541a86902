// A server in a process of its own, spoken to line by line, with the official schema listening in.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { specValidator } from "../support/spec-schema.js";

export type Message = Record<string, unknown>;

export interface Answer {
  readonly method?: string;
  readonly id?: string | number | null;
  readonly result?: Message;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** A child process that serves stdio. Every line it writes must be a message. */
export class ChildServer {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  readonly #methods = new Map<unknown, string>();
  readonly #wrote: Message[] = [];
  #ids = 0;

  constructor(args: readonly string[], options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {}) {
    this.#child = spawn(process.execPath, [...args], { ...options, stdio: "pipe" });
    this.#child.stderr.resume();
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** Sends a request and resolves with what comes back: its answer, or a question that has to be answered first. */
  async ask(method: string, params?: Message): Promise<Answer> {
    const id = ++this.#ids;
    this.#methods.set(id, method);
    this.send(JSON.stringify({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) }));
    return this.next();
  }

  /** Opens a session. */
  async open(protocolVersion: string, capabilities: Message = {}): Promise<Answer> {
    const clientInfo = { name: "dist-test", version: "1.0.0" };
    const opened = await this.ask("initialize", { protocolVersion, capabilities, clientInfo });
    this.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    return opened;
  }

  /** Sends a line as it is. */
  send(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  /** The next message that is no notification. */
  async next(): Promise<Answer> {
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done === true) throw new Error("The server has gone");
      const message = JSON.parse(value) as Message;
      this.#wrote.push(message);
      if (!("method" in message) || "id" in message) return message;
    }
  }

  /** What the revision's own schema says against everything the server wrote. */
  faults(revision: string): string[] {
    const validator = specValidator(revision);
    const methodOf = (id: unknown): string | undefined => this.#methods.get(id);
    return this.#wrote.flatMap((message) => validator.validateServerMessage(message, { methodOf }));
  }

  /** Ends the input; resolves with the exit code. */
  async end(): Promise<number | null> {
    const closed = once(this.#child, "close") as Promise<[number | null]>;
    this.#child.stdin.end();
    const [code] = await closed;
    return code;
  }
}

/** What a client of the stateless era says of itself in each request. */
export function envelope(capabilities: Message = {}): { readonly _meta: Message } {
  return {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    },
  };
}

/** Lines that every server refuses, and how: one that forgets to would have lost a check on the way through the build. */
export const REFUSED: readonly { readonly name: string; readonly line: () => string; readonly code: number }[] = [
  { name: "no JSON", code: -32700, line: () => '{"jsonrpc":"2.0","id":90,' },
  {
    name: "a duplicate key",
    code: -32600,
    line: () => '{"jsonrpc":"2.0","id":91,"method":"tools/call","params":{"name":"a","name":"b"}}',
  },
  {
    name: "__proto__ as a key",
    code: -32600,
    line: () => '{"jsonrpc":"2.0","id":92,"method":"tools/call","params":{"name":"a","__proto__":{"admin":true}}}',
  },
  {
    name: "nesting without end",
    code: -32600,
    line: () =>
      `{"jsonrpc":"2.0","id":93,"method":"tools/call","params":{"a":${"[".repeat(5_000)}${"]".repeat(5_000)}}}`,
  },
  {
    name: "a line over the limit",
    code: -32600,
    line: () => `{"jsonrpc":"2.0","id":94,"method":"tools/call","params":{"a":"${"x".repeat(5_000_000)}"}}`,
  },
  { name: "an empty batch", code: -32600, line: () => "[]" },
  { name: "a fractional id", code: -32600, line: () => '{"jsonrpc":"2.0","id":1.5,"method":"ping"}' },
];
