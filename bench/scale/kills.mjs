// C5: processes are killed under load, one after the other; each has a successor.
import { judge } from "./checker.mjs";
import { at, pause } from "./fleet.mjs";
import { Lane, now } from "./load.mjs";
import { MovingFleet } from "./moving-fleet.mjs";

const LANES = 12;
const LEASE_MS = 3_000;
/** Recovered: within a second after the lease. */
const RECOVERED_MS = LEASE_MS + 1_000;

export async function killed({ redis, kills, faults }) {
  const fleet = new MovingFleet(redis, { count: 3 });
  await fleet.start();
  const calls = [];
  let done = false;
  const lanes = Array.from(
    { length: LANES },
    (_, n) => new Lane(n, fleet, { begin: () => undefined, end: (call) => calls.push(call) }),
  );
  const running = lanes.map((lane) => lane.run(() => done));
  const killings = [];
  for (let kill = 0; kill < kills; kill++) {
    await pause(300);
    killings.push(await killOne(fleet, lanes));
  }
  done = true;
  await Promise.all(running);
  const effects = fleet.effects();
  await fleet.stop();
  return report(calls, effects, killings, faults);
}

/** Kills one, and waits until every client had an answer to a call it made after the lease ended. */
async function killOne(fleet, lanes) {
  const victim = fleet.any();
  const inFlight = lanes.map(({ current }) => current).filter((call) => call !== undefined);
  const moment = now();
  await Promise.all([fleet.kill(victim), fleet.add()]);
  await pause(Math.max(0, moment + RECOVERED_MS - now()));
  return { node: victim.node, moment, inFlight: new Set(inFlight.map(({ id }) => id)) };
}

function report(calls, effects, killings, faults) {
  const failed = calls.filter(({ outcome }) => outcome !== "answered");
  let unharmed = 0;
  for (const { id, begin, end, members, why, outcome } of failed) {
    const killing = killings.findLast(({ moment }) => moment < end);
    const mine = killing !== undefined && killing.inFlight.has(id);
    if (!mine)
      faults.push(`C5: ${id} ${outcome} though it was not in flight at a kill: ${why}, ${Math.round(end - begin)} ms`);
    else if (!members.includes(killing.node)) unharmed++;
  }
  for (const [kind, { count, examples }] of judge(calls, effects))
    faults.push(`C5: ${kind}, ${count} times: ${examples.join("; ")}`);
  const inFlight = killings.reduce((sum, each) => sum + each.inFlight.size, 0);
  // How long clients waited whose call was in flight, or came, while the lease of the one that was killed had not ended.
  const waits = calls.filter(({ outcome }) => outcome === "answered").map(({ begin, end }) => end - begin);
  const longest = waits.reduce((most, wait) => Math.max(most, wait), 0);
  const late = waits.filter((wait) => wait > RECOVERED_MS).length;
  if (late > 0) faults.push(`C5: ${late} calls waited longer than ${RECOVERED_MS} ms, one ${Math.round(longest)}`);
  const twice = effects.length - new Set(effects.map(({ id }) => id)).size;
  return [
    `C5 kill -9 of one of 3 under load, ${killings.length} times: ${calls.length - failed.length} calls answered, ${failed.length} errors ` +
      `(at most ${inFlight}, those in flight then), ${unharmed} of them by way of a process that lived, ${twice} run twice, ` +
      `p50 ${at(waits, 0.5).toFixed(1)} ms, longest ${Math.round(longest)} ms (lease ${LEASE_MS}, at most ${RECOVERED_MS})`,
  ];
}
