// What every client sees of work under way: progress, cancellation, log messages, and announcements of changes.
import { expect, it } from "vitest";
import type { OfficialClient } from "./official-client.js";

const CHANGES = ["tools", "prompts", "resources"].map((kind) => `notifications/${kind}/list_changed`);

export function workingBehaviour(client: () => OfficialClient, has: (since: string) => boolean): void {
  it("reports progress to the caller while other calls are served", async () => {
    // The SDKs drop progress that they read together with the answer, so this call ends only after its progress was seen.
    let seen: unknown;
    const answer = await client().call(
      "wait",
      {},
      {
        onprogress(progress) {
          seen = progress;
          void client().call("wake");
        },
      },
    );
    expect(seen).toEqual({ progress: 1, total: 2, ...(has("2025-03-26") ? { message: "Waiting" } : {}) });
    expect(answer.content).toEqual([{ type: "text", text: "Woken" }]);
  });

  it("writes every step of the progress before the answer", async () => {
    const before = client().tap.received.length;
    await client().call("count", { to: 4 }, { onprogress: () => undefined });
    const received = client().tap.received.slice(before);
    const steps = received.map(({ params }) => (params as { progress: number } | undefined)?.progress);
    expect(steps).toEqual([1, 2, 3, 4, undefined]);
  });

  it("stops a call that is cancelled, and serves the next", async () => {
    const controller = new AbortController();
    const options = { signal: controller.signal, onprogress: () => controller.abort("enough") };
    await expect(client().call("wait", {}, options)).rejects.toThrow("enough");
    const { content } = await client().call("echo", { text: "still here" });
    expect(content).toEqual([{ type: "text", text: "still here" }]);
  });

  it("sends log messages of the level asked for, and none where nobody asked", async () => {
    const heard = (): unknown[] =>
      client()
        .arrived.of("notifications/message")
        .map(({ level }) => level);
    client().arrived.clear();
    if (has("2026-07-28")) {
      await client().call("chatter");
      expect(heard()).toEqual([]);
    }
    await client().call("chatter", {}, { logLevel: "warning" });
    expect(heard()).toEqual(["warning", "error", "critical", "alert", "emergency"]);
    expect(client().arrived.all[0]?.params).toMatchObject({ logger: "chatter", data: { said: "warning" } });
    client().arrived.clear();
    await client().call("chatter", {}, { logLevel: "debug" });
    expect(heard()).toHaveLength(8);
    await expect(client().call("chatter", {}, { logLevel: "loud" as never })).rejects.toThrow(/loud|level/i);
  });

  it("announces changes of a resource to those who subscribed", async () => {
    client().arrived.clear();
    const stop = await client().subscribe("everything://text");
    await client().call("touch", { uri: "everything://blob" });
    await client().call("touch", { uri: "everything://text" });
    const [updated] = await client().arrived.several("notifications/resources/updated", 1);
    expect(updated).toMatchObject({ uri: "everything://text" });
    await stop();
    await client().call("touch", { uri: "everything://text" });
    expect(client().arrived.of("notifications/resources/updated")).toHaveLength(1);
  });

  it("announces changed lists, and the lists have changed", async () => {
    client().arrived.clear();
    const stop = await client().watchLists();
    const names = async (): Promise<string[]> => (await client().listTools()).tools.map(({ name }) => name);
    expect(await names()).not.toContain("extra_tool");
    await client().call("change_lists");
    for (const change of CHANGES) await client().arrived.several(change, 1);
    expect(await names()).toContain("extra_tool");
    expect((await client().listPrompts()).prompts.map(({ name }) => name)).toContain("extra_prompt");
    expect((await client().readResource("everything://extra")).contents[0]).toMatchObject({ text: "extra" });
    expect((await client().call("extra_tool")).content).toEqual([{ type: "text", text: "extra" }]);
    await client().call("change_lists");
    for (const change of CHANGES) await client().arrived.several(change, 2);
    expect(await names()).not.toContain("extra_tool");
    await stop();
  });
}
