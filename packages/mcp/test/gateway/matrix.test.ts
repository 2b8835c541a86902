// Each client revision through the gateway to each upstream revision, over the transports of both sides.
import { expect, it } from "vitest";
import { fileURLToPath } from "node:url";
import type { Dialer } from "../../src/client/options.js";
import { Gateway } from "../../src/gateway/gateway.js";
import { nodeRequester } from "../../src/node/http-requester.js";
import { connect, httpDialer } from "../../src/serve/connect.js";
import { memoryTransport } from "../../src/serve/host.js";
import { commandDialer } from "../../src/serve/connect-node.js";
import { type HttpServing, serveHttp } from "../../src/serve/http.js";
import type { Server } from "../../src/server/server.js";
import { WHOLE } from "../interop-client/cells.js";
import { PERSON, useAll } from "./features.js";
import { Hop } from "./judged.js";
import { newUpstream } from "./upstream.mjs";

const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const;
const NEWEST = "2026-07-28";
const CLIENT_SIDE = ["memory", "http", "sse"] as const;
const UPSTREAM_SIDE = ["memory", "stdio", "http", "sse"] as const;
type Transport = (typeof UPSTREAM_SIDE)[number];

const PROGRAM = fileURLToPath(new URL("upstream.mjs", import.meta.url));

/** HTTP+SSE carries sessions alone. */
function carries(transport: Transport, revision: string): boolean {
  return transport !== "sse" || revision !== NEWEST;
}

/** By default each revision meets each other one in memory, and each transport each other one in one or two pairs of revisions. */
function wanted(ours: number, theirs: number, client: Transport, upstream: Transport): boolean {
  if (WHOLE) return true;
  if (client === "memory" && upstream === "memory") return true;
  if (client === "memory" || upstream === "memory") return false;
  const seed = CLIENT_SIDE.indexOf(client as "http") + UPSTREAM_SIDE.indexOf(upstream);
  return (ours * 2 + theirs + seed) % 5 === 0 && (ours + seed) % 3 === 0;
}

/** How a server is reached, and what has to be closed when nobody reaches it any more. */
interface Way {
  readonly dialer: Dialer;
  close(): Promise<void>;
}

const NOTHING: () => Promise<void> = () => Promise.resolve();

async function wayTo(server: Server, transport: Transport): Promise<Way> {
  if (transport === "memory") return { dialer: { link: () => memoryTransport(server) }, close: NOTHING };
  if (transport === "stdio") {
    return { dialer: commandDialer({ command: process.execPath, args: [PROGRAM] }), close: NOTHING };
  }
  const serving: HttpServing = await serveHttp(server, { sse: true, signals: false });
  const url = transport === "sse" ? new URL("/sse", serving.url) : serving.url;
  return { dialer: httpDialer(url, { requester: nodeRequester() }), close: () => serving.close() };
}

const CELLS = CLIENT_SIDE.flatMap((client) =>
  UPSTREAM_SIDE.flatMap((upstream) =>
    REVISIONS.flatMap((ours, row) =>
      REVISIONS.flatMap((theirs, column) => {
        const possible = carries(client, ours) && carries(upstream, theirs);
        return possible && wanted(row, column, client, upstream) ? [{ ours, theirs, client, upstream }] : [];
      }),
    ),
  ),
);

it.each(CELLS)("$ours over $client to $theirs over $upstream", cell);

async function cell(about: {
  readonly ours: string;
  readonly theirs: string;
  readonly client: Transport;
  readonly upstream: Transport;
}): Promise<void> {
  const { ours, theirs } = about;
  const near = new Hop();
  const far = new Hop();
  const there = await wayTo(newUpstream(), about.upstream);
  const gateway = new Gateway({ name: "gateway", version: "1.0.0", limits: { pageSize: 3 } });
  const open = (options: object): ReturnType<typeof connect> =>
    connect(far.judged(there.dialer), { ...options, revision: theirs, verdicts: false });
  await gateway.mount("up", open, { prefix: "" });
  const here = await wayTo(gateway, about.client);
  const client = await connect(near.judged(here.dialer), { ...PERSON, revision: ours });
  try {
    const refused = await useAll(client, theirs);
    expect(refused.length > 0).toBe(ours < "2025-11-25" || theirs < "2025-11-25");
    expect({ near: near.faults, far: far.faults }).toEqual({ near: [], far: [] });
    expect(Math.min(near.messages, far.messages)).toBeGreaterThan(50);
  } finally {
    await client.close();
    await gateway.unmountAll();
    await here.close();
    await there.close();
  }
}
