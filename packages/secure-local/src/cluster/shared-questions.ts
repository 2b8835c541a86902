// Puts the questions of one process to the people at all of them: who answers first, wherever, has answered.
import type { Bus, RecordStore } from "@secure-local/mcp/cluster";
import { digestOfText, isAnswer, type PersonsAnswer, TERMINAL_CLOSED } from "../control/control-messages.js";
import type { ApprovalChannel, ApprovalQuestion, ApprovalReply } from "../guard/approvals/approvals.js";

const TOPIC = "questions";
/** Questions of other processes that are shown here at once: more than anybody reads. */
const MOST_SHOWN = 64;

/** What processes tell each other. What others hear is sealed with the shared key, so that nobody else says any of it. */
type QuestionNews =
  | { readonly kind: "asked"; readonly question: ApprovalQuestion }
  /** `shown`: the digest of the text that was shown. Without an answer the terminal was closed that showed it. */
  | { readonly kind: "answered"; readonly id: string; readonly shown: string; readonly answer?: PersonsAnswer }
  | { readonly kind: "settled"; readonly id: string };

interface OwnQuestion {
  readonly question: ApprovalQuestion;
  settle(reply: ApprovalReply): void;
}

export interface SharedQuestionsOptions {
  readonly node: string;
  readonly bus: Bus;
  readonly records: RecordStore;
  /** Shows questions to the people at this process. */
  readonly local: ApprovalChannel;
}

export class SharedQuestions implements ApprovalChannel {
  readonly #options: SharedQuestionsOptions;
  readonly #own = new Map<string, OwnQuestion>();
  /** Questions of others that are shown here, and by whom they are asked. */
  readonly #shown = new Map<string, { readonly node: string; readonly over: AbortController }>();
  #stop: (() => void) | undefined;

  constructor(options: SharedQuestionsOptions) {
    this.#options = options;
  }

  /** From now on the questions of others are shown here, those that are open among them. */
  async start(): Promise<void> {
    const { bus } = this.#options;
    const hear = (from: string, text: string): void => this.#hear(from, JSON.parse(text) as QuestionNews);
    this.#stop = await bus.listen({ hear, missed: () => void this.#look() }, TOPIC);
    await this.#look();
  }

  close(): void {
    this.#stop?.();
    for (const { over } of this.#shown.values()) over.abort();
  }

  /** These processes are there: the questions of any other are gone with it. */
  present(nodes: ReadonlyMap<string, unknown>): void {
    for (const [id, { node, over }] of this.#shown) {
      if (nodes.has(node)) continue;
      this.#shown.delete(id);
      over.abort();
    }
  }

  async ask(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalReply> {
    const { local, node, records } = this.#options;
    const { id, timeoutMs } = question;
    const over = new AbortController();
    const elsewhere = new Promise<ApprovalReply>((settle) => this.#own.set(id, { question, settle }));
    const end = (): void => over.abort(signal.reason);
    signal.addEventListener("abort", end);
    const text = JSON.stringify({ node, question, until: Date.now() + timeoutMs });
    // Where the others cannot be reached, whoever sits here is asked all the same.
    const told = records.put(TOPIC, id, text, timeoutMs).then(() => this.#tell({ kind: "asked", question }));
    told.catch(() => undefined);
    try {
      return await Promise.race([local.ask(question, over.signal), elsewhere]);
    } finally {
      signal.removeEventListener("abort", end);
      this.#own.delete(id);
      over.abort();
      // After it was told: what is settled is not put again.
      const settled = told.then(() => records.delete(TOPIC, id)).then(() => this.#tell({ kind: "settled", id }));
      settled.catch(() => undefined);
    }
  }

  /** Questions that are open, for one who has heard of none. */
  async #look(): Promise<void> {
    for (const text of (await this.#options.records.list(TOPIC)).values()) {
      const { node, question, until } = JSON.parse(text) as { node: string; question: ApprovalQuestion; until: number };
      this.#show(node, { ...question, timeoutMs: Math.max(0, until - Date.now()) });
    }
  }

  #hear(from: string, news: QuestionNews): void {
    if (from === this.#options.node) return;
    if (news.kind === "asked") return this.#show(from, news.question);
    if (news.kind === "answered") return this.#answered(news);
    this.#shown.get(news.id)?.over.abort();
    this.#shown.delete(news.id);
  }

  /** One answer to a question of ours, from where it was shown. */
  #answered({ id, shown, answer }: Extract<QuestionNews, { kind: "answered" }>): void {
    const own = this.#own.get(id);
    if (own === undefined) return;
    const { question, settle } = own;
    if (shown !== digestOfText(question.text))
      settle({ answer: undefined, reason: "another process had shown another text" });
    else if (!isAnswer(answer)) settle({ answer: undefined, reason: TERMINAL_CLOSED });
    else settle({ answer: answer === "remember" && question.remember === undefined ? "deny" : answer });
  }

  #show(node: string, question: ApprovalQuestion): void {
    const { id, text, timeoutMs } = question;
    if (node === this.#options.node || this.#shown.has(id) || this.#shown.size >= MOST_SHOWN) return;
    const over = new AbortController();
    this.#shown.set(id, { node, over });
    const timer = setTimeout(() => over.abort(), timeoutMs).unref();
    const answered = (reply: ApprovalReply): void => {
      clearTimeout(timer);
      if (over.signal.aborted) return;
      const shown = digestOfText(text);
      if (reply.answer !== undefined) void this.#tell({ kind: "answered", id, shown, answer: reply.answer });
      else if (reply.reason === TERMINAL_CLOSED) void this.#tell({ kind: "answered", id, shown });
    };
    void this.#options.local.ask(question, over.signal).then(answered);
  }

  async #tell(news: QuestionNews): Promise<void> {
    const { bus, node } = this.#options;
    await bus.publish(node, JSON.stringify(news), TOPIC).catch(() => undefined);
  }
}
