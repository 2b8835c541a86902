// Several people at one server: who is let in by which token, and what is kept apart by their names.
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { namedTokens } from "../../src/cli/named-tokens.js";
import { serveSettings } from "../../src/cli/serve-http-settings.js";
import { ownPlaces } from "../../src/cli/settings.js";
import { readCommandLine, UsageError } from "../../src/cli/command-line.js";
import { tableRow } from "../../src/cli/audit-lines.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { send, Served, toolCall } from "./served.js";

const hashOf = (token: string): string => createHash("sha256").update(token).digest("hex");
const [ADA, BEN, CHO] = ["a".repeat(43), "b".repeat(43), "c".repeat(43)];
const bearer = (token: string): { readonly authorization: string } => ({ authorization: `Bearer ${token}` });
const ARGS = { expression: "6 * 7" };

describe("serve --tokens", () => {
  it("tells people apart: in sessions, in limits, and in the log", async () => {
    const home = temporaryFolder();
    const file = join(home, "tokens");
    writeFileSync(file, `# the team\nada: ${hashOf(ADA)}\nben: sha256:${hashOf(BEN)}\n`);
    const policy = join(home, "policy.yaml");
    writeFileSync(policy, 'version: "1.0"\ntools: { allowed: [calculate], rate_limits: { calculate: 2 } }\n');
    const served = new Served(["--tokens", file, "--policy", policy, "--quiet"], home);
    const url = await served.ready();
    expect(served.stderr).toContain("besides the owner, by their own tokens: ada, ben");

    const statuses = async (headers: { readonly authorization: string }, times: number): Promise<string[]> => {
      const texts: string[] = [];
      for (let time = 0; time < times; time++)
        texts.push((await send(url, toolCall("calculate", ARGS, headers))).text.includes("42") ? "42" : "refused");
      return texts;
    };
    expect(await statuses(bearer(ADA), 3)).toEqual(["42", "42", "refused"]);
    expect(await statuses(bearer(BEN), 1)).toEqual(["42"]);
    expect(await statuses(served.bearer, 1)).toEqual(["42"]);
    expect((await send(url, toolCall("calculate", ARGS, bearer(CHO)))).status).toBe(401);

    const sessionOf = await opened(url, ADA);
    expect((await listed(url, sessionOf, ADA)).status).toBe(200);
    expect((await listed(url, sessionOf, BEN)).status).toBe(404);

    expect(await served.end()).toBe(0);
    const log = readFileSync(join(home, "state", "mcp-secure-local", "audit.log"), "utf8");
    const results = log
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ kind, outcome }) => kind === "call.result" && outcome === "ok");
    expect(results.map(({ principal }) => principal)).toEqual(["ada", "ada", "ben", "owner"]);
    expect(tableRow({ ...results[0], client: "cursor 1.0" })).toContain("ada: cursor 1.0");
    expect(tableRow({ ...results[3], client: "cursor 1.0" })).not.toContain("owner");
    expect(log).not.toContain(ADA);
  });

  it("lets a token that is for the metrics read them, and do nothing else", async () => {
    const home = temporaryFolder();
    const file = join(home, "tokens");
    writeFileSync(file, `ada: ${hashOf(ADA)}\nprom (metrics): ${hashOf(BEN)}\n`);
    const served = new Served(["--tokens", file, "--public-host", "mcp.example.com:8443"], home);
    const url = await served.ready();
    expect(served.stderr).toContain("by their own tokens: ada; for the metrics alone: prom\n");
    const metrics = url.replace(/mcp$/, "metrics");
    const call = (to: string, token: string) => send(to, toolCall("calculate", ARGS, bearer(token)));
    for (const token of [ADA, BEN])
      expect((await send(metrics, { headers: bearer(token) })).text).toContain("calls_total");
    expect((await call(url, ADA)).text).toContain("42");
    expect(await call(url, BEN)).toMatchObject({
      status: 403,
      text: expect.stringContaining("reads /metrics") as string,
    });
    for (const to of [`${url}/work`, `${url}?/metrics`, `${metrics}/../mcp`, metrics.replace("/metrics", "//metrics")])
      expect([to, await call(to, BEN)]).toEqual([
        to,
        expect.objectContaining({ status: expect.toSatisfy((status: number) => status >= 400) as number }),
      ]);
    expect((await send(metrics, { headers: bearer(CHO) })).status).toBe(401);
    await served.end();
    const refused = readFileSync(join(home, "state/mcp-secure-local/audit.log"), "utf8")
      .split("\n")
      .filter((line) => line.includes('"unauthorized"'))
      .map((line) => (JSON.parse(line) as Record<string, unknown>)["principal"]);
    expect([refused[0], refused.at(-1)]).toEqual(["prom", undefined]);
    // What Ada is told: the proxy's address, with a token of hers.
    expect(served.stdout).toContain(
      `Others reach it by the proxy in front, at https://mcp.example.com:8443/mcp, with a token of their own (--tokens) in place of THE-TOKEN. In Claude Code, for one:\nclaude mcp add --transport http secure-local https://mcp.example.com:8443/mcp --header "Authorization: Bearer THE-TOKEN"`,
    );
  });

  it("reads a file that nobody else can write to, and never repeats what is in it", () => {
    const folder = temporaryFolder();
    const file = join(folder, "tokens");
    const faults: readonly (readonly [string, string])[] = [
      ["", `${file} names nobody`],
      [`ada ${hashOf(ADA)}`, `${file}, line 1: this line names nobody; write NAME: SHA256`],
      [`ada: ${ADA}`, `${file}, line 1: this line names nobody`],
      [`\nowner: ${hashOf(ADA)}`, `${file}, line 2: owner is whoever runs serve`],
      [
        `# the team\nada: ${hashOf(ADA)}\nAda: ${hashOf(BEN)}`,
        `${file}, line 3: Ada and ada (line 2) differ in case alone, so that people could not tell them apart`,
      ],
      [
        `prom (metrics): ${hashOf(ADA)}\nprom: ${hashOf(BEN)}`,
        `${file}, line 2: prom is for the metrics alone on one line and may call by line 1, or the other way round`,
      ],
      [`ada: ${hashOf(ADA)}\nben: ${hashOf(ADA).toUpperCase()}`, `${file}, line 2: ben has the token of ada`],
    ];
    for (const [text, fault] of faults) {
      writeFileSync(file, text);
      expect(() => namedTokens(file)).toThrow(fault);
      expect(() => namedTokens(file)).not.toThrow(ADA);
      expect(() => namedTokens(file)).toThrow(UsageError);
    }
    // The owner's token and the hash of no text, on any line and in any spelling.
    for (const [own, fault] of [
      [BEN, "has the token of the owner, who runs serve"],
      ["", "the SHA-256 of no text"],
    ] as const)
      for (const digits of [hashOf(own), `sha256:${hashOf(own).toUpperCase()}`]) {
        writeFileSync(file, `ada: ${hashOf(ADA)}\nben: ${digits}\n`);
        expect(() => namedTokens(file, BEN)).toThrow(`${file}, line 2:`);
        expect(() => namedTokens(file, BEN)).toThrow(fault);
      }
    writeFileSync(file, `ada: ${hashOf(ADA)}\nada: ${hashOf(BEN)}\n`);
    expect(namedTokens(file).map(({ principal }) => principal)).toEqual(["ada", "ada"]);
    mkdirSync(join(folder, "folder"));
    expect(() => namedTokens(join(folder, "folder"))).toThrow("it is not a regular file");
    expect(() => namedTokens(join(folder, "none"))).toThrow("there is no such file; check the path");
    if (process.platform === "win32") return;
    chmodSync(file, 0o664);
    expect(() => namedTokens(file)).toThrow("others could write themselves into it; run chmod go-w");
  });

  it("lets nobody in any more who left the file, and ends what they have open, at a signal or by itself", async () => {
    const home = temporaryFolder();
    const file = join(home, "tokens");
    const write = (...people: readonly (readonly [string, string])[]): void =>
      writeFileSync(file, people.map(([name, token]) => `${name}: ${hashOf(token)}\n`).join(""));
    write(["ada", ADA], ["ben", BEN], ["cho", CHO]);
    const served = new Served(["--tokens", file, "--quiet"], home);
    const url = await served.ready();
    const asked = async (token: string): Promise<number> =>
      (await send(url, toolCall("calculate", ARGS, bearer(token)))).status;
    expect(await asked(CHO)).toBe(200);
    const sessions = { ada: await opened(url, ADA), ben: await opened(url, BEN), cho: await opened(url, CHO) };
    const stream = listening(url, sessions.cho, CHO);
    await stream.begun;

    write(["ada", ADA], ["ben", BEN]);
    served.child.kill("SIGHUP");
    await served.complained("tokens: cho is gone, 2 people");
    await stream.over;
    expect(await asked(CHO)).toBe(401);
    expect((await listed(url, sessions.ada, ADA)).status).toBe(200);
    expect(await asked(BEN)).toBe(200);

    writeFileSync(file, `ada: ${ADA}\n`);
    served.child.kill("SIGHUP");
    await served.complained(`${file}, line 1: this line names nobody`);
    await served.complained("mcp-secure-local: tokens: keeping the people of before: ada, ben");
    expect([await asked(ADA), await asked(BEN), await asked(CHO)]).toEqual([200, 200, 401]);

    // Nobody has to send a signal. Whoever comes with none of the tokens of before is somebody else of that name.
    write(["ada", ADA], ["ben", CHO]);
    await served.complained("tokens: ben is gone, ben is new, 2 people");
    expect([await asked(ADA), await asked(BEN), await asked(CHO)]).toEqual([200, 401, 200]);
    expect((await listed(url, sessions.ben, CHO)).status).toBe(404);
    expect((await listed(url, sessions.ada, ADA)).status).toBe(200);
    served.child.kill("SIGHUP");
    await served.complained("tokens: nothing has changed, 2 people");

    expect(await served.end()).toBe(0);
    const log = readFileSync(join(home, "state", "mcp-secure-local", "audit.log"), "utf8");
    expect(log).toMatch(/"kind":"people\.changed".*"gone":\["cho"\]/);
    expect(log).toContain('"kind":"people.rejected"');
    expect(log + served.stderr).not.toContain(ADA);
  });

  it("ends serve with the exit code of a wrong configuration, as the faults of every file of secrets do", async () => {
    const home = temporaryFolder();
    const file = join(home, "tokens");
    writeFileSync(file, "ada\n");
    expect(await new Served(["--tokens", file], home).exited()).toBe(2);
    const token = join(home, "token");
    writeFileSync(token, "no token", { mode: 0o600 });
    const served = new Served([], home, { env: { MCP_SECURE_LOCAL_TOKEN_FILE: token } });
    expect(await served.exited()).toBe(2);
    expect(served.stderr).toContain(`${token} holds no token`);
  });

  it("is a file no tool may reach, and goes with a token only", () => {
    const line = readCommandLine(["serve", "--tokens", "/srv/tokens"]);
    expect(ownPlaces(line)).toContain("/srv/tokens");
    expect(() => serveSettings({ ...readCommandLine(["--tokens", "x", "--no-auth"]), words: [] })).toThrow(
      "keep one or the other",
    );
  });
});

/** The session that an `initialize` opens. */
async function opened(url: string, token: string): Promise<string> {
  const clientInfo = { name: "test", version: "1.0" };
  const params = { protocolVersion: "2025-11-25", clientInfo, capabilities: {} };
  const body = { jsonrpc: "2.0", id: 1, method: "initialize", params };
  const { headers } = await send(url, { body, headers: { ...JSON_HEADERS, ...bearer(token) } });
  return String(headers["mcp-session-id"]);
}

function listed(url: string, session: string, token: string): ReturnType<typeof send> {
  const body = { jsonrpc: "2.0", id: 2, method: "tools/list", params: {} };
  const headers = { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
  return send(url, { body, headers: { ...JSON_HEADERS, ...headers, ...bearer(token) } });
}

/** A stream for what belongs to no request. */
function listening(url: string, session: string, token: string): Record<"begun" | "over", Promise<void>> {
  const headers = {
    accept: "text/event-stream",
    "mcp-session-id": session,
    "mcp-protocol-version": "2025-11-25",
    ...bearer(token),
  };
  let over: Promise<void> = Promise.resolve();
  const begun = new Promise<void>((resolve, reject) => {
    const request = httpRequest(url, { headers, agent: false }, (response) => {
      over = new Promise((end) => response.on("error", () => end()).on("close", () => end()));
      response.resume();
      resolve();
    });
    request.on("error", reject).end();
  });
  return { begun, over: begun.then(() => over) };
}

const JSON_HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

it("tells the owner whose line holds a token in place of its SHA-256, once, and nothing of the token", async () => {
  const home = temporaryFolder();
  const file = join(home, "tokens");
  const token = hashOf("any text");
  writeFileSync(file, `ada: ${token}\n`);
  const served = new Served(["--tokens", file, "--quiet"], home);
  const url = await served.ready();
  for (let time = 0; time < 2; time++)
    expect((await send(url, toolCall("calculate", ARGS, bearer(token)))).status).toBe(401);
  await served.complained("the line of ada holds the token itself where its SHA-256 belongs");
  expect((await send(url, toolCall("calculate", ARGS, bearer(hashOf("another"))))).status).toBe(401);
  expect(await served.end()).toBe(0);
  expect(served.stderr.split("holds the token itself")).toHaveLength(2);
  expect(served.stderr).not.toContain(token);
});
