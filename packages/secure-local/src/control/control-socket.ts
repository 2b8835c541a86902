// A running server's door for its owner: a Unix socket in the state folder, at which `status`, `approve`, `servers` and `console` ask.
//
// One JSON line asks, one answers; whoever asks for the questions is told each of them and may answer (`control-client.ts`).
// The folder and the socket are their owner's only. A server that was killed leaves its socket; whoever is refused there removes it.
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join, resolve } from "node:path";
import type { RunningServer } from "@secure-local/console/api";
import type { AuditSink } from "../audit/audit-event.js";
import { makeFolder } from "../audit/owned-files.js";
import type { ApprovalChannel, ApprovalQuestion, ApprovalReply } from "../guard/approvals/approvals.js";
import type { SecureServer } from "../server/secure-server.js";
import {
  type AnswerPlace,
  type ControlAnswers,
  controlLine,
  type ControlRequest,
  digestOfText,
  LineReader,
  MAX_REQUEST,
  type QuestionMessage,
  readControlRequest,
  SOCKET_SUFFIX,
  TERMINAL_CLOSED,
} from "./control-client.js";

/** Bytes of a path that every system takes for a socket. */
const MAX_PATH = 103;
/** Those of one owner who ask at the same time: consoles, terminals, and one to spare each. */
const MAX_PEERS = 16;
/** The end of a socket's name until it listens. */
const BEGUN = ".new";

/** What the socket tells of beside the server itself. */
export interface ControlledServer {
  readonly secure: Pick<
    SecureServer,
    | "policy"
    | "tools"
    | "serverTools"
    | "clients"
    | "pluginHealth"
    | "pluginReviews"
    | "serverHealth"
    | "restartServer"
    | "stopServer"
    | "consents"
  >;
  /** What is done and known wherever it is, where that is in more than `secure`. */
  readonly servers?: Pick<SecureServer, "restartServer" | "stopServer" | "consents" | "clients"> | undefined;
  readonly version: string;
  readonly auditFile: string;
  /** Asked whether checkpoints of that can be written. */
  readonly audit?: Pick<AuditSink, "checkpoints">;
  readonly transport: "stdio" | "http";
  readonly url?: string | undefined;
}

export class ControlSocket {
  /** Those that wait for a person, who answers at this socket. */
  readonly questions: OpenQuestions;
  readonly #about: ControlledServer;
  readonly #since = Date.now();
  readonly #server: Server;
  readonly #peers = new Set<Socket>();
  #path: string | undefined;

  private constructor(about: ControlledServer, say: (line: string) => void) {
    this.questions = new OpenQuestions(say);
    this.#about = about;
    this.#server = createServer((peer) => this.#welcome(peer));
    this.#server.maxConnections = MAX_PEERS;
    this.#server.unref();
  }

  /**
   * Begins to listen. Nobody needs it to serve: where there can be no socket, `say` is told why, the server goes on, and
   * nobody can be asked. Windows has no folder that only its owner's programs can listen in, so there it is silently left out.
   */
  static async open(
    folder: string,
    about: ControlledServer,
    say: (line: string) => void,
  ): Promise<ControlSocket | undefined> {
    if (process.platform === "win32") return undefined;
    const socket = new ControlSocket(about, say);
    try {
      await socket.#listen(folder);
      return socket;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      say(`neither approve nor the console can find this server: ${why}`);
      return undefined;
    }
  }

  /** Resolves when the socket is gone. */
  async close(): Promise<void> {
    for (const peer of this.#peers) peer.destroy();
    if (this.#path !== undefined) fs.rmSync(this.#path, { force: true });
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #listen(folder: string): Promise<void> {
    makeFolder(folder);
    const found = fs.lstatSync(folder);
    if (!found.isDirectory() || found.uid !== process.getuid?.()) throw new Error(`${folder} is not a folder of yours`);
    if ((found.mode & 0o077) !== 0) fs.chmodSync(folder, 0o700);
    const path = join(folder, `${process.pid}-${randomBytes(4).toString("hex")}${SOCKET_SUFFIX}`);
    if (Buffer.byteLength(path) + BEGUN.length > MAX_PATH) throw new Error(`${path} is too long a path for a socket`);
    // Whoever is refused at a socket takes its process for dead and removes it. So it gets its name when it listens.
    const begun = `${path}${BEGUN}`;
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(begun, resolve);
    });
    this.#server.on("error", () => undefined);
    fs.chmodSync(begun, 0o600);
    fs.renameSync(begun, path);
    this.#path = path;
  }

  #welcome(peer: Socket): void {
    this.#peers.add(peer);
    peer.unref();
    peer.setEncoding("utf8");
    const watcher: Watcher = { tell: (message) => void (peer.writable && peer.write(controlLine(message))) };
    const read = (line: string): void => this.#asked(readControlRequest(line), peer, watcher);
    const lines = new LineReader(MAX_REQUEST, read, () => peer.destroy());
    peer.on("data", (text: string) => lines.read(text));
    peer.on("error", () => undefined);
    peer.on("close", () => {
      this.#peers.delete(peer);
      this.questions.leave(watcher);
    });
  }

  #asked(request: ControlRequest | undefined, peer: Socket, watcher: Watcher): void {
    if (request?.ask === "answer") return this.questions.answer(watcher, request);
    if (request?.ask === "questions") watcher.place = request.by ?? "terminal";
    if (request?.ask === "questions" && this.questions.join(watcher)) return;
    const end = (reply: object): void => void peer.end(`${JSON.stringify(reply)}\n`);
    if (request === undefined) return end({ error: "this version knows no such question" });
    if (request.ask === "questions") return end({ error: "too many terminals and consoles watch already" });
    this.#answer(request).then(
      (answer) => end({ answer }),
      (error: unknown) => end({ error: error instanceof Error ? error.message : String(error) }),
    );
  }

  async #answer(
    request: Extract<ControlRequest, { ask: keyof ControlAnswers }>,
  ): Promise<ControlAnswers[keyof ControlAnswers]> {
    const { secure, servers = secure } = this.#about;
    if (request.ask === "restart") return servers.restartServer(request.server);
    if (request.ask === "remembered") return servers.consents.remembered();
    if (request.ask === "take back") {
      const taken = await servers.consents.takeBack(request.id, request.by);
      return taken.map(({ id }) => id);
    }
    return request.ask === "stop" ? servers.stopServer(request.server) : this.#state();
  }

  #state(): RunningServer {
    const { secure, servers = secure, version, auditFile, audit, transport, url } = this.#about;
    const { file, hash, profile } = secure.policy;
    const { user, system } = process.cpuUsage();
    const reviews = new Map(secure.pluginReviews().map((review) => [review.plugin, review]));
    return {
      pid: process.pid,
      version,
      transport,
      url,
      since: this.#since,
      // Whoever asks may be in another folder.
      policy: { file: file && resolve(file), hash, profile: profile?.name ?? "" },
      auditFile,
      checkpointFault: audit?.checkpoints?.fault,
      tools: [...secure.tools(), ...secure.serverTools()].map(({ name }) => name),
      plugins: secure.pluginHealth().map(({ name, state, version: of, tools, starts, note, output, wall }) => {
        const { findings = [], changes = [], withheld = new Map<string, string>() } = reviews.get(name) ?? {};
        const review = { findings, changes, withheld: Object.fromEntries(withheld) };
        return { name, state, version: of, tools, starts, note, output, wall, ...review };
      }),
      servers: secure.serverHealth(),
      clients: servers.clients(),
      memoryBytes: process.memoryUsage.rss(),
      cpuSeconds: (user + system) / 1e6,
      state: "running",
    };
  }
}

// The questions that wait for a person, and those who have them before their eyes: terminals and consoles.

/** Those who may have the questions before their eyes: the terminals and consoles of one person. */
const MAX_WATCHERS = 8;

const NOBODY_WATCHES = "a call waits for consent: run mcp-secure-local approve in a terminal";

/** Is told of each question. */
interface Watcher {
  /** Absent: a terminal. */
  place?: AnswerPlace;
  tell(message: QuestionMessage): void;
}

interface Open {
  readonly question: ApprovalQuestion;
  readonly ends: number;
  readonly shownTo: Set<Watcher>;
  settle(reply: ApprovalReply): void;
}

export class OpenQuestions implements ApprovalChannel {
  readonly #say: (line: string) => void;
  readonly #open = new Map<string, Open>();
  readonly #watchers = new Set<Watcher>();

  /** @param say tells the operator to answer, where nobody watches. */
  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  async ask(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalReply> {
    let settle!: (reply: ApprovalReply) => void;
    const reply = new Promise<ApprovalReply>((resolve) => (settle = resolve));
    const ends = performance.now() + question.timeoutMs;
    const open: Open = { question, ends, shownTo: new Set(), settle };
    this.#open.set(question.id, open);
    const withdraw = (): void => {
      const reason = typeof signal.reason === "string" ? signal.reason : "the question was withdrawn";
      this.#settle(open, { answer: undefined, reason });
    };
    signal.addEventListener("abort", withdraw);
    if (signal.aborted) withdraw();
    if (this.#watchers.size === 0) this.#say(NOBODY_WATCHES);
    for (const watcher of this.#watchers) this.#show(open, watcher);
    try {
      return await reply;
    } finally {
      signal.removeEventListener("abort", withdraw);
    }
  }

  /** Shows all that is open, and from now on each question. @returns false when too many watch already */
  join(watcher: Watcher): boolean {
    if (this.#watchers.size >= MAX_WATCHERS && !this.#watchers.has(watcher)) return false;
    this.#watchers.add(watcher);
    for (const open of this.#open.values()) this.#show(open, watcher);
    return true;
  }

  /** Each question takes one answer, from somebody who was shown all of it. */
  answer(watcher: Watcher, given: Extract<ControlRequest, { ask: "answer" }>): void {
    const open = this.#open.get(given.id);
    if (open === undefined || !open.shownTo.has(watcher)) return;
    if (given.shown !== digestOfText(open.question.text)) {
      this.#settle(open, { answer: undefined, reason: "the terminal had shown another text" });
      return;
    }
    const notOffered = given.answer === "remember" && open.question.remember === undefined;
    this.#settle(open, { answer: notOffered ? "deny" : given.answer, by: given.by }, watcher);
  }

  /**
   * Who had the question before their eyes in a terminal and goes away has not said yes. A console that ends has said
   * nothing: it may be started again, or another place be opened, for as long as the question has time.
   */
  leave(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    let waits = false;
    for (const open of this.#open.values()) {
      if (!open.shownTo.delete(watcher) || open.shownTo.size > 0) continue;
      if (watcher.place !== "console") this.#settle(open, { answer: undefined, reason: TERMINAL_CLOSED });
      else waits = true;
    }
    if (waits) this.#say(NOBODY_WATCHES);
  }

  #show(open: Open, watcher: Watcher): void {
    if (open.shownTo.has(watcher)) return;
    const { id, text, remember } = open.question;
    const secondsLeft = Math.max(0, (open.ends - performance.now()) / 1_000);
    open.shownTo.add(watcher);
    watcher.tell({ kind: "question", id, text, secondsLeft, remember });
  }

  #settle(open: Open, reply: ApprovalReply, by?: Watcher): void {
    const { id, settled } = open.question;
    if (!this.#open.delete(id)) return;
    const tell = (became: ApprovalReply, counts: boolean): void => {
      for (const watcher of open.shownTo)
        watcher.tell({ kind: "settled", id, ...became, counted: counts && watcher === by });
    };
    // Of two people who answer at two processes only one has: the process that asked knows which.
    if (by === undefined || settled === undefined) tell(reply, true);
    else
      settled().then(
        (there) => tell(there.reply, there.byUs),
        () => tell(reply, false),
      );
    open.settle(reply);
  }
}
