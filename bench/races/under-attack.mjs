// Has attackers exchange files and folders, each in a process of its own, while a victim uses them, and counts what came of it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { arena, damage, isEscape, isForeignName, TARGETS } from "./arena.mjs";

const ATTACKER = fileURLToPath(new URL("attacker.mjs", import.meta.url));
export const KINDS = ["dir-swap", "file-swap", "hard-link", "folder-move"];
/** Operations under way at a time. */
const WIDTH = 8;
/** Reads are half of them; each of the others changes what the next ones find. */
const MIX = ["read", "write", "read", "list", "read", "delete", "read", "write"];

/** How often a run tells how far it is: a million operations take minutes. */
const TELL_MS = 30_000;

/**
 * `make` turns the place into the victim. Escapes are counted, in all and by method, and `damage` names what changed outside. `tell`
 * is given what has come of it so far, every half minute.
 */
export async function underAttack(make, operations, { kinds, folder, tell = () => {} }) {
  const place = arena(folder);
  const victim = await make(place);
  const attackers = await Promise.all(kinds.map((kind) => start(kind, place)));
  const outcome = { operations, escapes: 0, by: { read: 0, list: 0 }, done: 0, refused: 0, damage: [], seconds: 0 };
  const started = performance.now();
  const telling = setInterval(() => tell(outcome), TELL_MS);
  let next = 0;
  const lane = async () => {
    for (let turn = next++; turn < operations; turn = next++) await operate(victim, place, turn, outcome);
  };
  try {
    await Promise.all(Array.from({ length: WIDTH }, lane));
  } finally {
    clearInterval(telling);
    await Promise.all(attackers.map(stop));
    victim.close();
    outcome.damage = damage(place);
    place.remove();
  }
  outcome.seconds = (performance.now() - started) / 1_000;
  return outcome;
}

async function operate(victim, { inside }, turn, outcome) {
  const path = join(inside, TARGETS[turn % TARGETS.length]);
  const method = MIX[Math.floor(turn / TARGETS.length) % MIX.length];
  try {
    const got = await victim[method](method === "list" ? dirname(path) : path);
    outcome.done += 1;
    const escaped = method === "list" ? got.some(isForeignName) : method === "read" && isEscape(got);
    if (!escaped) return;
    outcome.escapes += 1;
    outcome.by[method] += 1;
  } catch {
    outcome.refused += 1;
  }
}

/** Which methods gave away something from outside, in words; empty when none did. */
export function escapedBy({ by }) {
  const some = Object.entries(by).filter(([, count]) => count > 0);
  return some.map(([method, count]) => `${count} by ${method}`).join(", ");
}

async function start(kind, { inside, outside }) {
  const child = spawn(process.execPath, [ATTACKER, kind, inside, outside], { stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

async function stop(child) {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
