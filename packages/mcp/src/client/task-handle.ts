// One task on the server, whichever of the two shapes of tasks it has.
import type { Task } from "../protocol/extensions/task.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { CallOptions } from "./call-options.js";

export interface TaskHandle {
  /** Undefined when the server answered at once instead of beginning a task. */
  readonly id: string | undefined;
  /** What is known of the task now. */
  status(options?: CallOptions): Promise<Task>;
  /**
   * The result, once there is one; questions the task asks on the way are answered. Rejects with the call's RpcError,
   * and with CANCELLED when the task was. `timeoutMs` bounds each look, `signal` the whole wait.
   */
  result(options?: CallOptions): Promise<CallToolResult>;
  /** Asks the server to stop the task. It may still end otherwise: see `status`. */
  cancel(options?: CallOptions): Promise<void>;
  /** Each state that is seen, until the last. */
  updates(options?: CallOptions): AsyncIterable<Task>;
}
