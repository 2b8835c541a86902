// The client with a server on fastmcp, where that is installed: `npm run matrix -- --fastmcp` does so for its own time.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe } from "vitest";
import { HANDSHAKE, row } from "./cells.js";
import { allBut } from "./features.js";
import { type ListeningProgram, listeningProgram } from "./listening-program.js";

const FOLDER = process.env["MCP_MATRIX_FASTMCP"];
const PROGRAM = join(FOLDER ?? "", "server.mjs");
const about = {
  server: "fastmcp 4.20.16",
  newest: "2025-11-25",
  revisions: HANDSHAKE,
  features: () => allBut("logging", "cancelling", "elicitation", "sampling", "roots", "updates", "changes"),
} as const;

describe.skipIf(FOLDER === undefined)("where it is installed", () => {
  const running: ListeningProgram[] = [];
  beforeAll(async () => {
    copyFileSync(fileURLToPath(new URL("servers/fastmcp.mjs", import.meta.url)), PROGRAM);
    running.push(await listeningProgram([PROGRAM, "http"], {}), await listeningProgram([PROGRAM, "alone"], {}));
  });
  afterAll(() => Promise.all(running.map(({ close }) => close())));
  const origin = (index: number): string => (running[index] as ListeningProgram).origin;

  row({ ...about, transport: "stdio", kind: "stdio" }, () => ({ command: process.execPath, args: [PROGRAM, "stdio"] }));
  row({ ...about, transport: "http", kind: "http" }, () => `${origin(0)}/mcp`);
  row({ ...about, transport: "http, no session", kind: "http" }, () => `${origin(1)}/mcp`);
  row({ ...about, transport: "sse", kind: "sse" }, () => `${origin(0)}/sse`);
});
