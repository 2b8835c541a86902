// What every cell of the gateway's matrix does: the features of the client's matrix, and what only a gateway can get wrong.
import { expect } from "vitest";
import type { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import { ALL, ANSWERING, type Feature, texts, use } from "../interop-client/features.js";

/** The first revision with forms, and the first with pages and tasks. */
const FORMS = "2025-06-18";
const PAGES = "2025-11-25";

/** Answers each question by what it is about, so that an answer that went astray is seen. */
export const PERSON: ClientOptions = {
  ...ANSWERING,
  capabilities: { elicitation: { form: {}, url: {} } },
  elicit: ({ mode, message }) => ({
    action: "accept",
    ...(mode === "url" ? {} : { content: { name: message === "Who are you?" ? "Ada" : message } }),
  }),
};

/** Tools a cell has called, by name, each as often as the upstream must have counted. */
type Counted = Readonly<Record<string, number>>;

/**
 * Uses everything that both revisions have, asserts the refusal of the rest, and then compares the upstream's own count of
 * calls. Returns the names of what was refused.
 */
export async function useAll(client: Client, theirs: string): Promise<readonly string[]> {
  const ours = client.revision;
  const both = (since: string): boolean => ours >= since && theirs >= since;
  const refused: string[] = [];
  await use(client, sharedFeatures(ours, theirs));
  expect((await client.tools().all()).length).toBeGreaterThan(8);
  const counted: Record<string, number> = { echo: 2, fails: 1, count: 1, think: 1, folders: 1 };
  if (both(FORMS)) await questions(client, counted);
  else refused.push(...(await refusals(client, ["ask", "three_rounds", "all_at_once"], counted)));
  if (both(PAGES)) expect(texts(await client.call("page"))).toBe("accept");
  else refused.push(...(await refusals(client, ["page"], counted)));
  counted["page"] = 1;
  await tasks(client, both(PAGES));
  counted["long"] = 1;
  await cancelled(client);
  counted["hold"] = 1;
  await passedOn(client);
  for (const [name, count] of Object.entries<number>(counted satisfies Counted)) {
    expect(`${name} ${texts(await client.call("calls_of", { name }))}`).toBe(`${name} ${count}`);
  }
  return refused;
}

function sharedFeatures(ours: string, theirs: string): readonly Feature[] {
  const missing: Feature[] = ours >= FORMS && theirs >= FORMS ? [] : ["elicitation"];
  // A server of an older revision says in text alone what a newer client could take structured.
  if (ours >= FORMS && theirs < FORMS) missing.push("structured");
  return ALL.filter((feature) => !missing.includes(feature));
}

async function questions(client: Client, counted: Record<string, number>): Promise<void> {
  expect(texts(await client.call("three_rounds"))).toBe("One?,Two?,Three?");
  expect(texts(await client.call("all_at_once"))).toBe("Who?,Paris,file:///home/ada");
  Object.assign(counted, { ask: 1, three_rounds: 1, all_at_once: 1 });
}

/** Nobody is asked, nothing hangs, and the words name what is missing. */
async function refusals(
  client: Client,
  names: readonly string[],
  counted: Record<string, number>,
): Promise<readonly string[]> {
  for (const name of names) {
    const outcome = await client.call(name).then(
      (result) => `${String(result.isError)} ${texts(result)}`,
      (error: unknown) => `true ${(error as Error).message}`,
    );
    expect(outcome).toMatch(/^true .*elicitation/s);
    counted[name] = 1;
  }
  return names;
}

async function tasks(client: Client, both: boolean): Promise<void> {
  const handle = await client.callTask("long");
  expect(texts(await handle.result())).toBe("long work");
  if (both && client.era === "handshake") expect(handle.id).toBeDefined();
}

async function cancelled(client: Client): Promise<void> {
  const stop = new AbortController();
  const held = client.call("hold", {}, { signal: stop.signal });
  // Over a balancer any later request may come first: the upstream itself says that the call is there.
  while (texts(await client.call("calls_of", { name: "hold" })) === "0") continue;
  stop.abort("enough");
  await expect(held).rejects.toMatchObject({ code: "CANCELLED" });
  expect(texts(await client.call("released"))).toBe("released");
}

/** Trace context and the keys of vendors go over both hops; what belongs to one hop does not. */
async function passedOn(client: Client): Promise<void> {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const meta = { traceparent, "example.com/kept": 1, "io.modelcontextprotocol/forged": "x" };
  const seen = JSON.parse(texts(await client.call("meta", {}, { meta }))) as Record<string, unknown>;
  expect(seen).toMatchObject({ traceparent, "example.com/kept": 1 });
  expect(seen["io.modelcontextprotocol/forged"]).toBeUndefined();
}
