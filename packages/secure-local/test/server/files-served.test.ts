// Files through the whole server: which tools and resources a policy offers, the guard and the record, client roots.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import { describe, expect, it, vi } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { SECRET } from "../files/attacked-folder.js";
import { tree, type Tree } from "../files/tree.js";

const REVISIONS = ["2024-11-05", "2025-11-25", "2026-07-28"];
const TOOLS = ["edit_file", "list_directory", "read_file", "search_files", "search_text", "write_file"];

async function serverOf({ inside }: Tree, filesystem = `allowed_paths: ["${inside}/**"]`) {
  const text = `version: "1.0"
filesystem: { ${filesystem} }
tools: { allowed: ["search_files", "search_text", "read_file", "write_file", "edit_file", "list_directory"] }
resources: { allowed: ["file:///*"] }
`;
  const policy = await parsePolicy(text, { file: "policy.yaml" });
  const audit = new MemoryAudit();
  return { audit, secure: new SecureServer({ policy, audit, version: "1.0.0" }) };
}

const uriOf = (path: string): string => `file://${path}`;
const call = (peer: MemoryPeer, name: string, args: object) => peer.request("tools/call", { name, arguments: args });
const namesOf = (list: unknown): string[] => (list as { name: string }[]).map(({ name }) => name).toSorted();

describe.each(REVISIONS)("in revision %s", (revision) => {
  it("offers and serves file tools with data, and records what is denied with its rule", async () => {
    const t = tree();
    const { audit, secure } = await serverOf(t);
    const peer = await connectInMemory(secure.server, { revision });
    expect(namesOf((await peer.request("tools/list"))["tools"])).toEqual(TOOLS);
    const path = t.put("a.txt", "hello");
    const read = await call(peer, "read_file", { path });
    expect(read).toMatchObject({ isError: false });
    // An older client, which has no place for data, gets the text once and not the data behind it.
    expect(read["content"]).toEqual([{ type: "text", text: "hello" }]);
    if (revision > "2025-06") expect(read).toMatchObject({ structuredContent: { path, text: "hello", totalLines: 1 } });
    const denied = await call(peer, "read_file", { path: `${t.outside}/secret.txt` });
    expect(JSON.stringify(denied)).not.toContain(SECRET);
    expect(denied).toMatchObject({ isError: true });
    expect(audit.records().at(-1)).toMatchObject({
      kind: "call.result",
      outcome: "denied",
      detail: { rule: "default deny" },
    });
    // The newest revision sends such messages to those who ask for them.
    if (revision < "2026") {
      const notes = peer.messages.filter(({ method }) => method === "notifications/message");
      const data = { event: "denied", tool: "read_file", rule: "default deny" };
      expect(notes).toMatchObject([{ params: { level: "warning", logger: "guard", data } }]);
    }
    await peer.close();
  });

  it("reads files and folders as resources, completes their paths, and denies before it looks", async () => {
    const t = tree();
    const { audit, secure } = await serverOf(t);
    const peer = await connectInMemory(secure.server, { revision });
    const path = t.put("sub/notes & more.md", "# Notes");
    t.put("sub/data.bin", new Uint8Array([0, 255]));
    const read = async (uri: string) => (await peer.request("resources/read", { uri }))["contents"];
    const uri = uriOf(encodeURI(path));
    expect(await read(uri)).toEqual([{ uri, mimeType: "text/markdown", text: "# Notes" }]);
    expect(await read(uriOf(`${t.inside}/sub/data.bin`))).toMatchObject([
      { mimeType: "application/octet-stream", blob: "AP8=" },
    ]);
    expect(await read(uriOf(t.inside))).toMatchObject([{ mimeType: "inode/directory", text: "secret.txt\nsub/" }]);
    const listed = (await peer.request("resources/list"))["resources"];
    expect(listed).toMatchObject([{ uri: uriOf(t.inside), mimeType: "inode/directory" }]);
    const templates = (await peer.request("resources/templates/list"))["resourceTemplates"];
    expect(templates).toMatchObject([{ uriTemplate: "file:///{+path}" }]);
    const ref = { type: "ref/resource", uri: "file:///{+path}" };
    const complete = async (value: string) =>
      (await peer.request("completion/complete", { ref, argument: { name: "path", value } }))["completion"];
    const typed = t.inside.slice(1);
    expect(await complete(`${typed}/s`)).toMatchObject({ values: [`${typed}/secret.txt`, `${typed}/sub/`], total: 2 });
    expect(await complete(typed.slice(0, -2))).toMatchObject({ values: [`${typed}/`] });
    for (const value of [`${t.outside.slice(1)}/`, "etc/", "../", "\0", `${typed}/../outside/`]) {
      expect(await complete(value)).toMatchObject({ values: [] });
    }
    t.put(".env", SECRET);
    const refused = [
      ...[
        `${t.outside}/secret.txt`,
        `${t.outside}/absent.txt`,
        `${t.inside}/.env`,
        `${t.inside}/%2e%2e/outside/secret.txt`,
      ],
      ...[
        `${t.inside}/..%2foutside%2fsecret.txt`,
        `${t.inside}/../outside/secret.txt`,
        `${t.inside}/x%00`,
        "/%ff",
        "/etc/passwd",
      ],
    ];
    for (const outside of refused) {
      await expect(read(uriOf(outside))).rejects.toMatchObject({ code: -32602 });
      expect(audit.records().at(-1)).toMatchObject({ kind: "denied", outcome: "denied" });
    }
    await expect(read(`file://evil.example${path}`)).rejects.toMatchObject({ code: -32602 });
    await expect(read(uriOf(`${t.inside}/none.txt`))).rejects.toThrow(/not found/i);
    await peer.close();
  });
});

it("lists a tool only where the policy leaves it something to work on, and says what is missing", async () => {
  const t = tree();
  const nothing = await serverOf(t, "allowed_paths: []");
  const peer = await connectInMemory(nothing.secure.server, { revision: "2025-11-25" });
  expect((await peer.request("tools/list"))["tools"]).toEqual([]);
  expect((await peer.request("resources/templates/list"))["resourceTemplates"]).toEqual([]);
  const denied = await call(peer, "read_file", { path: "/x" });
  expect(JSON.stringify(denied)).toContain("add folders to filesystem.allowed_paths");
  expect(nothing.audit.records()).toMatchObject([{ kind: "denied", tool: "read_file" }]);
  const reading = await serverOf(t, `readable_paths: ["${t.inside}/**"]`);
  expect(reading.secure.tools().map(({ name }) => name)).toEqual([
    "read_file",
    "list_directory",
    "search_files",
    "search_text",
  ]);
});

it.each(["2025-11-25", "2026-07-28"])("narrows files to the client's roots in revision %s", async (revision) => {
  const t = tree();
  const { secure } = await serverOf(t);
  const shared = t.put("shared/a.txt", "shared");
  const other = t.put("other/a.txt", "not shared");
  const roots = { roots: [{ uri: uriOf(join(t.inside, "shared")) }, { uri: uriOf(t.outside) }] };
  const peer = await connectInMemory(secure.server, {
    revision,
    capabilities: { roots: {} },
    answer: { "roots/list": () => roots },
  });
  /** In the stateless era the question comes as a result, and the answer with a second request. */
  const asked = async (method: string, params: Record<string, unknown>) => {
    const first = await peer.request(method, params);
    if (first["resultType"] !== "input_required") return first;
    const keys = Object.keys(first["inputRequests"] as object);
    const inputResponses = Object.fromEntries(keys.map((key) => [key, roots]));
    return peer.request(method, { ...params, inputResponses, requestState: first["requestState"] });
  };
  const read = (path: string) => asked("tools/call", { name: "read_file", arguments: { path } });
  expect(await read(shared)).toMatchObject({ isError: false });
  const denied = await read(other);
  expect(denied).toMatchObject({ isError: true });
  expect(JSON.stringify(denied)).toContain("outside the folders the client shares");
  const complete = (value: string) =>
    peer.request("completion/complete", {
      ref: { type: "ref/resource", uri: "file:///{+path}" },
      argument: { name: "path", value },
    });
  const { values } = (await complete(`${t.inside.slice(1)}/`))["completion"] as { values: string[] };
  const narrowed = [`${t.inside.slice(1)}/shared/`];
  // Without a session there is no way to ask for roots while completing.
  expect(values).toEqual(revision.startsWith("2025") ? narrowed : expect.arrayContaining(narrowed));
  await expect(asked("resources/read", { uri: uriOf(other) })).rejects.toMatchObject({ code: -32602 });
  await peer.close();
});

it("tells subscribers of a file that changed, and nobody of files that are denied", async () => {
  const t = tree();
  const { secure } = await serverOf(t);
  const path = t.put("watched.txt", "1");
  const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
  await peer.request("resources/subscribe", { uri: uriOf(path) });
  await expect(peer.request("resources/subscribe", { uri: uriOf(`${t.outside}/secret.txt`) })).rejects.toMatchObject({
    code: -32602,
  });
  const heard = (): boolean => peer.messages.some(({ method }) => method === "notifications/resources/updated");
  await vi.waitUntil(() => (writeFileSync(path, String(performance.now())), heard()), { timeout: 10_000 });
  await peer.request("resources/unsubscribe", { uri: uriOf(path) });
  await peer.close();
});

it("are read where the policy allows a beginning of their URIs, though no list has a template of all files", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "beginnings-")));
  mkdirSync(join(folder, "open"));
  for (const name of ["open/a.txt", "b.txt"]) writeFileSync(join(folder, name), "text");
  const text = (allowed: string): string => `version: "1.0"
resources: { allowed: ["${allowed}"] }
filesystem: { readable_paths: ["${folder}/**"] }`;
  const load = (allowed: string) => parsePolicy(text(allowed), { file: "policy.yaml" });
  const secure = new SecureServer({
    policy: await load(`file://${folder}/open/*`),
    audit: new MemoryAudit(),
    version: "1",
  });
  const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
  const templates = async () => (await peer.request("resources/templates/list"))["resourceTemplates"];
  const read = (name: string) => peer.request("resources/read", { uri: `file://${folder}/${name}` });
  expect(await templates()).toEqual([]);
  expect(await read("open/a.txt")).toMatchObject({ contents: [{ text: "text" }] });
  await expect(read("b.txt")).rejects.toThrow("Denied");
  secure.reload(await load("file:///*"));
  expect(await templates()).toMatchObject([{ uriTemplate: "file:///{+path}" }]);
  expect(await read("b.txt")).toMatchObject({ contents: [{ text: "text" }] });
  secure.reload(await load(`file://${folder}/open/*`));
  expect(await templates()).toEqual([]);
  await peer.close();
  rmSync(folder, { recursive: true, force: true });
});

it("count against the rate of the tool that reads the same, whichever way they are read", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "rates-")));
  writeFileSync(join(folder, "a.txt"), "text");
  const text = `version: "1.0"
tools: { allowed: [read_file], rate_limits: { default: 50, read_file: 4 } }
resources: { allowed: ["file:///*", "server://info"] }
filesystem: { readable_paths: ["${folder}/**"] }`;
  const policy = await parsePolicy(text, { file: "policy.yaml" });
  const secure = new SecureServer({ policy, audit: new MemoryAudit(), version: "1" });
  const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
  const read = (uri: string) => peer.request("resources/read", { uri });
  const file = `file://${folder}/a.txt`;
  for (let count = 0; count < 2; count += 1) {
    expect(await call(peer, "read_file", { path: `${folder}/a.txt` })).not.toHaveProperty("isError", true);
    expect(await read(file)).toMatchObject({ contents: [{ text: "text" }] });
  }
  await expect(read(file)).rejects.toThrow(/at most 4 a minute.*tools\.rate_limits\.read_file/);
  expect(JSON.stringify(await call(peer, "read_file", { path: `${folder}/a.txt` }))).toContain("rate_limits.read_file");
  for (let count = 0; count < 60; count += 1) expect(await read("server://info")).toHaveProperty("contents");
  await peer.close();
  rmSync(folder, { recursive: true, force: true });
});
