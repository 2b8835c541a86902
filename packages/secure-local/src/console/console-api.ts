// The API of the console's page: what it may ask and do, each by the same function that the command line uses.
import { isAbsolute } from "node:path";
import type {
  Answer,
  CallDetail,
  CallFilter,
  CallRow,
  EventShown,
  Explanation,
  LogRecordShown,
  PolicyState,
  ReachedKind,
  ShownDefinitions,
  StreamLine,
  ServerTest,
  Trial,
  Verification,
} from "@secure-local/console/api";
import { objectOf, recordOf, textOf } from "../audit/call-records.js";
import type { LineOf, WantedCalls } from "./call-filter.js";
import { escapeUnseen } from "@secure-local/inspection/escape-unseen";
import { isAnswer } from "../control/control-client.js";
import { callDetail } from "./call-detail.js";
import { type Api, type ApiAnswer, type ApiRequest, ConsoleFault } from "./console-listener.js";
import { becameText, type ConsoleState, type LogOf, usedResources } from "./console-state.js";
import { recordsOf } from "./log-reader.js";

/** What the console asks of the policy's commands. */
export interface ConsoleCommands {
  readonly version: string;
  policy(): Promise<Omit<PolicyState, "decided" | "since" | "saved">>;
  /** `profile`: as a client is answered that has this profile of the policy; absent: by the whole policy. */
  explain(question: string, profile?: string): Promise<Explanation>;
  /** Decides recorded calls, the oldest first, under a text that may become the policy. @returns faults of the text, or each outcome */
  trial(text: string, calls: readonly TriedCall[]): Promise<string | readonly TriedOutcome[]>;
  /** Finds the line of a rule in the policy as it is now; undefined where that has faults. */
  lines(): Promise<{ readonly hash: string; readonly lineOf: (of: CallRow) => number | undefined } | undefined>;
  /** Writes the policy, if what is there still has `digest`. @returns the digest of the text. @throws ConsoleFault */
  save(text: string, digest: string): Promise<string>;
  verify(logs: readonly LogOf[]): Promise<readonly Verification[]>;
  /** The policy that the console was started with; undefined for the built-in one. */
  readonly policyFile: string | undefined;
  /** What the plugins and servers of these policies offer now beside what was approved. */
  definitions(policies: readonly string[]): Promise<readonly ShownDefinitions[]>;
  /**
   * Approves a plugin or a server, or some things of it, if what it offers still has its digest.
   *
   * @returns what it offers beside what is approved then. @throws ConsoleFault
   */
  approve(offer: NamedOffer): Promise<ShownDefinitions>;
  /** Remembers that a person refused what has these digests: it stays withheld. @returns the date */
  refuse(digests: readonly string[]): string;
  /** What a server of a policy said last on its standard error; empty where it has said nothing. */
  serverLog(policy: string, server: string): string;
  /** Begins a login. @returns where a person goes on; undefined when there was nothing to do. @throws ConsoleFault */
  logIn(policy: string, server: string, afterwards: () => void): Promise<string | undefined>;
  /** Deletes the tokens of a server. @throws ConsoleFault */
  logOut(policy: string, server: string): Promise<void>;
  /** Examines a server of a policy as `doctor` does, through the wall, by a process of its own. @throws ConsoleFault */
  test(policy: string, server: string): Promise<ServerTest>;
  /** What the policy, or a profile of it, lets be reached, by kind. */
  reach(profile?: string): Promise<readonly ReachedKind[]>;
}

export interface TriedCall {
  readonly method: string;
  readonly name: string;
  readonly arguments: unknown;
  readonly at: number;
  /** Who has a rate limit of their own: a process, and who called it. */
  readonly caller: string;
  /** The beginning of the hash of the policy that decided it. */
  readonly policy: string;
  /** Whether it was over its rate. */
  readonly wasLimited: boolean;
}

/** What a call came to under the policy in force, and under the text that is tried. */
export interface TriedOutcome {
  /** Whether it is a call that a policy can be asked about. */
  readonly tried: boolean;
  readonly before: string;
  readonly now: string;
  readonly rule: string;
}

/** A plugin or a server as it was shown. */
export interface NamedOffer extends Pick<ShownDefinitions, "policy" | "kind" | "name"> {
  readonly digest: string;
  /** What of it alone is meant; empty: all of it. */
  readonly only: readonly string[];
}

/** Rows a page gets at once. */
const PAGE = 500;
/** Rows a page that opens gets of itself: more than its first screen shows. The list of calls asks for the rest. */
const FIRST = 100;
/** Calls a changed policy is tried on. */
const TRIED = 1_000;
/** Parts of a time that are drawn as bars. */
const PARTS = 60;
const HOUR_MS = 3_600_000;
/** Milliseconds between two lines that only say that the console is there. */
const BEAT_MS = 5_000;
/** Milliseconds between two sets of totals. */
const TOTALS_MS = 1_000;
/** The part of the time that may go into totals: those of 200,000 calls take a fifth of a second, in which no call is seen. */
const TOTALS_SHARE = 0.05;

type Route = (request: ApiRequest) => Promise<ApiAnswer>;

export function consoleApi(state: ConsoleState, commands: ConsoleCommands): Api {
  const started = Date.now();
  const routes: Readonly<Record<string, Route>> = {
    "GET /api/stream": async ({ query, signal }) => ({
      stream: streamOf(state, {
        version: commands.version,
        started,
        policy: commands.policyFile,
        cursor: numberIn(query, "cursor"),
        signal,
      }),
    }),
    ...callRoutes(state, commands),
    "GET /api/servers": async () => {
      await state.lookAtServers();
      return { json: state.servers };
    },
    "GET /api/resources": async () => ({
      json: usedResources(state.servers.filter((server) => server.state === "running").map(({ pid }) => pid)),
    }),
    "GET /api/totals": async ({ query }) => {
      const to = numberIn(query, "until") ?? Date.now();
      const from = numberIn(query, "since") ?? to - HOUR_MS;
      const wanted = await wantedIn(state, commands, query);
      return { json: state.calls.totals(wanted, { from, to, parts: PARTS, lanes: query.has("lanes") }) };
    },
    "POST /api/answer": async ({ body }) => ({ json: await answer(state, body) }),
    "GET /api/remembered": async () => ({ json: await state.remembered() }),
    "POST /api/take-back": async ({ body }) => ({ json: await takeBack(state, body["id"]) }),
    ...logRoutes(state, commands),
    ...policyRoutes(state, commands),
    ...serverRoutes(state, commands),
    ...definitionRoutes(state, commands),
  };
  return async (request) => {
    const route = routes[`${request.method} ${request.path}`];
    if (route === undefined) throw new ConsoleFault(404, "There is no such thing to ask.", "Load the page again.");
    return route(request);
  };
}

/** The calls that were made, and each opened. */
function callRoutes(state: ConsoleState, commands: ConsoleCommands): Readonly<Record<string, Route>> {
  return {
    "GET /api/calls": async ({ query }) => ({
      json: state.calls.list(await wantedIn(state, commands, query), {
        before: numberIn(query, "before"),
        limit: PAGE,
        longest: query.get("order") === "longest",
      }),
    }),
    "GET /api/looked": async ({ query }) => ({
      json: { ...state.calls.looked(await wantedIn(state, commands, query)), since: state.since },
    }),
    "GET /api/call": async ({ query }) => ({ json: await detailOf(state, commands, Number(query.get("n"))) }),
    "GET /api/asked": async ({ query }) => {
      const n = state.calls.callOf(query.get("question") ?? "");
      return { json: n === undefined ? null : await detailOf(state, commands, n) };
    },
  };
}

/** What is read of the logs as they are written, and whether they are as they were. */
function logRoutes(state: ConsoleState, commands: ConsoleCommands): Readonly<Record<string, Route>> {
  return {
    "GET /api/export": async ({ query }) => {
      const wanted = await wantedIn(state, commands, query);
      const file = `audit-${query.has("all") ? "records" : "calls"}-${new Date().toISOString().slice(0, 10)}.jsonl`;
      return { file, lines: query.has("all") ? everyRecord(state, wanted) : exported(state, wanted) };
    },
    "GET /api/record": async ({ query }) => ({
      json: await recordAt(state, query.get("file") ?? "", numberIn(query, "line") ?? 0),
    }),
    "GET /api/events": async ({ query }) => ({
      json: await eventsOf(state, query.get("kind") ?? "", filterOf(query)),
    }),
    "POST /api/verify": async () => ({ json: await state.verify((logs) => commands.verify(logs)) }),
  };
}

/** What is offered beside what was approved, and what a person decides of it. */
function definitionRoutes(state: ConsoleState, commands: ConsoleCommands): Readonly<Record<string, Route>> {
  const { definitions } = state;
  return {
    "GET /api/definitions": async () => ({ json: definitions.now ?? null }),
    "POST /api/definitions": async () => {
      const all = await commands.definitions(policiesInUse(state, commands));
      return { json: definitions.compared(all).all };
    },
    "POST /api/approve": async ({ body }) => {
      const after = await commands.approve(offerIn(body, policiesInUse(state, commands)));
      definitions.put(after);
      return { json: after };
    },
    "POST /api/refuse": async ({ body }) => {
      const { digest, only } = offerIn(body, policiesInUse(state, commands));
      const digests = only.length === 0 ? [digest] : only;
      definitions.refused(digests, commands.refuse(digests));
      return { json: {} };
    },
  };
}

/** The console's own and those of what runs: of no other file anything is read or approved. */
function policiesInUse(state: ConsoleState, { policyFile }: ConsoleCommands): readonly string[] {
  const named = [policyFile, ...state.servers.map(({ policy }) => policy.file)];
  return [...new Set(named.flatMap((file) => (file !== undefined && isAbsolute(file) ? [file] : [])))];
}

/** @throws ConsoleFault */
function offerIn(body: Readonly<Record<string, unknown>>, policies: readonly string[]): NamedOffer {
  const [policy, kind, name, digest] = ["policy", "kind", "name", "digest"].map((each) => textIn(body, each));
  if (policy === undefined || !policies.includes(policy))
    throw new ConsoleFault(409, "No process of yours runs by this policy any more.", "Look again at what is offered.");
  if ((kind !== "plugin" && kind !== "server") || name === undefined || digest === undefined)
    throw new ConsoleFault(400, "A plugin or a server is approved or refused, nothing else.", "Load the page again.");
  const only = Array.isArray(body["only"]) ? body["only"].map(textOf) : [];
  return { policy, kind, name, digest, only };
}

/** What is asked of the servers behind a policy, and done with them. */
function serverRoutes(state: ConsoleState, commands: ConsoleCommands): Readonly<Record<string, Route>> {
  return {
    "GET /api/server-log": async ({ query }) => {
      const { policy, server } = runningServer(state, query.get("policy") ?? "", query.get("server") ?? "");
      return { json: { text: escapeUnseen(commands.serverLog(policy, server)) } };
    },
    "POST /api/restart": async ({ body }) => ({ json: await control(state, "restart", body) }),
    "POST /api/stop": async ({ body }) => ({ json: await control(state, "stop", body) }),
    "POST /api/forget": async ({ body }) => {
      state.forget(body["pid"], body["since"]);
      return { json: {} };
    },
    "POST /api/login": async ({ body }) => {
      const { policy, server } = runningServer(state, textIn(body, "policy"), textIn(body, "server"));
      // It takes its new tokens at its next start.
      const afterwards = (): void => void state.control({ ask: "restart", policy, server });
      return { json: { page: await commands.logIn(policy, server, afterwards) } };
    },
    "POST /api/test": async ({ body }) => {
      const { policy, server } = runningServer(state, textIn(body, "policy"), textIn(body, "server"));
      return { json: await commands.test(policy, server) };
    },
    "POST /api/logout": async ({ body }) => {
      const { policy, server } = runningServer(state, textIn(body, "policy"), textIn(body, "server"));
      await commands.logOut(policy, server);
      await state.control({ ask: "restart", policy, server });
      return { json: {} };
    },
  };
}

/** One that a process of this person has told of: of no other a file is read, and with no other anything is done. @throws ConsoleFault */
function runningServer(
  state: ConsoleState,
  policy: string,
  server: string,
): { readonly policy: string; readonly server: string } {
  const known = state.servers.some(
    ({ policy: { file }, servers = [] }) => file === policy && servers.some(({ name }) => name === server),
  );
  if (known) return { policy, server };
  throw notRunning(server);
}

function notRunning(server: string): ConsoleFault {
  return new ConsoleFault(
    409,
    `No process of yours runs ${server} by this policy any more.`,
    "Start its client again, and look at the page Servers.",
  );
}

/** What is asked of the policy, and done to it. */
function policyRoutes(state: ConsoleState, commands: ConsoleCommands): Readonly<Record<string, Route>> {
  /** The change that was saved last: what was there before it, and what it made of the file. */
  let last: { readonly at: number; readonly before: string; readonly digest: string } | undefined;
  return {
    "GET /api/policy": async () => {
      const policy = await commands.policy();
      const saved = last?.digest === policy.digest ? { at: last.at } : undefined;
      const decided = state.calls.decidedBy(await lineOfToday(state, commands));
      return { json: { ...policy, decided, since: state.since, saved } satisfies PolicyState };
    },
    "GET /api/reach": async ({ query }) => ({ json: await commands.reach(query.get("profile") || undefined) }),
    "POST /api/explain": async ({ body }) => ({
      json: await commands.explain(textIn(body, "question"), textOf(body["profile"]) || undefined),
    }),
    "POST /api/trial": async ({ body }) => ({ json: await trialOf(state, commands, textIn(body, "text")) }),
    "POST /api/save": async ({ body }) => {
      const before = (await commands.policy()).text;
      const digest = await commands.save(textIn(body, "text"), textIn(body, "digest"));
      last = { at: Date.now(), before, digest };
      return { json: {} };
    },
    "POST /api/undo": async ({ body }) => {
      const digest = textIn(body, "digest");
      if (last?.digest !== digest)
        throw new ConsoleFault(409, "The file is not what was saved last.", "Nothing was undone. Load the page again.");
      await commands.save(last.before, digest);
      last = undefined;
      return { json: {} };
    },
  };
}

/** What a rule's line is in the policy as it is now, whatever it was when a call was decided. */
async function lineOfToday(state: ConsoleState, { lines, policyFile }: ConsoleCommands): Promise<LineOf> {
  const today = await lines();
  if (today === undefined) return () => undefined;
  return (row, policy) => {
    const own = policy !== "" && today.hash.startsWith(policy) ? row.line : undefined;
    if (own !== undefined) return own;
    const isForeign = policyFile !== undefined && state.calls.isOfAnotherFile(policy, policyFile);
    return isForeign ? undefined : today.lineOf(row);
  };
}

/** @throws ConsoleFault where no process has such a server */
async function control(
  state: ConsoleState,
  ask: "restart" | "stop",
  body: Readonly<Record<string, unknown>>,
): Promise<object> {
  const pid = body["process"];
  if (!Number.isInteger(pid)) throw new ConsoleFault(400, "The process is a number.", "Name the one that is meant.");
  const asked = { ask, policy: textIn(body, "policy"), server: textIn(body, "server"), pid: pid as number };
  const { done, unanswered } = await state.control(asked);
  if (unanswered.length > 0)
    throw new ConsoleFault(
      504,
      `${processes(unanswered)} did not answer: it may be busy and do it yet.`,
      "Look at its state here in a moment; where nothing changes, end the process.",
    );
  if (done.length > 0) return {};
  throw notRunning(asked.server);
}

interface StreamOptions {
  readonly version: string;
  readonly started: number;
  readonly policy: string | undefined;
  readonly cursor: number | undefined;
  readonly signal: AbortSignal;
}

/** All that changes, from a cursor on; without one, from the newest calls on. */
async function* streamOf(
  state: ConsoleState,
  { version, started, policy, cursor: given, signal }: StreamOptions,
): AsyncIterable<string> {
  const { calls } = state;
  yield line({ kind: "hello", version, started, policy });
  let cursor = given ?? -1;
  let seen = -1;
  let totalled = 0;
  let totalAt = -1;
  let pauseMs = TOTALS_MS;
  while (!signal.aborted) {
    if (seen !== state.version) {
      seen = state.version;
      yield line({ kind: "waiting", calls: state.waiting, settled: state.settled });
      yield line({ kind: "servers", servers: state.servers });
      yield line({ kind: "logs", logs: state.logs, verified: state.verified });
    }
    if (cursor !== calls.cursor) {
      const changed = calls.changedAfter(cursor);
      const rows = changed ?? calls.list({}, { limit: FIRST }).reverse();
      const before = cursor;
      cursor = calls.cursor;
      // A page that is cut off among these lines goes on before all of them: what it has already changes nothing.
      for (let from = 0; from < rows.length; from += PAGE)
        yield line({
          kind: "calls",
          // What a page has from before would stand behind a gap.
          anew: changed === undefined && from === 0,
          cursor: from + PAGE < rows.length ? before : cursor,
          rows: rows.slice(from, from + PAGE),
        });
    }
    const now = Date.now();
    if (now - totalled >= pauseMs && (totalAt !== cursor || now - totalled >= BEAT_MS)) {
      [totalled, totalAt] = [now, cursor];
      const from = performance.now();
      const totals = calls.totals({}, { from: now - HOUR_MS, to: now + 1, parts: PARTS });
      pauseMs = Math.min(BEAT_MS, Math.max(TOTALS_MS, (performance.now() - from) / TOTALS_SHARE));
      yield line({ kind: "totals", totals });
      yield line({ kind: "logs", logs: state.logs, verified: state.verified });
      yield line({ kind: "beat", now });
    }
    // What changed while a line was on its way has woken nobody.
    if (seen === state.version && cursor === calls.cursor)
      await changedOrBeat(state, signal, totalAt === cursor ? BEAT_MS : pauseMs);
  }
}

async function changedOrBeat(state: ConsoleState, signal: AbortSignal, ms: number): Promise<void> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), ms);
  await state.changed(AbortSignal.any([signal, over.signal]));
  clearTimeout(timer);
}

function line(value: StreamLine): string {
  return JSON.stringify(value);
}

async function detailOf(state: ConsoleState, commands: ConsoleCommands, n: number): Promise<CallDetail> {
  const found = await state.records(n);
  if (found === undefined)
    throw new ConsoleFault(
      404,
      "This call is no longer kept by the console.",
      "Look for it with mcp-secure-local audit query.",
    );
  const { row, policy: under } = found;
  const lineNow = (await lineOfToday(state, commands))(row, under);
  const policyLine = lineNow === undefined ? undefined : (await commands.policy()).text.split("\n")[lineNow - 1];
  const approved = row.asked ? state.calls.lastApproved(row) : undefined;
  const approvedBefore = approved === undefined ? undefined : (await state.records(approved))?.texts[0];
  const callOf = (question: string): number | undefined => state.calls.callOf(question);
  return callDetail({ ...found, lineNow, policyLine, approvedBefore, callOf });
}

/** @returns what became of the call. @throws ConsoleFault when the answer could not count */
async function answer(
  state: ConsoleState,
  body: Readonly<Record<string, unknown>>,
): Promise<{ readonly answered: Answer }> {
  const id = textIn(body, "id");
  const given = body["answer"];
  if (!isAnswer(given)) throw new ConsoleFault(400, "An answer is approve, remember or deny.", "Send one of them.");
  const open = state.waiting.find((each) => each.id === id);
  const waiting = state.question(id);
  if (open === undefined || waiting === undefined) throw overFault(`It ${state.becameOf(id) ?? "is not known here"}.`);
  if (open.digest !== body["digest"])
    throw new ConsoleFault(409, "The question is not the one that was shown.", "Read it again, and answer then.");
  if (given === "remember" && waiting.remember === undefined)
    throw new ConsoleFault(400, "The rule of this question remembers no consent.", "Send approve or deny.");
  const settled = await waiting.answer(given);
  if (settled === undefined)
    throw new ConsoleFault(504, "The server has not said that it heard the answer.", "Look at the call in a moment.");
  if (!settled.counted) throw overFault(`Before your answer came, it ${becameText(settled)}.`);
  return { answered: given };
}

/** @throws ConsoleFault where there was none to take back */
async function takeBack(state: ConsoleState, id: unknown): Promise<{ readonly taken: number }> {
  const { taken, unanswered } = await state.takeBack(typeof id === "string" ? id : undefined);
  if (unanswered.length > 0)
    throw new ConsoleFault(
      504,
      `${processes(unanswered)} has not said that it took it back, so it may remember it still.`,
      "Try again in a moment; where that does not help, end the process: what it remembers ends with it.",
    );
  if (taken.length > 0) return { taken: taken.length };
  throw new ConsoleFault(
    409,
    "No server of yours has taken it back: its time was over, or the server could not reach those that it shares with.",
    "Look whether it is still in the list.",
  );
}

function processes(pids: readonly number[]): string {
  return `${pids.length === 1 ? "Process" : "Processes"} ${pids.join(", ")}`;
}

function overFault(became: string): ConsoleFault {
  return new ConsoleFault(409, `This question is over. ${became}`, "Nothing was changed by your answer.");
}

/** Milliseconds before the first call that is tried, in which others took places of its rate limit. */
const COUNTED_MS = 60_000;

async function trialOf(state: ConsoleState, commands: ConsoleCommands, text: string): Promise<Trial> {
  const own = ownCalls(state, commands);
  const rows = own.slice(0, TRIED);
  const first = rows.at(-1);
  const since = (first?.at ?? 0) - COUNTED_MS;
  const earlier = own.slice(TRIED, 2 * TRIED).filter(({ at }) => at >= since);
  const all = [...rows, ...earlier].reverse();
  const outcomes = await commands.trial(text, await Promise.all(all.map((row) => triedCall(state, row))));
  if (typeof outcomes === "string") return { faults: outcomes, calls: 0, untried: 0, older: 0, changed: [] };
  const judged = all.slice(earlier.length).flatMap((row, index) => {
    const outcome = outcomes[earlier.length + index];
    return outcome?.tried === true ? [{ row, ...outcome }] : [];
  });
  const changed = judged
    .filter(({ before, now }) => before !== now)
    .map(({ row, before, now, rule }) => ({ row, before, now, rule }));
  const untried = rows.length - judged.length;
  const older = own.length - rows.length;
  return { faults: "", calls: judged.length, untried, older, since: first?.at, changed: changed.reverse() };
}

/** Those that no other file than the one that is changed decided, the newest first. */
function ownCalls({ calls }: ConsoleState, { policyFile }: ConsoleCommands): readonly CallRow[] {
  const all = calls.list({}, { limit: Infinity });
  if (policyFile === undefined) return all;
  return all.filter(({ n }) => !calls.isOfAnotherFile(calls.get(n)?.policy ?? "", policyFile));
}

async function triedCall(state: ConsoleState, row: CallRow): Promise<TriedCall> {
  const found = await state.records(row.n);
  const record = recordOf(found?.texts[0] ?? "") ?? {};
  return {
    method: row.method,
    name: row.name,
    arguments: record["arguments"],
    at: row.at,
    caller: JSON.stringify([row.log, textOf(record["principal"])]),
    policy: found?.policy ?? "",
    wasLimited: row.rule.startsWith("rate limit: "),
  };
}

async function* exported(state: ConsoleState, filter: WantedCalls): AsyncIterable<string> {
  for (const { n } of state.calls.list(filter, { limit: Infinity }).reverse()) {
    for (const text of (await state.records(n))?.texts ?? []) yield escapeUnseen(text);
  }
}

/** Those of calls and of all else: starts, policies that were taken up, definitions that were withheld. */
async function* everyRecord(state: ConsoleState, { since, until }: WantedCalls): AsyncIterable<string> {
  const logs = state.logs.map(({ file }) => file);
  for await (const text of recordsOf(logs, { since, until })) yield escapeUnseen(text);
}

/** Records of one kind that are shown at once: who wants more exports them. */
const MOST_EVENTS = 200;

/** The newest first. */
async function eventsOf(state: ConsoleState, kind: string, { since, until }: CallFilter): Promise<EventShown[]> {
  const found: EventShown[] = [];
  for await (const text of everyRecord(state, { since, until })) {
    const record = recordOf(text);
    if (record?.["kind"] !== kind) continue;
    found.push({ at: Date.parse(textOf(record["time"])) || 0, object: escapeUnseen(objectOf(record)), text });
    if (found.length > MOST_EVENTS) found.shift();
  }
  return found.sort((a, b) => b.at - a.at);
}

/** @throws ConsoleFault: nothing but the logs that are shown is read */
async function recordAt(state: ConsoleState, file: string, line: number): Promise<LogRecordShown> {
  const found = await state.recordAt(file, line);
  if (found === undefined)
    throw new ConsoleFault(404, `There is no line ${line} in this log.`, "Verify the log again.");
  return { text: escapeUnseen(found.text), call: found.call };
}

async function wantedIn(state: ConsoleState, commands: ConsoleCommands, query: URLSearchParams): Promise<WantedCalls> {
  const { line, ...filter } = filterOf(query);
  if (line === undefined) return filter;
  return { ...filter, line: { number: line, lineOf: await lineOfToday(state, commands) } };
}

function filterOf(query: URLSearchParams): CallFilter {
  const text = (name: string): string | undefined => query.get(name) ?? undefined;
  return {
    text: text("text"),
    name: text("name"),
    client: text("client"),
    rule: text("rule"),
    outcome: text("outcome") as CallFilter["outcome"],
    asked: query.has("asked") || undefined,
    remembered: text("remembered"),
    line: numberIn(query, "line"),
    log: numberIn(query, "log"),
    since: numberIn(query, "since"),
    until: numberIn(query, "until"),
    slower: numberIn(query, "slower"),
    under: text("under"),
    outside: text("outside"),
  };
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  return value === null || value === "" || !Number.isFinite(Number(value)) ? undefined : Number(value);
}

/** @throws ConsoleFault */
function textIn(body: Readonly<Record<string, unknown>>, name: string): string {
  const value = body[name];
  if (typeof value === "string") return value;
  throw new ConsoleFault(400, `The request has no text "${name}".`, "Load the page again.");
}
