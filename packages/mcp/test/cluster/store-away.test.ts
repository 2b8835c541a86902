// What a process says of a store that goes away and comes back: to who reads its reports, once each way.
import { expect, it, onTestFinished, vi } from "vitest";
import { shareOver } from "../../src/cluster/member.js";
import { memoryStores, type SharedStores } from "../../src/cluster/stores.js";
import { LocalError } from "../../src/jsonrpc/errors.js";
import { serveHttp } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";
import { call, session } from "../http/http-fixture.js";
import { KEY } from "./cluster-fixture.js";
import { withOwn } from "./faulty-stores.js";

/** Milliseconds between two signs of life. */
const BEAT_MS = 1_000;

interface Watched {
  /** Why no sign of life is taken; undefined: they are. */
  why: string | undefined;
  readonly said: string[];
  /** Lets so many signs of life pass. */
  beats(count: number): Promise<void>;
}

async function watched(report?: false): Promise<Watched & { readonly url: string }> {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const stores = memoryStores();
  const said: string[] = [];
  const state: { why: string | undefined } = { why: undefined };
  const beat: SharedStores["beat"] = (...self) => {
    const { why } = state;
    if (why === undefined) return stores.beat(...self);
    return Promise.reject(new LocalError("UNREACHABLE", `memory ${why}`, { cause: new Error(why) }));
  };
  const server = new Server({
    name: "watched",
    version: "1.0.0",
    report: report ?? ((level, message) => void said.push(`${level}: ${message}`)),
  });
  server.tool("where", { run: () => "here" });
  const share = shareOver(withOwn(stores, { beat }), { key: KEY });
  const serving = await serveHttp(server, { share, signals: false, limits: { drainMs: 10 } });
  onTestFinished(() => serving.close());
  const beats = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await vi.advanceTimersByTimeAsync(BEAT_MS);
  };
  return Object.assign(state, { said, beats, url: serving.url });
}

const AWAY = "warning: memory cannot be reached: the connection was refused; what this process has goes on without it";

it("is said once when it goes and once when it is back, however often it is asked", async () => {
  const all = await watched();
  const own = await session(all.url);
  await all.beats(2);
  expect(all.said).toEqual([]);
  for (const _ of [1, 2]) {
    all.said.length = 0;
    all.why = "cannot be reached: the connection was refused";
    await all.beats(3);
    for (let id = 1; id < 4; id++) await own.post(call("where", {}, id));
    await all.beats(3);
    expect(all.said).toEqual([AWAY]);
    all.why = undefined;
    await all.beats(3);
    expect(all.said).toEqual([AWAY, expect.stringMatching(/^warning: memory is reached again, after \d+ s$/)]);
  }
});

it("counts as back after ten signs of life in a row where it was full, since it takes some while it is", async () => {
  const all = await watched();
  for (let n = 0; n < 3; n++) {
    all.why = "OOM command not allowed";
    await all.beats(1);
    all.why = undefined;
    await all.beats(9);
  }
  expect(all.said).toHaveLength(1);
  await all.beats(1);
  expect(all.said).toHaveLength(2);
});

it("is not said where the server reports nothing", async () => {
  const written = vi.spyOn(console, "error").mockImplementation(() => undefined);
  onTestFinished(() => written.mockRestore());
  const all = await watched(false);
  all.why = "cannot be reached";
  await all.beats(3);
  all.why = undefined;
  await all.beats(3);
  expect(written).not.toHaveBeenCalled();
});
