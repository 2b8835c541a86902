// Serves a server over this process's standard input and output.
import { LocalError } from "../jsonrpc/errors.js";
import { DEFAULT_LIMITS } from "../jsonrpc/limits.js";
import { checkOptions } from "../protocol/capabilities.js";
import type { MembersOf } from "../schema/schema.js";
import { guardStdout, onShutdown } from "../node/standard-streams.js";
import { type StdioOptions, stdioTransport } from "../node/stdio-server.js";
import { coreOf, type LeanServer } from "../server/lean-server.js";
import type { ServeOptions, Serving } from "../server/conversation.js";
import { serve } from "./serve.js";

/** Options of `serveStdio`: streams, limits, signals, and the time running requests get at the end. */
export interface ServeStdioOptions extends ServeOptions, StdioOptions {
  /** False: SIGTERM and SIGINT are left to the program. Default true: they end serving, and the process follows. */
  readonly signals?: boolean;
}

const STDIO_MEMBERS: MembersOf<ServeStdioOptions> = {
  graceMs: "ms",
  input: "on()",
  output: "write()",
  limits: DEFAULT_LIMITS,
  signals: "flag",
};

/** Whether standard input or output is in use: what reads there second would take messages of the first. */
let taken = false;

/**
 * Serves stdin and stdout. From now on only messages reach stdout: `console.log` and `process.stdout.write` go to stderr.
 * Serving ends with the end of input, the parent's death, SIGTERM or SIGINT; then nothing keeps the process alive: tasks
 * that still run are ended too, unless `signals` is false and so the program sees to its end itself (`server.endTasks()`).
 * Rejects with BAD_OPTIONS for a member that does not exist.
 */
export async function serveStdio(server: LeanServer, options: ServeStdioOptions = {}): Promise<Serving> {
  const { limits } = coreOf(server);
  checkOptions("serveStdio(server, options)", options, STDIO_MEMBERS);
  const own = options.input === undefined || options.output === undefined;
  if (own && taken) {
    const what = "serveStdio is serving over standard input and output already, and they have one client";
    throw new LocalError(
      "DUPLICATE",
      `${what}: mount the other server into a Gateway, or await (await serveStdio(first)).closed`,
    );
  }
  const release = guardStdout();
  const serving = serve(server, stdioTransport({ limits, ...options }), options);
  const forget = options.signals === false ? undefined : onShutdown(() => serving.close());
  taken ||= own;
  void serving.closed.then(() => {
    if (own) taken = false;
    forget?.();
    release();
    if (options.signals !== false) void server.endTasks();
  });
  return serving;
}
