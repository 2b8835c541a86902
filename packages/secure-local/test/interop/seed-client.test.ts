// The test client printed in the seed document 004 talks to the built command, unchanged.
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const SEEDS = join(ROOT, "../shared/seeds");
const COMMAND = join(ROOT, "packages/secure-local/dist/mcp-secure-local.cjs");
const here = existsSync(SEEDS);
if (!here && process.env["CI"]) throw new Error(`The seed documents must be at ${SEEDS} when CI is set`);
if (!here) console.log("skipped: the seed documents (../shared/seeds beside the repository) are not here");

describe.skipIf(!here)("the seed's test client", () => {
  let folder: string;
  let output: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "seed-client-"));
    await writeFile(join(folder, "test-client.js"), printedClient());
    // The client starts a program of this name; this one is ours.
    await writeFile(join(folder, "package.json"), '{ "type": "commonjs" }');
    await writeFile(join(folder, "raw-mcp-server.js"), `import(${JSON.stringify(pathToFileURL(COMMAND).href)});`);
    const env = { ...process.env, MCP_SECURE_LOCAL_AUDIT: join(folder, "audit.log"), MCP_SECURE_LOCAL_POLICY: "" };
    ({ stdout: output } = await promisify(execFile)(process.execPath, ["test-client.js"], { cwd: folder, env }));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("opens a session in the revision it asks for", () => {
    expect(answer(1)["result"]).toMatchObject({
      protocolVersion: "2025-03-26",
      serverInfo: { name: "mcp-secure-local" },
    });
  });

  it("gets what the document prints", () => {
    const { tools } = answer(2)["result"] as { tools: { name: string; description: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["calculate", "get_timestamp"]));
    expect(answer(3)["result"]).toEqual({ content: [{ type: "text", text: "14" }], isError: false });
    const { contents } = answer(4)["result"] as { contents: { uri: string; mimeType: string; text: string }[] };
    expect(contents).toMatchObject([{ uri: "server://info", mimeType: "application/json" }]);
    expect(Object.keys(JSON.parse(contents[0]?.text ?? "{}") as object)).toEqual([
      "server",
      "uptime",
      "memoryUsage",
      "nodeVersion",
      "platform",
      "pid",
    ]);
  });

  it("is told of an unknown tool with the specification's code, not the document's", () => {
    expect(answer(5)["error"]).toMatchObject({ code: -32602, message: expect.stringContaining("nonexistent_tool") });
  });

  it("gets no answer to its notification", () => {
    const answers = messages().filter((message) => !("method" in message));
    // A refusal is one record and an answer two, so on a busy disk they may pass each other.
    expect(answers).toHaveLength(5);
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set([1, 2, 3, 4, 5]));
  });

  /** What the client printed of the messages it got, each with what it sent next behind it. */
  function messages(): Record<string, unknown>[] {
    const printed = output.split(/^<<< /m).slice(1);
    return printed.map((text) => JSON.parse(text.replace(/^>>> [\s\S]*/m, "")) as Record<string, unknown>);
  }

  function answer(id: number): Record<string, unknown> {
    const found = messages().find((one) => one["id"] === id);
    if (found === undefined) throw new Error(`There is no answer to ${id} in\n${output}`);
    return found;
  }
});

/** The listing that starts the server as a child process, up to the words after it. */
function printedClient(): string {
  const name = readdirSync(SEEDS).find((file) => file.startsWith("004_")) ?? "";
  const text = readFileSync(join(SEEDS, name), "utf8");
  const start = text.indexOf('var child_process = require("child_process");');
  return text.slice(start, text.indexOf("Run it and you will see the complete message exchange", start));
}
