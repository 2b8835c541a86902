// Calls the fixture in memory in both revisions of the suite: everything the suite looks for is there and answers.
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import { describe, expect, it } from "vitest";
import { fixtureServer } from "../fixture/fixture-server.mjs";

const REVISIONS = ["2025-11-25", "2026-07-28"];
const CAPABILITIES = { sampling: {}, elicitation: {}, roots: {} };
const PERSON = { action: "accept", content: { name: "Alice" } };

const connect = (revision: string, answer = {}): Promise<MemoryPeer> =>
  connectInMemory(fixtureServer(), { revision, capabilities: CAPABILITIES, answer });

const call = (peer: MemoryPeer, name: string, rest: object = {}): Promise<Record<string, unknown>> =>
  peer.request("tools/call", { name, ...rest });

describe.each(REVISIONS)("the fixture in %s", (revision) => {
  it("describes every tool and prompt, and its first tool can be called without arguments", async () => {
    const peer = await connect(revision, { "elicitation/create": () => PERSON });
    const { tools } = (await peer.request("tools/list")) as { tools: { name: string; description?: string }[] };
    const { prompts } = (await peer.request("prompts/list")) as { prompts: { name: string; description?: string }[] };
    for (const { name, description } of [...tools, ...prompts]) expect(description, name).toBeTruthy();
    await expect(call(peer, tools[0]?.name ?? "", { arguments: {} })).resolves.toBeDefined();
  });

  it.each([
    ["test_simple_text", ["text"]],
    ["test_image_content", ["image"]],
    ["test_audio_content", ["audio"]],
    ["test_embedded_resource", ["resource"]],
    ["test_multiple_content_types", ["text", "image", "resource"]],
    ["test_tool_with_progress", ["text"]],
    ["test_logging_tool", ["text"]],
    ["test_tool_with_logging", ["text"]],
    ["test_trigger_tool_change", ["text"]],
    ["test_trigger_prompt_change", ["text"]],
    ["test_reconnection", ["text"]],
    ["test_x_mcp_header", ["text"]],
  ])("serves %s without arguments", async (name, kinds) => {
    const peer = await connect(revision);
    const { content, isError } = await call(peer, name);
    expect((content as { type: string }[]).map(({ type }) => type)).toEqual(kinds);
    expect(isError).toBe(false);
  });

  it.each([
    ["test_simple_prompt", {}],
    ["test_prompt_with_arguments", { arguments: { arg1: "one", arg2: "two" } }],
    ["test_prompt_with_embedded_resource", { arguments: { resourceUri: "test://example" } }],
    ["test_prompt_with_image", {}],
  ])("gives the prompt %s", async (name, rest) => {
    const peer = await connect(revision);
    const { messages } = await peer.request("prompts/get", { name, ...rest });
    expect(messages).not.toEqual([]);
  });

  it.each(["test://static-text", "test://static-binary", "test://watched-resource", "test://template/123/data"])(
    "reads %s",
    async (uri) => {
      const peer = await connect(revision);
      const { contents } = (await peer.request("resources/read", { uri })) as { contents: { uri: string }[] };
      expect(contents[0]?.uri).toBe(uri);
    },
  );
});

describe("the fixture's questions in 2026-07-28", () => {
  it.each([
    ["elicitation", ["elicitation/create"]],
    ["sampling", ["sampling/createMessage"]],
    ["list_roots", ["roots/list"]],
    ["request_state", ["elicitation/create"]],
    ["multiple_inputs", ["elicitation/create", "roots/list", "sampling/createMessage"]],
    ["multi_round", ["elicitation/create"]],
    ["tampered_state", ["elicitation/create"]],
    ["capabilities", ["elicitation/create"]],
  ])("%s asks by what the suite expects", async (name, methods) => {
    const peer = await connect("2026-07-28");
    const result = await call(peer, `test_input_required_result_${name}`);
    const requests = Object.values(result["inputRequests"] as Record<string, { method: string }>);
    expect(requests.map(({ method }) => method).sort()).toEqual(methods);
    expect(typeof result["requestState"]).toBe("string");
  });

  it("takes the name that came before it was asked, and nothing that is not one", async () => {
    const peer = await connect("2026-07-28");
    const name = "test_input_required_result_elicitation";
    const greeted = await call(peer, name, { inputResponses: { user_name: PERSON, stray: PERSON } });
    expect(greeted["content"]).toEqual([{ type: "text", text: "Hello, Alice!" }]);
    const asked = await call(peer, name, { inputResponses: { wrong_key: PERSON } });
    expect(asked["resultType"]).toBe("input_required");
  });

  it("says which capability a tool misses", async () => {
    const peer = await connectInMemory(fixtureServer());
    await expect(call(peer, "test_missing_capability")).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { sampling: {} } },
    });
  });
});
