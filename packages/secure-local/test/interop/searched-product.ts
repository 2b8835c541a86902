// The built product with a policy of its own and a search service on this machine.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startSearchStandIn } from "../../../../scripts/lib/search-stand-in.mjs";
import type { Target } from "../../../mcp/test/interop/official-client.js";

/** The search for these words is never answered. */
export const HELD = "hold the line";

export interface SearchedProduct {
  readonly target: Target;
  readonly auditFile: string;
  /** Resolves when the held search has arrived. */
  held(): Promise<void>;
  /** Resolves when the held search was given up by who asked. */
  released(): Promise<void>;
  /** Writes a policy that allows these tools. */
  allow(tools: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

export const TOOLS: readonly string[] = ["calculate", "get_timestamp", "web_search"];

/** Starts the service and writes the policy; the product itself is started by whoever connects. */
export async function searchedProduct(): Promise<SearchedProduct> {
  const folder = await mkdtemp(join(tmpdir(), "product-"));
  const policy = join(folder, "policy.yaml");
  const auditFile = join(folder, "audit.log");
  const log = join(folder, "app.log");
  const service = await startSearchStandIn();
  const gate = await startGate(service.searxngUrl);
  const allow = (tools: readonly string[]): Promise<void> => writeFile(policy, policyText({ gate, tools, log }));
  await allow(TOOLS);
  await writeFile(log, `${new Date().toISOString()} ERROR the database is away\n`);
  return {
    target: {
      args: ["packages/secure-local/dist/mcp-secure-local.cjs", "--policy", policy, "--audit", auditFile],
    },
    auditFile,
    held: () => gate.held,
    released: () => gate.released,
    allow,
    async close() {
      await Promise.all([gate.close(), service.close()]);
      await rm(folder, { recursive: true });
    },
  };
}

interface Gate {
  readonly port: number;
  readonly held: Promise<void>;
  readonly released: Promise<void>;
  close(): Promise<void>;
}

/** Stands before the search service and holds back the one search. */
async function startGate(service: string): Promise<Gate> {
  const [held, hold] = moment();
  const [released, release] = moment();
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const body = await textOf(request);
    const url = new URL(request.url ?? "/", service);
    if ((url.searchParams.get("q") ?? new URLSearchParams(body).get("q")) === HELD) {
      response.on("close", release);
      return hold();
    }
    const headers = { "content-type": request.headers["content-type"] ?? "text/plain" };
    const { method = "GET" } = request;
    const answer = await fetch(url, { method, headers, ...(method === "POST" ? { body } : {}) });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
    response.end(await answer.text());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { port: (server.address() as AddressInfo).port, held, released, close };
}

/** Something that happens once: a promise of it, and what makes it happen. */
function moment(): [Promise<void>, () => void] {
  let happen = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    happen = resolve;
  });
  return [promise, happen];
}

async function textOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  return body;
}

function policyText({ gate, tools, log }: { gate: Gate; tools: readonly string[]; log: string }): string {
  return `version: "1.0"
network:
  allowed_endpoints:
    - { host: "127.0.0.1", ports: [${gate.port}] }
  allowed_ranges: ["127.0.0.1/32"]
tools:
  allowed: ${JSON.stringify(tools)}
  web_search: { endpoint: "http://127.0.0.1:${gate.port}/html/" }
resources:
  allowed: ["server://info"]
prompts:
  allowed: ["code_review", "analyze_logs"]
  analyze_logs: { log_file: ${JSON.stringify(log)} }
`;
}
