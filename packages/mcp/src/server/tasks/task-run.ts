// One task while it runs: its state, its open questions, and who waits for it. It knows nothing of any wire.
import { LocalError } from "../../jsonrpc/local-error.js";
import type { JsonObject } from "../../jsonrpc/message.js";
import type { Task } from "../../protocol/extensions/task.js";
import type { InputRequest, InputResponses } from "../../protocol/features/input-required.js";
import { checkAnswer } from "../answers.js";
import type { Asker, AskOptions } from "../ask.js";
import { AskError } from "../ask-error.js";
import type { TaskRecord } from "./task-store.js";

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

  async ask(method: string, params: object, options: AskOptions = {}): Promise<JsonObject> {
    if (this.#over) throw givenUp();
    if (this.questions.size >= OPEN_QUESTIONS) {
      throw new LocalError("LIMIT", `A task may have ${OPEN_QUESTIONS} questions open at once`);
    }
    this.onAsk();
    const key = `ask-${++this.#asked}`;
    const answer = new Promise<JsonObject>((resolve, reject) => {
      const request = { method, params } as InputRequest;
      this.questions.set(key, { key, request, withdraw: undefined, resolve, reject });
    });
    this.#bound(key, options);
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
    for (const key of [...this.questions.keys()]) this.settle(key, (question) => question.reject(givenUp()));
  }

  /** The task has ended and its record is kept. */
  end(record: TaskRecord): void {
    this.#task = record.task;
    this.#end(record);
  }

  #bound(key: string, { timeoutMs, signal }: AskOptions): void {
    const refuse = (error: unknown): void => this.settle(key, (question) => question.reject(error));
    if (signal !== undefined) {
      const abort = (): void => refuse(signal.reason);
      if (signal.aborted) queueMicrotask(abort);
      else signal.addEventListener("abort", abort, { once: true });
    }
    if (timeoutMs === undefined) return;
    const timer = setTimeout(() => refuse(new AskError("TIMEOUT", "The client did not answer in time")), timeoutMs);
    (timer as { unref?: () => void }).unref?.();
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
