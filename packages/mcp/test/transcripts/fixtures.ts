// Small servers, one a theme, for the golden conversations: written once, served in every revision.
import {
  audio,
  image,
  inputRequired,
  link,
  resource,
  result,
  Server,
  type ServerOptions,
  text,
} from "@secure-local/mcp/server";
import { laboring } from "./task-fixture.js";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
const NUMBERS = {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
} as const;

function named(name: string, options: Partial<ServerOptions> = {}): Server {
  return new Server({ name, version: "1.0.0", ...options });
}

export const FIXTURES: Readonly<Record<string, () => Server>> = {
  greeter,
  tools,
  content,
  resources,
  prompts,
  pages,
  working,
  changing,
  asking,
  laboring,
};

/** Says everything a server can say of itself. */
function greeter(): Server {
  const server = named("greeter", {
    title: "Greeter",
    description: "Greets people",
    websiteUrl: "https://example.com/",
    icons: [{ src: "https://example.com/icon.png", mimeType: "image/png", sizes: ["48x48"] }],
    instructions: "Call greet with a name.",
    capabilities: { experimental: { "example.com/x": { deep: true } }, extensions: { "example.com/ui": {} } },
  });
  server.tool("greet", {
    description: "Greets someone",
    input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    run: ({ name }) => `Hello, ${name}!`,
  });
  server.method("example.com/reverse", ({ text: given }) => ({ text: [...String(given)].reverse().join("") }));
  return server;
}

function tools(): Server {
  const server = named("tools");
  server.tool("add", {
    title: "Adder",
    description: "Adds two numbers",
    input: NUMBERS,
    annotations: { readOnlyHint: true, openWorldHint: false },
    icons: [{ src: "https://example.com/add.svg", mimeType: "image/svg+xml", theme: "dark" }],
    _meta: { "example.com/owner": "math" },
    run: ({ a, b }) => a + b,
  });
  server.tool("divide", {
    description: "Divides, with the rest",
    input: NUMBERS,
    output: {
      type: "object",
      properties: { whole: { type: "integer" }, rest: { type: "number" } },
      required: ["whole", "rest"],
    },
    run: ({ a, b }) => ({ whole: Math.floor(a / b), rest: a % b }),
  });
  server.tool("primes", {
    description: "Structured content that is not an object",
    output: { type: "array", items: { $ref: "#/$defs/prime" }, $defs: { prime: { type: "integer" } } },
    run: () => [2, 3, 5],
  });
  server.tool("lies", { output: { type: "integer" }, run: () => "not a number" as never });
  server.tool("fails", { run: (_args, ctx) => ctx.fail("The file is locked: close it and try again.") });
  server.tool("throws", {
    run: () => {
      throw new Error("the password is hunter2");
    },
  });
  server.tool("defaults", {
    input: { type: "object", properties: { size: { type: "integer", default: 3, minimum: 1 } } },
    run: (args) => args,
  });
  return server;
}

function content(): Server {
  const server = named("content");
  server.tool("every_kind", {
    run: () => [
      text("plain", { annotations: { audience: ["user"], priority: 0.9, lastModified: "2025-01-12T15:00:58Z" } }),
      image(PIXEL, "image/png"),
      audio(SILENCE, "audio/wav"),
      resource("test://note", "a note", { _meta: { "example.com/k": 1 } }),
      resource("test://bytes", new Uint8Array([0, 1, 255])),
      link({
        uri: "test://note",
        name: "note",
        title: "A note",
        description: "Read it",
        mimeType: "text/plain",
        size: 6,
      }),
    ],
  });
  server.tool("whole", {
    run: () => result({ content: ["done"], structuredContent: { done: true }, _meta: { "example.com/trace": "abc" } }),
  });
  server.tool("nothing", { run: () => undefined });
  server.tool("flat", {
    description: "Returns an embedded resource as an old document draws it",
    run: () =>
      result({ content: [{ type: "resource", uri: "test://note", mimeType: "text/plain", text: "flat" } as never] }),
  });
  return server;
}

function resources(): Server {
  const server = named("resources");
  server.resource("test://text", {
    name: "text",
    title: "A text",
    description: "A short text",
    mimeType: "text/markdown",
    size: 5,
    annotations: { audience: ["assistant"], priority: 1, lastModified: "2025-01-12T15:00:58Z" },
    icons: [{ src: "https://example.com/text.png" }],
    ttlMs: 60_000,
    shared: true,
    read: () => "*hey*",
  });
  server.resource("test://blob", { name: "blob", read: () => new Uint8Array([0, 1, 2, 255]) });
  server.resource("test://gone", { name: "gone", read: () => undefined });
  server.resource("test://secret", {
    name: "secret",
    read: () => {
      throw new Error("the password is hunter2");
    },
  });
  server.resourceTemplate("test://notes/{id}", {
    name: "note",
    title: "A note",
    description: "A note by its number",
    mimeType: "text/plain",
    complete: { id: ["1", "2", "12"] },
    read: (_uri, { id }) => (id === "1" ? "Buy milk" : undefined),
  });
  server.tool("touch", {
    input: { type: "object", properties: { uri: { type: "string" } }, required: ["uri"] },
    run({ uri }) {
      server.resourceUpdated(uri);
      return "Touched";
    },
  });
  return server;
}

function prompts(): Server {
  const server = named("prompts");
  server.prompt("greeting", { run: () => "Say hello." });
  server.prompt("review", {
    title: "Code review",
    description: "Asks for a review",
    arguments: {
      code: { title: "Code", description: "What to review", required: true },
      language: {
        description: "Its language",
        complete: (typed, { arguments: chosen }) =>
          ["python", "pytorch", "pyside", "perl"].filter((name) => name.startsWith(typed) && name !== chosen["not"]),
      },
      style: { complete: ["strict", "kind", "terse"] },
    },
    run: ({ code, language = "some language" }) => [
      { role: "user", content: `Review this ${language}:\n${code}` },
      { role: "assistant", content: "Names first." },
    ],
  });
  server.prompt("illustrated", {
    run: () => ({
      description: "Look and listen",
      messages: [
        { role: "user", content: image(PIXEL, "image/png") },
        { role: "user", content: audio(SILENCE, "audio/wav") },
        { role: "user", content: resource("test://note", "a note") },
        { role: "user", content: link({ uri: "test://note", name: "note" }) },
      ],
    }),
  });
  return server;
}

/** Two on a page. */
function pages(): Server {
  const server = named("pages", { limits: { pageSize: 2 }, listTtlMs: 5_000 });
  for (const name of ["e", "d", "c", "b", "a"]) server.tool(name, { run: () => name });
  for (const name of ["3", "2", "1"]) {
    server.resource(`test://${name}`, { name, read: () => name });
    server.resourceTemplate(`test://${name}/{x}`, { name, read: () => name });
    server.prompt(name, { run: () => name });
  }
  server.tool("remove_c", {
    run() {
      server.tool("bb", { run: () => "bb" });
      return "There is a bb now";
    },
  });
  return server;
}

/** Takes its time, and says how it is going. */
function working(): Server {
  const server = named("working");
  server.tool("count", {
    input: { type: "object", properties: { to: { type: "integer", default: 3 } } },
    async run({ to }, ctx) {
      for (let step = 1; step <= to; step++) await ctx.progress(step, to, `${step} of ${to}`);
      await ctx.progress(to, to, "does not grow");
      return `Counted to ${to}`;
    },
  });
  server.tool("chatter", {
    async run(_args, ctx) {
      for (const level of ["debug", "info", "warning", "emergency"] as const)
        await ctx.log(level, { said: level }, "chatter");
      return "Said everything";
    },
  });
  server.tool("announce", {
    run() {
      server.log("error", "The disk is full");
      return "Announced";
    },
  });
  server.tool("wait", {
    run: (_args, ctx) =>
      new Promise((_resolve, reject) => {
        ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason));
      }),
  });
  return server;
}

function changing(): Server {
  const server = named("changing", { capabilities: { expect: ["tools", "prompts", "resources"] } });
  server.resource("test://watched", { name: "watched", read: () => "watched" });
  server.tool("change", {
    run() {
      server.tool("extra", { run: () => "extra" });
      server.prompt("extra", { run: () => "extra" });
      server.resource("test://extra", { read: () => "extra" });
      return "Added one of each";
    },
  });
  server.tool("touch", {
    input: { type: "object", properties: { uri: { type: "string" } }, required: ["uri"] },
    run({ uri }) {
      server.resourceUpdated(uri);
      return "Touched";
    },
  });
  return server;
}

/** Asks the client: handlers are written once, whatever the era. */
function asking(): Server {
  const server = named("asking");
  server.tool("form", {
    async run(_args, ctx) {
      const answer = await ctx.elicit({
        message: "Which table?",
        schema: {
          guest: { type: "string", title: "Name", minLength: 2, default: "Ada" },
          email: { type: "string", format: "email", optional: true },
          guests: { type: "integer", minimum: 1, maximum: 12, default: 2 },
          tip: { type: "number", minimum: 0, default: 0.5 },
          smoking: { type: "boolean", default: false },
          room: { type: "string", enum: ["hall", "garden"], default: "garden" },
          course: {
            type: "string",
            oneOf: [
              { const: "s", title: "Soup" },
              { const: "f", title: "Fish" },
            ],
          },
          wine: { type: "string", enum: ["r", "w"], enumNames: ["Red", "White"], optional: true },
          ...(ctx.revision === "2025-06-18" ? {} : MANY),
        },
      });
      return answer.action === "accept" ? { booked: answer.content } : ctx.fail(`No table: ${answer.action}`);
    },
  });
  server.tool("page", {
    async run(_args, ctx) {
      const { action } = await ctx.elicit({ message: "Please sign in", url: "https://example.com/sign-in" });
      return `The page was answered with ${action}`;
    },
  });
  server.tool("model", {
    async run(_args, ctx) {
      const answer = await ctx.sample({
        messages: [{ role: "user", content: { type: "text", text: "What is the capital of France?" } }],
        maxTokens: 20,
        systemPrompt: "One word.",
        modelPreferences: { hints: [{ name: "small" }], speedPriority: 1 },
      });
      return { answer };
    },
  });
  server.tool("model_with_tools", {
    async run(_args, ctx) {
      const { content: used, stopReason } = await ctx.sample({
        messages: [{ role: "user", content: { type: "text", text: "Weather in Paris?" } }],
        maxTokens: 20,
        tools: [{ name: "weather", inputSchema: { type: "object" } }],
        toolChoice: { mode: "required" },
      });
      return { used, stopReason };
    },
  });
  server.tool("folders", { run: async (_args, ctx) => ({ roots: [...(await ctx.roots())] }) });
  server.tool("two_rounds", {
    async run(_args, ctx) {
      const [first, last] = await Promise.all([
        ctx.elicit({ message: "First name?", schema: { name: { type: "string" } } }),
        ctx.elicit({ message: "Last name?", schema: { name: { type: "string" } } }),
      ]);
      await ctx.progress(1, 2, "half way");
      const sure = await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
      return `${first.content?.name} ${last.content?.name}: ${sure.content?.sure}`;
    },
  });
  server.tool("by_hand", {
    input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    run({ city }, ctx) {
      const answer = ctx.inputResponses?.["who"] as { action: string; content?: { name: string } } | undefined;
      if (answer?.action === "accept") return `${answer.content?.name} is in ${(ctx.state as { city: string }).city}`;
      if (answer !== undefined) return ctx.fail("Nobody knows.");
      const requestedSchema = {
        type: "object" as const,
        properties: { name: { type: "string" as const } },
        required: ["name"],
      };
      return inputRequired({
        requests: {
          who: { method: "elicitation/create", params: { mode: "form", message: "Who are you?", requestedSchema } },
        },
        state: { city },
      });
    },
  });
  server.prompt("named", {
    async run(_args, ctx) {
      const { content: given } = await ctx.elicit({ message: "Your name?", schema: { name: { type: "string" } } });
      return `My name is ${given?.name}.`;
    },
  });
  server.resource("test://mine", {
    read: async (ctx) => JSON.stringify((await ctx.roots()).map(({ uri }) => uri)),
  });
  return server;
}

const MANY = {
  extras: { type: "array", items: { type: "string", enum: ["bread", "water"] }, maxItems: 2, default: ["bread"] },
  allergies: {
    type: "array",
    items: {
      anyOf: [
        { const: "n", title: "Nuts" },
        { const: "m", title: "Milk" },
      ],
    },
    optional: true,
  },
} as const;
