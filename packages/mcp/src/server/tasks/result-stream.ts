// One `tasks/result` request of a session: it waits for the end, and takes the task's questions to the client.
import type { Call } from "../../endpoint/call.js";
import { LocalError } from "../../jsonrpc/local-error.js";
import { META } from "../../protocol/meta.js";
import type { AskServices } from "../context.js";
import { WireAsker } from "../ask.js";
import { requireCapability } from "../ask-capability.js";
import type { QuestionCarrier, TaskQuestion, TaskRun } from "./task-run.js";
import type { TaskRecord } from "./task-store.js";

/** Why a question comes back unanswered though nobody refused it: another stream may take it. */
const RETURNED: readonly string[] = ["CANCELLED", "CLOSED"];

export class ResultStream implements QuestionCarrier {
  readonly #run: TaskRun;
  readonly #call: Call;
  readonly #asker: WireAsker;
  readonly #carried = new Set<TaskQuestion>();

  constructor(run: TaskRun, call: Call, { asks, limits }: AskServices) {
    this.#run = run;
    this.#call = call;
    this.#asker = new WireAsker(call, asks, limits.askTimeoutMs);
  }

  /** Resolves with the record of the task once it has ended; rejects when the request is cancelled before. */
  serve(): Promise<TaskRecord> {
    this.#run.attach(this);
    return new Promise((resolve, reject) => {
      void this.#run.ended.then(resolve);
      this.#call.onCancel = () => {
        this.#leave();
        reject(new LocalError("CANCELLED", "The client no longer waits for the task"));
      };
    });
  }

  carry(question: TaskQuestion): boolean {
    const { method, params = {} } = question.request;
    try {
      requireCapability(this.#call, method, params);
    } catch {
      return false;
    }
    const withdrawal = new AbortController();
    question.withdraw = () => withdrawal.abort();
    this.#carried.add(question);
    const own = (params as { _meta?: object })._meta;
    const named = { ...params, _meta: { ...own, [META.relatedTask]: { taskId: this.#run.taskId } } };
    void this.#asker.ask(method, named, { signal: withdrawal.signal }).then(
      (answer) => this.#settled(question, () => question.resolve(answer)),
      (error: unknown) => this.#failed(question, error),
    );
    return true;
  }

  /** To a client that came back over another connection: whoever asked over the first one has no answer to wait for. */
  yieldTo(other: QuestionCarrier): void {
    const { carrier, peer } = this.#call;
    if (carrier.closed || !(other instanceof ResultStream) || other.#call.peer !== peer) this.#leave();
  }

  #failed(question: TaskQuestion, error: unknown): void {
    if (!(error instanceof LocalError) || !RETURNED.includes(error.code)) {
      this.#settled(question, () => question.reject(error));
    } else if (this.#carried.delete(question)) {
      question.withdraw = undefined;
    }
  }

  #settled(question: TaskQuestion, settle: () => void): void {
    this.#carried.delete(question);
    question.withdraw = undefined;
    this.#run.settle(question.key, settle);
  }

  #leave(): void {
    for (const question of this.#carried) {
      question.withdraw?.();
      question.withdraw = undefined;
    }
    this.#carried.clear();
    this.#run.detach(this);
  }
}
