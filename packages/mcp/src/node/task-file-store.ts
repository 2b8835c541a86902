// Keeps tasks in a folder, one JSON file a task, so that a restart loses none that has ended.
import { checkOptions } from "../protocol/capabilities.js";
import { open, readdir, readFile, realpath, rename, rm, unlink } from "node:fs/promises";
import { join } from "node:path";
import { ErrorCode, LocalError } from "../jsonrpc/errors.js";
import { exactJson, exactValue } from "../jsonrpc/exact-numbers.js";
import { isFinal } from "../protocol/extensions/tasks.js";
import { DEFAULT_SERVER_LIMITS } from "../server/limits.js";
import { entryOf, type TaskEntry, TaskIndex, type TaskStoreLimits } from "../server/tasks/task-manager.js";
import type { TaskPage, TaskRecord, TaskStore } from "../server/tasks/task-store.js";
import { AT_ONCE, type FileLock, lockFile } from "./token-file.js";
import { makeFolder } from "./host-files.js";

/** Only ids of our own making become file names. */
const ID = /^[A-Za-z0-9_-]{16,128}$/;
const SUFFIX = ".json";
const UNFINISHED = ".tmp";

const INTERRUPTED = "The server was restarted while the task was running: call the tool again";

/** Bounds of what is kept, and who is told of files that cannot be used. */
export interface TaskFileStoreOptions extends Partial<TaskStoreLimits> {
  /** Told of files that could not be read, and were left alone. Default: nobody. */
  readonly report?: (message: string, details: { readonly file: string; readonly error: unknown }) => void;
}

/**
 * Opens the folder, making it (for its owner only) where it is missing. Tasks that were running when the process that
 * wrote them ended are failed from now on. One process at a time may use a folder, until it ends: rejects with TASK_STORE,
 * which names it, while another does, otherwise with the file system's error.
 */
export async function taskFileStore(folder: string, options: TaskFileStoreOptions = {}): Promise<TaskStore> {
  const { tasks, tasksPerPrincipal, taskBytes } = DEFAULT_SERVER_LIMITS;
  checkOptions("taskFileStore(folder, options)", options, { tasks, tasksPerPrincipal, taskBytes, report: "function" });
  if (typeof folder !== "string" || folder === "") {
    const what = "taskFileStore(folder, options) takes the path of a folder first";
    throw new LocalError("BAD_OPTIONS", `${what}, as in await taskFileStore("/var/lib/notes/tasks")`);
  }
  await makeFolder(folder);
  const lock = await ownerOf(folder);
  const store = new TaskFileStore(folder, lock, { ...DEFAULT_SERVER_LIMITS, ...options });
  for (const name of (await readdir(folder)).sort()) {
    const file = join(folder, name);
    if (name.endsWith(UNFINISHED)) await unlink(file);
    else if (name.endsWith(SUFFIX)) {
      try {
        await store.load(file);
      } catch (error) {
        options.report?.("A task file could not be read", { file, error });
      }
    }
  }
  return store;
}

/** The folders of this process: its locks end with it. */
const owned = new Map<string, Promise<FileLock>>();

async function ownerOf(folder: string): Promise<FileLock> {
  const path = await realpath(folder);
  const mine = await owned.get(path);
  const kept = await mine?.check().then(
    () => mine,
    () => undefined,
  );
  if (kept !== undefined) return kept;
  const lock = lockFile(`${path}/`, { waitMs: 0 });
  owned.set(path, lock);
  try {
    return await lock;
  } catch (error) {
    owned.delete(path);
    const what = `The task folder ${folder} is in use, and one process at a time may use it: ${(error as Error).message}`;
    throw new LocalError("TASK_STORE", what, { cause: error });
  }
}

class TaskFileStore implements TaskStore {
  readonly #folder: string;
  readonly #lock: FileLock;
  readonly #index: TaskIndex<TaskEntry>;
  /** The last write of each task that is being written: writes of one task follow each other. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(folder: string, lock: FileLock, limits: TaskStoreLimits) {
    this.#lock = lock;
    this.#folder = folder;
    this.#index = new TaskIndex(limits, ({ taskId }) => void this.#remove(taskId));
  }

  /** Takes in a file of an earlier run. */
  async load(file: string): Promise<void> {
    const record = exactValue(await readFile(file, { encoding: "utf8", flag: AT_ONCE })) as TaskRecord;
    if (this.#file(record.task.taskId) !== file) throw new LocalError("BAD_FILE", "The file belongs to another task");
    const entry = entryOf(record, 0);
    if (entry.expiresAt <= Date.now()) await unlink(file);
    else if (isFinal(record.task.status)) this.#index.set(entryOf(record, JSON.stringify(record).length));
    else await this.put(interrupted(record));
  }

  async put(record: TaskRecord): Promise<void> {
    const { taskId } = record.task;
    const text = exactJson(record);
    const file = this.#file(taskId);
    this.#index.set(entryOf(record, text.length));
    await this.#inTurn(taskId, async () => {
      // Whoever stood still for so long that another took the folder over writes nothing any more.
      await this.#lock.check();
      await writeDurably(file, text, this.#folder);
    });
  }

  async get(taskId: string, principal: string | undefined): Promise<TaskRecord | undefined> {
    return this.#index.get(taskId, principal) && this.#read(taskId);
  }

  async list(principal: string | undefined, page: TaskPage): Promise<readonly TaskRecord[]> {
    const records = await Promise.all(this.#index.page(principal, page).map(({ taskId }) => this.#read(taskId)));
    return records.filter((record) => record !== undefined);
  }

  async delete(taskId: string): Promise<void> {
    if (this.#index.delete(taskId)) await this.#remove(taskId);
  }

  async #read(taskId: string): Promise<TaskRecord | undefined> {
    await this.#writing.get(taskId);
    try {
      return exactValue(await readFile(this.#file(taskId), { encoding: "utf8", flag: AT_ONCE })) as TaskRecord;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ENOENT") throw error;
      this.#index.delete(taskId);
      return undefined;
    }
  }

  #remove(taskId: string): Promise<void> {
    return this.#inTurn(taskId, async () => {
      try {
        await this.#lock.check();
        await unlink(this.#file(taskId));
      } catch {
        // Gone already, or another's by now.
      }
    });
  }

  async #inTurn(taskId: string, work: () => Promise<void>): Promise<void> {
    const turn = (this.#writing.get(taskId) ?? Promise.resolve()).then(work);
    const settled = turn.catch(() => undefined);
    this.#writing.set(taskId, settled);
    try {
      await turn;
    } finally {
      if (this.#writing.get(taskId) === settled) this.#writing.delete(taskId);
    }
  }

  #file(taskId: string): string {
    if (!ID.test(taskId)) throw new LocalError("BAD_TASK_ID", `"${taskId}" cannot be a file name`);
    return join(this.#folder, taskId + SUFFIX);
  }
}

/** Written beside its place and moved there once it is on the disk, so that no crash leaves half a file. */
async function writeDurably(file: string, text: string, folder: string): Promise<void> {
  const unfinished = file + UNFINISHED;
  await rm(unfinished, { force: true });
  const handle = await open(unfinished, "wx", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(unfinished, file);
  await syncFolder(folder);
}

/** The new name must be on the disk too. Systems that cannot open folders write names at once. */
async function syncFolder(folder: string): Promise<void> {
  let handle;
  try {
    handle = await open(folder, "r");
    await handle.sync();
  } catch (error) {
    if (!["EISDIR", "EPERM", "EACCES", "EINVAL"].includes((error as { code: string }).code)) throw error;
  } finally {
    await handle?.close();
  }
}

function interrupted({ task, ...rest }: TaskRecord): TaskRecord {
  return {
    ...rest,
    task: { ...task, status: "failed", statusMessage: INTERRUPTED, lastUpdatedAt: new Date().toISOString() },
    error: { code: ErrorCode.InternalError, message: INTERRUPTED },
  };
}
