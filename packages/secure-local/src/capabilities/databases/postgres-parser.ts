// Has statements read by PostgreSQL's own parser, in a thread that a statement can at most take down with it.
import { DatabaseError } from "./database-error.js";
import { SqlWorker, type WorkerLimits } from "./sql-worker.js";

/** Milliseconds a parser waits for its next statement: loading it takes a hundred. */
const IDLE_MS = 30_000;

let idle: { readonly worker: SqlWorker; readonly timer: NodeJS.Timeout } | undefined;

/** The tree, as libpg-query writes it. @throws DatabaseError for what is no SQL, the signal's reason */
export async function parsePostgres(sql: string, limits: WorkerLimits): Promise<unknown> {
  limits.signal.throwIfAborted();
  const worker = taken() ?? new SqlWorker({ task: "parser" });
  try {
    return (await worker.ask<{ readonly tree: unknown }>(limits, { sql })).tree;
  } catch (error) {
    // One that is nested too deeply may have left it in any state.
    if (error instanceof DatabaseError && error.code === "denied") await worker.end();
    throw error;
  } finally {
    if (!worker.ended) put(worker);
  }
}

function taken(): SqlWorker | undefined {
  const worker = idle?.worker;
  clearTimeout(idle?.timer);
  idle = undefined;
  worker?.keepsProcess(true);
  return worker?.ended === true ? undefined : worker;
}

function put(worker: SqlWorker): void {
  if (idle !== undefined) {
    void worker.end();
    return;
  }
  worker.keepsProcess(false);
  idle = { worker, timer: setTimeout(() => void taken()?.end(), IDLE_MS).unref() };
}
