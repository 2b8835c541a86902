// How an endpoint ends: what has begun goes on for a while, what is new goes to other processes or is refused, then all ends.
import type { Later } from "../../endpoint/call.js";
import type { JsonObject } from "../../jsonrpc/message.js";
import type { ServerCore } from "../../server/core.js";
import type { StreamKeeper } from "./event-stream.js";
import type { HttpLimits } from "./http-limits.js";
import type { HttpSite, Permits } from "./http-site.js";

export interface Closable {
  close(drainMs: number): Promise<void>;
}

/** An endpoint, as far as it ends. */
interface Ended {
  readonly site: Pick<HttpSite, "passes">;
  readonly limits: Pick<HttpLimits, "drainMs">;
  readonly core: ServerCore;
  readonly permits: Permits;
  readonly keeper: Pick<StreamKeeper, "flush">;
  /** What requests may have to wait for. */
  readonly waits: readonly (Later<unknown> | undefined)[];
  readonly ending: () => readonly (Closable | undefined)[];
  /** Servers beside the one of the endpoint. */
  readonly others: readonly (Closable & { readonly core: ServerCore })[];
}

/** Parts of the time for going down: in the first all goes on as ever, until the second tasks may be looked for; sessions end in the rest. */
const SETTLING = 0.8;
const LOOKING = 0.95;
const LOOK_MS = 20;
/** Milliseconds readers get to take the last answers before their streams are cut. */
const FLUSH_MS = 2_000;

/**
 * Lets what has begun go on as ever, and has what is new refused where this process is `alone`: until nothing is under way, or most of
 * the limit `drainMs` is over; then it ends the tasks that still run. Resolves with the milliseconds it took.
 */
export async function settle({ site, limits, core, others }: Ended, alone: () => boolean): Promise<number> {
  Object.assign(site.passes, { drains: true, alone, goesOn });
  const cores = [core, ...others.map((other) => other.core)];
  const began = performance.now();
  const within = async (part: number, isBusy: (core: ServerCore) => boolean | undefined): Promise<void> => {
    while (cores.some(isBusy) && performance.now() - began < limits.drainMs * part)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  };
  await within(SETTLING, isUnderWay);
  // How tasks ended that are cut is told to whoever looks for them while there is time.
  for (const { tasks, report } of cores)
    tasks?.close().catch((error: unknown) => report("error", "The tasks that still ran could not be ended", { error }));
  await within(LOOKING, ({ tasks }) => tasks?.busy);
  return performance.now() - began;
}

function isUnderWay({ dispatcher, parking, tasks }: ServerCore): boolean {
  return dispatcher.running > 0 || parking.there?.waits === true || tasks?.busy === true;
}

/**
 * Whether a message is about what has begun: it answers or tells, is about a task, or brings a call what that has asked for. No code of
 * other files is used here: bundlers would cut what a server loads at its start into more files.
 */
function goesOn(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(goesOn);
  const { id, method, params } = (value ?? {}) as JsonObject;
  if (typeof method !== "string" || id === undefined) return true;
  if (method === "ping" || method.startsWith("tasks/")) return true;
  return typeof (params as JsonObject | undefined | null)?.["requestState"] === "string";
}

/** Ends all, within the limit `drainMs` less what was spent of it to settle. Without `spentMs` it settles before. */
export async function end(ended: Ended, spentMs?: number): Promise<void> {
  const { site, limits, core, permits, keeper, waits, ending, others } = ended;
  const drainMs = limits.drainMs - (spentMs ?? (await settle(ended, () => true)));
  site.passes.closing = true;
  core.unasked.delete(permits);
  // What waits for code is refused once it is loaded.
  const loading = waits.flatMap((each) => each?.loading ?? []);
  if (loading.length > 0) await Promise.allSettled(loading);
  await Promise.all(ending().map(async (each) => await each?.close(drainMs)));
  await Promise.all(others.map((other) => other.close(drainMs)));
  await core.tasks?.close();
  await keeper.flush(FLUSH_MS);
}
