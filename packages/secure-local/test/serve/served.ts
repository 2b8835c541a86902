// The command `serve` as a process of its own, and requests to it.
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { start } from "../cli/command.js";

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly socketPath?: string;
}

/** One request on a connection of its own. */
export function send(url: string, { method, headers = {}, body, socketPath }: RequestOptions = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = { method: method ?? (body === undefined ? "GET" : "POST"), headers, agent: false as const };
    const request = httpRequest(url, socketPath === undefined ? options : { ...options, socketPath }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    request.on("error", reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

export const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A call of a tool that needs no session, with the headers that belong to it. */
export function toolCall(name: string, args: object, headers: Readonly<Record<string, string>> = {}): RequestOptions {
  const params = { name, arguments: args, _meta: ENVELOPE };
  return {
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params },
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": name,
      ...headers,
    },
  };
}

export interface ServedOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** For several tests: whoever started it ends it. */
  readonly shared?: boolean;
}

/** A server that is ended with its test. */
export class Served {
  readonly child: ChildProcessWithoutNullStreams;
  readonly home: string;
  stdout = "";
  stderr = "";
  readonly #exit: Promise<unknown[]>;

  constructor(args: readonly string[], home: string, { env = {}, shared = false }: ServedOptions = {}) {
    this.home = home;
    const port = args.includes("--socket") || args.includes("--port") ? [] : ["--port", "0"];
    this.child = start(["serve", ...port, ...args], { home, env });
    this.#exit = once(this.child, "close");
    this.child.stdout.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    if (!shared) onTestFinished(() => void this.child.kill("SIGKILL"));
  }

  /** Resolves with the URL it serves at. */
  async ready(): Promise<string> {
    await this.complained("serving at ");
    return /serving at (\S+)/.exec(this.stderr)?.[1] ?? "";
  }

  async complained(text: string): Promise<void> {
    while (!this.stderr.includes(text)) await once(this.child.stderr, "data");
  }

  get tokenFile(): string {
    return join(this.home, ".config", "mcp-secure-local", "token");
  }

  get bearer(): { readonly authorization: string } {
    return { authorization: `Bearer ${readFileSync(this.tokenFile, "utf8").trim()}` };
  }

  async exited(): Promise<number | null> {
    return (await this.#exit)[0] as number | null;
  }

  async end(): Promise<number | null> {
    this.child.kill("SIGTERM");
    return this.exited();
  }
}
