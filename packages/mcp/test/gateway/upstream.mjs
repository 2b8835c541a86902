// The upstream of the gateway's tests: all features of the matrix, questions of every kind, tasks, and a count of its calls.
import { serveStdio } from "@secure-local/mcp/stdio";
import { newServer } from "../interop-client/servers/ours.mjs";

/** Few enough that each list has several pages. */
const PAGE = 4;

const NAME = { name: { type: "string" } };
const SAMPLE = { messages: [{ role: "user", content: { type: "text", text: "Capital of France?" } }], maxTokens: 10 };

/** What the processes of an upstream have in common: how often each tool was called, and the gate of the one that is held. */
export function upstreamState() {
  let release;
  const released = new Promise((resolve) => {
    release = resolve;
  });
  return { counts: {}, release, released };
}

/** `state`: where several serve as one. */
export function newUpstream(state = upstreamState()) {
  const server = newServer({ name: "upstream", limits: { pageSize: PAGE } });
  const { counts, release, released } = state;
  server.use((call, next) => {
    const name = call.method === "tools/call" ? call.params.name : undefined;
    // A retry of the stateless era goes on with the call it belongs to.
    if (name !== undefined && call.params.requestState === undefined) counts[name] = (counts[name] ?? 0) + 1;
    return next();
  });
  server.tool("calls_of", {
    input: { type: "object", properties: NAME, required: ["name"] },
    run: ({ name }) => String(counts[name] ?? 0),
  });
  server.tool("three_rounds", {
    async run(_given, context) {
      const said = [];
      for (const message of ["One?", "Two?", "Three?"]) {
        said.push((await context.elicit({ message, schema: NAME })).content?.name);
      }
      return said.join();
    },
  });
  server.tool("all_at_once", {
    async run(_given, context) {
      const [form, answer, roots] = await Promise.all([
        context.elicit({ message: "Who?", schema: NAME }),
        context.sample(SAMPLE),
        context.roots(),
      ]);
      return [form.content?.name, [answer.content].flat()[0].text, roots[0].uri].join();
    },
  });
  server.tool("page", {
    run: async (_given, context) =>
      (await context.elicit({ message: "Sign in", url: "https://example.com/sign-in" })).action,
  });
  server.tool("long", {
    task: "optional",
    async run(_given, context) {
      await context.progress(1, 2);
      return "long work";
    },
  });
  server.tool("hold", {
    run: (_given, { signal }) =>
      new Promise((resolve) =>
        signal.addEventListener("abort", () => {
          release();
          resolve("let go");
        }),
      ),
  });
  server.tool("released", { run: () => released.then(() => "released") });
  server.tool("meta", { run: (_given, { meta }) => meta });
  return server;
}

if (process.argv[1] === import.meta.filename) await serveStdio(newUpstream());
