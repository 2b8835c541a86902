// What the client can do with a server, one function a feature: each uses it once and fails unless it works.
import { expect } from "vitest";
import type { Client } from "../../src/client/client.js";
import { LocalError } from "../../src/jsonrpc/errors.js";
import type { ClientOptions } from "../../src/client/options.js";

/** Tools, resources and prompts by the names that all servers of these tests use. */
export const FEATURES = {
  async tools(client: Client) {
    const names = (await client.tools().all()).map(({ name }) => name);
    expect(names).toContain("echo");
    expect(texts(await client.call("echo", { text: "héllo" }))).toBe("héllo");
  },
  async structured(client: Client) {
    const result = await client.call("add", { a: 1, b: 2.5 });
    expect(texts(result)).toContain("3.5");
    // Revisions before 2025-06-18 have no such member; many servers send it all the same.
    if (client.revision >= "2025-06-18") expect(result.structuredContent).toEqual({ sum: 3.5 });
  },
  async failure(client: Client) {
    expect(await client.call("fails")).toMatchObject({ isError: true });
  },
  async invalid(client: Client) {
    const outcome = await client.call("add", { a: "one" }).catch((error: unknown) => error);
    expect(outcome instanceof Error || (outcome as { isError?: boolean }).isError === true).toBe(true);
  },
  async progress(client: Client) {
    const seen: number[] = [];
    await client.call("count", { to: 3 }, { onProgress: ({ progress }) => seen.push(progress) });
    expect(seen).toEqual([1, 2, 3]);
  },
  async logging(client: Client) {
    await client.setLogLevel("info");
    await client.call("talk");
    expect(client.logs.at(-1)).toMatchObject({ level: "warning", data: "said" });
  },
  async cancelling(client: Client) {
    const controller = new AbortController();
    const waiting = client.call("wait", {}, { signal: controller.signal });
    controller.abort("enough");
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
    expect(texts(await client.call("echo", { text: "still there" }))).toBe("still there");
  },
  async resources(client: Client) {
    expect((await client.resources().all()).map(({ uri }) => uri)).toContain("test://text");
    const { contents } = await client.read("test://text");
    expect(contents[0]).toMatchObject({ uri: "test://text", text: "Note at test://text" });
  },
  async templates(client: Client) {
    const templates = await client.resourceTemplates().all();
    expect(templates.map(({ uriTemplate }) => uriTemplate)).toContain("test://notes/{id}");
    const { contents } = await client.read("test://notes/{id}", { id: "12" });
    expect(contents[0]).toMatchObject({ uri: "test://notes/12", text: "Note at test://notes/12" });
  },
  async missing(client: Client) {
    await expect(client.read("test://nowhere/at/all")).rejects.toThrow(Error);
  },
  async prompts(client: Client) {
    expect((await client.prompts().all()).map(({ name }) => name)).toContain("review");
    const { messages } = await client.prompt("review", { code: "x = 1", language: "python" });
    expect(messages[0]).toMatchObject({ role: "user", content: { type: "text", text: "Review x = 1" } });
  },
  async completion(client: Client) {
    const ref = { type: "ref/prompt", name: "review" } as const;
    expect((await client.complete(ref, { name: "language", value: "py" })).values).toEqual(["python"]);
    const notes = { type: "ref/resource", uri: "test://notes/{id}" } as const;
    expect((await client.complete(notes, { name: "id", value: "1" })).values).toEqual(["1", "12"]);
  },
  async elicitation(client: Client) {
    expect(texts(await client.call("ask"))).toBe("Hello Ada");
  },
  async sampling(client: Client) {
    expect(texts(await client.call("think"))).toBe("Paris");
  },
  async roots(client: Client) {
    expect(texts(await client.call("folders"))).toBe("file:///home/ada");
  },
  async updates(client: Client) {
    const watched = client.subscribe({ resources: ["test://text"] });
    await watched.ready;
    await client.call("touch", { uri: "test://text" });
    for await (const change of watched) {
      expect(change).toMatchObject({ kind: "resource", uri: "test://text" });
      break;
    }
  },
  async changes(client: Client) {
    const watched = client.subscribe({ toolsListChanged: true });
    await watched.ready;
    await client.call("change");
    for await (const change of watched) {
      expect(change.kind).toBe("tools");
      break;
    }
  },
  async ping(client: Client) {
    expect(await client.ping()).toBeGreaterThan(0);
  },
} satisfies Readonly<Record<string, (client: Client) => Promise<void>>>;

export type Feature = keyof typeof FEATURES;

export const ALL = Object.keys(FEATURES) as Feature[];

/** All features but some. */
export function allBut(...missing: readonly Feature[]): Feature[] {
  return ALL.filter((feature) => !missing.includes(feature));
}

/** A client that answers whatever it is asked. */
export const ANSWERING: ClientOptions = {
  clientInfo: { name: "matrix", version: "1.0.0" },
  elicit: () => ({ action: "accept", content: { name: "Ada" } }),
  sample: () => ({
    role: "assistant",
    content: { type: "text", text: "Paris" },
    model: "small-1",
    stopReason: "endTurn",
  }),
  roots: [{ uri: "file:///home/ada", name: "Home" }],
  timeoutMs: 10_000,
  verdicts: false,
};

/** Uses each feature; an error says which one did not work. */
export async function use(client: Client, features: readonly Feature[]): Promise<void> {
  for (const feature of features) {
    try {
      await FEATURES[feature](client);
    } catch (error) {
      throw new LocalError("FEATURE", `${feature}: ${(error as Error).message}`, { cause: error });
    }
  }
}

/** The texts a tool said. */
export function texts({ content }: { readonly content: readonly { readonly type: string }[] }): string {
  return content.map((block) => (block.type === "text" ? (block as unknown as { text: string }).text : "")).join("");
}
