// The console as a process: who may use it, what it tells, what it does; every refusal of its listener.
import { appendFileSync, existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type {
  CallDetail,
  CallRow,
  PolicyState,
  StreamLine,
  Verification,
  WaitingCall,
} from "@secure-local/console/api";
import { send } from "../serve/served.js";
import { Watched } from "./running.js";

/** Sends bytes as they are, and resolves to the first line of the answer. */
function raw(origin: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.end(bytes));
    let text = "";
    socket.setEncoding("latin1").on("data", (piece: string) => (text += piece));
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
  });
}

const rowsOf = (lines: readonly StreamLine[]): CallRow[] =>
  lines.flatMap((line) => (line.kind === "calls" ? line.rows : []));
const waitingOf = (lines: readonly StreamLine[]): WaitingCall[] =>
  lines.flatMap((line) => (line.kind === "waiting" ? line.calls : []));

describe.skipIf(process.platform === "win32")("the console's door", () => {
  let watched: Watched;
  beforeAll(async () => {
    watched = await Watched.start();
  });
  afterAll(() => watched.end());

  it("listens on 127.0.0.1 alone, and says so with every answer what a page may load", async () => {
    const { status, headers, text } = await send(`${watched.origin}/`);
    expect(watched.origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
    expect(headers["content-security-policy"]).toContain("require-trusted-types-for 'script'");
    expect(headers["content-security-policy"]).not.toMatch(/unsafe|\*|http|data:/);
    expect(headers["x-frame-options"]).toBe("DENY");
    expect(text).not.toMatch(/<script>|style=|https?:/);
    const data = await watched.get("/api/policy");
    expect(data.headers["cache-control"]).toBe("no-store");
    expect(data.headers["content-security-policy"]).toBe(headers["content-security-policy"]);
  });

  it("takes a code once, and none that was never given out", async () => {
    const again = await watched.post("/api/sign-in", { code: watched.code });
    expect([again.status, again.headers["set-cookie"]]).toEqual([401, undefined]);
    for (const code of ["", "x", `${watched.code}x`, 5, null, {}])
      expect((await watched.post("/api/sign-in", { code })).status).toBe(401);
    expect(watched.cookie).not.toContain(watched.key);
  });

  it("sets a cookie that no script reads and no other site sends", async () => {
    const fresh = await Watched.start({ signedIn: false });
    const { headers } = await fresh.post("/api/sign-in", { code: fresh.code });
    expect(String(headers["set-cookie"])).toMatch(
      /^[\w-]+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    await fresh.end();
  });

  // Each of them is sent to every kind of route: one that reads, one that acts, and the sign-in.
  const ROUTES = [
    "/api/policy",
    "/api/calls",
    "/api/stream",
    "/api/export",
    "/api/call?n=1",
    "/api/reach",
    "/api/resources",
    "/api/server-log?policy=x&server=y",
    "/api/asked?question=x",
    "/api/totals",
    "/api/servers",
    "/api/record?file=x&line=1",
  ] as const;
  const ACTS = [
    "/api/answer",
    "/api/verify",
    "/api/explain",
    "/api/trial",
    "/api/save",
    "/api/undo",
    "/api/definitions",
    "/api/approve",
    "/api/refuse",
    "/api/restart",
    "/api/stop",
    "/api/login",
    "/api/logout",
  ] as const;

  it.each(ROUTES)("lets nobody read %s without both the cookie and the key", async (path) => {
    const { cookie, key, origin } = watched;
    const wrong = "A".repeat(43);
    const tries: Record<string, string>[] = [
      {},
      { cookie },
      { "x-console-key": key },
      { cookie, "x-console-key": wrong },
      { cookie: cookie.replace(/=.*/, `=${wrong}`), "x-console-key": key },
      { cookie: `${cookie.replace(/=.*/, `=${wrong}`)}; ${cookie}`, "x-console-key": wrong },
    ];
    for (const headers of tries) expect((await send(`${origin}${path}`, { headers })).status).toBe(401);
  });

  it("may be led to by a link, to its page alone, and to nothing that it holds or does", async () => {
    const { origin } = watched;
    const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    const led = async (path: string, headers: Readonly<Record<string, string>>, method = "GET"): Promise<number> =>
      (await send(`${origin}${path}`, { method, headers: { ...link, ...headers } })).status;
    expect(await led("/", {})).toBe(200);
    for (const destination of ["iframe", "frame", "embed", "object", "image", "script", "empty"])
      expect([destination, await led("/", { "sec-fetch-dest": destination })]).toEqual([destination, 403]);
    for (const mode of ["no-cors", "cors", "same-origin"]) expect(await led("/", { "sec-fetch-mode": mode })).toBe(403);
    for (const path of ["/?x", "//", "/main.js", "/api/stream", "/api/call?n=1", "/api/export"])
      expect([path, await led(path, { cookie: watched.cookie })]).toEqual([path, 403]);
    expect(await led("/", {}, "POST")).toBe(403);
    expect(await led("/", { origin: "http://evil.example" })).toBe(403);
  });

  it.each(ACTS)("lets nobody but its own page do %s", async (path) => {
    const { origin, headers } = watched;
    const { port } = new URL(origin);
    const body = {};
    const foreign = [
      "http://127.0.0.1:1",
      `http://localhost:${port}`,
      `https://127.0.0.1:${port}`,
      "null",
      "http://evil.example",
      `${origin}.evil.example`,
    ];
    for (const other of foreign) expect((await watched.post(path, body, { origin: other })).status).toBe(403);
    for (const site of ["cross-site", "same-site", "x"])
      expect((await watched.post(path, body, { "sec-fetch-site": site })).status).toBe(403);
    const { origin: _, ...without } = headers;
    expect(
      (await send(`${origin}${path}`, { body, headers: { ...without, "content-type": "application/json" } })).status,
    ).toBe(403);
    expect((await watched.post(path, body, { cookie: "" })).status).toBe(401);
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
      expect((await watched.post(path, body, { "content-type": type })).status).toBe(415);
    // Under one of these names something is read as well.
    expect((await watched.get(path)).status).toBe(path === "/api/definitions" ? 200 : 404);
  });

  it.each([
    "evil.example",
    "localhost",
    "127.0.0.1",
    "127.0.0.1:1",
    "0.0.0.0",
    "[::1]",
    "127.0.0.1.evil.example",
    "2130706433",
  ])("answers no request for the host %s", async (host) => {
    const { port } = new URL(watched.origin);
    for (const name of host.includes(":") || host === "127.0.0.1" ? [host] : [host, `${host}:${port}`])
      expect((await watched.get("/api/policy", { headers: { host: name } })).status).toBe(421);
    expect((await send(`${watched.origin}/`, { headers: { host } })).status).toBe(421);
  });

  it.each([
    "/../package.json",
    "/..%2fpackage.json",
    "/%2e%2e/main.cjs",
    "//etc/passwd",
    "/console.js/..",
    "/index.html%00",
    "/.",
    "/console.js.br",
    "/api",
    "/API/policy",
    "/api/../api/policy",
    "/api//policy",
    "/api/policy/",
    "http://127.0.0.1/",
  ])("finds nothing at %s", async (path) => {
    const { port } = new URL(watched.origin);
    const cookies = `cookie: ${watched.cookie}\r\nx-console-key: ${watched.key}\r\n`;
    const answer = await raw(
      watched.origin,
      `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${cookies}connection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(answer).not.toMatch(/version: |root:|"dependencies"/);
  });

  it.each([
    ["two lengths", "POST /api/verify HTTP/1.1\r\nHOSTcontent-length: 2\r\ncontent-length: 3\r\n\r\n{}"],
    [
      "a length and chunks",
      "POST /api/verify HTTP/1.1\r\nHOSTcontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["two hosts", "GET / HTTP/1.1\r\nHOSThost: evil.example\r\n\r\n"],
    ["no host", "GET / HTTP/1.1\r\n\r\n"],
    ["a line folded", "GET / HTTP/1.1\r\nHOSTx: a\r\n b\r\n\r\n"],
    ["a bare line feed in a name", "GET / HTTP/1.1\r\nHOSTx\ny: a\r\n\r\n"],
    ["a method of its own", "TRACE / HTTP/1.1\r\nHOST\r\n"],
  ])("gives nothing to a request with %s", async (_what, bytes) => {
    const { port } = new URL(watched.origin);
    expect(await raw(watched.origin, bytes.replace("HOST", `host: 127.0.0.1:${port}\r\n`))).toMatch(
      /^HTTP\/1\.1 4\d\d /,
    );
  });

  it("keeps nobody out for connections that ask nothing, and ends no answer that is under way", async () => {
    const { hostname, port } = new URL(watched.origin);
    const streamed = watched.stream((lines) => lines.some((line) => line.kind === "servers"));
    const sockets: Socket[] = [];
    for (let count = 0; count < 200; count += 1) {
      const socket = connect({ host: hostname, port: Number(port) });
      socket.on("error", () => undefined);
      await new Promise((resolve) => socket.once("connect", resolve));
      sockets.push(socket);
    }
    for (let count = 0; count < 5; count += 1) expect((await watched.get("/api/servers")).status).toBe(200);
    expect((await streamed).length).toBeGreaterThan(0);
    for (const socket of sockets) socket.destroy();
  });

  it("takes no body that is too long, broken, or no object, and goes on", async () => {
    expect((await watched.post("/api/explain", { question: "x".repeat(2 * 1024 * 1024) })).status).toBe(413);
    for (const body of ["{", "[]", "null", '"x"']) {
      const headers = { ...watched.headers, "content-type": "application/json" };
      const answer = await fetch(`${watched.origin}/api/explain`, { method: "POST", headers, body });
      expect(answer.status).toBe(400);
    }
    expect((await watched.post("/api/explain", { question: "read /etc/passwd" })).status).toBe(200);
  });
});

describe.skipIf(process.platform === "win32")("the console", () => {
  let watched: Watched;
  beforeAll(async () => {
    watched = await Watched.start();
    await watched.serve();
  });
  afterAll(() => watched.end());

  const call = (name: string, args: object): Promise<Record<string, unknown>> =>
    watched.client.request("tools/call", { name, arguments: args });

  async function asked(
    name: string,
    args: object,
  ): Promise<{ readonly question: WaitingCall; readonly done: Promise<Record<string, unknown>> }> {
    const done = call(name, args);
    const about = (seen: readonly StreamLine[]): WaitingCall | undefined =>
      waitingOf(seen).find(({ text }) => Object.values(args).every((value) => text.includes(JSON.stringify(value))));
    const lines = await watched.stream((seen) => about(seen) !== undefined);
    return { question: about(lines) as WaitingCall, done };
  }

  it("shows the servers that run, each call as it happens, and its records", async () => {
    writeFileSync(join(watched.notes, "a.md"), "hello");
    await call("read_file", { path: join(watched.notes, "a.md") });
    await call("read_file", { path: "/etc/passwd" });
    const lines = await watched.stream(
      (seen) =>
        rowsOf(seen).some(({ outcome }) => outcome === "denied") &&
        seen.some((line) => line.kind === "servers" && line.servers.length > 0),
    );
    const denied = rowsOf(lines).find(({ outcome }) => outcome === "denied") as CallRow;
    expect(denied).toMatchObject({ name: "read_file", object: "/etc/passwd", rule: "default deny" });
    expect(lines.findLast((line) => line.kind === "servers")).toMatchObject({
      servers: [{ pid: watched.client.child.pid, state: "running", tools: expect.arrayContaining(["read_file"]) }],
    });
    const detail = JSON.parse((await watched.get(`/api/call?n=${denied.n}`)).text) as CallDetail;
    expect(detail.records.map((record) => (JSON.parse(record) as { kind: string }).kind)).toEqual([
      "call.intent",
      "call.result",
    ]);
    expect(detail.steps[0]).toEqual({ label: "asked for and let in", ms: 0 });
  });

  it("goes on at a cursor without a gap, and with no row twice", async () => {
    const first = await watched.stream((seen) => rowsOf(seen).length > 0);
    const { cursor } = first.findLast((line) => line.kind === "calls") as { cursor: number };
    const before = new Set(rowsOf(first).map(({ n }) => n));
    for (let step = 0; step < 20; step += 1) await call("calculate", { expression: `${step}+1` });
    const next = await watched.stream(
      (seen) => rowsOf(seen).filter(({ outcome }) => outcome === "ok").length >= 20,
      cursor,
    );
    const numbers = new Set(rowsOf(next).map(({ n }) => n));
    expect(numbers.size).toBe(20);
    for (const n of numbers) expect(before.has(n)).toBe(false);
  });

  it("takes one answer to the text that was shown, and tells every other that it is over", async () => {
    const file = join(watched.notes, "new.md");
    const { question, done } = await asked("write_file", { path: file, content: "x" });
    const { id, digest, text } = question;
    expect(text).toContain(JSON.stringify(file));
    const wrong = await watched.post("/api/answer", { id, digest: "0".repeat(64), answer: "approve" });
    expect([wrong.status, existsSync(file)]).toEqual([409, false]);
    for (const body of [
      { id: "no", digest },
      { id, digest, answer: "yes" },
      { digest, answer: "approve" },
    ])
      expect((await watched.post("/api/answer", body)).status).toBeGreaterThanOrEqual(400);
    const all = await Promise.all([1, 2, 3].map(() => watched.post("/api/answer", { id, digest, answer: "approve" })));
    expect(all.map(({ status }) => status).sort((one, other) => one - other)).toEqual([200, 409, 409]);
    await done;
    expect(readFileSync(file, "utf8")).toBe("x");
    const late = await watched.post("/api/answer", { id, digest, answer: "deny" });
    expect([late.status, late.text]).toEqual([409, expect.stringContaining("It was allowed in the console.")]);
    const lines = await watched.stream((seen) => seen.some(({ kind }) => kind === "waiting"));
    expect(lines.find(({ kind }) => kind === "waiting")).toMatchObject({
      settled: [{ id, answer: "approve", by: "console" }],
    });
    const given = async (): Promise<object | undefined> => {
      const detail = JSON.parse((await watched.get(`/api/asked?question=${id}`)).text) as CallDetail;
      const records = detail.records.map((record) => JSON.parse(record) as { kind: string; detail?: object });
      return records.find(({ kind }) => kind === "approval.given");
    };
    // The console reads the log a moment after it is written.
    await expect.poll(given).toMatchObject({ detail: { by: "console" } });
  });

  it("says of a question whose time is over, and of one whose server is gone, what became of it", async () => {
    const { question, done } = await asked("write_file", { path: join(watched.notes, "late.md"), content: "late" });
    const { id, digest } = question;
    const detail = async (): Promise<CallDetail | null> =>
      JSON.parse((await watched.get(`/api/asked?question=${id}`)).text) as CallDetail | null;
    await expect.poll(detail).not.toBeNull();
    const { id: requestId } = JSON.parse((await detail())?.records[0] ?? "") as { id: number };
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } };
    watched.client.child.stdin.write(`${JSON.stringify(cancelled)}\n`);
    const isOver = (line: StreamLine): boolean =>
      line.kind === "waiting" && line.settled.some((each) => each.id === id);
    await watched.stream((seen) => seen.some(isOver));
    const late = await watched.post("/api/answer", { id, digest, answer: "approve" });
    expect([late.status, late.text]).toEqual([409, expect.stringContaining("the call was cancelled")]);
    void done;
    expect((await watched.post("/api/answer", { id: "0", digest, answer: "approve" })).text).toContain(
      "not known here",
    );
  });

  it("shows what differs from the call that was approved last", async () => {
    const file = join(watched.notes, "new.md");
    const { question, done } = await asked("write_file", { path: file, content: "y" });
    await expect
      .poll(async () => JSON.parse((await watched.get(`/api/asked?question=${question.id}`)).text) as unknown)
      .toMatchObject({ difference: [{ name: "content", before: "x", now: "y" }] });
    await watched.post("/api/answer", { id: question.id, digest: question.digest, answer: "deny" });
    await done;
    expect(readFileSync(file, "utf8")).toBe("x");
  });

  it.each([
    ["approve", "deny"],
    ["deny", "approve"],
    ["deny", "approve", "deny", "approve"],
  ])("tells one of %s and %s at the same time that it counted, and does what that one says", async (...answers) => {
    const file = join(watched.notes, `race-${answers.join("-")}.md`);
    const { question, done } = await asked("write_file", { path: file, content: "x" });
    const { id, digest } = question;
    const posts = answers.map(async (answer) => {
      const { status } = await watched.post("/api/answer", { id, digest, answer });
      return { status, answer };
    });
    const counted = (await Promise.all(posts)).filter(({ status }) => status === 200);
    await done;
    expect(counted).toHaveLength(1);
    expect(existsSync(file)).toBe(counted[0]?.answer === "approve");
  });

  it("counts for each line of the policy what it decided, explains, and tries a change before it is saved", async () => {
    const policy = JSON.parse((await watched.get("/api/policy")).text) as PolicyState;
    const line = policy.text.split("\n").findIndex((each) => each.includes("allowed: [read_file")) + 1;
    expect(policy.decided[line]?.allowed).toBeGreaterThan(20);
    const explained = JSON.parse(
      (await watched.post("/api/explain", { question: "calculate expression=1" })).text,
    ) as object;
    expect(explained).toMatchObject({ verdict: "allowed" });
    const text = policy.text.replace(", calculate", "");
    expect(JSON.parse((await watched.post("/api/trial", { text: "version: 2" })).text)).toMatchObject({
      faults: expect.stringContaining("version") as string,
    });
    const trial = JSON.parse((await watched.post("/api/trial", { text })).text) as { changed: { row: CallRow }[] };
    expect(trial.changed.length).toBe(20);
    expect((await watched.post("/api/save", { text: "version: 2", digest: policy.digest })).status).toBe(400);
    expect((await watched.post("/api/save", { text, digest: "0".repeat(64) })).status).toBe(409);
    expect(readFileSync(watched.policy, "utf8")).toBe(policy.text);
    expect((await watched.post("/api/save", { text, digest: policy.digest })).status).toBe(200);
    expect(readFileSync(watched.policy, "utf8")).toBe(text);
    expect(statSync(watched.policy).mode & 0o777).toBe(0o600);
    expect((await watched.post("/api/save", { text: policy.text, digest: policy.digest })).status).toBe(409);
    const now = JSON.parse((await watched.get("/api/policy")).text) as PolicyState;
    expect(now.saved?.at).toBeGreaterThan(Date.now() - 60_000);
    expect((await watched.post("/api/undo", { digest: policy.digest })).status).toBe(409);
    expect((await watched.post("/api/undo", { digest: now.digest })).status).toBe(200);
    expect(readFileSync(watched.policy, "utf8")).toBe(policy.text);
    expect((await watched.post("/api/undo", { digest: policy.digest })).status).toBe(409);
    expect((JSON.parse((await watched.get("/api/policy")).text) as PolicyState).saved).toBeUndefined();
  });

  it("verifies the chain, and names the record that does not fit", async () => {
    const verify = async (): Promise<Verification> =>
      (JSON.parse((await watched.post("/api/verify", {})).text) as Verification[])[0] as Verification;
    expect(await verify()).toMatchObject({ ok: true, files: 1 });
    const { file } = await verify();
    const whole = readFileSync(file, "utf8");
    writeFileSync(file, whole.replace('"outcome":"denied"', '"outcome":"ok"'));
    expect(await verify()).toMatchObject({
      ok: false,
      firstBadLine: expect.any(Number) as number,
      command: `mcp-secure-local audit verify ${file}`,
      total: expect.any(Number) as number,
    });
    const { firstBadLine = 0 } = await verify();
    const record = await watched.get(`/api/record?file=${encodeURIComponent(file)}&line=${firstBadLine}`);
    expect(JSON.parse(record.text)).toMatchObject({
      text: expect.stringContaining('"outcome":"ok"') as string,
      call: { name: "read_file", object: "/etc/passwd" },
    });
    for (const [other, line] of [
      [file, 0],
      [file, 1e6],
      [watched.policy, 1],
      [`${file}/../audit.log`, 1],
      ["/etc/passwd", 1],
    ] as const)
      expect((await watched.get(`/api/record?file=${encodeURIComponent(other)}&line=${line}`)).status).toBe(404);
    writeFileSync(file, whole);
  });

  it("follows a log over the moment when it is put away", async () => {
    const [name = ""] = readdirSync(join(watched.home, "state/mcp-secure-local")).filter(
      (each) => each === "audit.log",
    );
    const file = join(watched.home, "state/mcp-secure-local", name);
    renameSync(file, file.replace(".log", ".1.moved"));
    const record = {
      kind: "call.intent",
      time: new Date().toISOString(),
      id: "later",
      connection: 9,
      method: "tools/call",
      tool: "after_the_move",
    };
    writeFileSync(file, "");
    appendFileSync(
      file,
      `${JSON.stringify(record)}\nno record\n${JSON.stringify({ ...record, kind: "call.result", outcome: "ok" })}\n`,
    );
    const moved = ({ name: tool, outcome }: CallRow): boolean => tool === "after_the_move" && outcome === "ok";
    await watched.stream((seen) => rowsOf(seen).some(moved));
  });

  it("keeps the control socket for its owner, and takes away that of a server that was killed", async () => {
    const folder = join(watched.home, "state/mcp-secure-local/run");
    const [socket = ""] = readdirSync(folder);
    expect([statSync(folder).mode & 0o777, statSync(join(folder, socket)).mode & 0o777]).toEqual([0o700, 0o600]);
    watched.client.child.kill("SIGKILL");
    const isGone = (line: StreamLine): boolean =>
      line.kind === "servers" && line.servers.some(({ state }) => state === "gone");
    await watched.stream((seen) => seen.some(isGone));
    await expect.poll(() => readdirSync(folder)).toEqual([]);
  });
});
