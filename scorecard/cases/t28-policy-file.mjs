// T28: the policy file itself: malformed ones, files others could write, monotony, and reloads under load.
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { session } from "../support/session.mjs";
import { refusal } from "../report/own-faults.mjs";

export const goal = { id: "T28", title: "The policy file itself", atLeast: 600, refusalMs: 200 };

/** Taken out, each makes the goal fail. */
export const defences = [
  {
    name: "a policy that others may write is refused",
    file: "packages/secure-local/src/policy/load-policy.ts",
    find: "(status.mode & WRITABLE_BY_OTHERS) !== 0",
    replace: "(status.mode & WRITABLE_BY_OTHERS) < 0",
  },
];

const MONOTONY_RUNS = 300;
const RELOADS = 1_000;
const SEED = 20_260_728;

export async function run(report, parts) {
  const folder = mkdtempSync(join(tmpdir(), "scorecard-policy-"));
  await malformed(report, parts);
  await torn(report, parts);
  await files(report, parts, folder);
  await monotony(report, parts);
  await reloads(report, parts, folder);
  rmSync(folder, { recursive: true, force: true });
}

/** A policy with a fault is no policy: it throws, and never gives one that is open. */
async function fails({ parsePolicy, PolicyError }, text) {
  const got = await parsePolicy(text, {
    file: "p.yaml",
    environment: { HOME: "/h", EMPTY_VARIABLE: "", GLOB_VARIABLE: "*" },
  }).catch(refusal);
  if (!(got instanceof PolicyError)) return got instanceof Error ? String(got) : "loaded";
  return /p\.yaml:\d+:\d+/.test(got.message) || `no place: ${got.message.slice(0, 100)}`;
}

async function malformed(report, parts) {
  const { WHOLE, FRAGMENTS, VERSION_LINE } = parts;
  report.kind("texts that are no policy");
  for (const [text] of WHOLE) await report.attack(JSON.stringify(text.slice(0, 60)), () => fails(parts, text));
  report.kind("sections with a fault");
  for (const [text] of FRAGMENTS) await report.attack(JSON.stringify(text), () => fails(parts, VERSION_LINE + text));
  const keys = [
    "version",
    "extends",
    "network",
    "filesystem",
    "commands",
    "tools",
    "resources",
    "prompts",
    "audit",
    "approvals",
    "secrets",
    "databases",
    "plugins",
    "sandbox",
    "output",
  ];
  report.kind("sections of a wrong type");
  for (const key of keys.slice(1))
    for (const value of ["yes", "7", "'*'", "[[]]", "{x: 1}", "[null]", "!!js/function 'x'", "*a", "{allowed: '*'}"])
      await report.attack(`${key}: ${value}`, () => fails(parts, `${VERSION_LINE}${key}: ${value}\n`));
  report.kind("keys in another spelling");
  for (const key of keys)
    for (const spelled of [
      `${key} `,
      key.toUpperCase(),
      `${key}s`,
      `.${key}`,
      `${key}\u200b`,
      `${key.replace("e", "\u0435")}x`,
    ])
      await report.attack(`the key ${JSON.stringify(spelled)}`, () =>
        fails(parts, `${VERSION_LINE}"${spelled}": {}\n`),
      );
}

/** A good file cut off anywhere either still says less, or does not load: a torn one is never open. */
async function torn(report, { parsePolicy, decide }) {
  const text = `version: "1.0"
filesystem:
  allowed_paths: ["/srv/**"]
  denied_paths: ["/srv/private/**"]
tools:
  allowed: ["read_*", "write_file"]
  denied: ["write_file"]
network:
  allowed_endpoints: [{ host: a.example }]
`;
  const asks = [
    { kind: "tool", name: "calculate" },
    { kind: "file", path: "/etc/passwd", op: "read" },
    { kind: "network", host: "b.example", port: 443 },
    { kind: "resource", uri: "x://y" },
  ];
  report.kind("a policy cut off anywhere");
  for (let length = 0; length < text.length; length += 1)
    await report.attack(`cut after ${length} characters`, async () => {
      const policy = await parsePolicy(text.slice(0, length), { file: "p.yaml" }).catch(() => undefined);
      return policy === undefined || asks.every((ask) => !decide(policy, ask).allowed) || "it allows more";
    });
  await report.benign(
    "the whole",
    async () => decide(await parsePolicy(text, { file: "p.yaml" }), { kind: "tool", name: "read_file" }).allowed,
  );
}

async function files(report, { loadPolicy, PolicyError }, folder) {
  const good = 'version: "1.0"\n';
  const file = join(folder, "policy.yaml");
  const attack = (name) =>
    report.attack(name, async () => {
      const got = await loadPolicy(file).catch(refusal);
      rmSync(file, { recursive: true, force: true });
      return got instanceof PolicyError || "loaded";
    });
  const write = (mode) => {
    writeFileSync(file, good);
    chmodSync(file, mode);
  };
  if (process.platform !== "win32") {
    report.kind("a policy that others may write");
    for (const mode of [0o660, 0o620, 0o606, 0o602, 0o666, 0o777, 0o722, 0o664]) {
      write(mode);
      await attack(`a file of mode ${mode.toString(8)}`);
    }
    report.kind("a policy that is no regular file");
    execFileSync("mkfifo", [file]);
    await attack("a FIFO");
    symlinkSync("/dev/zero", file);
    await attack("a device");
  }
  report.kind("a policy that is no regular file");
  mkdirSync(file);
  await attack("a folder");
  await attack("no file");
  report.kind("a policy of too many bytes, or of none that are text");
  writeFileSync(file, Buffer.from([0xff, 0xfe, 0x76, 0x00]));
  await attack("UTF-16");
  writeFileSync(file, Buffer.concat([Buffer.from(good), Buffer.from([0xc3, 0x28])]));
  await attack("broken UTF-8");
  writeFileSync(file, `${good}#${"x".repeat(300_000)}`);
  await attack("too long");
  for (const mode of [0o600, 0o644, 0o400]) {
    write(mode);
    await report.benign(`a file of mode ${mode.toString(8)}`, async () => (await loadPolicy(file)).version === "1.0");
    rmSync(file);
  }
}

/** The same policies in every run: the seed is fixed. */
async function monotony(report, { content, presets, parse, powers, stricter }) {
  let more = 0;
  let compared = 0;
  const compare = (before, after) => {
    compared += 1;
    if (after.some((power, index) => power > before[index])) more += 1;
  };
  const deny = fc.asyncProperty(content, content, presets, async (given, other, extended) => {
    const before = powers(await parse({ ...given, extends: extended }));
    for (const changed of stricter(given, other))
      compare(before, powers(await parse({ ...changed, extends: extended })));
  });
  await fc.check(deny, { numRuns: MONOTONY_RUNS, seed: SEED });
  report.demand(
    `${MONOTONY_RUNS} generated policies, each with every further denial: none allows more`,
    more === 0 && compared >= MONOTONY_RUNS,
  );
  compared = 0;
  const lists = {
    network: ["allowed_endpoints", "allowed_ranges"],
    filesystem: ["allowed_paths", "readable_paths"],
    tools: ["allowed"],
    commands: ["allowed"],
  };
  const less = fc.asyncProperty(content, fc.nat(2), async (given, at) => {
    const before = powers(await parse(given));
    for (const [section, keys] of Object.entries(lists))
      for (const key of keys)
        compare(
          before,
          powers(
            await parse({ ...given, [section]: { ...given[section], [key]: given[section][key].toSpliced(at, 1) } }),
          ),
        );
  });
  await fc.check(less, { numRuns: MONOTONY_RUNS, seed: SEED });
  report.demand(
    `${MONOTONY_RUNS} generated policies, each with every permission less: none allows more`,
    more === 0 && compared >= MONOTONY_RUNS,
  );
}

/** Policies go to and fro while calls run: each call is decided by exactly one of them, and a bad file changes nothing. */
async function reloads(report, parts, folder) {
  const text = (name) => `version: "1.0"\ntools:\n  allowed: [calculate, ${name}]\n  rate_limits: { default: 1000000 }`;
  const { secure, call, audit, close } = await session(parts, {
    policy: text("get_timestamp"),
    revision: "2026-07-28",
  });
  const file = join(folder, "reloaded.yaml");
  const [one, two] = await Promise.all(
    ["get_timestamp", "web_search"].map((name) => parts.parsePolicy(text(name), { file })),
  );
  const labels = new Set([one, two].map(({ hash }) => hash.slice(0, 12)));
  secure.reload(one);
  const before = audit.lines.length;
  let bad = 0;
  for (let turn = 0; turn < RELOADS; turn += 1) {
    const under = turn % 2 === 0 ? one : two;
    const pending = [call("get_timestamp", {}), call("calculate", { expression: "1" })];
    secure.reload(under);
    if (turn % 10 === 0) {
      writeFileSync(`${file}.new`, `version: "1.0"\ntools: { allowed: [${turn}`, { mode: 0o600 });
      renameSync(`${file}.new`, file);
      await parts.loadPolicy(file).then(
        () => (bad += 1),
        (error) => secure.reloadFailed(error.message),
      );
      if (secure.policy !== under) bad += 1;
    }
    const [stamp] = await Promise.all(pending);
    if (stamp.answer.error !== undefined && !/Denied|get_timestamp/.test(stamp.answer.error.message)) bad += 1;
  }
  const records = audit.lines.slice(before).map((line) => JSON.parse(line));
  const calls = records.filter(({ kind }) => kind === "denied" || kind.startsWith("call."));
  for (const { policy, tool, kind } of calls) {
    if (!labels.has(policy)) bad += 1;
    // Under the second policy this tool is denied, under the first it is not.
    else if (tool === "get_timestamp" && (kind === "denied") === (policy === one.hash.slice(0, 12))) bad += 1;
  }
  report.demand(
    `${RELOADS} reloads under load: every decision by exactly one policy, bad files change nothing`,
    bad === 0 && calls.length >= RELOADS * 2,
    `${bad} wrong`,
  );
  await close();
}
