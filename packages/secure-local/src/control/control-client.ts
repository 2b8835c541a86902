// Asks the running servers of this person at their control sockets: the messages, how the servers are, and the
// questions that wait at them.
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { connect, type Socket } from "node:net";
import { join, resolve } from "node:path";
import type { RememberedAnswer, RememberedAnswers, RunningServer } from "@secure-local/console/api";
import { recordOf } from "../audit/call-records.js";

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

export interface WantedControl {
  readonly ask: "restart" | "stop";
  readonly policy: string;
  readonly server: string;
  /** The one process that is meant. Default: all that run by the policy. */
  readonly pid?: number | undefined;
}

/** Has the servers of this person that run by a policy start one of its servers anew, or end it. */
export async function controlServer(folder: string, { ask, policy, server, pid }: WantedControl): Promise<Controlled> {
  const meant = socketsIn(folder).filter((name) => pid === undefined || Number.parseInt(name, 10) === pid);
  const each = meant.map(async (name): Promise<Partial<Record<keyof Controlled, number>>> => {
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

/** The answers that servers of this person remember, each once, those that were given last first; and who could not say. */
export async function rememberedAnswers(folder: string): Promise<RememberedAnswers> {
  const all = await Promise.all(socketsIn(folder).map((name) => toldBy(folder, name, { ask: "remembered" })));
  const found = new Map<string, RememberedAnswer>();
  for (const answer of all.flatMap(({ told }) => (Array.isArray(told) ? (told as RememberedAnswer[]) : []))) {
    // Those that share what they remember say the same, and each counts its own calls.
    const { used = 0, lastUsed = 0 } = found.get(answer.id) ?? {};
    const last = Math.max(lastUsed, answer.lastUsed ?? 0);
    found.set(answer.id, { ...answer, used: used + answer.used, ...(last > 0 ? { lastUsed: last } : {}) });
  }
  const answers = [...found.values()].sort((a, b) => b.at - a.at);
  return { answers, unanswered: all.flatMap(({ silent }) => silent ?? []) };
}

/**
 * Takes back one of them wherever it is remembered, or all: one server after the other, so that one that several share is taken back
 * and recorded once.
 *
 * @returns the names of those that were taken back, and the ids of the processes that have not said that they did: they may remember
 * it still
 */
export async function takeBackAnswers(
  folder: string,
  id: string | undefined,
  by: AnswerPlace,
): Promise<{ readonly taken: readonly string[]; readonly unanswered: readonly number[] }> {
  const taken = new Set<string>();
  const unanswered: number[] = [];
  for (const name of socketsIn(folder)) {
    const { told = [], silent } = await toldBy(folder, name, { ask: "take back", id, by });
    for (const each of told) taken.add(each);
    if (silent !== undefined) unanswered.push(silent);
  }
  return { taken: [...taken], unanswered };
}

/** What the server of a socket says; or its id, where it runs and says nothing of use. One that is gone has nothing to say. */
async function toldBy<A extends keyof ControlAnswers>(
  folder: string,
  name: string,
  question: Extract<ControlRequest, { ask: A }>,
): Promise<{ readonly told?: ControlAnswers[A]; readonly silent?: number }> {
  const path = join(folder, name);
  const told = await asked<A>(path, question);
  if (told !== undefined) return { told };
  return fs.existsSync(path) ? { silent: Number.parseInt(name, 10) } : {};
}

/** The names of control sockets, of at most 64 servers. */
function socketsIn(folder: string): string[] {
  try {
    const names = fs.readdirSync(folder).filter((name) => name.endsWith(SOCKET_SUFFIX));
    return names.slice(0, MAX_SERVERS);
  } catch {
    // Nothing has run yet.
    return [];
  }
}

/** Its server was killed; whoever runs now has another name. */
function removeDeadSocket(path: string, { code }: NodeJS.ErrnoException): void {
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

// The words at the control socket of a running server: JSON lines, each read as if anybody had written it.

/** What may be asked. All but `questions` and `answer` are answered by one line, which ends the connection. */
export type ControlRequest =
  | { readonly ask: "state" }
  | { readonly ask: "restart"; readonly server: string }
  | { readonly ask: "stop"; readonly server: string }
  /** The answers that are remembered. */
  | { readonly ask: "remembered" }
  /** Takes back one of them, or all where `id` is absent. */
  | { readonly ask: "take back"; readonly id?: string | undefined; readonly by: AnswerPlace }
  /**
   * From now on each open question is told, and what becomes of it; the connection may answer what it was told. `by`: where
   * they are shown. A terminal that goes away has refused what it showed; a console has not, since it may be opened again.
   */
  | { readonly ask: "questions"; readonly by?: AnswerPlace | undefined }
  /** `shown` is the digest of the text that was shown: a consent to another text is none. */
  | {
      readonly ask: "answer";
      readonly id: string;
      readonly shown: string;
      readonly answer: PersonsAnswer;
      readonly by: AnswerPlace;
    };

/** What is answered, by what was asked. */
export interface ControlAnswers {
  readonly state: RunningServer;
  /** False: there is no server of that name. */
  readonly restart: boolean;
  readonly stop: boolean;
  readonly remembered: readonly RememberedAnswer[];
  /** What was taken back, by its names. */
  readonly "take back": readonly string[];
}

/** What a person may answer. */
export type PersonsAnswer = "approve" | "remember" | "deny";

/** Where a person answers. What says nothing of it, as an older version does, is a terminal. */
export type AnswerPlace = "terminal" | "console";

/** What became of a question: the answer that counted, or the reason why there is none. */
export interface SettledQuestion {
  readonly answer?: PersonsAnswer | undefined;
  readonly reason?: string | undefined;
  /** Where that answer was given; absent from what an older version says, and where there is none. */
  readonly by?: AnswerPlace | undefined;
  /** Whether the answer is that of whoever is told this. */
  readonly counted: boolean;
}

/** Told to those that asked for the questions. */
export type QuestionMessage =
  | {
      readonly kind: "question";
      readonly id: string;
      readonly text: string;
      readonly remember?: string | undefined;
      readonly secondsLeft: number;
    }
  | ({ readonly kind: "settled"; readonly id: string } & SettledQuestion);

/** Why there is no answer to a question whose server ended while it was open. */
export const SERVER_GONE = "its server was gone before anybody answered";
/** Why there is no answer when whoever had the question before their eyes has left. */
export const TERMINAL_CLOSED = "the terminal was closed";
/** Characters of a request: the longest is an answer, with its digest. */
export const MAX_REQUEST: number = 1_024;
/** Characters of a question's line: the longest question with every character escaped. */
const MAX_LINE: number = 512 * 1024;

/** What names the text a person saw. */
export function digestOfText(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function controlLine(message: ControlRequest | QuestionMessage): string {
  return `${JSON.stringify(message)}\n`;
}

/** Undefined for anything that cannot be asked. */
export function readControlRequest(line: string): ControlRequest | undefined {
  const { ask, server, id, shown, answer, by } = recordOf(line) ?? {};
  if (ask === "state" || ask === "remembered") return { ask };
  if (ask === "take back" && isPlace(by)) return typeof id === "string" ? { ask, id, by } : { ask, by };
  if (ask === "questions") return { ask, by: isPlace(by) ? by : "terminal" };
  if ((ask === "restart" || ask === "stop") && typeof server === "string") return { ask, server };
  if (ask !== "answer" || typeof id !== "string" || typeof shown !== "string") return undefined;
  return isAnswer(answer) ? { ask, id, shown, answer, by: isPlace(by) ? by : "terminal" } : undefined;
}

/** Undefined for anything a server does not say of its questions. */
function readQuestionMessage(line: string): QuestionMessage | undefined {
  const { kind, id, text, remember, secondsLeft, answer, reason, by, counted } = recordOf(line) ?? {};
  if (typeof id !== "string") return undefined;
  if (kind === "settled") {
    const given = { ...(isAnswer(answer) ? { answer } : {}), ...(typeof reason === "string" ? { reason } : {}) };
    return { kind, id, ...given, ...(isPlace(by) ? { by } : {}), counted: counted === true };
  }
  if (kind !== "question" || typeof text !== "string" || typeof secondsLeft !== "number") return undefined;
  return { kind, id, text, secondsLeft, ...(typeof remember === "string" ? { remember } : {}) };
}

export function isAnswer(value: unknown): value is PersonsAnswer {
  return value === "approve" || value === "remember" || value === "deny";
}

export function isPlace(value: unknown): value is AnswerPlace {
  return value === "terminal" || value === "console";
}

/** Cuts what arrives into lines; a line that is too long ends it all. */
export class LineReader {
  readonly #max: number;
  readonly #line: (line: string) => void;
  readonly #tooLong: () => void;
  #rest = "";

  /** @param max Characters of a line. */
  constructor(max: number, line: (line: string) => void, tooLong: () => void) {
    this.#max = max;
    this.#line = line;
    this.#tooLong = tooLong;
  }

  read(text: string): void {
    this.#rest += text;
    for (let end = this.#rest.indexOf("\n"); end >= 0; end = this.#rest.indexOf("\n")) {
      const line = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end + 1);
      if (line.length > this.#max) return this.#tooLong();
      this.#line(line);
    }
    if (this.#rest.length > this.#max) this.#tooLong();
  }
}

// The open questions of all servers of this person, by their control sockets: given one by one or all, and what became of them.

/** A question that waits for an answer. */
export interface PendingQuestion {
  readonly id: string;
  readonly text: string;
  /** How long a remembered consent would last, in words; undefined where there is none. */
  readonly remember: string | undefined;
  readonly secondsLeft: number;
  /** Milliseconds since 1970 at which nobody's answer counts any more. */
  readonly until: number;
  /** Aborted when the question is over, with a `SettledQuestion` as the reason. */
  readonly gone: AbortSignal;
  /** Sends the first answer that is given here. @returns what became of the question; undefined while its server is silent */
  answer(answer: PersonsAnswer): Promise<SettledQuestion | undefined>;
}
const MAX_QUESTIONS = 64;
/** Questions that are over, of which it is known what became: an answer to an older one comes from a page of hours ago. */
const MAX_SETTLED = 256;
/** Milliseconds a server has to say that it has heard an answer: it is on this machine, and may be busy. */
const HEARD_MS = 3_000;

/** A question that is open here. Servers that share with others show those of the others too, so it may come from several. */
interface Heard {
  readonly over: AbortController;
  readonly text: string;
  readonly servers: Set<Socket>;
  /** Whether an answer was given here, to all of those servers: the one whose word counts may not be the first that says what became. */
  isAnswered: boolean;
  /** What is known of it until all have said. */
  became?: SettledQuestion;
}

export class ApprovalsInbox {
  readonly #folder: string;
  readonly #by: AnswerPlace;
  readonly #open = new Map<string, Heard>();
  readonly #servers = new Map<string, Socket>();
  /** Of a version that tells no questions: not asked again. */
  readonly #deaf = new Set<string>();
  readonly #settled = new Map<string, SettledQuestion & { readonly at: number }>();
  #waiting: PendingQuestion[] = [];
  /** Whether a server has ended since the last look. */
  #left = false;
  #arrived: (() => void) | undefined;

  /**
   * @param folder where control sockets are.
   * @param by where the answers are given, for the record and for whoever has the same questions before their eyes.
   */
  constructor(folder: string, by: AnswerPlace) {
    this.#folder = folder;
    this.#by = by;
  }

  /** Connects to servers that have begun since the last look. @returns whether any has, or one has ended since */
  look(): boolean {
    let found = this.#left;
    this.#left = false;
    const names = socketsIn(this.#folder);
    for (const name of this.#deaf) if (!names.includes(name)) this.#deaf.delete(name);
    for (const name of names) {
      if (this.#servers.has(name) || this.#deaf.has(name) || this.#servers.size >= MAX_SERVERS) continue;
      this.#connect(name, join(this.#folder, name));
      found = true;
    }
    return found;
  }

  /** The next question that is still open; resolves when there is one. */
  async next(): Promise<PendingQuestion> {
    for (;;) {
      const first = this.#waiting.shift();
      if (first !== undefined && !first.gone.aborted) return first;
      if (first === undefined) await new Promise<void>((resolve) => (this.#arrived = resolve));
    }
  }

  /** All questions that are open, the oldest first. They stay; `next` takes them out. */
  open(): readonly PendingQuestion[] {
    this.#waiting = this.#waiting.filter(({ gone }) => !gone.aborted);
    return this.#waiting;
  }

  /** Questions that are over, by their ids, the oldest first, with the time in milliseconds since 1970. */
  get settled(): ReadonlyMap<string, SettledQuestion & { readonly at: number }> {
    return this.#settled;
  }

  close(): void {
    for (const server of this.#servers.values()) server.destroy();
  }

  #connect(name: string, path: string): void {
    const server = connect(path, () => server.write(controlLine({ ask: "questions", by: this.#by })));
    this.#servers.set(name, server);
    server.setEncoding("utf8");
    const heard = (line: string): void => {
      const message = readQuestionMessage(line);
      if (message === undefined) this.#deaf.add(name);
      else if (message.kind === "settled") this.#over(server, message);
      else this.#asked(message, server);
    };
    const lines = new LineReader(MAX_LINE, heard, () => server.destroy());
    server.on("data", (text: string) => lines.read(text));
    server.on("error", (error) => removeDeadSocket(path, error));
    server.on("close", () => {
      this.#servers.delete(name);
      this.#left = true;
      for (const [id, { servers }] of this.#open) {
        if (servers.size > 1) servers.delete(server);
        else this.#over(server, { id, reason: SERVER_GONE, counted: false });
      }
    });
  }

  #over(server: Socket, message: SettledQuestion & { readonly id: string }): void {
    const { id, answer, reason, by, counted } = message;
    const heard = this.#open.get(id);
    if (heard?.servers.has(server) !== true) return;
    const settled = { answer, reason, by, counted };
    if (heard.isAnswered && !counted && heard.servers.size > 1) {
      // Of processes that share, one may have heard of this very answer by another before it was read here.
      heard.servers.delete(server);
      if (heard.became?.answer === undefined) heard.became = settled;
      return;
    }
    const best = answer === undefined || heard.became?.answer !== undefined ? (heard.became ?? settled) : settled;
    this.#ended(id, heard, counted ? settled : best);
  }

  #ended(id: string, heard: Heard, settled: SettledQuestion): void {
    this.#open.delete(id);
    this.#settled.set(id, { ...settled, at: Date.now() });
    const [oldest] = this.#settled.keys();
    if (this.#settled.size > MAX_SETTLED && oldest !== undefined) this.#settled.delete(oldest);
    heard.over.abort(settled);
  }

  #asked({ id, text, remember, secondsLeft }: Extract<QuestionMessage, { kind: "question" }>, server: Socket): void {
    const heard = this.#open.get(id);
    if (heard !== undefined) {
      // The one that asks and those that show it say the same; whoever says another thing asks nothing here.
      if (heard.text === text) heard.servers.add(server);
      return;
    }
    if ([...this.#open.values()].filter(({ servers }) => servers.has(server)).length >= MAX_QUESTIONS) return;
    const over = new AbortController();
    const gone = over.signal;
    const servers = new Set([server]);
    const open: Heard = { over, text, servers, isAnswered: false };
    this.#open.set(id, open);
    const shown = digestOfText(text);
    let answered = false;
    const answer: PendingQuestion["answer"] = async (given) => {
      const first = !answered;
      answered = true;
      const said = controlLine({ ask: "answer", id, shown, answer: given, by: this.#by });
      open.isAnswered = true;
      if (first && !gone.aborted) for (const each of servers) each.write(said);
      const known = await becameOf(gone);
      if (known === undefined && open.became !== undefined) this.#ended(id, open, open.became);
      const settled = known ?? open.became;
      return settled && { ...settled, counted: first && settled.counted };
    };
    const until = Date.now() + secondsLeft * 1_000;
    this.#waiting.push({ id, text, remember, secondsLeft, until, gone, answer });
    this.#arrived?.();
  }
}

function becameOf(gone: AbortSignal): Promise<SettledQuestion | undefined> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      resolve(gone.aborted ? (gone.reason as SettledQuestion) : undefined);
    };
    const timer = setTimeout(done, HEARD_MS);
    if (gone.aborted) done();
    else gone.addEventListener("abort", done, { once: true });
  });
}
