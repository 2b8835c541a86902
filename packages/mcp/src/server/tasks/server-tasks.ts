// The tasks of one server put together: manager, faces, the middleware that begins them, and who hears of them.
import {
  type Answer,
  type Call,
  type InteractiveCall,
  isCallOf,
  type MaybePromise,
  type Handler,
  handling,
  type Later,
  type Middleware,
  runChain,
} from "../../endpoint/call.js";
import type { ServerCapabilities } from "../../protocol/capabilities.js";
import type { AskServices } from "../context.js";
import type { ToolEntry } from "../tools.js";
import type { Codec } from "../../era/codec.js";
import { ErrorCode, LocalError, RpcError } from "../../jsonrpc/errors.js";
import { Session } from "../session.js";
import { DirectedFace, RequestedFace, requireTasks, taskDetail, type TaskFace } from "./task-face.js";
import { TaskCall, type TaskRun } from "./task-run.js";
import { MemoryTaskStore, ownerOf, type Settled, TaskManager, conclude, settled } from "./task-manager.js";
import { LONGEST_TASK_TIMER_MS, noSuchTask, type TaskRecord, type TaskStore } from "./task-store.js";
import { type JsonObject, peerWords } from "../../jsonrpc/message.js";
import {
  CANCEL_TASK,
  type CreateTaskResult,
  GET_TASK,
  isFinal,
  LIST_TASKS,
  TASK_RESULT,
  UPDATE_TASK,
} from "../../protocol/extensions/tasks.js";
import { interactive } from "../../protocol/features/elicitation.js";
import { CALL_TOOL, type CallToolRequestParams } from "../../protocol/features/tools.js";
import type { NewsQuestion, ServerCluster, TaskErrand, VisibleTask } from "../subscription.js";
import { handRound } from "../interactive.js";
import type { Parking } from "../parking.js";

/** What tasks need of their server. */
interface TaskServer extends AskServices {
  middleware: Middleware[];
  /** Set with the first tool that runs as a task, and for good. */
  hadTasks: boolean;
  readonly tools: { find(name: string, call: Call): ToolEntry | undefined };
  readonly toolCaller: { call(call: InteractiveCall<CallToolRequestParams>): MaybePromise<Answer> };
  readonly subscribers: { taskChanged(taskId: string, detail: (codec: Codec) => object): void } | undefined;
  readonly failed: (error: unknown, call: Call, errorId: string) => void;
  advertises(capability: keyof ServerCapabilities): boolean;
}

const INTERACTIVE_CALL_TOOL = interactive(CALL_TOOL);

export class ServerTasks {
  readonly #core: TaskServer;
  readonly #manager: TaskManager;
  readonly #requested: RequestedFace;
  readonly #directed: DirectedFace;
  readonly #origin: TaskOrigin;
  /** Where tasks are kept once other processes share them. */
  #store: TaskStore;
  /** Whether an author chose the store. */
  readonly #given: boolean;
  #cluster: ServerCluster | undefined;
  #enabled = false;

  constructor(core: TaskServer, store: TaskStore | undefined) {
    this.#core = core;
    this.#given = store !== undefined;
    this.#store = store ?? new MemoryTaskStore(core.limits);
    const { limits, parking, failed } = core;
    const changed = (run: TaskRun, record: TaskRecord, call: TaskCall): void => this.#changed(run, record, call);
    const now = {
      store: (): TaskStore => this.#store,
      node: () => this.#cluster?.node,
      leased: () => this.#store === this.#cluster?.tasks,
    };
    this.#manager = new TaskManager({
      limits,
      get store() {
        return now.store();
      },
      get leased() {
        return now.leased();
      },
      get prefix() {
        const node = now.node();
        return node === undefined ? "" : `${node}.`;
      },
      changed,
      failed,
    });
    this.#requested = new RequestedFace(this.#manager, core, async (errand) => this.#cluster?.errand(errand));
    this.#directed = new DirectedFace(this.#manager);
    this.#origin = {
      manager: this.#manager,
      parking,
      graceMs: limits.taskGraceMs,
      get chain() {
        return core.middleware;
      },
      handler: handling(INTERACTIVE_CALL_TOOL, (call) => core.toolCaller.call(call))[1],
      failed,
    };
  }

  /** Puts the middleware of tasks before all others: called with the first tool that can be one, so that nobody else pays. */
  enable(): void {
    if (this.#enabled) return;
    this.#enabled = true;
    this.#core.hadTasks = true;
    const first: Middleware = (call, next) => {
      if (!isCallOf(call, INTERACTIVE_CALL_TOOL)) return next();
      const face = this.#face(call);
      const entry = face && this.#core.tools.find(call.params.name, call);
      if (face === undefined || entry === undefined || !this.#core.advertises("tasks")) return next();
      if (!face.wants(call, entry)) return next();
      // Whoever waits for a task takes its questions to the client from the first one on.
      return this.#core.questions.use(() => beginTask(this.#origin, face, call, entry.task === "required"));
    };
    this.#core.middleware = [first, ...this.#core.middleware];
  }

  handlers(): readonly (readonly [string, Handler])[] {
    return [
      handling(GET_TASK, (call) => this.#required(call).get(call)),
      handling(CANCEL_TASK, (call) => this.#required(call).cancel(call)),
      handling(TASK_RESULT, (call) => this.#requested.result(call)),
      handling(LIST_TASKS, (call) => this.#requested.list(call)),
      handling(UPDATE_TASK, (call) => this.#directed.update(call)),
    ];
  }

  /** Those of `taskIds` that the caller may listen to. Throws -32021 for a caller without the extension. */
  async visible(call: Call, taskIds: readonly string[]): Promise<readonly VisibleTask[]> {
    requireTasks(call);
    const found = await Promise.all(
      taskIds.map((taskId) => this.#manager.find(taskId, ownerOf(call)).catch(() => undefined)),
    );
    return found.filter((record) => record !== undefined).map((record) => this.#visible(record));
  }

  /** From now on tasks are kept where all processes find them, unless an author chose a store. */
  join(cluster: ServerCluster): void {
    this.#cluster = cluster;
    if (!this.#given) this.#store = cluster.tasks;
  }

  /** A task of another process changed. */
  heard(record: TaskRecord, questions: readonly NewsQuestion[]): void {
    const { task, principal } = record;
    // News may be old: what counts is the record that all share.
    if (isFinal(task.status)) void this.#manager.current(task.taskId, principal);
    const asked = { questions: new Map(questions.map((question) => [question.key, question])) };
    this.#core.subscribers?.taskChanged(record.task.taskId, (codec) => taskDetail(codec, record, asked));
  }

  /** Does what another process asks for a task that runs here. Rejects with -32602 when none does. */
  async errand({ what, taskId, principal }: TaskErrand): Promise<TaskRecord> {
    const ended =
      what === "cancel"
        ? await this.#manager.cancel(taskId, principal)
        : await (
            await this.#manager.current(taskId, principal)
          )?.run.ended;
    const record = ended ?? (await this.#manager.find(taskId, principal));
    // It ran in a process that had the name of this one before: nobody runs it any more.
    if (!isFinal(record.task.status)) throw noSuchTask();
    return record;
  }

  /** Whether any task runs here, or its end is being kept. */
  get busy(): boolean {
    return this.#manager.busy;
  }

  /** Whether a task runs here that was begun over a connection: its client may be asked over that one alone. */
  runsOver(connection: Call["connection"]): boolean {
    return this.#manager.runsOver(connection);
  }

  /** Ends every task that runs: each is kept as failed, so that whoever asks later learns why. */
  close(): Promise<void> {
    return this.#manager.close();
  }

  /** Cancels and forgets what a principal has begun, and says how many of it were running. */
  endOf(principal: string): Promise<number> {
    return this.#manager.endOf(principal);
  }

  #visible(record: TaskRecord): VisibleTask {
    const { taskId } = record.task;
    return {
      taskId,
      detail: (codec) => {
        const run = this.#manager.running(taskId, record.principal)?.run;
        return taskDetail(codec, run?.record() ?? record, run);
      },
    };
  }

  #face(call: Call): TaskFace | undefined {
    const { tasks } = call.caller.codec.revision.rules;
    if (tasks === "none") return undefined;
    return tasks === "requested" ? this.#requested : this.#directed;
  }

  #required(call: Call): TaskFace {
    const face = this.#face(call);
    if (face === undefined) throw new RpcError(ErrorCode.MethodNotFound, `Method not found: ${peerWords(call.method)}`);
    return face;
  }

  #changed(run: TaskRun, record: TaskRecord, call: TaskCall): void {
    const { caller } = call;
    const { taskId } = record.task;
    this.#core.subscribers?.taskChanged(taskId, (codec) => taskDetail(codec, record, run));
    if (this.#cluster !== undefined) {
      const questions = [...run.questions.values()].map(({ key, request }) => ({ key, request }));
      this.#cluster.tell({ kind: "task", record, questions });
    }
    if (!(caller instanceof Session)) return;
    caller.subscription?.taskChanged(taskId, "notifications/tasks/status", taskDetail(caller.codec, record));
  }
}

// The outermost middleware of `tools/call`: lets the whole chain below run as a task where both sides want that.

/** What beginning a task needs of the server. */
interface TaskOrigin {
  readonly manager: TaskManager;
  readonly parking: Later<Parking>;
  /** Milliseconds in which a handler may still answer or ask in line, where the server decides what becomes a task. */
  readonly graceMs: number;
  /** The middleware below, and what it ends in. */
  readonly chain: readonly Middleware[];
  readonly handler: Handler;
  readonly failed: (error: unknown, call: Call, errorId: string) => void;
}

/** How a call ended before it became a task; undefined when it goes on. */
type Early = Settled | undefined;

/**
 * Runs a call that is to become a task. It becomes one when its handler has begun: a call the chain refuses is answered
 * as any other. In the stateless era the handler has a moment to ask by hand, or to be done, before that.
 */
async function beginTask(
  origin: TaskOrigin,
  face: TaskFace,
  call: InteractiveCall<CallToolRequestParams>,
  required: boolean,
): Promise<Answer> {
  const state = await stateOf(origin, call);
  if (state?.park !== undefined) return runChain(origin.chain, 1, call, origin.handler);
  const run = origin.manager.prepare(ownerOf(call), face.requestedTtl(call));
  const task = new TaskCall(call, run, call.record.interactive ? handRound(call, state) : undefined);
  call.whenCancelled(() => task.cancel(call.cancellation ?? { reason: "Cancelled", answered: false }));
  const announced = announcement(task, call.record.interactive ? origin.graceMs : 0);
  const outcome = settled(runWhole(origin, task));
  origin.manager.track(outcome);
  const early = await Promise.race([outcome, announced]);
  const inLine = early && answerInLine(task, early, required);
  if (inLine === undefined) return create(origin, task, outcome);
  task.progress?.finish();
  task.ended = true;
  return inLine;
}

/** A call runs before it is known that it takes long enough to be a task. */
const BEGUN = "The call had begun: whether it did its work is not known, look before you make it again";

async function create({ manager, failed }: TaskOrigin, call: TaskCall, outcome: Promise<Settled>): Promise<Answer> {
  if (call.cancellation !== undefined) throw new LocalError("CANCELLED", call.cancellation.reason);
  call.announced = true;
  try {
    const task = await manager.open(call);
    const concluded = outcome.then((settled) => manager.conclude(call, conclude(call, settled, failed)));
    if (call.carrier.outlive === undefined) void concluded;
    else call.carrier.outlive(concluded);
    const created: CreateTaskResult = { resultType: "task", ...task };
    return { ...created };
  } catch (error) {
    call.cancel({ reason: "The task could not be kept", answered: false });
    if (!call.entered || !(error instanceof RpcError)) throw error;
    const { code, message, data } = error;
    // Whoever did as is said there could have it done twice.
    throw new RpcError(code, `${message.replace(/: try again$/, "")}. ${BEGUN}`, {
      ...(data as object | undefined),
      outcome: "unknown",
    });
  }
}

/** The answer of a call that ended before it was announced, unless its outcome belongs into a task. */
function answerInLine(call: TaskCall, early: Settled, required: boolean): Answer | undefined {
  if ("error" in early) {
    if (!call.entered || call.cancellation !== undefined) throw early.error;
    return undefined;
  }
  // A session asked for a task and must get one; elsewhere the server decides, and a finished call needs none.
  if (!call.record.interactive) return undefined;
  const asks = (early.answer as JsonObject)["resultType"] === "input_required";
  return asks || !call.entered || !required ? early.answer : undefined;
}

/** Resolves when the client is to be told of the task: some time after the handler began, or when it first asks. */
function announcement(call: TaskCall, graceMs: number): Promise<Early> {
  return new Promise((resolve) => {
    const announce = (): void => {
      if (call.inLine) return;
      call.announced = true;
      resolve(undefined);
    };
    const timeUp = (): void => {
      if (!call.undecided) announce();
    };
    // Nobody fetches what is asked within a task that no client knows of.
    call.run.onAsk = announce;
    call.onEnter = () =>
      graceMs === 0 ? announce() : void setTimeout(timeUp, Math.min(graceMs, LONGEST_TASK_TIMER_MS));
  });
}

async function runWhole({ chain, handler }: TaskOrigin, call: TaskCall): Promise<Answer> {
  return runChain(chain, 1, call, handler);
}

function stateOf(
  { parking }: TaskOrigin,
  call: InteractiveCall<CallToolRequestParams>,
): Promise<{ readonly park?: string; readonly round: number }> | undefined {
  const sealed = call.record.interactive ? call.params.requestState : undefined;
  return sealed === undefined ? undefined : Promise.resolve(parking.use((made) => made.open(call, sealed)));
}
