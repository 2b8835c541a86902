// Other people's gateways in the gateway's bench: the same shape and revision for the floor, for ours and for them, in turns.
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installed, programOf } from "../../world/install.mjs";
import { fixed } from "../measure/markdown.mjs";
import { asker, compare, IN_FLIGHT, openSession, pipeAsker, SESSION, sseAsker } from "./calling.mjs";
import { freePort, homes, piped, service, SERVICES, start } from "./processes.mjs";

const SDK_PROXY = fileURLToPath(new URL("sdk-proxy.mjs", import.meta.url));
/** Where the exact versions of other people's packages are kept. */
const VERSIONS = JSON.parse(readFileSync(new URL("../../world/clients.json", import.meta.url), "utf8"));
const OWN_VERSIONS = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).devDependencies;
/** Of the calls of a round: a peer's cost several times as much, and are not held to a tenth. */
const FEWER = 3;
/** The newest revision that mcp-hub knows. */
const OLD = "2025-06-18";
/** A peer answers within this after its start, on a busy machine too. */
const READY_MS = 30_000;

const versionOf = (name) => VERSIONS.find((each) => each.package === name).version;

/** A peer's program as the process that relays: no npx and no shell before it, which would be counted in its place. */
async function begun(name, args) {
  const folder = await installed({ package: name, version: versionOf(name) });
  const home = mkdtempSync(join(tmpdir(), "bench-gateway-peer-"));
  homes.add(home);
  const env = { PATH: process.env.PATH, HOME: home };
  const child = start(programOf(folder, name), await args(home), { cwd: home, env });
  // What it logs is read, or its pipe would fill and it would stand still.
  child.stdout.on("data", () => undefined);
  return { pid: child.pid, child, named: `${name} ${versionOf(name)}`, close: () => child.kill() };
}

/** The same, of one that listens: on a port that was free a moment before. */
async function listening(name, args, open) {
  const port = await freePort();
  const peer = await begun(name, (home) => args(String(port), home));
  return { ...peer, ask: await untilReady(peer, () => open(`http://127.0.0.1:${port}/mcp`)) };
}

async function untilReady({ child, named }, open) {
  for (let waited = 0; ; waited += 250) {
    try {
      return await open();
    } catch (error) {
      if (child.exitCode !== null || waited >= READY_MS)
        throw new Error(`${named} does not answer: ${error.message}, ${child.said().slice(-300)}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}

/** Asks once what was opened, so that it is known to answer with results. */
async function tried(ask) {
  const { text } = await ask();
  if (!text.includes('"result"')) throw new Error(`no result: ${text.slice(0, 300)}`);
  return ask;
}

const inSession = (name) => async (url) => tried(asker(url, { era: "session", session: await openSession(url), name }));
const alone = (name) => (url) => tried(asker(url, { era: "stateless", name }));
const bySse = (name) => async (url) => tried(await sseAsker(url, name, OLD));

/** One of our own services, asked as `open` does. */
async function own(named, role, options, open) {
  const reached = await service(role, options);
  return { ...reached, named, ask: await open(reached.url) };
}

async function sdk(version, named, url, open) {
  const child = start(SDK_PROXY, [version, url]);
  const found = await new Promise((resolve, reject) => {
    child.stdout.setEncoding("utf8").once("data", (text) => resolve(JSON.parse(text).url));
    child.once("exit", () => reject(new Error(`${named} ended: ${child.said().slice(0, 300)}`)));
  });
  return { pid: child.pid, named, ask: await open(found), close: () => child.kill() };
}

const STDIO_SERVER = [process.execPath, SERVICES, "upstream-stdio", JSON.stringify({ era: "session" })];
const proxyArgs = (port) => ["--host", "127.0.0.1", "--port", port, "--server", "stream", "--", ...STDIO_SERVER];
const quoted = (words) => words.map((word) => `'${word}'`).join(" ");
const OFFICIAL = {
  v1: `60 lines on the official SDK v1, ${OWN_VERSIONS["@modelcontextprotocol/sdk"]}`,
  v2: `60 lines on the official SDK v2, ${OWN_VERSIONS["@modelcontextprotocol/server"]}`,
};

/** Each: what it is called and a function for each process that is compared, the floor first and ours after it. */
const SHAPES = {
  "HTTP to stdio, 64 in flight, 2025-11-25": {
    inFlight: 64,
    sides: () => [
      () => own("floor F4", "floor-stdio", { command: STDIO_SERVER }, alone2025("read")),
      () => own("ours", "ours", { command: STDIO_SERVER, prefix: "", revision: SESSION }, inSession("read")),
      () =>
        listening(
          "supergateway",
          (port) =>
            ["--stdio", quoted(STDIO_SERVER), "--port", port, "--logLevel", "none"].concat(
              ["--outputTransport", "streamableHttp", "--stateful"],
              ["--protocolVersion", SESSION],
            ),
          inSession("read"),
        ),
      () => listening("mcp-proxy", proxyArgs, inSession("read")),
    ],
  },
  // What mcp-proxy stands before has to be of sessions; supergateway starts a process of it for each call here.
  "HTTP of 2026-07-28 to stdio of 2025-11-25, 64 in flight": {
    inFlight: 64,
    sides: () => [
      () => own("floor F4", "floor-stdio", { command: STDIO_SERVER }, alone("read")),
      () => own("ours", "ours", { command: STDIO_SERVER, prefix: "", revision: SESSION }, alone("read")),
      () => listening("mcp-proxy", proxyArgs, alone("read")),
    ],
  },
  "stdio to HTTP, 64 in flight, 2025-11-25": {
    inFlight: 64,
    sides: async () => {
      const { url } = await service("upstream-http", { era: "session" });
      const asked = async (peer) => ({ ...peer, ask: await pipeAsker(peer, "session") });
      const ours = { urls: [url], prefix: "", stdio: true, revision: SESSION };
      return [
        async () => asked({ ...piped("floor-pipe", { url }), named: "floor F4" }),
        async () => asked({ ...piped("ours", ours), named: "ours" }),
        async () => asked(await begun("mcp-remote", () => [url, "--allow-http", "--transport", "http-only"])),
        async () => asked(await begun("supergateway", () => ["--streamableHttp", url, "--logLevel", "none"])),
      ];
    },
  },
  "HTTP to HTTP, 2025-11-25": {
    sides: async () => {
      const { url } = await service("upstream-http", { era: "session" });
      return [
        () => own("floor F3", "floor-http", { url, rename: true }, alone2025("read")),
        () => own("ours", "ours", { urls: [url], prefix: "", revision: SESSION }, inSession("read")),
        () => sdk("v1", OFFICIAL.v1, url, inSession("read")),
      ];
    },
  },
  "HTTP to HTTP, 2026-07-28": {
    sides: async () => {
      const { url } = await service("upstream-http", { era: "stateless" });
      return [
        () => own("floor F3", "floor-http", { url, rename: true }, alone("read")),
        () => own("ours", "ours", { urls: [url], prefix: "" }, alone("read")),
        () => sdk("v2", OFFICIAL.v2, url, alone("read")),
      ];
    },
  },
  // mcp-hub knows nothing newer, and serves nothing but SSE.
  [`HTTP with SSE to HTTP, prefixed, ${OLD}`]: {
    sides: async () => {
      const { url } = await service("upstream-http", { era: "session", revision: OLD });
      const config = (home) => {
        const file = join(home, "hub.json");
        writeFileSync(file, JSON.stringify({ mcpServers: { up: { url } } }));
        return file;
      };
      const args = (port, home) => ["--port", port, "--config", config(home)];
      return [
        () => own("floor F3", "floor-sse", { url }, bySse("up__read")),
        () =>
          own("ours", "ours", { urls: [url], revision: OLD, sse: true }, (at) =>
            bySse("up__read")(at.replace("/mcp", "/sse")),
          ),
        () => listening("mcp-hub", args, bySse("up__read")),
      ];
    },
  },
};

/** A floor knows no sessions: it is asked in the form of one that nobody opened. */
function alone2025(name) {
  return (url) => tried(asker(url, { era: "session", name }));
}

/** Writes a row for each process of each shape once that is measured; `end` is called after each shape. Whether all of ours ran. */
export async function comparePeers(numbers, { end, write }) {
  let ran = true;
  for (const [what, shape] of Object.entries(SHAPES)) {
    try {
      for (const row of await rowsOf(shape, numbers)) write(`| ${[what, ...row].join(" | ")} |\n`);
    } catch (error) {
      ran = false;
      write(`| ${what} | failed: ${cell(error)} | - | - | - |\n`);
    } finally {
      await end();
    }
  }
  return ran;
}

async function rowsOf({ sides, inFlight = IN_FLIGHT }, numbers) {
  const [floor, ours, ...peers] = await sides();
  const reached = [await floor(), await ours()];
  const missing = [];
  for (const peer of peers) {
    try {
      reached.push(await peer());
    } catch (error) {
      // No registry, or a peer that does not come up here: the others are measured all the same.
      missing.push([`not measured: ${cell(error)}`, "-", "-", "-"]);
    }
  }
  const calls = Math.ceil(numbers.calls / FEWER);
  const figures = await compare(reached, { ...numbers, calls, inFlight });
  const times = (at, base) => fixed(figures[at] / figures[base], 2);
  const rows = reached.map(({ named }, at) => [named, fixed(figures[at], 0), times(at, 0), times(at, 1)]);
  return [...rows, ...missing];
}

const cell = ({ message }) => message.replaceAll("|", "/").replaceAll(/\s+/g, " ").slice(0, 160);
