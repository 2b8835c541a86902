// The client with the official test server, as it is published: a program over stdio, Streamable HTTP and HTTP+SSE.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Client } from "../../src/client/client.js";
import { connect, type NodeConnectTarget } from "../../src/serve/connect-node.js";
import { FOUND, HANDSHAKE, someOf, WHOLE, withClient } from "./cells.js";
import { ANSWERING, texts } from "./features.js";
import { type ListeningProgram, listeningProgram } from "./listening-program.js";

const PROGRAM = join(
  dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/package.json")),
  "dist/index.js",
);
const ANSWERING_ALL = {
  ...ANSWERING,
  capabilities: { elicitation: { form: {}, url: {} } },
  elicit: ({ mode }: { mode?: string }) =>
    mode === "url"
      ? ({ action: "accept" } as const)
      : ({ action: "accept", content: { name: "Ada", interpretation: "technical" } } as const),
};

const PARTS: Readonly<Record<string, (client: Client) => Promise<void>>> = {
  async tools(client) {
    await vi.waitFor(
      async () => {
        const names = (await client.tools().all()).map(({ name }) => name);
        expect(names).toEqual(expect.arrayContaining(["echo", "get-roots-list", "trigger-sampling-request"]));
      },
      { timeout: 10_000 },
    );
    expect(texts(await client.call("echo", { message: "hi" }))).toBe("Echo: hi");
    expect(texts(await client.call("get-sum", { a: 1, b: 2 }))).toContain("3");
    expect(await client.call("get-sum", { a: "one" })).toMatchObject({ isError: true });
    const { structuredContent } = await client.call("get-structured-content", { location: "Chicago" });
    if (client.revision >= "2025-06-18") expect(structuredContent).toMatchObject({ humidity: expect.any(Number) });
  },
  async content(client) {
    const image = await client.call("get-tiny-image");
    expect(image.content.map(({ type }) => type)).toEqual(["text", "image", "text"]);
    const annotated = await client.call("get-annotated-message", { messageType: "error", includeImage: true });
    expect(annotated.content[0]).toMatchObject({ annotations: { priority: 1 } });
    const links = await client.call("get-resource-links", { count: 2 });
    expect(links.content.map(({ type }) => type)).toEqual(["text", "resource_link", "resource_link"]);
    const reference = await client.call("get-resource-reference", { resourceType: "Blob", resourceId: 1 });
    expect(reference.content[1]).toMatchObject({ type: "resource", resource: { blob: expect.any(String) } });
    const data = "data:text/plain,hello";
    const zipped = await client.call("gzip-file-as-resource", { name: "h.gz", data, outputType: "resourceLink" });
    expect(zipped.content[0]).toMatchObject({ type: "resource_link", mimeType: "application/gzip" });
  },
  async progress(client) {
    const seen: number[] = [];
    const options = { onProgress: ({ progress }: { progress: number }) => seen.push(progress) };
    await client.call("trigger-long-running-operation", { duration: 0.02, steps: 2 }, options);
    expect(seen).toEqual([1, 2]);
  },
  async asking(client) {
    expect(texts(await client.call("trigger-sampling-request", { prompt: "Capital?" }))).toContain("Paris");
    expect(texts(await client.call("get-roots-list"))).toContain("file:///home/ada");
    if (client.revision < "2025-06-18") return;
    expect(texts(await client.call("trigger-elicitation-request"))).toContain("Name: Ada");
    if (client.revision < "2025-11-25") return;
    const asked = await client.call("trigger-url-elicitation", { url: "https://example.com/", message: "Look" });
    expect(texts(asked)).toContain("accept");
  },
  async resources(client) {
    const [first] = await client.resources().all();
    const { contents } = await client.read((first as { uri: string }).uri);
    expect(contents[0]).toMatchObject({ uri: (first as { uri: string }).uri, text: expect.any(String) });
    const [template] = await client.resourceTemplates().all();
    expect(template?.uriTemplate).toContain("demo://resource/dynamic/");
    const dynamic = await client.read("demo://resource/dynamic/blob/{resourceId}", { resourceId: "7" });
    expect(dynamic.contents[0]).toMatchObject({ uri: "demo://resource/dynamic/blob/7", blob: expect.any(String) });
  },
  async prompts(client) {
    expect((await client.prompts().all()).length).toBe(4);
    const { messages } = await client.prompt("args-prompt", { city: "Paris" });
    expect(JSON.stringify(messages)).toContain("Paris");
    const embedded = await client.prompt("resource-prompt", { resourceType: "Text", resourceId: "1" });
    expect(embedded.messages.at(-1)?.content).toMatchObject({ type: "resource" });
    const ref = { type: "ref/prompt", name: "completable-prompt" } as const;
    expect((await client.complete(ref, { name: "department", value: "S" })).values).toEqual(["Sales", "Support"]);
    if (client.revision < "2025-06-18") return;
    const context = { context: { department: "Sales" } };
    expect((await client.complete(ref, { name: "name", value: "D" }, context)).values).toEqual(["David"]);
  },
  async news(client) {
    await client.setLogLevel("debug");
    await client.call("toggle-simulated-logging");
    await vi.waitFor(() => expect(client.logs.length).toBeGreaterThan(0), { timeout: 10_000 });
    await client.call("toggle-simulated-logging");
    const uri = "demo://resource/dynamic/text/1";
    const watched = client.subscribe({ resources: [uri] });
    await watched.ready;
    await client.call("toggle-subscriber-updates");
    for await (const change of watched) {
      expect(change).toMatchObject({ kind: "resource", uri });
      break;
    }
    await client.call("toggle-subscriber-updates");
  },
  // Takes it four seconds, which it waits for nothing.
  async tasks(client) {
    if (!WHOLE || client.revision < "2025-11-25") return;
    const task = await client.callTask("simulate-research-query", { topic: "python", ambiguous: true });
    expect(texts(await task.result())).toContain("Research Report: python (technical");
  },
};

function cells(transport: string, target: () => NodeConnectTarget, pins: readonly string[]): void {
  describe(`server-everything 2026.8.31 over ${transport}`, () => {
    it.each(pins)("%s", async (pin) => {
      const options = pin === FOUND ? ANSWERING_ALL : { ...ANSWERING_ALL, revision: pin };
      await withClient(await connect(target(), options), async (client) => {
        expect([client.revision, client.transport]).toEqual([pin === FOUND ? "2025-11-25" : pin, transport]);
        for (const part of Object.values(PARTS)) await part(client);
      });
    });
  });
}

const PINS = [FOUND, ...HANDSHAKE];
cells("stdio", () => ({ command: process.execPath, args: [PROGRAM, "stdio"] }), someOf(PINS, FOUND));

// Each costs a program of half a second, made of the classes that the rows of SDK v1 show every time.
const LISTENING = [
  { kind: "http", mode: "streamableHttp", path: "/mcp" },
  { kind: "sse", mode: "sse", path: "/sse" },
];

describe.each(WHOLE ? LISTENING : [])("listening", ({ kind, mode, path }) => {
  let running: ListeningProgram;
  beforeAll(async () => {
    running = await listeningProgram([PROGRAM, mode], { PORT: "0" });
  });
  afterAll(() => running.close());
  cells(kind, () => `${running.origin}${path}`, PINS);
});
