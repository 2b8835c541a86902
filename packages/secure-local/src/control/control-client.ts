// Asks the running servers of this person at their control sockets: how they are, and to start or end a server of theirs.
import * as fs from "node:fs";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import type { RememberedAnswer, RunningServer } from "@secure-local/console/api";
import { recordOf } from "../audit/call-records.js";
import { type AnswerPlace, controlLine, type ControlAnswers, type ControlRequest } from "./control-messages.js";

/** The end of a socket's name. */
export const SOCKET_SUFFIX: string = ".run";
/** Characters of an answer: the reviews of a hundred plugins. */
const MAX_ANSWER = 16 * 1024 * 1024;
/** Milliseconds a server has for its answer: it is on this machine, and may be busy for some seconds while it starts others. */
const PATIENCE_MS = 10_000;
/** The same until a server of its policy has ended: those are given time to end by themselves. */
const ENDED_MS = 30_000;
/** Servers asked at once: more than anybody runs. */
const MAX_SERVERS = 64;

/** The servers of this person that run now, by their sockets; sockets that nobody listens at any more are removed. */
export async function runningServers(folder: string): Promise<RunningServer[]> {
  const states = await Promise.all(socketsIn(folder).map((name) => stateAt(join(folder, name))));
  return states.filter((state) => state !== undefined).sort((a, b) => a.since - b.since || a.pid - b.pid);
}

/** The ids of the processes that did what was asked, and of those that gave no answer: they may do it yet. */
export interface Controlled {
  readonly done: readonly number[];
  readonly unanswered: readonly number[];
}

/** Has every server of this person that runs by a policy start one of its servers anew, or end it. */
export async function controlServer(
  folder: string,
  { ask, policy, server }: { readonly ask: "restart" | "stop"; readonly policy: string; readonly server: string },
): Promise<Controlled> {
  const each = socketsIn(folder).map(async (name): Promise<Partial<Record<keyof Controlled, number>>> => {
    const path = join(folder, name);
    const state = await stateAt(path);
    if (state === undefined) return fs.existsSync(path) ? { unanswered: Number.parseInt(name, 10) } : {};
    if (state.policy.file === undefined || resolve(state.policy.file) !== resolve(policy)) return {};
    const answer = await asked<typeof ask>(path, { ask, server }, ENDED_MS);
    if (answer === undefined) return { unanswered: state.pid };
    return answer ? { done: state.pid } : {};
  });
  const all = await Promise.all(each);
  return { done: all.flatMap(({ done = [] }) => done), unanswered: all.flatMap(({ unanswered = [] }) => unanswered) };
}

/** The answers that servers of this person remember, each once, those that were given last first. */
export async function rememberedAnswers(folder: string): Promise<RememberedAnswer[]> {
  const paths = socketsIn(folder).map((name) => join(folder, name));
  const all = await Promise.all(paths.map((path) => asked(path, { ask: "remembered" })));
  const found = new Map<string, RememberedAnswer>();
  for (const answer of all.flatMap((each) => (Array.isArray(each) ? (each as RememberedAnswer[]) : []))) {
    // Those that share what they remember say the same, and each counts its own calls.
    const { used = 0, lastUsed = 0 } = found.get(answer.id) ?? {};
    const last = Math.max(lastUsed, answer.lastUsed ?? 0);
    found.set(answer.id, { ...answer, used: used + answer.used, ...(last > 0 ? { lastUsed: last } : {}) });
  }
  return [...found.values()].sort((a, b) => b.at - a.at);
}

/**
 * Takes back one of them wherever it is remembered, or all: one server after the other, so that one that several share is taken back
 * and recorded once.
 *
 * @returns the names of those that were taken back
 */
export async function takeBackAnswers(folder: string, id: string | undefined, by: AnswerPlace): Promise<string[]> {
  const taken = new Set<string>();
  for (const name of socketsIn(folder))
    for (const each of (await asked(join(folder, name), { ask: "take back", id, by })) ?? []) taken.add(each);
  return [...taken];
}

/** The names of control sockets, of at most 64 servers. */
export function socketsIn(folder: string): string[] {
  try {
    const names = fs.readdirSync(folder).filter((name) => name.endsWith(SOCKET_SUFFIX));
    return names.slice(0, MAX_SERVERS);
  } catch {
    // Nothing has run yet.
    return [];
  }
}

/** Its server was killed; whoever runs now has another name. */
export function removeDeadSocket(path: string, { code }: NodeJS.ErrnoException): void {
  if (code === "ECONNREFUSED") fs.rmSync(path, { force: true });
}

/** Undefined for what no server of this version says. */
async function stateAt(path: string): Promise<RunningServer | undefined> {
  const state = (await asked(path, { ask: "state" })) as Partial<RunningServer> | undefined;
  if (typeof state !== "object" || state === null) return undefined;
  if (typeof state.pid !== "number" || typeof state.auditFile !== "string") return undefined;
  return Array.isArray(state.plugins) && Array.isArray(state.tools) ? (state as RunningServer) : undefined;
}

/** The answer of whoever listens there; undefined where nobody does, or nobody who understands. */
function asked<A extends keyof ControlAnswers>(
  path: string,
  question: Extract<ControlRequest, { ask: A }>,
  patienceMs = PATIENCE_MS,
): Promise<ControlAnswers[A] | undefined> {
  return new Promise((done) => {
    const server = connect(path, () => server.write(controlLine(question)));
    let text = "";
    server.setEncoding("utf8");
    server.setTimeout(patienceMs, () => server.destroy());
    server.on("data", (piece: string) => {
      text += piece;
      if (text.length > MAX_ANSWER) server.destroy();
    });
    server.on("error", (error) => removeDeadSocket(path, error));
    server.on("close", () => done(recordOf(text)?.["answer"] as ControlAnswers[A] | undefined));
  });
}
