// What the two wire shapes of tasks have in common: the part of each that differs and has the same name.
import type { Answer, Call, CallOf } from "../../endpoint/call.js";
import type { ToolEntry } from "../tools.js";
import type { Codec } from "../../era/codec.js";
import type { JsonObject } from "../../jsonrpc/message.js";
import { ErrorCode, LocalError, RpcError } from "../../jsonrpc/errors.js";
import {
  type DetailedTask,
  isFinal,
  TASKS_EXTENSION,
  type TaskRequestParams,
  type TaskStatus,
  type UpdateTaskRequestParams,
} from "../../protocol/extensions/tasks.js";
import type { InputRequest, InputRequests } from "../../protocol/features/elicitation.js";
import type { QuestionCarrier, TaskQuestion, TaskRun } from "./task-run.js";
import { projectQuestion } from "../../era/project-question.js";
import type { TaskRecord } from "./task-store.js";
import type { PaginatedRequestParams } from "../../protocol/method.js";
import type { CallToolRequestParams } from "../../protocol/features/tools.js";
import { McpErrorCode, META } from "../../protocol/meta.js";
import { ownerOf, type TaskManager } from "./task-manager.js";
import type { AskServices } from "../context.js";
import { cursorAfter, readCursor } from "../lists.js";
import type { TaskErrand } from "../subscription.js";
import type { WireAsker } from "../ask.js";
import type { QuestionCode } from "../session.js";

export interface TaskFace {
  /** Whether this call is to become a task. Throws where the tool and the call do not agree on it. */
  wants(call: CallOf<CallToolRequestParams>, entry: ToolEntry): boolean;
  /** How long the client wants the task to be kept, in milliseconds. */
  requestedTtl(call: CallOf<CallToolRequestParams>): number | undefined;
  get(call: CallOf<TaskRequestParams>): Promise<Answer>;
  cancel(call: CallOf<TaskRequestParams>): Promise<Answer>;
}

// A task with all that is known of it, ready for a codec.

/** What asks: the run of a task, or what another process told of it. */
interface Questioned {
  readonly questions: ReadonlyMap<string, Pick<TaskQuestion, "key" | "request">>;
}

/** `run` brings the open questions of a task that still runs. */
export function taskDetail(codec: Codec, { task, result, error }: TaskRecord, run?: Questioned): JsonObject {
  const detail: DetailedTask = { ...task };
  if (result !== undefined) detail.result = result;
  if (error !== undefined) detail.error = codec.error(new RpcError(error.code, error.message, error.data));
  if (task.status === "input_required" && run !== undefined) detail.inputRequests = openQuestions(codec, run);
  return detail as unknown as JsonObject;
}

function openQuestions(codec: Codec, { questions }: Questioned): InputRequests {
  const requests: InputRequests = {};
  for (const { key, request } of questions.values()) {
    const params = projectQuestion(codec, request.method, request.params ?? {});
    requests[key] = { method: request.method, params } as InputRequest;
  }
  return requests;
}

// Tasks toward requests of 2026-07-28 that declare the extension: the server decides, and the client polls.

const ACKNOWLEDGED: JsonObject = Object.freeze({});

export class DirectedFace implements TaskFace {
  readonly #manager: TaskManager;

  constructor(manager: TaskManager) {
    this.#manager = manager;
  }

  /** A task where the tool can and the request declares it; a tool that must be one is refused to any other request. */
  wants(call: CallOf<CallToolRequestParams>, { task }: ToolEntry): boolean {
    if (declares(call)) return task !== undefined;
    if (task === "required") throw missingExtension();
    return false;
  }

  requestedTtl(): undefined {
    return undefined;
  }

  async get(call: CallOf<TaskRequestParams>): Promise<Answer> {
    const { taskId, principal } = identified(call);
    const run = (await this.#manager.current(taskId, principal))?.run;
    if (run !== undefined && !run.concluded) return taskDetail(call.caller.codec, run.record(), run);
    return taskDetail(call.caller.codec, await this.#manager.find(taskId, principal));
  }

  /** Answers questions. Of a task that has ended there are none, so nothing happens. */
  async update(call: CallOf<UpdateTaskRequestParams>): Promise<Answer> {
    const { taskId, principal } = identified(call);
    const running = await this.#manager.current(taskId, principal);
    if (running === undefined) await this.#manager.find(taskId, principal);
    else running.run.answer(call.params.inputResponses);
    return ACKNOWLEDGED;
  }

  /** Cancels by asking: the handler's signal is aborted, and the task ends when the handler does, or at once where it cannot be told. */
  async cancel(call: CallOf<TaskRequestParams>): Promise<Answer> {
    const { taskId, principal } = identified(call);
    const running = this.#manager.running(taskId, principal);
    if (running === undefined) await this.#manager.find(taskId, principal);
    else if (!this.#manager.stop(running.call)) await this.#manager.cancel(taskId, principal);
    return ACKNOWLEDGED;
  }
}

/** Throws -32021 naming the extension for a request that does not declare it. */
export function requireTasks(call: Call): void {
  if (!declares(call)) throw missingExtension();
}

function identified(call: CallOf<TaskRequestParams>): {
  readonly taskId: string;
  readonly principal: string | undefined;
} {
  requireTasks(call);
  return { taskId: call.params.taskId, principal: ownerOf(call) };
}

function declares(call: Call): boolean {
  return call.caller.capabilities.extensions?.[TASKS_EXTENSION] !== undefined;
}

function missingExtension(): RpcError {
  const what = `This needs a client with tasks: the extension ${TASKS_EXTENSION} was not declared`;
  const requiredCapabilities = { extensions: { [TASKS_EXTENSION]: {} } };
  return new RpcError(McpErrorCode.MissingRequiredClientCapability, what, { requiredCapabilities });
}

// Tasks toward sessions of 2025-11-25: the client asks for a task in its call, and the result comes as one long answer.

/** Name that cursors of `tasks/list` are bound to. */
const LIST = "tasks";

export class RequestedFace implements TaskFace {
  readonly #manager: TaskManager;
  readonly #services: AskServices;
  readonly #elsewhere: (errand: TaskErrand) => Promise<TaskRecord | undefined>;

  /** `elsewhere` has another process do what only the one that runs a task can; undefined where there is none. */
  constructor(
    manager: TaskManager,
    services: AskServices,
    elsewhere: (errand: TaskErrand) => Promise<TaskRecord | undefined>,
  ) {
    this.#manager = manager;
    this.#services = services;
    this.#elsewhere = elsewhere;
  }

  /** A task is what the client asked for; what the tool does not do, or cannot do without, is refused. */
  wants(call: CallOf<CallToolRequestParams>, { tool, task }: ToolEntry): boolean {
    const asked = call.params.task !== undefined;
    if (asked && task === undefined) throw notThisWay(`Tool ${tool.name} does not run as a task: leave "task" out`);
    if (!asked && task === "required")
      throw notThisWay(`Tool ${tool.name} runs as a task only: send "task" with the call`);
    return asked;
  }

  requestedTtl(call: CallOf<CallToolRequestParams>): number | undefined {
    return call.params.task?.ttl ?? undefined;
  }

  async get(call: CallOf<TaskRequestParams>): Promise<Answer> {
    return taskDetail(call.caller.codec, await this.#find(call));
  }

  /** Cancels at once: the status is final before the answer, whatever the handler does. */
  async cancel(call: CallOf<TaskRequestParams>): Promise<Answer> {
    const { task } = await this.#find(call);
    const principal = ownerOf(call);
    const ended =
      (await this.#manager.cancel(task.taskId, principal)) ??
      (isFinal(task.status) ? undefined : await this.#elsewhere({ what: "cancel", taskId: task.taskId, principal }));
    // Where its process is lost it has ended meanwhile.
    if (ended === undefined) throw notCancellable((await this.#find(call)).task.status);
    return taskDetail(call.caller.codec, ended);
  }

  async result(call: CallOf<TaskRequestParams>): Promise<Answer> {
    const taskId = call.params.taskId;
    const principal = ownerOf(call);
    const running = await this.#manager.current(taskId, principal);
    if (running === undefined) {
      const record = await this.#find(call);
      if (isFinal(record.task.status)) return outcomeOf(record);
      return outcomeOf((await this.#elsewhere({ what: "result", taskId, principal })) ?? (await this.#find(call)));
    }
    const { limits, questions } = this.#services;
    return outcomeOf(
      await questions.use((code) =>
        new ResultStream(running.run, call, { code, timeoutMs: limits.askTimeoutMs }).serve(),
      ),
    );
  }

  /** Only for callers the transport knows: anybody else would see everybody's. */
  async list(call: CallOf<PaginatedRequestParams>): Promise<Answer> {
    const principal = ownerOf(call);
    if (principal === undefined) throw new RpcError(ErrorCode.MethodNotFound, "Method not found: tasks/list");
    const limit = this.#services.limits.pageSize;
    const after = position(call.params.cursor);
    const records = await this.#manager.store.list(principal, { after, limit: limit + 1 });
    const shown = records.slice(0, limit);
    for (const record of shown) this.#manager.accept(record);
    const tasks = shown.map((record) => this.#manager.running(record.task.taskId, principal)?.run.record() ?? record);
    const result: JsonObject = { tasks: tasks.map((record) => taskDetail(call.caller.codec, record)) };
    const last = shown.at(-1);
    if (last !== undefined && records.length > limit) result["nextCursor"] = cursorAfter(LIST, last.task.taskId);
    return result;
  }

  #find(call: CallOf<TaskRequestParams>): Promise<TaskRecord> {
    return this.#manager.find(call.params.taskId, ownerOf(call));
  }
}

/** What the plain call would have given. */
function outcomeOf({ task, result, error }: TaskRecord): Answer {
  if (error !== undefined) throw new RpcError(error.code, error.message, error.data);
  if (result === undefined) {
    const what = isFinal(task.status) ? "was cancelled and has no result" : "has not ended";
    throw new RpcError(ErrorCode.InternalError, `The task ${what}`);
  }
  const own = result["_meta"] as object | undefined;
  return { ...result, _meta: { ...own, [META.relatedTask]: { taskId: task.taskId } } };
}

function position(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const after = readCursor(LIST, cursor);
  if (after !== undefined) return after;
  const what = `Invalid cursor ${JSON.stringify(cursor)}: use the nextCursor of tasks/list, or none to start again`;
  throw new RpcError(ErrorCode.InvalidParams, what, { path: "/cursor", constraint: "a cursor of this list" });
}

function notThisWay(what: string): RpcError {
  return new RpcError(ErrorCode.MethodNotFound, what);
}

function notCancellable(status: TaskStatus): RpcError {
  const what = isFinal(status)
    ? `The task has ended already: it is ${status}`
    : `The task is ${status} in another process of this server, which alone can cancel it`;
  return new RpcError(ErrorCode.InvalidParams, what, {
    path: "/taskId",
    constraint: "the id of a task that still runs",
  });
}

// One `tasks/result` request of a session: it waits for the end, and takes the task's questions to the client.

/** Why a question comes back unanswered though nobody refused it: another stream may take it. */
const RETURNED: readonly string[] = ["CANCELLED", "CLOSED", "EXPIRED"];

class ResultStream implements QuestionCarrier {
  readonly #run: TaskRun;
  readonly #call: Call;
  readonly #code: QuestionCode;
  readonly #asker: WireAsker;
  readonly #carried = new Set<TaskQuestion>();

  constructor(run: TaskRun, call: Call, asking: { readonly code: QuestionCode; readonly timeoutMs: number }) {
    this.#run = run;
    this.#call = call;
    this.#code = asking.code;
    this.#asker = new asking.code.WireAsker(call, asking.timeoutMs);
  }

  /** Resolves with the record of the task once it has ended; rejects when the request is cancelled before. */
  serve(): Promise<TaskRecord> {
    this.#run.attach(this);
    return new Promise((resolve, reject) => {
      void this.#run.ended.then(resolve);
      this.#call.whenCancelled(() => {
        this.#leave();
        reject(new LocalError("CANCELLED", "The client no longer waits for the task"));
      });
    });
  }

  carry(question: TaskQuestion): boolean {
    const { method, params = {} } = question.request;
    try {
      this.#code.requireCapability(this.#call, method, params);
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
    const { carrier, connection } = this.#call;
    if (carrier.closed || !(other instanceof ResultStream) || other.#call.connection !== connection) this.#leave();
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
