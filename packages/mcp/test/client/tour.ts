// Everything a client can do, done once with each of the fixture servers: the same program in every revision.
import { vi } from "vitest";
import type { Client } from "../../src/client/client.js";
import type { ClientOptions, ElicitRequest } from "../../src/client/options.js";

export interface Stop {
  readonly server: string;
  readonly options?: ClientOptions;
  visit(client: Client, revision: string): Promise<unknown>;
}

const OK = (promise: Promise<unknown>): Promise<unknown> =>
  promise.catch((error: { code: unknown }) => ({ refused: error.code }));

const elicit = (request: ElicitRequest): { action: "accept"; content?: Record<string, string> } => {
  if (request.mode === "url") return { action: "accept" };
  return {
    action: "accept",
    content: "course" in request.requestedSchema.properties ? { course: "f" } : { name: "Ada" },
  };
};

const ASKABLE: ClientOptions = {
  elicit,
  sample: ({ tools }) => ({
    role: "assistant",
    content:
      tools === undefined
        ? { type: "text", text: "Paris" }
        : [{ type: "tool_use", id: "u1", name: "weather", input: {} }],
    model: "small-1",
    stopReason: tools === undefined ? "end_turn" : "tool_use",
  }),
  roots: [{ uri: "file:///home/ada", name: "Home", _meta: { "example.com/k": 1 } }],
  capabilities: { elicitation: { form: {}, url: {} }, sampling: { tools: {} } },
};

export const TOUR: Readonly<Record<string, Stop>> = {
  tools: {
    server: "tools",
    async visit(client) {
      const tools = await client.tools().all();
      const sum = await client.call("add", { a: 1, b: 2 });
      const rest = await client.call("divide", { a: 7, b: 2 });
      const primes = await client.call("primes");
      const failed = await client.call("fails");
      return { names: tools.map(({ name }) => name), sum, rest, primes, failed };
    },
  },
  content: {
    server: "content",
    visit: async (client) => [
      await client.call("every_kind"),
      await client.call("whole"),
      await client.call("nothing"),
    ],
  },
  resources: {
    server: "resources",
    async visit(client) {
      const resources = await client.resources().all();
      const templates = await client.resourceTemplates().all();
      const text = await client.read("test://text");
      const note = await client.read("test://notes/{id}", { id: "1" });
      const gone = await OK(client.read("test://gone"));
      return { resources, templates, text, note, gone };
    },
  },
  prompts: {
    server: "prompts",
    async visit(client) {
      const prompts = await client.prompts().all();
      const review = await client.prompt("review", { code: "x = 1" });
      const illustrated = await client.prompt("illustrated");
      const ref = { type: "ref/prompt", name: "review" } as const;
      const argument = { name: "language", value: "py" };
      const completed = await client.complete(ref, argument, { context: { not: "pyside" } });
      return { prompts, review, illustrated, completed };
    },
  },
  pages: {
    server: "pages",
    visit: async (client) => [
      (await client.tools().all()).map(({ name }) => name),
      (await client.prompts().all()).length,
    ],
  },
  working: {
    server: "working",
    async visit(client) {
      const progress: unknown[] = [];
      const counted = await client.call("count", { to: 3 }, { onProgress: (report) => progress.push(report) });
      await client.setLogLevel("warning");
      await client.call("chatter");
      const controller = new AbortController();
      const waiting = OK(client.call("wait", {}, { signal: controller.signal }));
      controller.abort("enough");
      return { counted, progress, logs: client.logs, waited: await waiting, alive: (await client.ping()) >= 0 };
    },
  },
  asking: {
    server: "asking",
    options: ASKABLE,
    async visit(client) {
      const answers: Record<string, unknown> = {};
      for (const name of ["form", "page", "model", "model_with_tools", "folders"])
        answers[name] = await client.call(name);
      answers["by_hand"] = await client.call("by_hand", { city: "Paris" });
      answers["prompt"] = await OK(client.prompt("named"));
      answers["resource"] = await client.read("test://mine");
      return answers;
    },
  },
  refusing: {
    server: "asking",
    options: { ...ASKABLE, elicit: () => ({ action: "decline" }), sample: () => undefined },
    visit: async (client) => [await client.call("form"), await OK(client.call("model"))],
  },
  changing: {
    server: "changing",
    async visit(client) {
      const watched = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
      const lists = client.subscribe(watched);
      const resource = client.subscribe({ resources: ["test://watched"] });
      await Promise.all([lists.ready, resource.ready]);
      await client.call("change");
      await client.call("touch", { uri: "test://watched" });
      const seen: string[] = [];
      for await (const { kind } of lists) if (seen.push(kind) === 3) break;
      for await (const change of resource) {
        seen.push(change.kind === "resource" ? change.uri : change.kind);
        break;
      }
      return seen.sort();
    },
  },
  laboring: {
    server: "laboring",
    options: ASKABLE,
    async visit(client, revision) {
      if (revision < "2025-11-25") return OK(client.callTask("plain").then((task) => task.result()));
      await client.tools().all();
      const named = await (await client.callTask("name")).result();
      const labor = await client.callTask("labor");
      const before = await labor.status();
      await client.call("release");
      const done = await labor.result();
      const cancelled = await client.callTask("labor");
      await cancelled.cancel();
      await vi.waitFor(
        async () => {
          if ((await cancelled.status()).status !== "cancelled") throw new Error("not yet");
        },
        { timeout: 10_000 },
      );
      const refused = await OK(cancelled.result());
      const plain = await (await client.callTask("plain")).result();
      return {
        named,
        before: before.status,
        done,
        refused,
        plain,
        failed: await (await client.callTask("fail")).result(),
      };
    },
  },
};
