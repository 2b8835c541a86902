// The gateway's matrix with many of both: gateways that share behind one balancer, and their upstream's processes behind another.
// Every request of either hop goes to a process at random.
import { describe, expect, it, onTestFinished } from "vitest";
import { Gateway } from "../../src/gateway/gateway.js";
import { nodeRequester } from "../../src/node/http-requester.js";
import { connect, httpDialer } from "../../src/serve/connect.js";
import { PERSON, useAll } from "../gateway/features.js";
import { Hop } from "../gateway/judged.js";
import { newUpstream, upstreamState } from "../gateway/upstream.mjs";
import { WHOLE } from "../interop-client/cells.js";
import { startCluster } from "./cluster-fixture.js";

const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const;
/** What there was before Streamable HTTP. */
const OLDEST = REVISIONS[0];

const CELLS = [3, 10].flatMap((count) =>
  REVISIONS.flatMap((ours, row) =>
    REVISIONS.flatMap((theirs, column) =>
      // By default each revision of both sides is met thrice by three processes, and once by ten.
      WHOLE || (row + 2 * column) % 5 < (count === 3 ? 3 : 1) ? [{ count, ours, theirs }] : [],
    ),
  ),
);

function addressFor(url: string, revision: string): string {
  return revision === OLDEST ? new URL("/sse", url).href : url;
}

describe("through balancers", () => {
  it.each(CELLS)("$count gateways in $ours to $count processes in $theirs", async ({ count, ours, theirs }) => {
    const [near, far] = [new Hop(), new Hop()];
    const dialer = (url: string, hop: Hop, revision: string) =>
      hop.judged(httpDialer(addressFor(url, revision), { requester: nodeRequester() }));
    const state = upstreamState();
    const there = await startCluster({ count, random: true, server: () => newUpstream(state) });
    const gateways = Array.from(
      { length: count },
      () => new Gateway({ name: "gateway", version: "1.0.0", limits: { pageSize: 3 } }),
    );
    for (const gateway of gateways) {
      onTestFinished(() => gateway.unmountAll());
      const open = (options: object): ReturnType<typeof connect> =>
        connect(dialer(there.url, far, theirs), { ...options, revision: theirs, verdicts: false });
      await gateway.mount("up", open, { prefix: "" });
    }
    const here = await startCluster({ count, random: true, server: (n) => gateways[n] as Gateway });
    const client = await connect(dialer(here.url, near, ours), { ...PERSON, revision: ours });
    onTestFinished(() => client.close());
    const refused = await useAll(client, theirs);
    expect(refused.length > 0).toBe(ours < "2025-11-25" || theirs < "2025-11-25");
    expect({ near: near.faults, far: far.faults }).toEqual({ near: [], far: [] });
    expect(Math.min(near.messages, far.messages)).toBeGreaterThan(50);
  });
});
