// What the console knows of all servers of this person: their calls, the questions that wait, how each process is and
// what it uses.
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import type {
  CallRow,
  ComparedDefinitions,
  LogState,
  OfferedDefinitions,
  PolicyServer,
  RememberedAnswers,
  RunningPlugin,
  RunningServer,
  SettledCall,
  ShownDefinitions,
  UsedResources,
  Verification,
  VerifiedLogs,
  WaitingCall,
} from "@secure-local/console/api";
import { archivedElsewhere } from "../audit/archive.js";
import type { LogRecord } from "../audit/call-records.js";
import { archivesOf } from "../audit/log-file.js";
import { existingLogs } from "../audit/log-writer.js";
import {
  type ApprovalsInbox,
  type Controlled,
  controlServer,
  digestOfText,
  type PendingQuestion,
  rememberedAnswers,
  runningServers,
  SERVER_GONE,
  takeBackAnswers,
} from "../control/control-client.js";
import { CallIndex, type RecordPlace } from "./call-index.js";
import { lineAt, LogReader, LogWatch } from "./log-reader.js";

// What running servers and the programs they started use of the machine, read from /proc. Elsewhere than on Linux nothing is known.

/** Processes looked at: more than a machine of a person has. */
const MAX_PROCESSES = 20_000;
/** Processes told of: those of all servers a person runs. */
const MAX_TOLD = 256;
/** Ticks of processor time a second, and bytes of a page, as Linux has them on every machine Node runs on. */
const TICKS = 100;
const PAGE_BYTES = 4_096;

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

/** Each of these processes and all that it started. */
export function usedResources(pids: readonly number[]): UsedResources[] {
  const children = new Map<number, Process[]>();
  const all = new Map<number, Process>();
  for (const each of processes()) {
    all.set(each.pid, each);
    const siblings = children.get(each.parent) ?? [];
    siblings.push(each);
    children.set(each.parent, siblings);
  }
  const told: UsedResources[] = [];
  for (const of of pids) {
    const root = all.get(of);
    const queue = root === undefined ? [] : [{ process: root, what: "" }];
    for (let next = queue.shift(); next !== undefined && told.length < MAX_TOLD; next = queue.shift()) {
      const { pid, name, memoryBytes, cpuSeconds } = next.process;
      const server = next.what === "" && pid !== of ? serverRunBy(pid) : next.what;
      told.push({ of, pid, what: server === "" ? name : `${server} (${name})`, memoryBytes, cpuSeconds });
      for (const child of children.get(pid) ?? []) queue.push({ process: child, what: server });
    }
  }
  return told;
}

function processes(): Process[] {
  let pids: string[];
  try {
    pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    // There is no /proc here.
    return [];
  }
  return pids.slice(0, MAX_PROCESSES).flatMap((pid) => processOf(pid) ?? []);
}

function processOf(pid: string): Process | undefined {
  const stat = readOf(pid, "stat");
  // The name stands in parentheses and may hold anything.
  const [, name = "", rest = ""] = /^\d+ \((.*)\) (.*)$/s.exec(stat) ?? [];
  const fields = rest.split(" ");
  const [parent, user, system, pages] = [1, 11, 12, 21].map((at) => Number(fields[at]));
  if (name === "" || parent === undefined || user === undefined || system === undefined) return undefined;
  return {
    pid: Number(pid),
    parent,
    name,
    cpuSeconds: (user + system) / TICKS,
    memoryBytes: (pages ?? 0) * PAGE_BYTES,
  };
}

/** The server of the policy whose errand a process runs: `… servers run NAME …`. */
function serverRunBy(pid: number): string {
  const words = readOf(String(pid), "cmdline").split("\0");
  const at = words.findIndex((word, index) => word === "servers" && words[index + 1] === "run");
  return at < 0 ? "" : basename(words[at + 2] ?? "");
}

function readOf(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    // It ended meanwhile, or is not ours.
    return "";
  }
}

// What was compared last of what plugins and servers offer, and what a person decided of it: the same for every page of the console.

type Offering = Extract<ShownDefinitions, OfferedDefinitions>;

class KeptDefinitions {
  readonly #changed: () => void;
  #kept: ComparedDefinitions | undefined;

  /** @param changed told after each change */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Undefined before anything was compared. */
  get now(): ComparedDefinitions | undefined {
    return this.#kept;
  }

  compared(all: readonly ShownDefinitions[]): ComparedDefinitions {
    this.#kept = { at: Date.now(), all: [...all].sort((one, other) => urgency(one) - urgency(other)) };
    this.#changed();
    return this.#kept;
  }

  /** One of them is another now; it stays in its place. */
  put(one: ShownDefinitions): void {
    if (this.#kept === undefined) return;
    this.#kept = { ...this.#kept, all: this.#kept.all.map((each) => (isSame(each, one) ? one : each)) };
    this.#changed();
  }

  /** What has one of these digests was refused: an item, or all of a plugin or server. */
  refused(digests: readonly string[], date: string): void {
    for (const each of this.#kept?.all ?? []) {
      if ("fault" in each) continue;
      const isIt = (digest: string | undefined): boolean => digest !== undefined && digests.includes(digest);
      const items = each.items.map((item) => (isIt(item.digest) ? { ...item, refused: date } : item));
      const whole = isIt(each.digest) || (items.some(({ digest }) => isIt(digest)) && allRefused(items));
      if (whole || items.some(({ digest }) => isIt(digest)))
        this.put({ ...each, items, ...(whole ? { refused: date } : {}) });
    }
  }

  /** Servers with the time at which a person refused what they withhold, where that is all they withhold. */
  decided(servers: readonly RunningServer[]): RunningServer[] {
    return servers.map((server) => ({
      ...server,
      plugins: server.plugins.map((plugin) => this.#plugin(server, plugin)),
      servers: (server.servers ?? []).map((mounted) => this.#server(server, mounted)),
    }));
  }

  #refusal(server: RunningServer, kind: "plugin" | "server", name: string): Offering | undefined {
    const found = this.#kept?.all.find(
      (each): each is Offering =>
        !("fault" in each) && each.policy === server.policy.file && each.kind === kind && each.name === name,
    );
    return found?.refused === undefined || found.approved ? undefined : found;
  }

  #plugin(server: RunningServer, plugin: RunningPlugin): RunningPlugin {
    const offered = this.#refusal(server, "plugin", plugin.name);
    if (offered === undefined) return plugin;
    const known = new Set(offered.changes.map((change) => JSON.stringify(change)));
    const isKnown = plugin.changes.every((change) => known.has(JSON.stringify(change)));
    return isKnown ? { ...plugin, refused: offered.refused } : plugin;
  }

  #server(server: RunningServer, mounted: PolicyServer): PolicyServer {
    const offered = this.#refusal(server, "server", mounted.name);
    return offered === undefined ? mounted : { ...mounted, refused: offered.refused };
  }
}

/** What waits for a decision first, then what could not be looked at, then what is as it was approved. */
function urgency(of: ShownDefinitions): number {
  if ("fault" in of) return 2;
  return of.approved ? 3 : of.refused === undefined ? 0 : 1;
}

function isSame(one: ShownDefinitions, other: ShownDefinitions): boolean {
  return one.policy === other.policy && one.kind === other.kind && one.name === other.name;
}

function allRefused(items: OfferedDefinitions["items"]): boolean {
  return items.every(({ kind, refused }) => kind === "same" || refused !== undefined);
}

/** A log, and the policy that it is kept by. */
export interface LogOf {
  readonly file: string;
  /** Whether that is the console's own. */
  readonly isOwn: boolean;
  /** The file of another one; undefined where that is not known. */
  readonly policy: string | undefined;
}

/** Milliseconds between two looks for servers that have questions: nobody notices less. */
const QUESTIONS_MS = 100;
/**
 * Milliseconds between two looks at the logs while much is written. A write after a pause is looked at at once; more looks
 * than these would have the page draw more often than anybody reads.
 */
const LOOK_MS = 50;
/**
 * Milliseconds between two looks at the processes and at logs nobody tells of. Each look costs a process that serves as much as ten
 * calls. So what changes is looked at when something tells of it: a socket that came or went, or a record.
 */
const SERVERS_MS = 4_000;
/** Milliseconds between two such looks that records ask for. */
const TOLD_MS = 1_000;
/** Milliseconds between two searches for logs that have begun: dozens of names are tried. */
const FIND_MS = 200;
/** Logs read at once: of 32 servers that write beside each other, and those of other policies. */
const MAX_LOGS = 128;
/** Questions that are over, shown beside those that are open: what a person may have had before their eyes a moment ago. */
const SETTLED_SHOWN = 8;
/** Processes that vanished, kept to be shown. */
const MAX_GONE = 32;

export interface ConsoleStateOptions {
  /** The audit log of the policy that the console was started with. */
  readonly auditFile: string;
  /** Where control sockets are. */
  readonly controlFolder: string;
  readonly inbox: ApprovalsInbox;
}

export class ConsoleState {
  readonly calls: CallIndex = new CallIndex();
  readonly #options: ConsoleStateOptions;
  readonly #readers = new Map<string, LogReader>();
  /** What of each log lies elsewhere, by its file. */
  readonly #archived = new Map<string, NonNullable<LogState["archived"]>>();
  readonly #waiters = new Set<() => void>();
  #servers: readonly RunningServer[] = [];
  #serversLook: Promise<void> | undefined;
  #serversWanted = false;
  #waiting: readonly WaitingCall[] = [];
  readonly #watch = new LogWatch(() => this.#written());
  #timers: NodeJS.Timeout[] = [];
  /** The look at the logs that is due; it keeps the pace. */
  #due: NodeJS.Timeout | undefined;
  #lookedAt = 0;
  #foundAt = -Infinity;
  /** Whether a record told that a process is not as it was. */
  #told = false;
  #toldLook: NodeJS.Timeout | undefined;
  #askedAt = 0;
  #closed = false;
  #version = 0;
  #faults = "";
  #verified: VerifiedLogs | undefined;
  /** What plugins and servers offered when that was compared last. */
  readonly definitions: KeptDefinitions = new KeptDefinitions(() => {
    this.#version += 1;
    this.#wake();
  });

  constructor(options: ConsoleStateOptions) {
    this.#options = options;
  }

  /** Resolves when all that is in the logs has been read. */
  async begin(): Promise<void> {
    await this.lookAtServers();
    await this.#lookAtLogs();
    this.calls.putInOrder();
    this.#lookAtQuestions();
    this.#timers = [
      setInterval(() => this.#lookAtQuestions(), QUESTIONS_MS),
      setInterval(() => void this.lookAtServers().then(() => this.#written()), SERVERS_MS),
    ];
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) clearInterval(timer);
    clearTimeout(this.#due);
    clearTimeout(this.#toldLook);
    this.#watch.close();
    this.#options.inbox.close();
    await Promise.all([...this.#readers.values()].map((reader) => reader.close()));
  }

  get servers(): readonly RunningServer[] {
    const logs = [...this.#readers.keys()];
    const all = this.definitions.decided(this.#servers);
    return all.map((server) => ({ ...server, log: logs.indexOf(server.auditFile) }));
  }

  /** Questions that wait for an answer, those that end first before the others. */
  get waiting(): readonly WaitingCall[] {
    // One that was answered a moment ago is over before the next look.
    const open = new Set(this.#options.inbox.open().map(({ id }) => id));
    return this.#waiting.filter(({ id }) => open.has(id));
  }

  /** Questions that are over, the newest first: what became of each. */
  get settled(): readonly SettledCall[] {
    const all = [...this.#options.inbox.settled].slice(-SETTLED_SHOWN).reverse();
    return all.map(([id, { answer, reason, by, at }]) => {
      const n = this.calls.callOf(id);
      const { name, object } = (n === undefined ? undefined : this.calls.get(n)?.row) ?? {};
      const about = name === undefined ? undefined : `${name} ${object}`.trimEnd();
      return { id, at, answer, reason, by, n, about, isNotRun: reason === SERVER_GONE };
    });
  }

  /** What became of a question; undefined while it is open, and where it is not known. */
  becameOf(id: string): string | undefined {
    const settled = this.#options.inbox.settled.get(id);
    return settled === undefined ? undefined : becameText(settled);
  }

  /** Counts changes of servers and questions. */
  get version(): number {
    return this.#version;
  }

  get logs(): LogState[] {
    return [...this.#readers.values()].map(({ file, records, fault, changed, begins }) => {
      const archived = this.#archived.get(file) ?? [];
      return { file, records, fault, changed, begins, archived };
    });
  }

  /** Since when the console has all calls of every log, in milliseconds since 1970; undefined where it has none. */
  get since(): number | undefined {
    const { since } = this.calls;
    if (since === undefined) return undefined;
    return Math.max(since, ...[...this.#readers.values()].map(({ begins = since }) => begins));
  }

  /** What the last check of the logs found; it stays for every page. */
  get verified(): VerifiedLogs | undefined {
    return this.#verified;
  }

  /** Checks the logs, and compares them with what was read of them before: records cut from the end leave no trace in them. */
  async verify(check: (logs: readonly LogOf[]) => Promise<readonly Verification[]>): Promise<readonly Verification[]> {
    await this.#lookAtLogs();
    const found = await check([...this.#readers.keys()].map((file) => this.#keptBy(file)));
    const compared = found.map((each): Verification => {
      const reader = this.#readers.get(each.file);
      if (reader === undefined) return each;
      if (!each.ok) return { ...each, total: Math.max(reader.records, each.records) };
      if (each.files === 0 && reader.records > 0)
        return { ...each, ok: false, reason: reader.gone, total: reader.records };
      if (reader.changed !== undefined) return { ...each, ok: false, reason: reader.changed, total: reader.records };
      const known =
        reader.records === 1
          ? "the record that this console has read is there"
          : `the ${reader.records} records that this console has read are all there`;
      return { ...each, notes: [...each.notes, ...(reader.records > 0 ? [known] : [])] };
    });
    this.#verified = { at: Date.now(), found: compared };
    this.#version += 1;
    this.#wake();
    return compared;
  }

  /** Logs beside each other are of one policy: its servers that run at the same time write one each. */
  #keptBy(file: string): LogOf {
    const isBeside = (other: string): boolean => dirname(other) === dirname(file);
    const isOwn = isBeside(this.#options.auditFile);
    return { file, isOwn, policy: this.#servers.find(({ auditFile }) => isBeside(auditFile))?.policy.file };
  }

  /** Has the processes of a policy start one of its servers anew, or end it. */
  async control(asked: Parameters<typeof controlServer>[1]): Promise<Controlled> {
    const controlled = await controlServer(this.#options.controlFolder, asked);
    await this.lookAtServers();
    return controlled;
  }

  /** The answers that are remembered, each with the call that it was given to, where the console has that. */
  async remembered(): Promise<RememberedAnswers> {
    const { answers, unanswered } = await rememberedAnswers(this.#options.controlFolder);
    return { answers: answers.map((each) => ({ ...each, n: this.calls.callOf(each.id) })), unanswered };
  }

  /** Takes back one of them, or all. */
  takeBack(id: string | undefined): ReturnType<typeof takeBackAnswers> {
    return takeBackAnswers(this.#options.controlFolder, id, "console");
  }

  /** Resolves at the next change of anything, or when `signal` is aborted. */
  changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiters.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiters.add(done);
      signal.addEventListener("abort", done);
      if (signal.aborted) done();
    });
  }

  /** An open question; undefined when it is over, or there never was one. */
  question(id: string): PendingQuestion | undefined {
    return this.#options.inbox.open().find((waiting) => waiting.id === id);
  }

  /** The records of a call, in their order; those whose file is gone are left out. */
  async records(
    n: number,
  ): Promise<
    { readonly row: CallRow; readonly policy: string; readonly file: string; readonly texts: string[] } | undefined
  > {
    const entry = this.calls.get(n);
    if (entry === undefined) return undefined;
    const reader = [...this.#readers.values()][entry.row.log];
    const texts = reader === undefined ? [] : await Promise.all(entry.places.map((place) => reader.textAt(place)));
    const { row, policy } = entry;
    return { row, policy, file: reader?.file ?? "", texts: texts.filter((text) => text !== undefined) };
  }

  /** A line of one of the logs or of their full files, and the call that had its record there; undefined for any other file. */
  async recordAt(
    file: string,
    line: number,
  ): Promise<{ readonly text: string; readonly call: CallRow | undefined } | undefined> {
    const log = [...this.#readers.keys()].findIndex((each) => each === file || archivesOf(each).includes(file));
    const found = log < 0 ? undefined : await lineAt(file, line);
    return found && { text: found.text, call: this.calls.callAt({ log, ...found }) };
  }

  #written(): void {
    if (this.#due !== undefined || this.#closed) return;
    const pause = Math.max(0, this.#lookedAt + LOOK_MS - performance.now());
    this.#due = setTimeout(() => {
      // What is written while it looks is looked at next.
      this.#due = undefined;
      void this.#lookAtLogs();
    }, pause);
  }

  /** At all of them: while a folder was not watched, any of its logs may have been written to, and new ones begun. */
  async #lookAtLogs(): Promise<void> {
    this.#findLogs();
    this.#lookedAt = performance.now();
    const before = this.calls.cursor;
    await Promise.all([...this.#readers.values()].map((reader) => reader.look()));
    const faults = JSON.stringify(this.logs.map(({ fault, changed, archived }) => [fault, changed, archived]));
    if (faults !== this.#faults) this.#version += 1;
    if (faults !== this.#faults || this.calls.cursor !== before) this.#wake();
    this.#faults = faults;
    if (this.#told) this.#lookSoon();
  }

  /** Records may tell of processes hundreds of times a second. */
  #lookSoon(): void {
    this.#told = false;
    if (this.#toldLook !== undefined || this.#closed) return;
    const pause = Math.max(0, this.#askedAt + TOLD_MS - performance.now());
    this.#toldLook = setTimeout(() => {
      this.#toldLook = undefined;
      void this.lookAtServers();
    }, pause);
  }

  #take(record: LogRecord, place: RecordPlace): void {
    this.calls.add(record, place);
    this.#told ||= tellsOfProcesses(record, this.#servers);
  }

  #findLogs(): void {
    const isDue = performance.now() - this.#foundAt >= FIND_MS;
    if (isDue) this.#beginLogs();
    this.#watch.follow(this.#readers.keys());
  }

  #beginLogs(): void {
    this.#foundAt = performance.now();
    const named = [this.#options.auditFile, ...this.#servers.map(({ auditFile }) => auditFile)];
    for (const file of new Set(named.flatMap((each) => [each, ...existingLogs(each)]))) {
      if (this.#readers.has(file) || this.#readers.size >= MAX_LOGS) continue;
      this.#readers.set(file, new LogReader(file, this.#readers.size, (record, place) => this.#take(record, place)));
    }
    for (const file of this.#readers.keys()) this.#archived.set(file, archivedElsewhere([file]));
  }

  #lookAtQuestions(): void {
    const { inbox } = this.#options;
    // One that ends within its first second is to be known as well: what it had not finished is lost.
    if (inbox.look()) void this.lookAtServers();
    const open = inbox
      .open()
      .map(({ id, text, remember, until }) => ({ id, text, digest: digestOfText(text), remember, until }));
    open.sort((a, b) => a.until - b.until);
    if (open.length === this.#waiting.length && open.every(({ id }, index) => id === this.#waiting[index]?.id)) return;
    this.#waiting = open;
    this.#version += 1;
    this.#wake();
  }

  /** Looks that overlap are one, which looks once more: an older one that ends later would take new processes for gone. */
  lookAtServers(): Promise<void> {
    this.#serversWanted = true;
    this.#serversLook ??= this.#lookAtServersWhileWanted();
    return this.#serversLook;
  }

  async #lookAtServersWhileWanted(): Promise<void> {
    while (this.#serversWanted) {
      this.#serversWanted = false;
      await this.#lookAtServersOnce();
    }
    this.#serversLook = undefined;
  }

  async #lookAtServersOnce(): Promise<void> {
    this.#askedAt = performance.now();
    const running = await runningServers(this.#options.controlFolder);
    const gone = this.#servers
      .filter(({ pid, since }) => !running.some((server) => server.pid === pid && server.since === since))
      .map(goneOf);
    for (const server of gone) this.#lose(server, running);
    this.#servers = [...running, ...gone.slice(0, MAX_GONE)];
    // Theirs may be logs that nobody has looked for yet.
    this.#foundAt = -Infinity;
    this.#version += 1;
    this.#wake();
  }

  /** What a process that ended had not finished never will be. */
  #lose({ auditFile }: RunningServer, running: readonly RunningServer[]): void {
    if (running.some((server) => server.auditFile === auditFile)) return;
    const log = [...this.#readers.keys()].indexOf(auditFile);
    if (log >= 0) this.calls.lose(log);
  }

  /** A process that vanished is not shown any more: a person has seen it. */
  forget(pid: unknown, since: unknown): void {
    this.#servers = this.#servers.filter((each) => each.state !== "gone" || each.pid !== pid || each.since !== since);
    this.#version += 1;
    this.#wake();
  }

  #wake(): void {
    for (const waiter of [...this.#waiters]) waiter();
  }
}

/** With all that it had started: of none of it anybody knows anything. */
function goneOf(server: RunningServer): RunningServer {
  const gone = { state: "gone", cause: "", remedy: "", note: "", output: "" } as const;
  return {
    ...server,
    state: "gone",
    plugins: server.plugins.map((plugin) => ({ ...plugin, ...gone })),
    servers: (server.servers ?? []).map((each) => ({ ...each, ...gone })),
    memoryBytes: 0,
  };
}

/** Whether a process is likely to say something else of itself now. */
function tellsOfProcesses({ kind, server, outcome }: LogRecord, running: readonly RunningServer[]): boolean {
  if (typeof kind === "string" && /^(?:start|stop)$|^(?:server|plugins?|policy|lock)\./.test(kind)) return true;
  if (kind !== "call.result" || typeof server !== "string") return false;
  const alive = running.filter(({ state }) => state === "running");
  const known = alive.flatMap(({ servers = [] }) => servers).filter(({ name }) => name === server);
  return outcome !== "ok" || known.some(({ state }) => state !== "ready");
}

/** What became of a question, as the rest of a sentence that begins with it. */
export function becameText({ answer, reason, by }: Pick<SettledCall, "answer" | "reason" | "by">): string {
  if (reason === SERVER_GONE) return `was not run: ${SERVER_GONE}`;
  if (answer === undefined) return `was refused, since ${reason ?? "it was withdrawn"}`;
  const where = by === undefined ? "" : by === "console" ? " in the console" : " in a terminal";
  return `${answer === "deny" ? "was refused" : "was allowed"}${where}`;
}
