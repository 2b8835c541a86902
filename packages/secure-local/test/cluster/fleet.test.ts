// Two processes of `serve` as one server: what one counts, is told and records, the other knows.
import { randomBytes } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasRedis, startRedis, until } from "../../../mcp/test/cluster/redis-fixture.js";
import { rememberedAnswers, takeBackAnswers } from "../../src/control/control-client.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { run } from "../cli/command.js";
import { type Reply, send, Served } from "../serve/served.js";
import { answerAt, machine, recordsOf, SECRETS, startFleet, told } from "./fleet.js";

const LONG = { timeout: 60_000 };
const CALCULATE = 'version: "1.0"\ntools: { allowed: [calculate], rate_limits: { calculate: 5 } }\n';
const ASKED = (remember: string): string => `version: "1.0"
tools: { allowed: [calculate, get_timestamp] }
approvals:
  - { approve: [calculate], answer_by: [terminal], remember: ${remember}, timeout: 60 }
`;

describe.runIf(hasRedis)("a limit of the policy", () => {
  it("holds for all processes together, in a burst too", LONG, async () => {
    const fleet = await startFleet(CALCULATE);
    const calls = Array.from({ length: 12 }, (_, n) => fleet.call(n % 2, "calculate", { expression: "6 * 7" }));
    const answers = (await Promise.all(calls)).map(told);
    expect(answers.filter(({ text }) => text === "42")).toHaveLength(5);
    expect(answers.filter(({ text }) => text.includes("at most 5 a minute"))).toHaveLength(7);
  });
});

describe.runIf(hasRedis)("a question", () => {
  it("of one process is answered at the other, once, and what was remembered holds at both", LONG, async () => {
    const fleet = await startFleet(ASKED("5"));
    const [one, two] = [0, 1].map((at) => fleet.members[at]?.home ?? "");
    const first = fleet.call(0, "calculate", { expression: "6 * 7" });
    expect(await answerAt(two ?? "", "remember")).toContain("calculate");
    expect(told(await first)).toEqual({ text: "42", failed: false });
    // The very same call is known at both from now on; another one is asked about.
    for (const member of [0, 1])
      expect(told(await fleet.call(member, "calculate", { expression: "6 * 7" })).text).toBe("42");
    const other = fleet.call(1, "calculate", { expression: "1 + 1" });
    await answerAt(one ?? "", "deny");
    expect(told(await other).text).toContain("the person who was asked said no");
    const kinds = fleet.members.map((member) =>
      recordsOf(member)
        .map(({ kind }) => kind)
        .filter((kind) => String(kind).startsWith("approval.")),
    );
    expect(kinds).toEqual([
      ["approval.asked", "approval.given", "approval.given"],
      ["approval.given", "approval.asked", "approval.denied"],
    ]);
  });

  it("is asked again at all of them once its remembered answer was taken back at any", LONG, async () => {
    const fleet = await startFleet(ASKED("5"));
    const homes = fleet.members.map(({ home }) => join(home, "state", "mcp-secure-local", "run"));
    const call = (member: number): Promise<Reply> => fleet.call(member, "calculate", { expression: "6 * 7" });
    const first = call(0);
    await answerAt(fleet.members[0]?.home ?? "", "remember");
    await first;
    expect(told(await call(1)).text).toBe("42");
    const { answers, unanswered } = await rememberedAnswers(homes[1] ?? "");
    expect({ answers, unanswered }).toMatchObject({ answers: [{ tool: "calculate", used: 1 }], unanswered: [] });
    expect(answers).toHaveLength(1);
    const id = answers[0]?.id;
    expect(await takeBackAnswers(homes[1] ?? "", id, "terminal")).toEqual({ taken: [id], unanswered: [] });
    for (const folder of homes) expect(await rememberedAnswers(folder)).toEqual({ answers: [], unanswered: [] });
    for (const member of [0, 1]) {
      const again = call(member);
      await answerAt(fleet.members[member]?.home ?? "", "deny");
      expect(told(await again).text).toContain("the person who was asked said no");
    }
  });

  it("is not asked while nobody knows what people have said elsewhere, and everything else goes on", LONG, async () => {
    const fleet = await startFleet(ASKED("none"));
    await fleet.redis.kill();
    expect(told(await fleet.call(0, "calculate", { expression: "6 * 7" })).text).toContain("UNREACHABLE");
    expect(told(await fleet.call(1, "get_timestamp", {})).failed).toBe(false);
  });

  it("is not asked while Redis is full either, nor is anything of before remembered then", LONG, async () => {
    const fleet = await startFleet(ASKED("5"));
    const call = (member: number): Promise<Reply> => fleet.call(member, "calculate", { expression: "6 * 7" });
    const first = call(0);
    await answerAt(fleet.members[0]?.home ?? "", "remember");
    expect(told(await first).text).toBe("42");
    fleet.redis.cli("config", "set", "maxmemory", "1mb");
    for (const { served, url } of fleet.members) {
      await served.complained("is full: raise its maxmemory");
      expect(JSON.parse((await send(url.replace("/mcp", "/healthz"), {})).text)).toEqual({
        status: "degraded",
        reason: "what the processes of this server share is away: Redis is full: raise its maxmemory",
      });
    }
    for (const member of [0, 1]) expect(told(await call(member)).text).toContain("UNREACHABLE");
    expect(told(await fleet.call(1, "get_timestamp", {})).failed).toBe(false);
    fleet.redis.cli("config", "set", "maxmemory", "0");
    for (const { served } of fleet.members) await served.complained("is reached again");
    for (const member of [0, 1]) expect(told(await call(member)).text).toBe("42");
  });
});

describe.runIf(hasRedis)("a question that is open already", () => {
  it.each(["killed", "full"])("lets no call run by a yes that is given while Redis is %s", LONG, async (how) => {
    const fleet = await startFleet(ASKED("5"));
    const ran = fleet.call(0, "calculate", { expression: "6 * 7" });
    await answerAt(fleet.members[0]?.home ?? "", "approve", async () => {
      if (how === "killed") await fleet.redis.kill();
      else fleet.redis.cli("config", "set", "maxmemory", "1mb");
      for (const { served } of fleet.members) await served.complained("until it is back");
    });
    expect(told(await ran).text).toMatch(/^Denied\. .*\(UNREACHABLE\); try again once it is back\./);
    const kinds = recordsOf(fleet.members[0] as (typeof fleet.members)[number]).map(({ kind }) => kind);
    expect([kinds.includes("approval.denied"), kinds.includes("approval.given")]).toEqual([true, false]);
  });
});

describe.runIf(hasRedis)("the logs of all processes", () => {
  it("are whole by what they say of each other: a missing, cut or rewritten one is found", LONG, async () => {
    const fleet = await startFleet(CALCULATE);
    for (const at of [0, 1]) await fleet.call(at, "calculate", { expression: "6 * 7" });
    // One leaves after the other has joined, so the one that stays knows of it by Redis alone.
    expect(await fleet.members[0]?.served.end()).toBe(0);
    await fleet.join();
    for (const at of [1, 2]) expect(await fleet.members[at]?.served.end()).toBe(0);
    const [first, second, third] = fleet.members;
    const all = temporaryFolder();
    for (const [at, { audit }] of fleet.members.entries()) collect(audit, join(all, `machine-${at}`));
    const place = ["--redis", fleet.redis.url, "--prefix", fleet.prefix];
    const check = async (): Promise<{ code: number | null; said: string; withRedis: string }> => {
      const alone = await run(["audit", "verify", all], { home: third?.home ?? "" });
      const both = await run(["audit", "verify", all, ...place], { home: third?.home ?? "" });
      return { code: alone.code, said: alone.stdout + alone.stderr, withRedis: both.stdout + both.stderr };
    };
    const sound = await check();
    expect(sound.said.match(/^ok /gm), sound.said).toHaveLength(3);
    expect(sound.withRedis.match(/^ok /gm), sound.withRedis).toHaveLength(3);
    expect(sound.said + sound.withRedis).not.toMatch(/\b1 (?:witnesses|signed checkpoints) |nothing of these/);
    const elsewhere = ["--redis", fleet.redis.url, "--prefix", `${fleet.prefix}-other`];
    const other = await run(["audit", "verify", all, ...elsewhere], { home: third?.home ?? "" });
    expect(other.stderr).toContain(
      `nothing of these processes is in Redis under the prefix ${fleet.prefix}-other; name theirs with --prefix NAME`,
    );
    // What was asked for was not checked, which is neither "ok" nor "something was found".
    expect([other.code, other.stdout.match(/^ok /gm)?.length]).toEqual([2, 3]);
    const asJson = await run(["audit", "verify", all, ...elsewhere, "--json"], { home: third?.home ?? "" });
    expect([asJson.code, JSON.parse(asJson.stdout)]).toEqual([
      2,
      expect.objectContaining({ ok: false, notChecked: expect.stringContaining(`${fleet.prefix}-other`) as string }),
    ]);
    // Where Redis knows of processes, and the folder has none of their logs, they are missed, and Redis is not called empty.
    const none = temporaryFolder();
    const empty = await run(["audit", "verify", none, ...place], { home: third?.home ?? "" });
    expect([empty.code, empty.stderr.match(/others remember it up to record/g)?.length]).toEqual([1, 3]);
    expect(empty.stderr).not.toContain("nothing of these");
    expect(empty.stderr).toContain(
      `of the processes in Redis under the prefix ${fleet.prefix} none has its log in ${none}; name the folder of their logs`,
    );
    const nowhere = await run(["audit", "verify", `${all}-gone/`, ...place], { home: third?.home ?? "" });
    expect([nowhere.code, nowhere.stderr]).toEqual([
      2,
      `mcp-secure-local: there is no folder ${all}-gone/: name the one that holds the logs\n`,
    ]);
    // The first one's log, with its head file, ends two records earlier: the third has recorded its head when it joined.
    const cut = join(all, "machine-0", "audit.log");
    const whole = readFileSync(cut, "utf8");
    truncateSync(cut, whole.trimEnd().split("\n").slice(0, -2).join("\n").length + 1);
    rmSync(`${cut}.head`);
    expect((await check()).said).toMatch(/(?:was|were) cut off at the end/);
    rmSync(cut);
    expect((await check()).said).toContain("the chain of the process");
    writeFileSync(cut, whole);
    // The last one's log is known by Redis alone from its last minute on.
    rmSync(join(all, "machine-2"), { recursive: true });
    const missing = await check();
    expect(missing.withRedis).toContain("is missing: others remember it up to record");
    expect([first, second].every((member) => member !== undefined)).toBe(true);
  });
});

describe.runIf(hasRedis)("a process that is killed under load", () => {
  it(
    "leaves a log that is whole, and no call is recorded twice or lost, by it or by those that go on",
    LONG,
    async () => {
      const fleet = await startFleet(CALCULATE.replace("5", "10000"), 3);
      const alive = [0, 1, 2];
      const answered: string[] = [];
      const called: string[] = [];
      let killed = 0;
      const enough = (): boolean => killed >= 3;
      const lane = async (number: number): Promise<void> => {
        for (let n = 0; !enough(); n++) {
          const expression = `${number} + ${n} + 0`;
          called.push(expression);
          const at = alive[n % alive.length] as number;
          const reply = await fleet.call(at, "calculate", { expression }).catch(() => undefined);
          if (reply !== undefined && !told(reply).failed) answered.push(expression);
        }
      };
      const killing = async (): Promise<void> => {
        for (; killed < 3; killed++) {
          const before = answered.length;
          await until(() => answered.length > before + 10);
          const gone = alive.shift() as number;
          fleet.members[gone]?.served.child.kill("SIGKILL");
          await fleet.join();
          alive.push(fleet.members.length - 1);
        }
      };
      await Promise.all([...Array.from({ length: 6 }, (_, number) => lane(number)), killing()]);
      for (const at of alive) expect(await fleet.members[at]?.served.end()).toBe(0);
      const all = temporaryFolder();
      const recorded: string[] = [];
      let ended = 0;
      for (const [at, member] of fleet.members.entries()) {
        collect(member.audit, join(all, `machine-${at}`));
        const records = recordsOf(member);
        const intents = records.filter(({ kind }) => kind === "call.intent");
        recorded.push(...intents.map(({ arguments: given }) => (given as { expression: string }).expression));
        const results = records.filter(({ kind }) => kind === "call.result").length;
        expect(results).toBeLessThanOrEqual(intents.length);
        ended += results;
      }
      expect(new Set(recorded).size).toBe(recorded.length);
      expect(answered.filter((each) => !recorded.includes(each))).toEqual([]);
      expect(recorded.filter((each) => !called.includes(each))).toEqual([]);
      expect(ended).toBeGreaterThanOrEqual(answered.length);
      const checked = await run(["audit", "verify", all], { home: fleet.members[0]?.home ?? "" });
      expect(checked.stdout.match(/^ok /gm), checked.stdout + checked.stderr).toHaveLength(fleet.members.length);
    },
  );
});

function collect(audit: string, folder: string): void {
  mkdirSync(folder);
  // A process that was killed in its first moments has signed no head.
  for (const name of ["audit.log", "audit.log.head"])
    if (existsSync(join(dirname(audit), name))) copyFileSync(join(dirname(audit), name), join(folder, name));
}

describe.runIf(hasRedis)("a key that holds something else", () => {
  it("of any kind that a process has lets it start, or ends it with code 2 and one sentence", LONG, async () => {
    const fleet = await startFleet(CALCULATE);
    for (const at of [0, 1]) await fleet.call(at, "calculate", { expression: "6 * 7" });
    const { redis } = fleet;
    const [first] = fleet.members;
    // The place of questions is there once somebody was asked; nobody is here.
    const names = redis.cli("--scan", "--pattern", `*${fleet.prefix}*`).split("\n");
    const keys = new Set([...names, `${fleet.prefix}:bus`, `${fleet.prefix}:bus:questions`].filter(Boolean));
    for (const { served } of fleet.members) await served.end();
    const outcomes = await Promise.all(
      [...keys].map(async (key) => {
        const other = await startRedis();
        const [command = "set", ...rest] = redis.cli("type", key) === "string" ? ["rpush"] : ["set"];
        other.cli(command, key, ...rest, "something else");
        const { home, policy, audit } = machine(CALCULATE, first);
        const place = ["--redis", other.url, "--prefix", fleet.prefix];
        const served = new Served(["--policy", policy, "--audit", audit, ...place], home);
        const ended = await Promise.race([served.ready(), served.exited()]);
        if (ended === 2) expect(served.stderr, key).toMatch(/(?:^|\n)mcp-secure-local: share: [^\n]*another prefix\n$/);
        else expect(typeof ended, `${key}: ${served.stderr}`).toBe("string");
        return ended;
      }),
    );
    expect(outcomes.filter((each) => each === 2).length).toBeGreaterThan(3);
  });
});

describe.runIf(hasRedis)("a process that does not belong", () => {
  it(
    "is refused with one sentence and code 2, and one with a newer policy is let in by the first that has it",
    LONG,
    async () => {
      const fleet = await startFleet(CALCULATE);
      const args = (policy: string): string[] => [
        "--policy",
        policy,
        ...["--redis", fleet.redis.url, "--prefix", fleet.prefix],
      ];
      const [first] = fleet.members;
      const newer = CALCULATE.replace("5", "6");
      const other = machine(newer, first);
      const stranger = new Served(args(other.policy), other.home);
      expect(await stranger.exited()).toBe(2);
      expect(stranger.stderr).toMatch(
        /^mcp-secure-local: share: the process \w+ \(tcp:\/\/127\.0\.0\.1:\d+\) at .* has another policy: .*\n$/,
      );
      const keyless = machine(CALCULATE, first);
      rmSync(join(keyless.home, ".config", "mcp-secure-local", SECRETS[1] as string));
      const unknown = new Served(args(keyless.policy), keyless.home);
      expect(await unknown.exited()).toBe(2);
      const key = join(keyless.home, ".config", "mcp-secure-local", SECRETS[1] as string);
      expect(unknown.stderr).toContain("has another key: give this one the same, or another prefix");
      // Whoever copied it to the others would take theirs away.
      expect(unknown.stderr).toMatch(/; the key that was made at \S+ is removed again: copy theirs there\n$/);
      expect(existsSync(key)).toBe(false);
      // Whoever changes the policy does so at one machine after the other.
      writeFileSync(first?.policy ?? "", newer);
      await first?.served.complained("is in force");
      await until(async () => {
        const again = machine(newer, first);
        const served = new Served(args(again.policy), again.home);
        const ended = await Promise.race([served.exited(), served.ready().then(() => "serving")]);
        return ended === "serving";
      });
    },
  );
});

describe.runIf(hasRedis)("a change of the shared key", () => {
  it(
    "is walked as docs/scale.md says, one process restarted after the other: nothing that was remembered is asked again",
    { timeout: 180_000 },
    async () => {
      const limit = "rate_limits: { calculate: 10000 }";
      const fleet = await startFleet(ASKED("30").replace("get_timestamp]", `get_timestamp], ${limit}`), 3);
      const fileOf = ({ home }: { readonly home: string }): string =>
        join(home, ".config", "mcp-secure-local", "share-key");
      const old = readFileSync(fileOf(fleet.members[0] as { home: string }), "utf8").trim();
      const next = randomBytes(32).toString("base64");
      const call = (at: number, expression: string): Promise<Reply> => fleet.call(at, "calculate", { expression });
      const known: string[] = [];
      /** Somebody says at the last process that this call of the first need not be asked about again. */
      const remember = async (expression: string): Promise<void> => {
        const first = call(0, expression);
        await answerAt(fleet.members[2]?.home ?? "", "remember");
        expect(told(await first).text, expression).toBe(expression[0]);
        known.push(expression);
      };
      await remember("1 + 0");
      for (const keys of [[old, next], [next, old], [next]]) {
        for (const at of fleet.members.keys()) {
          writeFileSync(fileOf(fleet.members[at] as { home: string }), `${keys.join("\n")}\n`);
          await fleet.restart(at);
          // One that was said while the processes were in two different steps.
          if (at === 0) await remember(`${known.length + 1} + 0`);
          for (const each of fleet.members.keys())
            for (const expression of known)
              expect(told(await call(each, expression)).text, expression).toBe(expression[0]);
        }
      }
      const asked = fleet.members.flatMap(recordsOf).filter(({ kind }) => kind === "approval.asked");
      expect(asked).toHaveLength(known.length);
    },
  );
});

describe.runIf(hasRedis)("doctor --redis beside processes that share", () => {
  it("says what serve would be refused for, and nothing where it would be let in", LONG, async () => {
    const fleet = await startFleet(CALCULATE, 1);
    const look = (own: ReturnType<typeof machine>): ReturnType<typeof run> =>
      run(["doctor", "--redis", fleet.redis.url, "--prefix", fleet.prefix, "--policy", own.policy], { home: own.home });
    const like = machine(CALCULATE, fleet.members[0]);
    expect(await look(like)).toMatchObject({ code: 0, stderr: "" });
    const other = await look(machine(CALCULATE.replace("5", "6"), fleet.members[0]));
    expect([other.code, other.stderr]).toEqual([
      2,
      expect.stringMatching(
        /^mcp-secure-local: serve would be refused here: the process \w+ \(tcp:\/\/127\.0\.0\.1:\d+\) at .* has another policy: .*\n$/,
      ),
    ]);
    const keyless = machine(CALCULATE, fleet.members[0]);
    const file = join(keyless.home, ".config", "mcp-secure-local", "share-key");
    rmSync(file);
    const lost = await look(keyless);
    expect([lost.code, lost.stderr]).toEqual([2, expect.stringContaining(`there is no key at ${file}: copy theirs`)]);
    expect(existsSync(file)).toBe(false);
  });
});

describe.runIf(hasRedis)("a process that has joined", () => {
  it("says where it shares, under which name and with how many others, and that it made the key", LONG, async () => {
    const fleet = await startFleet(CALCULATE);
    const [one, two] = fleet.members as [(typeof fleet.members)[number], (typeof fleet.members)[number]];
    const place = `redis://127.0.0.1:${fleet.redis.port}`;
    await one.served.complained("others\n");
    await two.served.complained("other\n");
    expect(one.served.stderr).toMatch(new RegExp(`: shares over ${place} as \\w+, with no others$`, "m"));
    expect(two.served.stderr).toMatch(new RegExp(`: shares over ${place} as \\w+, with 1 other$`, "m"));
    const file = join(one.home, ".config", "mcp-secure-local", "share-key");
    expect(one.served.stderr).toContain(`made a new key at ${file}: copy it to the other machines\n`);
    expect(two.served.stderr).not.toContain("made a new key");
    const own = machine(CALCULATE, one);
    const env = { MCP_SECURE_LOCAL_REDIS: "", MCP_SECURE_LOCAL_PREFIX: "x" };
    const alone = new Served(["--policy", own.policy], own.home, { env });
    expect(await alone.exited()).toBe(2);
    expect(alone.stderr).toContain("MCP_SECURE_LOCAL_PREFIX is a variable that nobody reads");
    expect(alone.stderr).toContain("MCP_SECURE_LOCAL_REDIS is empty: give it an address");
  });
});

describe.runIf(hasRedis)("a refusal", () => {
  it("names what differs: the token, the people, the policy, or several of them", LONG, async () => {
    const fleet = await startFleet(CALCULATE, 1);
    const [first] = fleet.members;
    const place = ["--redis", fleet.redis.url, "--prefix", fleet.prefix];
    const refusal = async (change: (own: ReturnType<typeof machine>) => readonly string[]): Promise<string> => {
      const own = machine(CALCULATE, first);
      const more = change(own);
      const served = new Served(["--policy", own.policy, ...place, ...more], own.home);
      expect(await served.exited()).toBe(2);
      return (
        /has (.*): give all of them the same, or this one another prefix/.exec(served.stderr)?.[1] ?? served.stderr
      );
    };
    const otherToken = (home: string): void =>
      writeFileSync(join(home, ".config", "mcp-secure-local", "token"), `${"k".repeat(43)}\n`, { mode: 0o600 });
    const people = (home: string): readonly string[] => {
      const file = join(home, "tokens");
      writeFileSync(file, `ada: ${"a1".repeat(32)}\n`, { mode: 0o600 });
      return ["--tokens", file];
    };
    expect(await refusal(({ home }) => (otherToken(home), []))).toBe("another token");
    expect(await refusal(({ home }) => people(home))).toBe("another list of people (--tokens)");
    expect(await refusal(({ policy }) => (writeFileSync(policy, `${CALCULATE}#\n`), []))).toBe("another policy");
    // What was approved of plugins, and what was approved of servers, stand in two files.
    for (const end of [".lock", ".servers.lock"])
      expect(await refusal(({ policy }) => (writeFileSync(policy + end, "{}"), [])), end).toBe(
        "another lock (what was approved of plugins and servers)",
      );
    expect(
      await refusal(({ home, policy }) => {
        writeFileSync(policy, `${CALCULATE}#\n`);
        otherToken(home);
        return people(home);
      }),
    ).toBe("another policy and another token and another list of people (--tokens)");
  });
});

describe.runIf(hasRedis)("Redis that is away", () => {
  it("is told once when it goes and once when it is back: in words, health, metrics and the log", LONG, async () => {
    const fleet = await startFleet(CALCULATE, 1);
    const [member] = fleet.members as [(typeof fleet.members)[number]];
    const { served, url } = member;
    const page = (path: string): ReturnType<typeof send> => send(url.replace("/mcp", path), { headers: served.bearer });
    expect((await page("/healthz")).text).toBe('{"status":"ok"}');
    expect((await page("/metrics")).text).toMatch(/^mcp_secure_local_redis_up 1$/m);
    fleet.redis.pause();
    await served.complained("cannot be reached");
    const health = await page("/healthz");
    expect([health.status, health.text]).toEqual([
      200,
      expect.stringMatching(/"degraded".*: Redis cannot be reached: no answer within/),
    ]);
    expect((await page("/metrics")).text).toMatch(/^mcp_secure_local_redis_up 0$/m);
    expect(told(await fleet.call(0, "calculate", { expression: "6 * 7" })).text).toBe("42");
    fleet.redis.resume();
    await served.complained("is reached again");
    expect((await page("/healthz")).text).toBe('{"status":"ok"}');
    await fleet.redis.kill();
    await until(() => served.stderr.split("cannot be reached").length === 3);
    expect(served.stderr).not.toMatch(/maxRetries|enableOfflineQueue|writeable/);
    expect(served.stderr.match(/calls that need approval are refused/g)).toHaveLength(2);
    expect(served.stderr.match(/is reached again/g)).toHaveLength(1);
    await until(() => recordsOf(member).filter(({ kind }) => kind === "cluster.away").length === 2);
    const kinds = recordsOf(member).map(({ kind }) => String(kind));
    expect(kinds.filter((kind) => /^cluster\.(?:away|back)$/.test(kind))).toEqual([
      "cluster.away",
      "cluster.back",
      "cluster.away",
    ]);
  });
});

describe.runIf(hasRedis)("metrics", () => {
  it("are told of each process, and of all by any", LONG, async () => {
    const fleet = await startFleet(CALCULATE);
    await fleet.call(1, "calculate", { expression: "6 * 7" });
    const [first] = fleet.members;
    const ask = async (): Promise<string> =>
      (await send((first?.url ?? "").replace("/mcp", "/metrics/all"), { headers: first?.served.bearer ?? {} })).text;
    await until(async () => /calls_total\{.*name="calculate".*\} 1$/m.test(await ask()));
    const text = await ask();
    expect(new Set([...text.matchAll(/mcp_secure_local_info\{.*node="(\w+)"\} 1/g)].map(([, node]) => node)).size).toBe(
      2,
    );
    expect(text.match(/^# TYPE mcp_secure_local_calls_total counter$/gm)).toHaveLength(1);
  });
});
