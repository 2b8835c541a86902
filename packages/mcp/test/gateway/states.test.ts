// What a client is told that comes back with an answer nobody takes any more: its call had begun, so it is to look before it calls again.
import { afterEach, expect, it } from "vitest";
import type { ClientOptions } from "../../src/client/options.js";
import type { MountOptions } from "../../src/gateway/gateway.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import { connect } from "../../src/serve/connect-node.js";
import { toNodeHandler } from "../../src/serve/http.js";
import { aesSeal, type ServerOptions } from "../../src/server/lean-server.js";
import { Server } from "../../src/server/server.js";
import { Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

const SEAL = aesSeal(new Uint8Array(32).fill(7));

/** A server that has done its work before it asks. */
function paying(options: Partial<ServerOptions>): Server {
  const server = new Server({ name: "up", version: "1", report: false, seal: SEAL, ...options });
  const schema = { sure: { type: "boolean" } } as const;
  server.tool("pay", {
    run: async (_, ctx) => (await ctx.elicit({ message: "Paid. A receipt?", schema }).catch(() => undefined))?.action,
  });
  return server;
}

/** Servers at an address, of which another one can take the place. */
type Way = (options: Partial<ServerOptions>) => Promise<{ readonly url: string; replace(): void }>;

async function replaceable(make: () => Server): Promise<{ readonly url: string; replace(): void }> {
  let handler = toNodeHandler(make());
  const url = await stage.listen((request, response) => void handler(request, response));
  return { url, replace: () => (handler = toNodeHandler(make())) };
}

/** A gateway in front of a server, which takes the place with it. */
function through(revision: string, mount: MountOptions = {}): Way {
  return async (options) => {
    const up = await replaceable(() => paying(options));
    const open = (given: ClientOptions): ReturnType<typeof connect> =>
      connect(up.url, { ...given, revision, verdicts: false });
    const gateways = [1, 2].map(() => stage.gateway({ report: false, seal: SEAL, ...options }));
    for (const gateway of gateways) await gateway.mount("up", open, { prefix: "", ...mount });
    const front = await replaceable(() => gateways.shift() as Server);
    return { url: front.url, replace: () => (up.replace(), front.replace()) };
  };
}

const WAYS: Record<string, Way> = {
  directly: (options) => replaceable(() => paying(options)),
  "through a gateway, round by round": through("2026-07-28"),
  "through a gateway that keeps the call": through("2026-07-28", { before: () => undefined }),
  "through a gateway, to a server with sessions": through("2025-11-25"),
};

const CAME = { sure: true };
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Asked {
  readonly url: string;
  readonly retry: (content: JsonObject) => Promise<string>;
  replace(): void;
}

/** What becomes of a state while its client thinks, under which limits. */
const ENDS: Record<string, { readonly limits?: ServerOptions["limits"]; run(asked: Asked): unknown }> = {
  "is too old": { limits: { parkedMs: 100 }, run: () => wait(300) },
  "gave way to another": { limits: { parked: 1 }, run: ({ url }) => stage.post(url, "tools/call", { name: "pay" }) },
  "was used": { run: ({ retry }) => retry({ sure: false }) },
  "is of another process": { run: ({ replace }) => replace() },
};

/** Of one that was used another request has what came of it. */
const USED = /was used already, with other answers|did not take the answer/;
const UNKNOWN = /not known: look, before you make it again/;

it.each(Object.keys(WAYS).flatMap((way) => Object.keys(ENDS).map((end) => ({ way, end }))))(
  "called $way, with a state that $end",
  async ({ way, end }) => {
    const { limits = {}, run } = ENDS[end] as (typeof ENDS)[string];
    const { url, replace } = await (WAYS[way] as Way)({ limits });
    const first = await stage.post(url, "tools/call", { name: "pay" });
    const requestState = first.result?.["requestState"];
    const [key] = Object.keys(first.result?.["inputRequests"] as JsonObject);
    const retry = async (content: JsonObject): Promise<string> => {
      const inputResponses = { [key as string]: { action: "accept", content } };
      const { result, error } = await stage.post(url, "tools/call", { name: "pay", inputResponses, requestState });
      const [block] = (result?.["content"] ?? []) as { readonly text: string }[];
      return block?.text ?? error?.message ?? JSON.stringify(result);
    };
    await run({ url, retry, replace });
    const said = await retry(CAME);
    expect(said).toMatch(end === "was used" ? USED : UNKNOWN);
    expect(said).not.toMatch(/make the call again|may have been restarted/);
  },
);
