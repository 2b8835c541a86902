// What a host says of a call while the server it is for is away: it is not unknown.
import { expect, it, vi } from "vitest";
import { cuttable, hostWith } from "./host-fixture.js";

it("a call, a prompt and a completion are NOT_READY until the server is back and its lists are read", async () => {
  vi.useFakeTimers();
  try {
    const { host } = hostWith({ restart: { random: () => 0.5 } });
    const { link, cut } = cuttable();
    await host.add("north", { link });
    expect((await host.call("north__read", { key: "x" })).isError).not.toBe(true);
    cut();
    await vi.advanceTimersByTimeAsync(0);
    expect(host.servers()[0]?.state).toBe("waiting");
    const notReady = {
      code: "NOT_READY",
      message: expect.stringMatching(/north is not up \(waiting\).*SIGKILL/) as string,
    };
    await expect(host.call("north__read", { key: "x" })).rejects.toMatchObject(notReady);
    await expect(host.prompt("north__ask")).rejects.toMatchObject(notReady);
    const about = { prompt: "north__ask" };
    await expect(host.complete(about, { name: "a", value: "" })).rejects.toMatchObject(notReady);
    await expect(host.call("south__read")).rejects.toMatchObject({ code: "UNKNOWN_TOOL" });
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await host.call("north__read", { key: "x" })).isError).not.toBe(true);
    await expect(host.call("north__nothing")).rejects.toMatchObject({ code: "UNKNOWN_TOOL" });
    await host.close();
  } finally {
    vi.useRealTimers();
  }
});
