// Secrets in what a model or the log gets: planted ones are found, ordinary text is left alone.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redactShapes, rememberSecret, replaceKnown, SECRET_SHAPES } from "../../src/audit/secret-shapes.js";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { cleanResult } from "../../src/guard/cleaning/clean-result.js";
import { cleanText } from "../../src/guard/cleaning/clean-text.js";
import { codePoint } from "../../../mcp/test/support/code-point.js";
import { repeated } from "../../../mcp/test/support/soak.js";
import { plantedSecrets } from "./planted-secrets.js";
import { threadMilliseconds } from "../../../mcp/test/support/thread-time.js";

const RULES = { textBytes: 1_048_576, secrets: true };

/** The shortest text of a shape: the first of each alternative, each part as often as it has to be. */
function shortestOf(shape: string): string {
  const parts = shape.matchAll(
    /(\(\?[=!][^)]*\))|(?:(\[(?:\\.|[^\]])*\]|\\[dw])|\(\?:((?:[^()]|\([^()]*\))*)\)|\\(.)|(.))(?:\{(\d+)(?:,\d+)?\}|(\?))?/g,
  );
  let text = "";
  for (const [, look, set, group, escaped, plain, least, maybe] of parts) {
    if (look !== undefined || maybe !== undefined) continue;
    for (let time = 0; time < Number(least ?? 1); time++) {
      // Both letters and digits, where both may stand.
      const letters =
        ["a1f2", "A1F2", "1234"].find((each) => new RegExp(`^${set ?? "x"}+$`).test(each)) ?? (set ?? "").slice(1, 2);
      const fit = set === undefined ? "" : letters[time % letters.length];
      text += set === undefined ? (group === undefined ? (escaped ?? plain ?? "") : shortestOf(firstOf(group))) : fit;
    }
  }
  return text;
}

function firstOf(alternatives: string): string {
  return alternatives.split(/\|(?![^(]*\))/)[0] ?? "";
}

describe("secrets", () => {
  it("are known of many issuers, each by what it gives out", () => {
    const planted = plantedSecrets(200, 1).map(({ text }) => text);
    const unseen = SECRET_SHAPES.filter(([, shape]) => !planted.some((text) => new RegExp(shape).test(text)));
    expect(unseen.map(([name]) => name)).toEqual([]);
    expect(SECRET_SHAPES.length).toBeGreaterThanOrEqual(80);
  });

  it.each(SECRET_SHAPES)(
    "of %s are found where the shortest of them stands alone, and between others",
    (_issuer, shape) => {
      const shortest = shortestOf(shape);
      expect(shortest).toMatch(new RegExp(`^(?:${shape})$`));
      for (const text of [shortest, `a ${shortest} b`, `${shortest}\n${shortest}`, `"${shortest}"`])
        expect(cleanText(text, RULES).includes(shortest), text).toBe(false);
    },
  );

  it("that have a name are found at every place of Base64 and with any of their characters escaped", () => {
    const value = "named!Sécret/of these tests";
    expect(rememberSecret("named", value)).toBe(true);
    const bytes = Buffer.from(value);
    const percent = [...bytes].map((byte) => `%${byte.toString(16)}`).join("");
    const json = [...value].map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
    const texts = [percent, percent.toUpperCase(), json, `na%6ded!S%C3%A9cret\\u002fof th%65se tests`];
    for (const before of ["", "a", "ab", "abc", "abcd"])
      for (const after of ["", "z", "zz"])
        for (const alphabet of ["base64", "base64url"] as const)
          texts.push(Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]).toString(alphabet));
    for (const text of texts) expect(cleanText(`x ${text} y`, RULES), text).toContain("[secret named]");
  });

  it("are found: at least 95 % of 500 planted ones, in answers and in the log", async () => {
    const planted = plantedSecrets(500, 7);
    const missed = planted.filter(({ text, secret }) => cleanText(text, RULES).includes(secret));
    expect(missed.length, JSON.stringify(missed.map(({ kind }) => kind))).toBeLessThanOrEqual(planted.length * 0.05);
    const audit = new MemoryAudit();
    for (const { text } of planted) await audit.record({ kind: "call.intent", arguments: { text } });
    const logged = planted.filter(({ secret }, index) => (audit.lines[index] ?? "").includes(secret));
    expect(logged.length, JSON.stringify(logged.map(({ kind }) => kind))).toBeLessThanOrEqual(planted.length * 0.05);
  });

  it("are found though hidden characters stand in them", () => {
    for (const { text, secret } of plantedSecrets(64, 3)) {
      const split = text.replace(secret, `${secret.slice(0, 3)}\u200b${secret.slice(3)}`);
      expect(cleanText(split, RULES).includes(secret)).toBe(cleanText(text, RULES).includes(secret));
    }
  });

  it("are rarely seen where there are none: in source and prose at most one line in ten thousand", () => {
    const lines = sources(fileURLToPath(new URL("../../src", import.meta.url)))
      .concat(sources(fileURLToPath(new URL("../../../mcp/src", import.meta.url))))
      .flatMap((file) => readFileSync(file, "utf8").split("\n"));
    expect(lines.length).toBeGreaterThan(10_000);
    const taken = lines.filter((line) => redactShapes(line) !== line);
    expect(taken.length, taken.join("\n")).toBeLessThanOrEqual(lines.length / 10_000);
  });

  it.each([
    "max_tokens: 4096",
    "const token = await getToken(request);",
    "password: string;",
    "token = process.env.API_TOKEN_V2",
    "https://user:password@example.com/",
    "git@github.com:owner/name.git",
    "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "6f1ed002-ab5f-4d0c-9e2b-1f1d7b5f3c11",
    "Basic authentication is described in RFC 7617.",
    "token_file: /home/ada/.config/app/token2.txt",
    "sk-learn-contrib-imbalanced-learn",
    "token: feature1-feature2-feature3",
    "api_key=build-server-build-server-2",
    "secret=version1-version2-version3",
    "hf_transfer and hf_hub_download",
    "A file with -----BEGIN PRIVATE KEY----- (PKCS 8) holds one key. Nothing behind it is lost.",
  ])("are not seen in %s", (text) => expect(redactShapes(text)).toBe(text));

  const LETTERS = "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn";
  const MARK = "-----BEGIN RSA PRIVATE KEY-----";
  it.each([
    `${MARK}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\n${LETTERS}\n${LETTERS}`,
    JSON.stringify(`${MARK}\nProc-Type: 4,ENCRYPTED\n\n${LETTERS}\nabc=\n`).slice(1, -3),
    `${MARK}", "Comment: mine, not yours", "", "${LETTERS}`,
    `${MARK} Proc-Type: 4,ENCRYPTED ${LETTERS}`,
    `${MARK}\nComment: of ${MARK}\n${LETTERS}`,
    `${MARK}\n${LETTERS}\n-----END RSA PRIVATE KEY-----`,
  ])("are private keys, whatever stands before their letters: %j", (key) =>
    expect(redactShapes(`a ${key}; b`)).toBe("a [REDACTED]; b"),
  );

  it.each([
    `${MARK}\nsee below\n${LETTERS}`,
    `${MARK}\nComment: ${"x".repeat(201)}\n${LETTERS}`,
    `${MARK}\nComment: ${LETTERS}`,
  ])("are no private keys without letters where those would stand: %j", (text) => {
    expect(redactShapes(text)).toBe(text);
  });

  it("with a name are replaced in every usual spelling", async () => {
    const value = 'p@ss "w\u00f6rd"/1+2';
    expect(rememberSecret("database", value)).toBe(true);
    expect(rememberSecret("short", "abc")).toBe(false);
    const bytes = Buffer.from(value);
    const spelled = [
      value,
      JSON.stringify(value),
      encodeURIComponent(value),
      // As PHP, Python and .NET write it.
      'p@ss \\"w\u00f6rd\\"\\/1+2',
      'p@ss \\"w\\u00f6rd\\"/1+2',
      "p@ss \\u0022w\\u00f6rd\\u0022/1\\u002B2",
      bytes.toString("hex"),
      bytes.toString("base64url"),
    ];
    const audit = new MemoryAudit();
    for (const text of spelled) {
      expect(replaceKnown(`a ${text} b`)).toContain("[secret database]");
      await audit.record({ kind: "call.intent", tool: text, arguments: { deep: [text] } });
      expect(audit.lines.at(-1)).not.toContain(text);
    }
  });

  it("leave nothing to do the second time", () => {
    const words = fc.constantFrom(
      "token=",
      "Bearer ",
      "://a:",
      "@",
      '"',
      " ",
      "\n",
      "[REDACTED]",
      "-----BEGIN PRIVATE KEY-----",
    );
    const text = fc.array(
      fc.oneof(
        words,
        fc.string({ unit: codePoint }),
        fc.constantFrom(...plantedSecrets(64, 5).map((each) => each.text)),
      ),
    );
    fc.assert(
      fc.property(text, fc.constantFrom("strip", "show"), (parts, hidden) => {
        const once = cleanText(parts.join(""), { ...RULES, hidden });
        expect(cleanText(once, { ...RULES, hidden })).toBe(once);
      }),
      { numRuns: repeated(100, 300) },
    );
  });

  it("share the budget of a result with the longer names that stand for them", () => {
    const value = "zq7Kx9";
    rememberSecret("n".repeat(100), value);
    const block = { type: "text", text: value.repeat(30) };
    const { content } = cleanResult(
      { content: [block, block, block, block] },
      { textBytes: 4_000, resultBytes: 4_000 },
    );
    const texts = content.map(({ text }) => text);
    expect(texts.join("")).not.toContain(value);
    expect(texts[0]).toHaveLength(30 * "[secret ]".length + 30 * 100);
    // What finds the budget spent is told of in 64 bytes.
    expect(Buffer.byteLength(texts.join(""))).toBeLessThanOrEqual(4_000 + 3 * 64);
  });

  it("take linear time, whatever is almost one", () => {
    const bombs = [
      "token=",
      "://a:",
      "Bearer ",
      "eyJaaaaaaaaaa.",
      "AAAA",
      "-----BEGIN PRIVATE KEY-----",
      "-----BEGIN PRIVATE KEY-----\nAB: ",
      "a8Q~",
      "1/",
      "key-",
      "-eyJ",
    ];
    const texts = bombs.map((bomb) => [bomb, bomb.repeat(400_000 / bomb.length)] as const);
    // Each of its headers may end anywhere in those after it: 160 characters took a second.
    texts.push(["many headers", `-----BEGIN PRIVATE KEY-----${"\\nAB: ".repeat(60_000)}\0`]);
    for (const [bomb, text] of texts) {
      const started = threadMilliseconds();
      cleanText(text, RULES);
      expect(threadMilliseconds() - started, bomb).toBeLessThan(3_000);
    }
  });
});

function sources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name));
}
