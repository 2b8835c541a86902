// What is said of servers that fail in part, of limits, and of how the command line raises them.
import { serveHttp } from "@secure-local/mcp/http";
import { LocalError, RpcError } from "@secure-local/mcp/client/node";
import { image, Server, text } from "@secure-local/mcp/server";
import { afterEach, describe, expect, it, vi } from "vitest";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCommandLine } from "../../src/cli/command-line.js";
import { tellFailure } from "../../src/cli/failure.js";
import { limitsOf, bearerToken } from "../../src/cli/remote/with-client.js";
import { serveSettings } from "../../src/cli/serve-http-settings.js";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { Metrics } from "../../src/observe/metrics.js";
import { httpOptions } from "../../src/server/http-options.js";
import { serveWelcome } from "../../src/cli/serve-http-command.js";
import { run } from "./command.js";
import { runQuickly } from "./command-in-thread.js";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
const home = (): string => mkdtempSync(join(tmpdir(), "remote-options-"));

const LINES = `
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const wide = Object.fromEntries(Array.from({ length: Number(process.argv[1]) }, (_, at) => ["k" + at, 1]));
  const answers = {
    initialize: () => ({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {}, resources: {} }, serverInfo: { name: "partial", version: "1" } } }),
    "tools/list": () => process.argv[1] === "0" ? { error: { code: -32603, message: "fetch failed" } } : { result: { tools: [{ name: "a", inputSchema: { type: "object", properties: wide } }] } },
    "resources/list": () => ({ result: { resources: [{ uri: "x://y", name: "why" }] } }),
  };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(answers[method]?.() ?? { error: { code: -32601, message: "no" } }) }));
});`;
const program = (members: number): string[] => ["--", process.execPath, "-e", LINES, String(members)];

describe("inspect", () => {
  it("shows what it has, and which list failed with the reason", async () => {
    const plain = await runQuickly(["inspect", ...program(0)], { home: home() });
    expect(plain.code).toBe(1);
    for (const text of ["partial 1", "x://y", "Could not be listed", "tools  fetch failed"])
      expect(plain.stdout).toContain(text);
    const { stdout } = await run(["inspect", "--json", ...program(0)], { home: home() });
    expect(JSON.parse(stdout)).toMatchObject({
      server: { name: "partial" },
      tools: [],
      resources: [{ uri: "x://y" }],
      failed: { tools: "fetch failed" },
    });
  });
});

describe("limits", () => {
  it("are named by the option that raises them, which does", async () => {
    const refused = await runQuickly(["tools", "--max-members", "200", ...program(3_000)], { home: home() });
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("--max-members");
    expect(await runQuickly(["tools", "--max-members", "20000", ...program(3_000)], { home: home() })).toMatchObject({
      code: 0,
    });
  });

  it("are numbers that make sense", () => {
    const line = (...words: string[]) => readCommandLine(["tools", ...words]);
    expect(limitsOf(line())).toEqual({});
    expect(limitsOf(line("--max-message-mb", "64", "--max-members", "10"))).toEqual({
      limits: { messageBytes: 64 * 1024 * 1024, members: 10, values: 50 },
    });
    for (const bad of ["0", "-1", "1e3", "x", "99999999999"])
      expect(() => limitsOf(line("--max-members", bad))).toThrow("--max-members needs a number");
  });

  it.each([
    ["Raise maxTimeoutMs if it needs longer.", "--timeout SECONDS"],
    ["a is too long: raise the limit messageBytes if that is right", "raise --max-message-mb if"],
    ["Ask for less, or raise limits.members.", "raise --max-members."],
    ["Ask for less, or raise limits.messageBytes.", "raise --max-message-mb."],
  ])("%s is told in words of the command line", (message, words) => {
    for (const error of [new LocalError("LIMIT", message), new RpcError(-32000, message)]) {
      const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
      tellFailure(error, { json: false, debug: false });
      expect(write.mock.calls.join("")).toContain(words);
      write.mockRestore();
    }
  });
});

describe("serve", () => {
  it("prints a program for Claude Desktop, which takes nothing else, and no token in it", () => {
    const served = {
      url: "http://127.0.0.1:3333/mcp",
      socketPath: undefined,
      token: "secret",
      tokenFile: "/t/token",
      sse: false,
    };
    const welcome = serveWelcome(served, "linux", "/src/x.cjs");
    const desktop = welcome.slice(welcome.indexOf("Claude Desktop"), welcome.indexOf("Claude Code"));
    expect(JSON.parse(desktop.slice(desktop.indexOf("{")))).toEqual({
      mcpServers: {
        "secure-local": {
          command: process.execPath,
          args: ["/src/x.cjs", "bridge", served.url, "--token-file", "/t/token"],
        },
      },
    });
    expect(welcome.slice(welcome.indexOf("Cursor"))).toContain('"type": "http"');
  });

  it.each(["http://0.0.0.0:3920/mcp", "http://[::]:3920/mcp"])(
    "prints no entry with %s, which is no address",
    (url) => {
      const served = { url, socketPath: undefined, token: "secret", tokenFile: "/t/token", sse: false };
      const [, ...entries] = serveWelcome(served, "linux", "/src/x.cjs").split("Clients need the token");
      expect(entries.join("")).not.toContain(url);
      expect(entries.join("")).toContain('"url": "http://127.0.0.1:3920/mcp"');
      expect(entries.join("")).toContain("On other machines");
    },
  );

  it("takes origins of pages, as browsers write them", () => {
    const origins = (...words: string[]) =>
      serveSettings({ ...readCommandLine(["serve", ...words]), words: [] }).origins;
    expect(origins("--origin", "http://localhost:6274", "--origin", "https://a.example/")).toEqual([
      "http://localhost:6274",
      "https://a.example",
    ]);
    for (const bad of ["*", "a.example", "https://a.example/x", "null", "https://*.example/x", "file:///x"])
      expect(() => origins("--origin", bad)).toThrow("--origin needs the origin of a web page");
  });

  it("refuses a host that it is not with what the product's options have for it, and names none of the library's", async () => {
    const { hostAdvice = "", originOption = "" } = httpOptions({
      ...{ sse: false, perSecond: 100, token: "x".repeat(43), audit: new MemoryAudit(), metrics: new Metrics("1") },
      gate: { refusal: () => undefined, short: false },
      serving: () => ({ stats: () => ({}) as never }),
    });
    const server = new Server({ name: "x", version: "1" });
    const { url, close } = await serveHttp(server, { port: 0, hostAdvice, originOption });
    closers.push(close);
    const refused = await new Promise<string>((resolve, reject) => {
      const asked = request(url, { method: "POST", headers: { host: "mcp.example.com" } }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve(`${response.statusCode} ${text}`));
      });
      asked.on("error", reject).end("{}");
    });
    expect(refused).toMatch(/^403 .*This Host is not served here: .* --public-host of serve/s);
    expect(refused).not.toContain("allowedHosts");
  });

  it("answers a page of such an origin, its question before the call too, and tells others of the option", async () => {
    const server = new Server({ name: "x", version: "1" });
    const { url, close } = await serveHttp(server, {
      ...{ port: 0, allowedOrigins: ["http://localhost:6274"], cors: true },
      originOption: "the option --origin of serve",
    });
    closers.push(close);
    const asked = (origin: string) =>
      fetch(url, { method: "OPTIONS", headers: { origin, "access-control-request-method": "POST" } });
    expect((await asked("http://localhost:6274")).headers.get("access-control-allow-origin")).toBe(
      "http://localhost:6274",
    );
    const refused = await asked("http://localhost:6275");
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining("add it to the option --origin"),
    ]);
  });
});

describe("call", () => {
  it("takes an argument out of a file, and writes images into a folder", async () => {
    const server = new Server({ name: "x", version: "1", report: () => undefined });
    const data = Buffer.from("picture").toString("base64");
    server.tool("paint", {
      description: "Paints",
      annotations: { readOnlyHint: true },
      input: { type: "object", properties: { text: { type: "string" }, rows: { type: "array" } }, required: ["text"] },
      run: ({ text: said, rows }) => [
        text(`${said} ${JSON.stringify(rows)}`),
        image(data, "image/png"),
        image(data, "../../evil"),
      ],
    });
    const { url, close } = await serveHttp(server, { port: 0 });
    closers.push(close);
    const folder = home();
    writeFileSync(join(folder, "t.txt"), "of a file\n");
    writeFileSync(join(folder, "r.json"), "[1,2]");
    const args = ["call", url, "paint", "text=@t.txt", "rows=@r.json", "--save-images", "shots"];
    const { code, stdout } = await runQuickly(args, { home: home(), cwd: folder });
    expect(code).toBe(0);
    expect(stdout).toContain("of a file\n [1,2]");
    expect(readdirSync(join(folder, "shots")).sort()).toEqual(["paint-1.png", "paint-2.bin"]);
    expect(readFileSync(join(folder, "shots", "paint-1.png"), "utf8")).toBe("picture");
    expect((await runQuickly(args, { home: home(), cwd: folder })).stderr).toContain("paint-2.png");
    const missing = await runQuickly(["call", url, "paint", "text=@none"], { home: home(), cwd: folder });
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("none cannot be read") as string });
    const plain = await runQuickly(["call", url, "paint", "text=@@x"], { home: home(), cwd: folder });
    expect(plain.stdout).toContain("@x");
  });
});

describe("--token-file", () => {
  it("is a token that no list of processes shows", () => {
    const file = join(home(), "token");
    writeFileSync(file, "abc\n");
    expect(bearerToken({ token: undefined, tokenFile: file })).toBe("abc");
    expect(() => bearerToken({ token: "x", tokenFile: file })).toThrow("give one of them");
    writeFileSync(file, "two words");
    expect(() => bearerToken({ token: undefined, tokenFile: file })).toThrow("holds no token");
  });
});

describe("names of a proxy", () => {
  const named = (words: readonly string[], environment = {}): readonly string[] =>
    serveSettings({ ...readCommandLine(["serve", ...words]), words: [] }, environment).publicHosts;

  it("are what clients send as Host, from the command line or the environment", () => {
    expect(named(["--public-host", "MCP.example.com", "--public-host", "mcp.example.com:8443"])).toEqual([
      "mcp.example.com",
      "mcp.example.com:8443",
    ]);
    expect(named(["--public-host", "mcp.example.com:443"])).toEqual(["mcp.example.com:443", "mcp.example.com"]);
    const environment = { MCP_SECURE_LOCAL_PUBLIC_HOST: "one.example, two.example:81" };
    expect(named([], environment)).toEqual(["one.example", "two.example:81"]);
    expect(named(["--public-host", "three.example"], environment)).toEqual(["three.example"]);
  });

  it.each(["*", "*.example.com", "https://mcp.example.com", "mcp.example.com/mcp", "a b", "mcp.example.com:99999"])(
    "are no patterns and no URLs: %s",
    (name) => expect(() => named(["--public-host", name])).toThrow("--public-host needs the name that clients ask for"),
  );

  it("are for callers with a token", () => {
    expect(() => named(["--public-host", "mcp.example.com", "--no-auth"])).toThrow("--no-auth is for this machine");
  });

  it.each(["127.0.0.1", "0.0.0.0"])("are served at %s beside this machine's own, and nothing else", async (host) => {
    const server = new Server({ name: "x", version: "1" });
    const { url, close } = await serveHttp(server, { port: 0, host, publicHosts: ["mcp.example.com"] });
    closers.push(close);
    const own = url.replace("0.0.0.0", "127.0.0.1");
    const { port } = new URL(url);
    const status = (name: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        request(own, { method: "GET", headers: { host: name } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on("error", reject)
          .end();
      });
    for (const name of ["mcp.example.com", "MCP.EXAMPLE.COM", `127.0.0.1:${port}`, `localhost:${port}`])
      expect(await status(name), name).not.toBe(403);
    for (const name of ["mcp.example.com:1", "x.mcp.example.com", "evil.example", "127.0.0.1:1"])
      expect(await status(name), name).toBe(403);
  });
});
