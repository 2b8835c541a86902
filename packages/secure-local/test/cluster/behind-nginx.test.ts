// Several `serve --redis` behind one nginx, by the configuration of the page: clients ask for the one name of the proxy.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasRedis, prefix, startRedis, until } from "../../../mcp/test/cluster/redis-fixture.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { run } from "../cli/command.js";
import { send, Served, toolCall } from "../serve/served.js";
import { answerAt, machine, recordsOf, told, type Member } from "./fleet.js";

const hasNginx = ((): boolean => {
  try {
    execFileSync("nginx", ["-v"], { stdio: "ignore" });
    return true;
  } catch {
    console.log("skipped: nginx is not installed here");
    return false;
  }
})();

const CALCULATE = 'version: "1.0"\ntools: { allowed: [calculate] }\n';
const NAME = "mcp.example.com";

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** nginx with what scale.md says, on ports of this test. */
async function behindNginx(ports: readonly number[]): Promise<string> {
  const page = readFileSync(new URL("../../../../docs/scale.md", import.meta.url), "utf8");
  const block = /^```nginx\n([^]*?)^```/m.exec(page)?.[1] ?? "";
  expect(block).toContain(`server_name ${NAME};`);
  const front = await freePort();
  const own = [
    ["10.0.0.5:3333", ports[0]],
    ["10.0.0.6:3333", ports[1]],
  ] as const;
  const text = own
    .reduce((all, [there, port]) => all.replaceAll(there, `127.0.0.1:${port}`), block)
    .replace(/listen 443 ssl;[^]*?\n(?= *server_name)/, `listen 127.0.0.1:${front};\n`);
  const folder = temporaryFolder();
  const file = join(folder, "nginx.conf");
  // What it writes is in the folder, so that whoever runs this needs no rights.
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((of) => `${of}_temp_path ${of};`)
    .join(" ");
  writeFileSync(
    file,
    `daemon off; pid nginx.pid; error_log stderr; events {} http { access_log off; ${temporary}\n${text}\n}`,
  );
  const child = spawn("nginx", ["-e", "stderr", "-p", folder, "-c", file], { stdio: "inherit" });
  onTestFinished(async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  const url = `http://127.0.0.1:${front}`;
  await until(() =>
    send(`${url}/healthz`).then(
      () => true,
      () => false,
    ),
  );
  return url;
}

async function member(redis: string, place: string, first?: Member): Promise<Member> {
  return begun(redis, place, machine(CALCULATE, first));
}

async function begun(redis: string, place: string, own: Pick<Member, "home" | "policy" | "audit">, port = "0") {
  const args = ["--policy", own.policy, "--audit", own.audit, "--redis", redis, "--prefix", place, "--port", port];
  const served = new Served([...args, "--public-host", NAME], own.home);
  const url = await Promise.race([served.ready(), served.exited()]);
  if (typeof url !== "string") throw new Error(served.stderr);
  return { ...own, served, url };
}

describe.runIf(hasRedis && hasNginx)("processes behind nginx", () => {
  it("serve the name of the proxy, each call at one or the other, and no name that nobody gave", async () => {
    const redis = await startRedis();
    const place = prefix();
    const first = await member(redis.url, place);
    const second = await member(redis.url, place, first);
    const front = await behindNginx([first, second].map(({ url }) => Number(new URL(url).port)));
    const { bearer, tokenFile } = first.served;
    for (let n = 0; n < 4; n++) {
      const call = toolCall("calculate", { expression: "6 * 7" }, { ...bearer, host: NAME });
      expect(told(await send(`${front}/mcp`, call))).toEqual({ text: "42", failed: false });
    }
    const calls = [first, second].map((each) => recordsOf(each).filter(({ kind }) => kind === "call.intent").length);
    expect(calls).toEqual([2, 2]);
    const foreign = await send(`${front}/mcp`, toolCall("calculate", {}, { ...bearer, host: "evil.example" }));
    expect([foreign.status, foreign.text]).toEqual([403, expect.stringContaining("--public-host")]);
    // The own address is served as before, and what a person calls by a wrong name is told what to do.
    expect((await send(first.url, toolCall("calculate", { expression: "1" }, bearer))).status).toBe(200);
    const asked = await run(["call", `${front}/mcp`, "calculate", "expression=1", "--token-file", tokenFile], first);
    expect(asked.code).not.toBe(0);
    expect(asked.stderr).toContain("--public-host");
    expect(asked.stderr).not.toContain("scopes");
  });

  it("are restarted one after the other, and no call that comes meanwhile is lost", { timeout: 60_000 }, async () => {
    const redis = await startRedis();
    const place = prefix();
    const first = await member(redis.url, place);
    const members = [first, await member(redis.url, place, first)];
    const front = await behindNginx(members.map(({ url }) => Number(new URL(url).port)));
    const call = toolCall("calculate", { expression: "6 * 7" }, { ...first.served.bearer, host: NAME });
    for (const [at, { served, url, ...own }] of members.entries()) {
      expect(await served.end()).toBe(0);
      for (let n = 0; n < 4; n++) expect(told(await send(`${front}/mcp`, call))).toEqual({ text: "42", failed: false });
      members[at] = await begun(redis.url, place, own, new URL(url).port);
    }
  });

  it(
    "are told to end while a call of one waits for a person: others serve what comes meanwhile, all of it",
    { timeout: 60_000 },
    async () => {
      const asks = `${CALCULATE}approvals: [{ approve: [calculate], answer_by: [terminal], timeout: 60 }]\n`.replace(
        "[calculate] }",
        "[calculate, get_timestamp] }",
      );
      const redis = await startRedis();
      const place = prefix();
      const first = await begun(redis.url, place, machine(asks));
      const second = await begun(redis.url, place, machine(asks, first));
      const front = await behindNginx([first, second].map(({ url }) => Number(new URL(url).port)));
      const headers = { ...first.served.bearer, host: NAME };
      const waits = send(first.url, toolCall("calculate", { expression: "6 * 7" }, first.served.bearer));
      await until(() => recordsOf(first).some(({ kind }) => kind === "approval.asked"));
      first.served.child.kill("SIGTERM");
      await first.served.complained("shutting down, what runs may finish");
      const replies = [];
      for (let n = 0; n < 12; n++)
        replies.push(told(await send(`${front}/mcp`, toolCall("get_timestamp", {}, headers))));
      expect(replies.filter(({ failed }) => failed)).toEqual([]);
      await answerAt(first.home, "approve");
      expect(told(await waits)).toEqual({ text: "42", failed: false });
      expect(await first.served.exited()).toBe(0);
      for (let n = 0; n < 4; n++)
        expect(told(await send(`${front}/mcp`, toolCall("get_timestamp", {}, headers))).failed).toBe(false);
    },
  );
});
