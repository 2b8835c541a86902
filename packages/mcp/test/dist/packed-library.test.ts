// The library as it is published: packed, unpacked where npm would put it, and used from there.
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { layOut } from "../../../../scripts/lib/lay-out-package.mjs";
import { pack, subpathsOf } from "../../../../scripts/lib/pack-package.mjs";
import { run } from "../../../../scripts/lib/run-command.mjs";
import { sampled, soaking } from "../support/soak.js";
import { ENTRIES } from "../surface/entries.js";
import { writeClientPrograms } from "./client-programs.js";
import { ChildServer, envelope, type Message } from "./child-server.js";
import { HANDSHAKE, refusesAndServesOn } from "./packed-server.js";
import { writePrograms } from "./programs.js";

const ELICITATION = { elicitation: {} };
const NEWEST = "2025-11-25";
const OLDER = HANDSHAKE.filter((revision) => revision !== NEWEST);
/** In a usual run those in which the packed server held no conversation yet. */
const CONNECTED = soaking ? [...HANDSHAKE, "2026-07-28"] : ["2025-03-26", "2025-06-18", "2026-07-28"];
/** The compiler's own declarations are no work of ours, and its threads and collector cost more than they gain. */
const TSC = soaking ? [] : ["--skipDefaultLibCheck", "--singleThreaded"];

let folder: string;
let subpaths: string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "packed-library-"));
  // npm takes longer to pack than all of these tests together.
  const placed = layOut("packages/mcp", folder);
  const packed = soaking ? await pack("packages/mcp", folder) : placed;
  expect(placed.files.toSorted()).toEqual(packed.files.toSorted());
  await Promise.all([writePrograms(folder), writeClientPrograms(folder)]);
  subpaths = subpathsOf(packed);
});
afterAll(() => rm(folder, { recursive: true }));

const start = (): ChildServer => new ChildServer(["server.mjs"], { cwd: folder });

describe("the packed library", () => {
  it("exports from every subpath what the sources export", async () => {
    const { output, code } = await run(process.execPath, ["names.mjs", ...subpaths], { cwd: folder });
    expect({ code, output }).toMatchObject({ code: 0 });
    const names = JSON.parse(output) as Record<string, string[]>;
    for (const subpath of subpaths) {
      const sources = (await ENTRIES[subpath.replace("@secure-local/mcp", ".")]?.()) ?? {};
      expect(names[subpath]).toEqual(Object.keys(sources).sort());
    }
    const always = ["server", "stdio", "testing", "jsonrpc"].map((name) => `@secure-local/mcp/${name}`);
    expect(subpaths).toEqual(expect.arrayContaining(always));
  });

  it.each(["neutral.json", "node.json"])(
    "has types that somebody's strict program compiles with (%s)",
    async (project) => {
      const done = await run("tsc", ["-p", project, ...TSC], { cwd: folder, env: { GOGC: "off" } });
      expect(done).toMatchObject({ code: 0, output: "" });
    },
  );

  it.each(sampled(OLDER, OLDER.length))("holds a conversation in %s", async (revision) => {
    const server = start();
    await converse(server, revision);
    expect(server.faults(revision)).toEqual([]);
    expect(await server.end()).toBe(0);
  });

  it(`holds a conversation in ${NEWEST}, and checks schemas when tools are registered and when they are called`, async () => {
    const server = start();
    await converse(server, NEWEST);
    const call = async (name: string, args: Message = {}): Promise<Message | undefined> =>
      (await server.ask("tools/call", { name, arguments: args })).result;
    const failures = "BAD_TOOL BAD_TOOL BAD_TOOL BAD_TOOL BAD_RESOURCE BAD_SERVER";
    expect(await call("failures")).toMatchObject({ content: [{ text: failures }] });
    expect(await call("add", { a: "2" })).toMatchObject({ isError: true });
    expect(await call("failures", { extra: 1 })).toMatchObject({ isError: true });
    expect(JSON.stringify(await call("lies"))).not.toContain("a lot");
    expect(await call("chatty")).toMatchObject({ content: [{ text: "quiet" }] });
    expect(JSON.stringify(await call("throws"))).not.toContain("hunter2");
    expect(server.faults(NEWEST)).toEqual([]);
    expect(await server.end()).toBe(0);
  });

  it("holds a conversation in 2026-07-28, and takes no state but its own", async () => {
    const server = start();
    const discovered = await server.ask("server/discover", envelope());
    expect(discovered.result?.["supportedVersions"]).toEqual(expect.arrayContaining(["2026-07-28", "2025-11-25"]));
    const sum = await server.ask("tools/call", { ...envelope(), name: "add", arguments: { a: 2 } });
    expect(sum.result).toMatchObject({ resultType: "complete", structuredContent: { sum: 3 } });
    const call = { ...envelope(ELICITATION), name: "ask", arguments: {} };
    const { result: asked = {} } = await server.ask("tools/call", call);
    const [key = ""] = Object.keys(asked["inputRequests"] as Message);
    const inputResponses = { [key]: { action: "accept", content: { sure: true } } };
    const requestState = String(asked["requestState"]);
    const middle = requestState.length >> 1;
    const swapped = requestState[middle] === "A" ? "B" : "A";
    const forged = requestState.slice(0, middle) + swapped + requestState.slice(middle + 1);
    expect((await server.ask("tools/call", { ...call, requestState: forged, inputResponses })).error?.code).toBe(
      -32602,
    );
    const other = { ...call, name: "add", arguments: { a: 2 }, requestState, inputResponses };
    expect((await server.ask("tools/call", other)).error?.code).toBe(-32602);
    const answered = await server.ask("tools/call", { ...call, requestState, inputResponses });
    expect(answered.result).toMatchObject({ content: [{ text: "true" }] });
    expect(server.faults("2026-07-28")).toEqual([]);
    expect(await server.end()).toBe(0);
  });

  it("connects to itself in every revision over every transport", async () => {
    const { output, code } = await run(process.execPath, ["client.mjs", ...CONNECTED], { cwd: folder });
    // Nobody can be asked before 2025-06-18.
    const asked = (revision: string): string => (revision < "2025-06-18" ? ".*" : " true");
    const lines = [
      ...CONNECTED.map((revision) => `stdio ${revision} 6 {"sum":3}${asked(revision)}`),
      "http 2026-07-28 hello",
      "http 2026-07-28 hello",
      "sse 2025-11-25 hello",
      "memory 2026-07-28 hello",
      "true EXITED",
    ];
    expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(`^${lines.join("\n")}\n$`) });
  });

  it.each([
    [
      "a mistake at registration",
      'import { Server } from "@secure-local/mcp/server";\nnew Server({ name: "a", version: "1" }).tool("x", { input: { type: "strng" }, run: () => "" });',
      'Tool "x": "input" is no schema',
      "dist/server/tools.js",
    ],
    [
      "nobody to connect to",
      'import { connect } from "@secure-local/mcp/client";\nawait connect("http://127.0.0.1:1/mcp");',
      "Could not connect to Streamable HTTP",
      "dist/client/negotiate.js",
    ],
  ])("prints lines a person can read for an error nobody caught: %s", async (_what, program, words, module) => {
    const args = ["--input-type=module", "-e", program];
    const plain = await run(process.execPath, args, { cwd: folder });
    const mapped = await run(process.execPath, ["--enable-source-maps", ...args], { cwd: folder });
    for (const { code, output } of [plain, mapped]) {
      expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining(words) });
      for (const line of output.split("\n")) expect(line.length, line).toBeLessThan(400);
    }
    // With the source maps, a frame names the file that the sources have it in, and the file is there.
    expect(mapped.output).toContain(module);
    expect(existsSync(join(folder, "node_modules/@secure-local/mcp", module))).toBe(true);
  });

  refusesAndServesOn(() => start());
});

async function converse(server: ChildServer, revision: string): Promise<void> {
  const opened = await server.open(revision, ELICITATION);
  expect(opened.result).toMatchObject({ protocolVersion: revision, serverInfo: { name: "packed" } });
  expect((await server.ask("tools/list")).result?.["tools"]).toHaveLength(6);
  const sum = await server.ask("tools/call", { name: "add", arguments: { a: 2 } });
  expect(sum.result).toMatchObject({ isError: false, content: [{ type: "text", text: '{"sum":3}' }] });
  await interview(server, revision >= "2025-06-18");
}

/** Asks the person in revisions that can, and is told what it lacks in those that cannot. */
async function interview(server: ChildServer, can: boolean): Promise<void> {
  const asked = await server.ask("tools/call", { name: "ask", arguments: {} });
  if (!can) {
    expect(asked.result).toMatchObject({ isError: true });
    return;
  }
  expect(asked.method).toBe("elicitation/create");
  const result = { action: "accept", content: { sure: false } };
  server.send(JSON.stringify({ jsonrpc: "2.0", id: asked.id, result }));
  expect((await server.next()).result).toMatchObject({ content: [{ text: "false" }] });
}
