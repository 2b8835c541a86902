// Who asks running processes to end a server is told which did it, and which gave no answer: those may do it yet.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { controlServer } from "../../src/control/control-client.js";

const POLICY = "/srv/policy.yaml";
/** How a process is to what it is asked, after it has told its state: `silent` closes the connection. */
type Manner = "true" | "false" | "silent" | "other policy" | "no state";

describe.skipIf(process.platform === "win32")("servers asked to end one of theirs", () => {
  let folder: string;
  let servers: Server[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "controlled-"));
    servers = [];
  });

  afterEach(async () => {
    await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
    rmSync(folder, { recursive: true, force: true });
  });

  async function runs(pid: number, manner: Manner): Promise<void> {
    const file = manner === "other policy" ? "/srv/other.yaml" : POLICY;
    const state = { pid, auditFile: "/log", policy: { file, hash: "" }, plugins: [], tools: [] };
    const server = createServer((peer) => {
      peer.on("error", () => undefined);
      peer.once("data", (line) => {
        const isState = String(line).includes('"state"');
        if (manner === "no state" || (!isState && manner === "silent")) return void peer.destroy();
        peer.end(`${JSON.stringify({ answer: isState ? state : manner === "true" })}\n`);
      });
    });
    servers.push(server);
    await new Promise<void>((done) => server.listen(join(folder, `${pid}-ab.run`), done));
  }

  it.each([
    [[], { done: [], unanswered: [] }],
    [["true"], { done: [1], unanswered: [] }],
    [["false", "other policy"], { done: [], unanswered: [] }],
    [["silent"], { done: [], unanswered: [1] }],
    [["no state", "true"], { done: [2], unanswered: [1] }],
    [["true", "silent", "other policy", "true"], { done: [1, 4], unanswered: [2] }],
  ] as [Manner[], object][])("%j", async (manners, said) => {
    for (const [index, manner] of manners.entries()) await runs(index + 1, manner);
    expect(await controlServer(folder, { ask: "stop", policy: POLICY, server: "memory" })).toEqual(said);
  });
});
