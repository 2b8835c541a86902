// What every client finds when it reads resources, gets prompts and completes arguments.
import { expect, it } from "vitest";
import type { OfficialClient } from "./official-client.js";

export function offerBehaviour(client: () => OfficialClient, has: (since: string) => boolean): void {
  it("lists and reads resources", async () => {
    const { resources } = await client().listResources();
    expect(resources.map(({ name }) => name)).toEqual(["text", "blob", "missing"]);
    expect(resources[0]).toMatchObject({ mimeType: "text/plain", size: 21, annotations: { priority: 0.7 } });
    expect(resources[0]?.annotations?.lastModified).toBe(has("2025-06-18") ? "2025-05-03T14:30:00Z" : undefined);
    const text = { uri: "everything://text", mimeType: "text/plain", text: "Hello from a resource" };
    expect((await client().readResource("everything://text")).contents).toEqual([text]);
    const blob = { uri: "everything://blob", mimeType: "application/octet-stream", blob: "AAEC/w==" };
    expect((await client().readResource("everything://blob")).contents).toEqual([blob]);
  });

  it("lists templates, and reads what they stand for", async () => {
    const { resourceTemplates } = await client().listResourceTemplates();
    expect(resourceTemplates).toHaveLength(1);
    expect(resourceTemplates[0]).toMatchObject({ name: "note", uriTemplate: "everything://notes/{id}" });
    const note = { uri: "everything://notes/1", mimeType: "text/plain", text: "Buy milk" };
    expect((await client().readResource("everything://notes/1")).contents).toEqual([note]);
  });

  it("names the resource that is not there", async () => {
    for (const uri of ["everything://nothing", "everything://missing", "everything://notes/3"]) {
      const error = await client()
        .readResource(uri)
        .catch((reason: unknown) => reason);
      expect(error).toMatchObject({ data: { uri } });
    }
    const refused = client()
      .tap.received.filter(({ error }) => error !== undefined)
      .slice(-3);
    const code = has("2026-07-28") ? -32602 : -32002;
    expect(refused.map(({ error }) => (error as { code: number }).code)).toEqual([code, code, code]);
  });

  it("lists and gets prompts", async () => {
    const { prompts } = await client().listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(["greeting", "code_review", "illustrated"]);
    expect(prompts[1]?.arguments).toMatchObject([{ name: "code", required: true }, { name: "language" }]);
    expect(prompts[1]?.title).toBe(has("2025-06-18") ? "Code review" : undefined);
    const review = await client().getPrompt("code_review", { code: "1 + 1", language: "python" });
    expect(review.messages).toEqual([
      { role: "user", content: { type: "text", text: "Please review this code in python:\n1 + 1" } },
      { role: "assistant", content: { type: "text", text: "I will look at names first." } },
    ]);
    const { messages } = await client().getPrompt("illustrated");
    expect(messages.map(({ content }) => content.type)).toEqual(["image", "resource"]);
    await expect(client().getPrompt("code_review")).rejects.toMatchObject({ code: -32602 });
    await expect(client().getPrompt("no_such_prompt")).rejects.toMatchObject({ code: -32602 });
  });

  it("completes arguments of prompts and templates", async () => {
    const prompt = { type: "ref/prompt", name: "code_review" } as const;
    const language = await client().complete({ ref: prompt, argument: { name: "language", value: "py" } });
    expect(language.completion).toEqual({ values: ["python", "pytorch", "pyside"], total: 3, hasMore: false });
    const template = { type: "ref/resource", uri: "everything://notes/{id}" } as const;
    const id = await client().complete({ ref: template, argument: { name: "id", value: "" } });
    expect(id.completion.values).toEqual(["1", "2"]);
  });

  it("answers pings where there are any, and a method of its own everywhere", async () => {
    if (has("2026-07-28")) await expect(client().ping()).rejects.toThrow("not supported");
    else expect(await client().ping()).toEqual({});
    expect(await client().custom("example.org/reverse", { text: "abc" })).toMatchObject({ text: "cba" });
    await expect(client().custom("example.org/nothing", {})).rejects.toMatchObject({ code: -32601 });
  });
}
