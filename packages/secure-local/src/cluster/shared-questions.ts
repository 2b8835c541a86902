// Puts the questions of one process to the people at all of them: who answers first, wherever, has answered.
import type { Bus, RecordStore } from "@secure-local/mcp/cluster";
import {
  type AnswerPlace,
  digestOfText,
  isAnswer,
  isPlace,
  type PersonsAnswer,
  TERMINAL_CLOSED,
} from "../control/control-client.js";
import {
  type ApprovalChannel,
  type ApprovalQuestion,
  type ApprovalReply,
  NO_MEMORY,
  type SettledElsewhere,
} from "../guard/approvals/approvals.js";

const TOPIC = "questions";
/** Questions of other processes that are shown here at once: more than anybody reads. */
const MOST_SHOWN = 64;

/** What processes tell each other. What others hear is sealed with the shared key, so that nobody else says any of it. */
type QuestionNews =
  | { readonly kind: "asked"; readonly question: ApprovalQuestion }
  /** `shown`: the digest of the text that was shown. Without an answer the terminal was closed that showed it. */
  | {
      readonly kind: "answered";
      readonly id: string;
      readonly shown: string;
      readonly answer?: PersonsAnswer;
      readonly by?: AnswerPlace | undefined;
    }
  /** `at`: the process whose answer counted; undefined where there is none. */
  | {
      readonly kind: "settled";
      readonly id: string;
      readonly at?: string;
      readonly answer?: PersonsAnswer | undefined;
      readonly by?: AnswerPlace | undefined;
      readonly reason?: string;
    };

/** A reply, and the process at which it was given. */
interface GivenReply {
  readonly reply: ApprovalReply;
  readonly at: string;
}

interface OwnQuestion {
  readonly question: ApprovalQuestion;
  settle(given: GivenReply): void;
}

/** A question of another process that is shown here. */
interface ShownQuestion {
  /** The process that asks. */
  readonly node: string;
  /** Ends it, with what became of it. */
  end(became: SettledElsewhere): void;
}

const GONE_REASON = "the process that asked has not said what became of it";
const GONE: ApprovalReply = { answer: undefined, reason: GONE_REASON };
const NOT_PUT: ApprovalReply = { answer: undefined, reason: "the question could not be put" };

export interface SharedQuestionsOptions {
  readonly node: string;
  readonly bus: Bus;
  readonly records: RecordStore;
  /** Shows questions to the people at this process. */
  readonly local: ApprovalChannel;
  /** Whether nothing can be written to what is shared now, though it may still be read. */
  readonly away: () => boolean;
}

export class SharedQuestions implements ApprovalChannel {
  readonly #options: SharedQuestionsOptions;
  readonly #own = new Map<string, OwnQuestion>();
  readonly #shown = new Map<string, ShownQuestion>();
  #stop: (() => void) | undefined;
  /** Some of what was said was missed, and what is open could not be looked at since. */
  #missed = false;

  constructor(options: SharedQuestionsOptions) {
    this.#options = options;
  }

  /** From now on the questions of others are shown here, those that are open among them. */
  async start(): Promise<void> {
    const { bus } = this.#options;
    const hear = (from: string, text: string): void => this.#hear(from, JSON.parse(text) as QuestionNews);
    this.#stop = await bus.listen({ hear, missed: () => void this.#lookAgain() }, TOPIC);
    await this.#look();
  }

  close(): void {
    this.#stop?.();
    for (const { end } of this.#shown.values()) end({ reply: GONE, byUs: false });
  }

  /** These processes are there, and so is what they share: the questions of any other are gone with it. */
  present(nodes: ReadonlyMap<string, unknown>): void {
    if (this.#missed) void this.#lookAgain();
    for (const { node, end } of this.#shown.values()) if (!nodes.has(node)) end({ reply: GONE, byUs: false });
  }

  async ask(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalReply> {
    const { local, node, records } = this.#options;
    const { id, timeoutMs } = question;
    const over = new AbortController();
    const settledHere = (given: GivenReply): SettledElsewhere => ({ reply: given.reply, byUs: given.at === node });
    const elsewhere = new Promise<GivenReply>((settle) => this.#own.set(id, { question, settle }));
    const end = (): void => over.abort(signal.reason);
    signal.addEventListener("abort", end);
    const text = JSON.stringify({ node, question, until: Date.now() + timeoutMs });
    // Where the others cannot be reached, whoever sits here is asked all the same.
    const told = soon(() => records.put(TOPIC, id, text, timeoutMs)).then(() =>
      this.#tell({ kind: "asked", question }),
    );
    told.catch(() => undefined);
    const asked = { ...question, settled: () => decided.then(settledHere) };
    const answered = soon(() => local.ask(asked, over.signal)).catch(() => NOT_PUT);
    const first: Promise<GivenReply> = Promise.race([answered.then((reply) => ({ reply, at: node })), elsewhere]);
    const decided = first.then((given) => this.#counting(id, given));
    const { reply, at } = await decided;
    signal.removeEventListener("abort", end);
    this.#own.delete(id);
    over.abort(answeredElsewhere(reply));
    // After it was told: what is settled is not put again.
    const settled = told
      .then(() => records.delete(TOPIC, id))
      .then(() => this.#tell({ kind: "settled", id, at, ...reply }));
    settled.catch(() => undefined);
    return reply;
  }

  /** No yes counts while what is shared is away: the call does not run then, so whoever gave it is told so. Never rejects. */
  async #counting(id: string, given: GivenReply): Promise<GivenReply> {
    const { away, records } = this.#options;
    const { answer } = given.reply;
    if (answer !== "approve" && answer !== "remember") return given;
    const isThere = await soon(() => records.get(TOPIC, id)).then(
      () => !away(),
      () => false,
    );
    return isThere ? given : { ...given, reply: { answer: undefined, reason: NO_MEMORY } };
  }

  /** Where they cannot be looked at now, that is done once what is shared is there again. Never rejects. */
  async #lookAgain(): Promise<void> {
    this.#missed = false;
    await this.#look().catch(() => (this.#missed = true));
  }

  /** Questions that are open, for one who may have missed what was said of them. */
  async #look(): Promise<void> {
    const open = await this.#options.records.list(TOPIC);
    for (const [id, { end }] of this.#shown) if (!open.has(id)) end({ reply: GONE, byUs: false });
    for (const text of open.values()) {
      const { node, question, until } = JSON.parse(text) as { node: string; question: ApprovalQuestion; until: number };
      this.#show(node, { ...question, timeoutMs: Math.max(0, until - Date.now()) });
    }
  }

  #hear(from: string, news: QuestionNews): void {
    if (from === this.#options.node) return;
    if (news.kind === "asked") return this.#show(from, news.question);
    if (news.kind === "answered") return this.#answered(from, news);
    const { id, at, answer, by, reason = GONE_REASON } = news;
    const reply = isAnswer(answer) ? replyOf(answer, by) : { answer: undefined, reason };
    this.#shown.get(id)?.end({ reply, byUs: at === this.#options.node });
  }

  /** One answer to a question of ours, from where it was shown. */
  #answered(at: string, { id, shown, answer, by }: Extract<QuestionNews, { kind: "answered" }>): void {
    const own = this.#own.get(id);
    if (own === undefined) return;
    const { question } = own;
    const settle = (reply: ApprovalReply): void => own.settle({ reply, at });
    if (shown !== digestOfText(question.text))
      settle({ answer: undefined, reason: "another process had shown another text" });
    else if (!isAnswer(answer)) settle({ answer: undefined, reason: TERMINAL_CLOSED });
    else settle(replyOf(answer === "remember" && question.remember === undefined ? "deny" : answer, by));
  }

  #show(node: string, question: ApprovalQuestion): void {
    const { id, text, timeoutMs } = question;
    if (node === this.#options.node || this.#shown.has(id) || this.#shown.size >= MOST_SHOWN) return;
    const over = new AbortController();
    let became!: (there: SettledElsewhere) => void;
    const settled = new Promise<SettledElsewhere>((resolve) => (became = resolve));
    const end = (there: SettledElsewhere): void => {
      clearTimeout(timer);
      this.#shown.delete(id);
      became(there);
      over.abort(answeredElsewhere(there.reply));
    };
    this.#shown.set(id, { node, end });
    const timer = setTimeout(() => end({ reply: GONE, byUs: false }), timeoutMs).unref();
    const answered = async (reply: ApprovalReply): Promise<void> => {
      if (over.signal.aborted || (reply.answer === undefined && reply.reason !== TERMINAL_CLOSED)) return;
      const news = { kind: "answered", id, shown: digestOfText(text) } as const;
      const told = await this.#tell(
        reply.answer === undefined ? news : { ...news, answer: reply.answer, by: reply.by },
      );
      // The process that asks does not hear of it, and nobody hears what became of it.
      if (!told) end({ reply: { answer: undefined, reason: NO_MEMORY }, byUs: false });
    };
    const asked = { ...question, settled: () => settled };
    // Where nobody can be asked here, others may be.
    soon(() => this.#options.local.ask(asked, over.signal)).then(answered, () => undefined);
  }

  /** Whether the others could be told. Never rejects. */
  #tell(news: QuestionNews): Promise<boolean> {
    const { bus, node } = this.#options;
    return soon(() => bus.publish(node, JSON.stringify(news), TOPIC)).then(
      () => true,
      () => false,
    );
  }
}

/** What throws at once rejects. */
async function soon<T>(begin: () => Promise<T>): Promise<T> {
  return begin();
}

/** What those are told who had it before their eyes and did not decide it. */
function answeredElsewhere({ answer }: ApprovalReply): string | undefined {
  return answer === undefined ? undefined : `it was answered at another process: ${answer}`;
}

function replyOf(answer: PersonsAnswer, by: unknown): ApprovalReply {
  return { answer, by: isPlace(by) ? by : undefined };
}
