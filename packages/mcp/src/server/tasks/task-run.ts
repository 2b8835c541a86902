// One task while it runs: its state, its open questions, and who waits for it. It knows nothing of any wire.
import { LocalError } from "../../jsonrpc/errors.js";
import type { JsonObject } from "../../jsonrpc/message.js";
import type { Task } from "../../protocol/extensions/tasks.js";
import { checkAnswer } from "../../era/project-question.js";
import type { InputRequest, InputResponses } from "../../protocol/features/elicitation.js";
import type { AskedQuestion, Asker, OwnAskOptions } from "../ask.js";
import { AskError } from "../content.js";
import { startTaskTimer, type TaskRecord } from "./task-store.js";
import { Call } from "../../endpoint/call.js";
import { META } from "../../protocol/meta.js";
import type { HandRound } from "../context.js";
import { Session } from "../session.js";

/** Questions one task may have open at once: people answer forms one by one, so more is a loop gone wild. */
const OPEN_QUESTIONS = 64;

/** A question the handler waits for. Its key is never used again in the same task. */
export interface TaskQuestion {
  readonly key: string;
  readonly request: InputRequest;
  /** Set while a request on the wire carries it; called when it was settled some other way. */
  withdraw: (() => void) | undefined;
  readonly resolve: (answer: JsonObject) => void;
  readonly reject: (error: unknown) => void;
  readonly asked: AskedQuestion | undefined;
}

/** Takes questions to the client by itself, for wires where the client does not fetch them. */
export interface QuestionCarrier {
  /** False when this client cannot be asked that. */
  carry(question: TaskQuestion): boolean;
  /** Lets go of its questions, by `detach`, if the other one is more likely to reach somebody. */
  yieldTo(other: QuestionCarrier): void;
}

/** The state machine of a task that has not ended. */
export class TaskRun implements Asker {
  readonly principal: string | undefined;
  /** Resolves when the task has ended and its record is kept. */
  readonly ended: Promise<TaskRecord>;
  readonly questions: Map<string, TaskQuestion> = new Map();
  /** Set at once when the outcome is known; the record becomes visible a moment later, when it is kept. */
  concluded = false;
  /** Called before the first question, and after every change the client may hear of. */
  onAsk: () => void = () => undefined;
  onChange: () => void = () => undefined;
  #task: Task;
  #carriers = new Set<QuestionCarrier>();
  #asked = 0;
  #over = false;
  #end: (record: TaskRecord) => void = () => undefined;

  constructor(task: Task, principal: string | undefined) {
    this.#task = task;
    this.principal = principal;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get taskId(): string {
    return this.#task.taskId;
  }

  /** The record of now, or of the end when `change` says how it ended. */
  record(change: Partial<Task> = {}): TaskRecord {
    const task = { ...this.#task, ...change };
    return this.principal === undefined ? { task } : { task, principal: this.principal };
  }

  async ask(method: string, params: object, options: OwnAskOptions = {}, asked?: AskedQuestion): Promise<JsonObject> {
    const key = `ask-${++this.#asked}`;
    const refuse = (error: unknown): void => this.settle(key, (question) => question.reject(error));
    try {
      const { signal } = options;
      // The code of questions is there: it is what asks here. Most questions have no signal.
      const givingUp = signal && (await import("../ask.js")).GivingUp.of(method, signal, refuse);
      return await this.#ask(key, { method, params } as InputRequest, options, asked).finally(() => givingUp?.over());
    } catch (error) {
      asked?.failed();
      throw error;
    }
  }

  async #ask(
    key: string,
    request: InputRequest,
    { timeoutMs }: OwnAskOptions,
    asked: AskedQuestion | undefined,
  ): Promise<JsonObject> {
    if (this.#over) throw givenUp();
    if (this.questions.size >= OPEN_QUESTIONS) {
      throw new LocalError("LIMIT", `A task may have ${OPEN_QUESTIONS} questions open at once`);
    }
    this.onAsk();
    const answer = new Promise<JsonObject>((resolve, reject) => {
      this.questions.set(key, { key, request, withdraw: undefined, resolve, reject, asked });
    });
    if (timeoutMs !== undefined) this.#bound(key, timeoutMs);
    this.#move();
    this.#carry();
    return answer;
  }

  /** Delivers answers; unknown keys are ignored. Throws -32602 for one that is malformed, and then delivers none. */
  answer(responses: InputResponses): void {
    const answered = [...this.questions.values()].filter(({ key }) => Object.hasOwn(responses, key));
    for (const { key, request } of answered) checkAnswer(key, request.method, responses);
    for (const { key } of answered) {
      this.settle(key, (question) => question.resolve(responses[key] as unknown as JsonObject));
    }
  }

  /** Takes a question off the list and settles it. */
  settle(key: string, settle: (question: TaskQuestion) => void): void {
    const question = this.questions.get(key);
    if (question === undefined) return;
    this.questions.delete(key);
    question.withdraw?.();
    settle(question);
    this.#move();
  }

  /** From now on questions are taken to this client, those that are open among them. */
  attach(carrier: QuestionCarrier): void {
    for (const other of this.#carriers) other.yieldTo(carrier);
    this.#carriers.add(carrier);
    this.#carry();
  }

  /** Call it after the carrier let go of its questions: another one may take them. */
  detach(carrier: QuestionCarrier): void {
    this.#carriers.delete(carrier);
    this.#carry();
  }

  /** No answer will come any more, and nothing can be asked. */
  giveUp(): void {
    this.#over = true;
    const end = ({ asked, reject }: TaskQuestion): void => {
      if (this.concluded) asked?.unheard();
      reject(givenUp());
    };
    for (const key of [...this.questions.keys()]) this.settle(key, end);
  }

  /** The task has ended and its record is kept. */
  end(record: TaskRecord): void {
    this.#task = record.task;
    this.#end(record);
  }

  #bound(key: string, timeoutMs: number): void {
    const error = new AskError("TIMEOUT", "The client did not answer in time");
    startTaskTimer(() => this.settle(key, ({ reject }) => reject(error)), timeoutMs);
  }

  #carry(): void {
    for (const question of this.questions.values()) {
      if (question.withdraw !== undefined) continue;
      for (const carrier of this.#carriers) if (carrier.carry(question)) break;
    }
  }

  #move(): void {
    if (this.concluded) return;
    const status = this.questions.size > 0 ? "input_required" : "working";
    this.#task = { ...this.#task, status, lastUpdatedAt: new Date().toISOString() };
    this.onChange();
  }
}

function givenUp(): AskError {
  return new AskError("EXPIRED", "The task ended before the client answered");
}

// The call a task works on: it outlives the request it came with, and what it sends is marked as the task's.

/** When the request of a task is answered: by the task's creation, or before it came to that. */
export class TaskCall extends Call {
  readonly run: TaskRun;
  /** What a retry brought; undefined for a first round. */
  readonly hand: HandRound | undefined;
  /** Whether the tool's handler has been reached: until then the call may still be refused. */
  entered = false;
  /** Whether the client has been, or is about to be, told of the task. */
  announced = false;
  /** Set when the handler asked by hand before that: its answer is the questions, and there is no task yet. */
  inLine = false;
  /** Set while another server decides whether this becomes a task: no time makes it one then, but a question of it does. */
  undecided = false;
  /** Whether its client cancelled it. Middleware may end a call too, and then answers for it. */
  unwanted = false;
  /** Called when the handler is reached. */
  onEnter: () => void = () => undefined;

  constructor(call: Call, run: TaskRun, hand: HandRound | undefined) {
    super(call, call.caller, call.carrier, call.connection);
    this.record = call.record;
    this.run = run;
    this.hand = hand;
    this.whenCancelled(() => run.giveUp());
  }

  /** Cancels the call because its client wants it no more. */
  cancelForClient(): void {
    if (this.ended) return;
    this.unwanted = true;
    this.cancel({ reason: "The task was cancelled by the client", answered: false });
  }

  override get task(): string | undefined {
    return this.announced ? this.run.taskId : undefined;
  }

  enter(): void {
    if (this.entered) return;
    this.entered = true;
    this.onEnter();
  }

  /**
   * As long as the request is open this is its notification; after that it belongs to the task. The extension has no
   * notifications of this kind on tasks, so only sessions hear of them.
   */
  override notify(method: string, params: object): void | Promise<void> {
    if (!this.announced) return super.notify(method, params);
    if (this.ended || this.cancellation !== undefined || !(this.caller instanceof Session)) return undefined;
    const sent = this.cleaned(params);
    const own = (sent as { _meta?: object })._meta;
    const _meta = { ...own, [META.relatedTask]: { taskId: this.run.taskId } };
    return this.caller.subscription?.send(method, { ...sent, _meta });
  }
}
