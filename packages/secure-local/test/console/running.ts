// A server and a console as processes of their own, and requests to the console as its page makes them.
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import type { StreamLine } from "@secure-local/console/api";
import { RawClient, start } from "../cli/command.js";
import { type Reply, type RequestOptions, send } from "../serve/served.js";

const POLICY = `version: "1.0"
filesystem:
  allowed_paths: ["NOTES/**"]
tools:
  allowed: [read_file, write_file, calculate]
approvals:
  - approve: [write_file]
    timeout: 60
    answer_by: [terminal]
`;

interface Settings {
  /** `NOTES` in it is the folder `notes`. */
  readonly policy?: string;
  /** Records that are in the log before the console is started. */
  readonly records?: number;
  /** Writes what has to be there before anything is started. @returns variables for all that is started */
  readonly prepare?: (home: string, notes: string) => Readonly<Record<string, string>>;
}

/** A console, the server that it watches, and the folder with all that is theirs. */
export class Watched {
  readonly home: string;
  readonly notes: string;
  readonly policy: string;
  console: ChildProcessWithoutNullStreams;
  client!: RawClient;
  origin = "";
  code = "";
  cookie = "";
  key = "";
  stderr = "";
  #lines: AsyncIterator<string>;

  readonly #env: Readonly<Record<string, string>>;

  private constructor({ policy = POLICY, records = 0, prepare }: Settings) {
    this.home = realpathSync(mkdtempSync(join(tmpdir(), "console-")));
    this.notes = join(this.home, "notes");
    mkdirSync(this.notes);
    this.policy = join(this.home, "policy.yaml");
    writeFileSync(this.policy, policy.replaceAll("NOTES", this.notes), { mode: 0o600 });
    if (records > 0) this.#writeLog(records);
    this.#env = prepare?.(this.home, this.notes) ?? {};
    [this.console, this.#lines] = this.#start("0");
  }

  #start(port: string): [ChildProcessWithoutNullStreams, AsyncIterator<string>] {
    const child = start(["console", "--policy", this.policy, "--port", port], { home: this.home, env: this.#env });
    child.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    return [child, createInterface({ input: child.stdout })[Symbol.asyncIterator]()];
  }

  /** A log of calls that ended well, each of two records. */
  #writeLog(records: number): void {
    const folder = join(this.home, "state/mcp-secure-local");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const time = new Date().toISOString();
    const lines = Array.from({ length: records }, (_, index) => {
      const call = { seq: index + 1, time, id: index >> 1, connection: 1, method: "tools/call", tool: "calculate" };
      const more =
        index % 2 === 0
          ? { kind: "call.intent", arguments: { expression: `${index}+1` } }
          : { kind: "call.result", outcome: "ok", duration_ms: 1 };
      return JSON.stringify({ ...call, ...more });
    });
    writeFileSync(join(folder, "audit.log"), `${lines.join("\n")}\n`, { mode: 0o600 });
  }

  /** Started, and signed in unless said otherwise. */
  static async start({
    signedIn = true,
    ...settings
  }: Settings & { readonly signedIn?: boolean } = {}): Promise<Watched> {
    const watched = new Watched(settings);
    watched.code = await watched.nextCode();
    if (signedIn) await watched.signIn();
    return watched;
  }

  /** The code of the next address that is printed. */
  async nextCode(): Promise<string> {
    const { value } = await this.#lines.next();
    const url = new URL(String(value));
    this.origin = url.origin;
    return new URLSearchParams(url.hash.slice(1)).get("code") ?? "";
  }

  /** Asks for another address, as a person does. */
  anotherCode(): Promise<string> {
    this.console.stdin.write("\n");
    return this.nextCode();
  }

  /** Starts another console at the address of the one that ended. */
  async restart(): Promise<void> {
    [this.console, this.#lines] = this.#start(new URL(this.origin).port);
    this.code = await this.nextCode();
  }

  async signIn(): Promise<void> {
    const { headers, text } = await this.post("/api/sign-in", { code: this.code });
    this.cookie = String(headers["set-cookie"]).split(";")[0] ?? "";
    this.key = (JSON.parse(text) as { key: string }).key;
  }

  /** Starts a server with its client, and waits until the console can see it. */
  async serve(): Promise<RawClient> {
    this.client = new RawClient(["--policy", this.policy], { home: this.home, env: this.#env });
    await this.client.open();
    return this.client;
  }

  get headers(): Record<string, string> {
    const { cookie, key, origin } = this;
    return { ...(cookie === "" ? {} : { cookie, "x-console-key": key }), origin, "sec-fetch-site": "same-origin" };
  }

  get(path: string, options: RequestOptions = {}): Promise<Reply> {
    return send(`${this.origin}${path}`, { ...options, headers: { ...this.headers, ...options.headers } });
  }

  post(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return send(`${this.origin}${path}`, {
      body,
      headers: { ...this.headers, "content-type": "application/json", ...headers },
    });
  }

  /** The lines of the stream, until `enough` says so; parsed. */
  async stream(enough: (lines: readonly StreamLine[]) => boolean, cursor?: number): Promise<StreamLine[]> {
    const over = new AbortController();
    const path = cursor === undefined ? "/api/stream" : `/api/stream?cursor=${cursor}`;
    const { cookie, key } = this;
    const response = await fetch(`${this.origin}${path}`, {
      headers: { cookie, "x-console-key": key },
      signal: over.signal,
    });
    const lines: StreamLine[] = [];
    let rest = "";
    const decoder = new TextDecoder();
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      const parts = (rest + decoder.decode(piece, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      lines.push(...parts.map((part) => JSON.parse(part) as StreamLine));
      if (enough(lines)) break;
    }
    over.abort();
    return lines;
  }

  async end(): Promise<void> {
    this.client?.child.kill("SIGKILL");
    this.console.kill("SIGINT");
    if (this.console.exitCode === null && this.console.signalCode === null) await once(this.console, "close");
    await removeFolder(this.home);
  }
}

/** Half a minute: a busy machine ends what was killed late. */
const REMOVALS = 600;

/**
 * Removes a folder that programs were started in. What a program that was killed has started ends a moment after it, and may
 * write until then: a file that comes after the folder was listed is removed by the next try. `maxRetries` of Node does not
 * list again.
 */
export async function removeFolder(folder: string): Promise<void> {
  for (let tries = 1; ; tries += 1)
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if (tries === REMOVALS) throw error;
      await setTimeout(50);
    }
}
