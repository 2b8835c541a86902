// The tools of the everything server that take their time or change things: progress, logging, cancellation, lists.

/** Registers the tools that do something besides answering. */
export function registerWorkingTools(server) {
  server.tool("count", {
    description: "Counts to a number and reports progress on the way",
    input: { type: "object", properties: { to: { type: "integer", minimum: 1, maximum: 1000, default: 3 } } },
    async run({ to }, ctx) {
      for (let step = 1; step <= to; step++) await ctx.progress(step, to, `Counted ${step} of ${to}`);
      return `Counted to ${to}`;
    },
  });
  server.tool("chatter", {
    description: "Sends a log message of every level",
    async run(_args, ctx) {
      for (const level of ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]) {
        await ctx.log(level, { said: level }, "chatter");
      }
      return "Said everything";
    },
  });
  const waiting = new Set();
  server.tool("wait", {
    description: "Says that it waits, then waits to be woken or cancelled, or for some milliseconds",
    input: { type: "object", properties: { ms: { type: "integer", minimum: 0, default: 60_000 } } },
    async run({ ms }, ctx) {
      await ctx.progress(1, 2, "Waiting");
      return waitFor(ms, ctx.signal, waiting);
    },
  });
  server.tool("wake", {
    description: "Wakes everybody who waits",
    run() {
      for (const wake of waiting) wake();
      return "Woke everybody";
    },
  });
  registerChanges(server);
}

function registerChanges(server) {
  let extra = [];
  server.tool("change_lists", {
    description: "Adds a tool, a prompt and a resource, or takes them away again",
    run() {
      if (extra.length > 0) {
        for (const registration of extra) registration.remove();
        extra = [];
        return "Removed";
      }
      extra = [
        server.tool("extra_tool", { description: "Was not there before", run: () => "extra" }),
        server.prompt("extra_prompt", { run: () => "extra" }),
        server.resource("everything://extra", { name: "extra", read: () => "extra" }),
      ];
      return "Added";
    },
  });
  server.tool("touch", {
    description: "Says that a resource has changed",
    input: { type: "object", properties: { uri: { type: "string" } }, required: ["uri"] },
    run({ uri }) {
      server.resourceUpdated(uri);
      return `Touched ${uri}`;
    },
  });
}

function waitFor(ms, signal, waiting) {
  const { promise, resolve, reject } = deferred();
  const wake = () => resolve("Woken");
  const cancel = () => reject(signal.reason);
  const timer = setTimeout(() => resolve(`Waited ${ms} ms`), ms);
  waiting.add(wake);
  signal.addEventListener("abort", cancel);
  return promise.finally(() => {
    clearTimeout(timer);
    waiting.delete(wake);
    signal.removeEventListener("abort", cancel);
  });
}

function deferred() {
  let settle;
  const promise = new Promise((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
}
