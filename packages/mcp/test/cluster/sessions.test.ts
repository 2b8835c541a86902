// Any member may get any request: sessions, questions, streams and cancellations behind a balancer that knows nothing.
import { describe, expect, it, onTestFinished } from "vitest";
import type { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import { connect } from "../../src/serve/connect.js";
import { gate, testServer } from "../http/http-fixture.js";
import { type Cluster, startCluster } from "./cluster-fixture.js";

const HANDSHAKE = ["2025-03-26", "2025-06-18", "2025-11-25"];
const ALL = [...HANDSHAKE, "2026-07-28"];

export async function client(
  { url }: Pick<Cluster, "url">,
  revision: string,
  options: ClientOptions = {},
): Promise<Client> {
  const made = await connect(url, {
    revision,
    verdicts: false,
    elicit: () => ({ action: "accept", content: { sure: true } }),
    ...options,
  });
  onTestFinished(() => made.close());
  return made;
}

it("brings replies of any length and any characters from another member", async () => {
  const long = "🙂é".repeat(1_600_000);
  const server = () => {
    const made = testServer({ report: () => undefined });
    made.tool("long", { run: () => long });
    return made;
  };
  // What answers in JSON alone is served by the session's own process.
  const cluster = await startCluster({ server, answers: "json" });
  cluster.to(0);
  const asking = await client(cluster, "2025-11-25", { limits: { messageBytes: 64 * 1024 * 1024 } });
  cluster.to(1);
  const { content } = await asking.call("long");
  expect((content[0] as { text: string }).text === long).toBe(true);
});

describe.each(ALL)("%s behind a round robin of three", (revision) => {
  it("lists, calls and hears progress", async () => {
    const cluster = await startCluster();
    const asking = await client(cluster, revision);
    const names: string[] = [];
    for await (const { name } of asking.tools()) names.push(name);
    expect(names).toContain("echo");
    for (let n = 0; n < 9; n++) {
      const { content } = await asking.call("echo", { text: String(n) });
      expect(content).toEqual([{ type: "text", text: String(n) }]);
    }
    const steps: number[] = [];
    await asking.call("steps", {}, { onProgress: ({ progress }) => steps.push(progress) });
    expect(steps).toEqual([1, 2]);
    expect(new Set(cluster.routed)).toEqual(new Set([0, 1, 2]));
  });

  it.runIf(revision >= "2025-06-18")("answers a question through another member", async () => {
    const cluster = await startCluster();
    const asking = await client(cluster, revision);
    for (let n = 0; n < 3; n++) {
      const { content } = await asking.call("ask", {});
      expect(content).toEqual([{ type: "text", text: "accept" }]);
    }
  });

  it("tells the member that runs a call that it is cancelled", async () => {
    const begun = gate();
    const stopped = gate();
    const server = () => {
      const made = testServer({ report: () => undefined });
      made.tool("wait", {
        run: (_, ctx) => {
          begun.open();
          return new Promise((_resolve, reject) => {
            ctx.signal.addEventListener("abort", () => {
              stopped.open();
              reject(new Error("stopped"));
            });
          });
        },
      });
      return made;
    };
    const cluster = await startCluster({ server });
    const asking = await client(cluster, revision);
    const cancel = new AbortController();
    const calling = asking.call("wait", {}, { signal: cancel.signal });
    await begun.opened;
    cancel.abort();
    await expect(calling).rejects.toMatchObject({ code: "CANCELLED" });
    await stopped.opened;
  });

  it("hears of changes that any member announces", async () => {
    const cluster = await startCluster();
    const asking = await client(cluster, revision);
    const subscription = asking.subscribe({ resources: ["test://a"], toolsListChanged: true });
    await subscription.ready;
    const heard = subscription[Symbol.asyncIterator]();
    for (const server of cluster.servers) {
      server.resourceUpdated("test://a");
      expect((await heard.next()).value).toEqual({ kind: "resource", uri: "test://a" });
    }
    cluster.servers[2]?.tool("new", { run: () => "new" });
    expect((await heard.next()).value).toEqual({ kind: "tools" });
  });
});
