// However long somebody lets something take, no timer is asked for more than it can count: it would fire at once.
import { readdirSync, readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Gateway } from "../../src/gateway/gateway.js";
import { Host } from "../../src/serve/host.js";
import { loadIcon } from "../../src/host/icons.js";
import { startTimer } from "../../src/jsonrpc/outgoing.js";
import { DEFAULT_HTTP_CLIENT_LIMITS } from "../../src/http/client/http-caller.js";
import { pastedRedirect } from "../../src/node/user-authorization.js";
import { connect } from "../../src/serve/connect-node.js";
import { serveHttp } from "../../src/serve/http.js";
import type { ServerOptions } from "../../src/server/lean-server.js";
import { Server } from "../../src/server/server.js";
import { texts } from "../interop-client/features.js";

const LONG = [2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER];
const ALL = [...LONG, Number.POSITIVE_INFINITY];
const LONGEST = 2 ** 31 - 1;

const closing: (() => unknown)[] = [];
/** Durations of all timers, as the platform was asked for them. */
let asked: number[];
/** What Node said of those of its own. */
let warnings: string[];

const warn = ({ name, message }: Error): void => void (name === "TimeoutOverflowWarning" && warnings.push(message));

beforeEach(() => {
  [asked, warnings] = [[], []];
  process.on("warning", warn);
  for (const name of ["setTimeout", "setInterval"] as const) {
    const real: (run: () => void, ms?: number, ...more: unknown[]) => NodeJS.Timeout = globalThis[name];
    const noting = (run: () => void, ms = 0, ...more: unknown[]): NodeJS.Timeout => {
      asked.push(ms);
      return real(run, ms, ...more);
    };
    vi.spyOn(globalThis, name).mockImplementation(noting);
  }
});
afterEach(async () => {
  process.removeListener("warning", warn);
  vi.restoreAllMocks();
  for (const close of closing.splice(0).reverse()) await close();
});

const elicit = async () => {
  await new Promise((resolve) => setTimeout(resolve, 20));
  return { action: "accept", content: { by: "Ada" } } as const;
};

/** A server that asks who it is, for as long as it is told. */
function asking(options: Partial<ServerOptions> = {}, timeoutMs?: number): Server {
  const server = new Server({ name: "s", version: "1", report: false, ...options });
  server.tool("ask", {
    task: "optional",
    async run(_args, ctx) {
      const schema = { by: { type: "string" } } as const;
      const given = timeoutMs === undefined ? {} : { timeoutMs };
      const { action, content } = await ctx.elicit({ message: "?", schema }, given);
      return `${action} ${content?.by}`;
    },
  });
  return server;
}

async function answerOf(server: Server | string, options: object, asTask = false): Promise<string> {
  const client = await connect(server, { verdicts: false, elicit, ...options });
  closing.push(() => client.close());
  return texts(asTask ? await (await client.callTask("ask", {})).result() : await client.call("ask", {}));
}

async function served(server: Server, limits: object = {}): Promise<string> {
  const serving = await serveHttp(server, { signals: false, ...limits });
  closing.push(() => serving.close());
  return serving.url;
}

const SESSION = { revision: "2025-11-25" };
const NEWEST = { revision: "2026-07-28" };
const HTTP_LIMITS = Object.keys(DEFAULT_HTTP_CLIENT_LIMITS).filter((name) => name.endsWith("Ms"));

type Row = readonly [
  option: string,
  values: readonly number[],
  run: (ms: number) => Promise<unknown>,
  outcome: unknown,
];

const ROWS: readonly Row[] = [
  ["ask timeoutMs", ALL, (ms) => answerOf(asking({}, ms), SESSION), "accept Ada"],
  ["ask timeoutMs in a task of a session", ALL, (ms) => answerOf(asking({}, ms), SESSION, true), "accept Ada"],
  ["ask timeoutMs in a task", ALL, (ms) => answerOf(asking({}, ms), NEWEST, true), "accept Ada"],
  ["askTimeoutMs", LONG, (ms) => answerOf(asking({ limits: { askTimeoutMs: ms } }), SESSION), "accept Ada"],
  ["parkedMs", LONG, (ms) => answerOf(asking({ limits: { parkedMs: ms } }), NEWEST), "accept Ada"],
  [
    "times of tasks",
    LONG,
    (ms) =>
      answerOf(
        asking({ limits: { taskTtlMs: ms, taskMaxTtlMs: ms, taskGraceMs: ms } }),
        { revision: "2025-11-25" },
        true,
      ),
    "accept Ada",
  ],
  [
    "times of a client",
    ALL,
    (ms) =>
      answerOf(asking(), {
        ...SESSION,
        timeoutMs: ms,
        maxTimeoutMs: ms,
        connectTimeoutMs: ms,
        probeTimeoutMs: ms,
        ping: { intervalMs: ms, timeoutMs: ms },
      }),
    "accept Ada",
  ],
  [
    "times to find out the revision",
    ALL,
    (ms) => answerOf(asking(), { connectTimeoutMs: ms, probeTimeoutMs: ms }),
    "accept Ada",
  ],
  [
    "limits of a client over HTTP",
    LONG,
    async (ms) => {
      const limits = Object.fromEntries(HTTP_LIMITS.map((name) => [name, ms]));
      return answerOf(await served(asking()), { ...SESSION, http: { limits, connectMs: ms } });
    },
    "accept Ada",
  ],
  [
    "limits of a server over HTTP",
    LONG,
    async (ms) => {
      const limits = { headersMs: ms, requestMs: ms, keepAliveMs: ms, stallMs: ms };
      const url = await served(asking(), { limits, sessions: { idleMs: ms, absoluteMs: ms }, pings: { everyMs: ms } });
      return answerOf(url, SESSION);
    },
    "accept Ada",
  ],
  [
    "idleMs and timeoutMs of a gateway",
    ALL,
    async (ms) => {
      const gateway = new Gateway({ name: "g", version: "1", report: false });
      closing.push(() => gateway.unmountAll());
      let ends = 0;
      await gateway.mount(
        "up",
        async (options) => {
          const client = await connect(asking(), { ...options, verdicts: false });
          void client.closed.then(() => ends++);
          return client;
        },
        { prefix: "", idleMs: ms, timeoutMs: ms },
      );
      const answer = await answerOf(gateway, SESSION);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return [answer, ends];
    },
    ["accept Ada", 0],
  ],
  [
    "times of a host",
    ALL,
    async (ms) => {
      const server = new Server({ name: "s", version: "1", report: false });
      server.tool("hello", { run: () => "hello" });
      const slow = <T>(value: T): Promise<T> => new Promise((resolve) => setTimeout(resolve, 20, value));
      const host = new Host({
        decisionTimeoutMs: ms,
        startTimeoutMs: ms,
        authorize: () => slow(true),
        client: { verdicts: false },
        onCall: () => slow(true),
      });
      closing.push(() => host.close());
      const { state } = await host.add("s", server);
      const [tool] = host.tools();
      return [state, texts(await host.call(tool?.name ?? "", {}))];
    },
    ["ready", "hello"],
  ],
  [
    "timeoutMs of an icon",
    ALL,
    async (ms) => {
      const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
      const fetch = async () => new Response(png, { headers: { "content-type": "image/png" } });
      const icon = { src: "https://icons.test/a.png" };
      await loadIcon(icon, { serverUrl: "https://icons.test/mcp", timeoutMs: ms, fetch }).catch((error: Error) => {
        if (!/bytes|image|size/i.test(error.message)) throw error;
      });
      return "looked at";
    },
    "looked at",
  ],
  [
    "timeoutMs of a pasted redirect",
    ALL,
    async (ms) => {
      const read = (): Promise<string> => new Promise((resolve) => setTimeout(resolve, 20, "http://127.0.0.1/?code=1"));
      const opened = await pastedRedirect({ show: () => undefined, read, timeoutMs: ms }).open();
      return opened.authorize("https://issuer.test/authorize");
    },
    "http://127.0.0.1/?code=1",
  ],
];

describe.each(ROWS)("%s", (_option, values, run, outcome) => {
  it.each(values)("may be %d", async (ms) => {
    expect(await run(ms)).toEqual(outcome);
    expect(asked.filter((each) => !(each <= LONGEST))).toEqual([]);
    expect(warnings).toEqual([]);
  });
});

it.each([...ALL, 5, 0])("a timer for %d ms asks for no more than timers can count", (ms) => {
  clearTimeout(startTimer(() => undefined, ms));
  expect(asked).toEqual([Math.min(ms, LONGEST)]);
});

describe("in the library's sources", () => {
  const source = new URL("../../src/", import.meta.url);
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  /** Calls of a timer, with what stands behind the function it runs. */
  const durations = files.flatMap((file) => {
    const text = readFileSync(new URL(file, source), "utf8");
    return [...text.matchAll(/\b(?:setTimeout|setInterval|AbortSignal\.timeout)\(/g)].map(({ index, 0: name }) => {
      const given = argumentsAt(text, index + name.length);
      return { file, given: (name.startsWith("Abort") ? given[0] : given[1]) ?? "0" };
    });
  });
  /** Bounded where it is made, or, where a call waits for a person, none is set for more. */
  const BOUNDED = new Set([
    "client/questions.ts: withinMs",
    "cluster/contract.ts: rest + 1",
    "endpoint/progress.ts: this.#windowStart + WINDOW_MS - performance.now()",
    "node/token-file.ts: pause * (0.5 + Math.random())",
    "http/server/resumable-stream.ts: pause",
  ]);
  const CONSTANT = /^[\d_A-Z*/+\s().-]*$/;

  it("a timer is set by hand only for a time that nobody chooses, or with a bound", () => {
    expect(durations.length).toBeGreaterThan(30);
    const open = durations.filter(
      ({ given }) => !CONSTANT.test(given) && !/\bMath\.min\(.*\bLONGEST_\w+_MS\b/.test(given),
    );
    expect(new Set(open.map(({ file, given }) => `${file}: ${given}`))).toEqual(BOUNDED);
  });
});

/** The arguments of a call whose bracket opens before `at`, as text. */
function argumentsAt(text: string, at: number): string[] {
  const found: string[] = [];
  let [depth, from] = [0, at];
  for (let i = at; ; i++) {
    const c = text[i] as string;
    if (")]}".includes(c) && depth-- === 0) return [...found, text.slice(from, i).trim()];
    if ("([{".includes(c)) depth++;
    if (c === "," && depth === 0) {
      found.push(text.slice(from, i).trim());
      from = i + 1;
    }
  }
}
