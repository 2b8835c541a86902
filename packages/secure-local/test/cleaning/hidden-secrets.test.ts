// Secrets that stand in no text as they are: in Base64 of blocks, behind entities, spread over blocks; and results that are long without long texts.
import { describe, expect, it } from "vitest";
import { rememberSecret } from "../../src/audit/secret-shapes.js";
import { cleanResult, LongResultError } from "../../src/guard/cleaning/clean-result.js";
import { cleanText, DEFAULT_CLEAN_LIMITS, HiddenTextError } from "../../src/guard/cleaning/clean-text.js";

const TOKEN = "Zq9-plainwordy-8812&token";
rememberSecret("tok", TOKEN);

const base64 = (text: string, encoding: BufferEncoding = "utf8"): string =>
  Buffer.from(text, encoding).toString("base64");
const decoded = (text: string): string => Buffer.from(text, "base64").toString();

/** Where a result holds bytes: each gives a result with these, and finds them again. */
type Holder = readonly [
  name: string,
  make: (bytes: string, mimeType?: string) => object,
  read: (result: object) => string,
];
const HOLDERS: readonly Holder[] = [
  [
    "the data of an image",
    (data, mimeType) => ({ content: [{ type: "image", data, mimeType }] }),
    (result) => (result as { content: { data: string }[] }).content[0]?.data ?? "",
  ],
  [
    "the data of a sound in a prompt",
    (data, mimeType) => ({ messages: [{ role: "user", content: { type: "audio", data, mimeType } }] }),
    (result) => (result as { messages: { content: { data: string } }[] }).messages[0]?.content.data ?? "",
  ],
  [
    "the blob of an embedded resource",
    (blob, mimeType) => ({ content: [{ type: "resource", resource: { uri: "x:y", blob, mimeType } }] }),
    (result) => (result as { content: { resource: { blob: string } }[] }).content[0]?.resource.blob ?? "",
  ],
  [
    "the blob of a resource",
    (blob, mimeType) => ({ contents: [{ uri: "x:y", blob, mimeType }] }),
    (result) => (result as { contents: { blob: string }[] }).contents[0]?.blob ?? "",
  ],
];
const TYPES = [
  "text/plain",
  "application/json; charset=utf-8",
  "application/vnd.x+json",
  "image/svg+xml",
  "image/png",
  "application/octet-stream",
  undefined,
];
/** What a server may say of a text that some client decodes all the same. */
const LABELS = [
  ...TYPES,
  ...["application/x-unknown", "application/pdf", "audio/wav", "application/zip", "nonsense", "", null, 7],
] as (string | undefined)[];
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe, 0, 1]);

describe.each(HOLDERS)("%s", (_, make, read) => {
  it.each(TYPES)("of the type %s holds no known secret, at any place and in any usual spelling", (mimeType) => {
    const spelt = [TOKEN, encodeURIComponent(TOKEN), Buffer.from(TOKEN).toString("hex"), base64(TOKEN)];
    for (const before of ["", "x", "xy", "xyz"])
      for (const secret of spelt) {
        const found = decoded(read(cleanResult(make(base64(`${before}${secret} after`), mimeType))));
        expect(found).toContain("[secret tok]");
        expect(found).not.toContain(secret);
      }
    const bytes = Buffer.concat([PNG, Buffer.from(TOKEN), PNG]).toString("base64");
    expect(decoded(read(cleanResult(make(bytes, mimeType))))).toContain("[secret tok]");
    expect(decoded(read(cleanResult(make(base64(TOKEN, "utf16le"), mimeType))))).toMatch(/\[secret tok\]/);
  });

  it("is cleaned where it is text, as texts are, and the very same where there is nothing", () => {
    for (const mimeType of LABELS) {
      const found = read(cleanResult(make(base64("hi \u202e\u{e0041}\u001b[2Jthere"), mimeType)));
      expect(decoded(found)).toBe("hi there");
      const refuse = { ...DEFAULT_CLEAN_LIMITS, hidden: "refuse" as const };
      expect(() => cleanResult(make(base64("a\u{e0041}b"), mimeType), refuse)).toThrow(HiddenTextError);
    }
    for (const result of [
      make(base64("plain"), "text/plain"),
      ...LABELS.filter((type) => !/text|json|xml|svg/.test(String(type))).flatMap((mimeType) =>
        [
          PNG,
          Buffer.from("GIF89a\x01\0\u200b"),
          Buffer.from("%PDF-1.7 \u200b"),
          Buffer.from([0x1f, 0x8b, 8, 0x1b, 1]),
          Buffer.concat([Buffer.alloc(99, 97), Buffer.from([0x1b, 0xff])]),
          Buffer.from(`${"a".repeat(99)}\u001b\0`),
        ].map((bytes) => make(bytes.toString("base64"), mimeType)),
      ),
    ])
      expect(cleanResult(result)).toBe(result);
  });
});

describe("a secret", () => {
  const entities: readonly ((code: number, character: string) => string)[] = [
    (code) => `&#${code};`,
    (code) => `&#${String(code).padStart(7, "0")};`,
    (code) => `&#x${code.toString(16)};`,
    (code) => `&#X${code.toString(16).toUpperCase().padStart(6, "0")};`,
    (_, character) => (character === "&" ? "&amp;" : character),
  ];
  it("is found behind entities, of all its characters or some", () => {
    for (const entity of entities)
      for (const every of [1, 2, 5]) {
        const written = [...TOKEN].map((each, at) =>
          at % every === 0 || each === "&" ? entity(each.charCodeAt(0), each) : each,
        );
        expect(cleanText(`a ${written.join("")} b`), written.join("")).toBe("a [secret tok] b");
      }
    // A backslash of the value before an entity is no escape of it.
    rememberSecret("odd", 's"dj\\& 0+/%');
    for (const written of ["s&quot;dj\\&amp; 0+/%", 's"dj\\&#38;&#32;0+/%', "s&#34;dj\\&#x26; 0&#43;/&#37;"])
      expect(cleanText(written), written).toBe("[secret odd]");
    expect(cleanText("&amp; &#65; &lt;p&gt; 100 %")).toBe("&amp; &#65; &lt;p&gt; 100 %");
  });

  it("is found though it is spread over the texts of any number of blocks, with others between them", () => {
    for (let parts = 2; parts < TOKEN.length; parts++) {
      const size = Math.ceil(TOKEN.length / parts);
      const pieces = TOKEN.match(new RegExp(`.{1,${size}}`, "g")) ?? [];
      const texts = pieces.map((text) => ({ type: "text", text }));
      const image = { type: "image", data: "QUJD", mimeType: "image/png" };
      const results = [
        {
          content: [
            { type: "text", text: "before " },
            ...texts.flatMap((each) => [each, image]),
            { type: "text", text: " after" },
          ],
        },
        { contents: texts.map(({ text }) => ({ uri: "x:y", text })) },
        { messages: texts.map((content) => ({ role: "user", content })) },
        { content: texts.map(({ text }) => ({ type: "resource", resource: { uri: "x:y", text } })) },
      ];
      for (const result of results) {
        const before = JSON.stringify(result);
        const found = [...JSON.stringify(cleanResult(result)).matchAll(/"text":"([^"]*)"/g)]
          .map(([, text]) => text)
          .join("");
        expect(found.replace(/^before | after$/g, ""), before).toBe("[secret tok]");
        expect(JSON.stringify(result)).toBe(before);
      }
    }
  });
});

describe("two values that overlap", () => {
  // The end of one is the beginning of the other, by any number of characters; in one text, and over two blocks.
  const [LEFT, RIGHT] = ["left-Kq83hfmvw1", "hfmvw1-right-P0"];
  const BOTH = `${LEFT}-right-P0`;
  rememberSecret("left", LEFT);
  rememberSecret("right", RIGHT);

  it("leave nothing of either in one text", () => {
    expect(cleanText(`a ${BOTH} z`)).toBe("a [secret left] z");
  });

  it("leave nothing of either in texts of blocks, wherever the cut goes through both", () => {
    for (let at = BOTH.indexOf(RIGHT) + 1; at < LEFT.length; at++) {
      const texts = [BOTH.slice(0, at), BOTH.slice(at)].map((text) => ({ type: "text", text }));
      const { content } = cleanResult({ content: texts }) as { content: { text: string }[] };
      const rest = content.map(({ text }) => text.replaceAll(/\[secret (?:left|right)\]/g, "")).join("");
      expect(rest, `cut at ${at}`).toBe("");
    }
  });
});

it("a text has no more bytes than it may when what stands for a secret is longer than it", () => {
  rememberSecret("name-that-is-longer-than-it", "sh0rt-1x");
  for (let times = 20; times < 30; times += 1) {
    // Found only once what nobody sees is gone.
    const text = "sh0rt\u200b-1x ".repeat(times);
    const textBytes = Buffer.byteLength(text);
    const cleaned = cleanText(text, { textBytes });
    expect(cleaned).not.toContain("sh0rt-1x");
    expect(cleaned).toContain("[secret name-that-is-longer-than-it]");
    expect(Buffer.byteLength(cleaned)).toBeLessThanOrEqual(textBytes);
  }
});

describe("a result that is long without long texts", () => {
  const numbers = Array.from({ length: 4_000 }, (_, at) => at + 1e12);
  const named = Object.fromEntries(numbers.map((each) => [`key ${each}`, 1]));
  const kinds: readonly (readonly [string, object])[] = [
    ["numbers", { content: [], structuredContent: { numbers } }],
    ["names of members", { content: [], structuredContent: named }],
    [
      "few long names",
      {
        content: [],
        structuredContent: Object.fromEntries(numbers.slice(0, 20).map((each) => [`${"n".repeat(500)}${each}`, 1])),
      },
    ],
    ["_meta", { content: [], _meta: named }],
    ["_meta of a block", { content: [{ type: "text", text: "", _meta: named }] }],
    [
      "an image",
      { content: [{ type: "image", mimeType: "image/png", data: Buffer.alloc(90_000, 255).toString("base64") }] },
    ],
    ["a blob", { contents: [{ uri: "x:y", blob: Buffer.alloc(90_000, 65).toString("base64") }] }],
    ["empty blocks", { content: numbers.map(() => ({ type: "text", text: "" })) }],
    ["empty lists", { content: [], structuredContent: { all: numbers.map(() => []) } }],
    ["marks", { content: [], structuredContent: { all: numbers.map(() => true) } }],
    ["texts that are cut", { content: numbers.map(() => ({ type: "text", text: "y".repeat(200) })) }],
  ];
  it.each(kinds)("is none: %s", (_, result) => {
    const limits = { ...DEFAULT_CLEAN_LIMITS, textBytes: 1_024, resultBytes: 1_024, wholeBytes: 5_120 };
    expect(() => cleanResult(result, limits)).toThrow(LongResultError);
    expect(() => cleanResult(result, { ...limits, wholeBytes: 8_000_000 })).not.toThrow();
  });

  it("is not meant by what was cut to the limit, nor by what fits", () => {
    const limits = { ...DEFAULT_CLEAN_LIMITS, textBytes: 1_024, resultBytes: 1_024, wholeBytes: 5_120 };
    const long = {
      content: [{ type: "text", text: "y".repeat(50_000) }],
      structuredContent: { text: "y".repeat(50_000), lines: 3 },
    };
    const cut = JSON.stringify(cleanResult(long, limits));
    expect(cut.length).toBeLessThan(5_120);
    expect(cut).toContain("bytes removed");
  });
});

describe("a value that is written in another way", () => {
  const value = "tkt_SuperSecretValue_9f8e7d6c";
  rememberSecret("wrapped", value);
  const LABEL = "[secret wrapped]";
  const hex = (text: string): string => Buffer.from(text).toString("hex");
  const fold = (text: string, columns: number, by: string): string =>
    text.replace(new RegExp(`.{${columns}}`, "g"), `$&${by}`);
  const each = (how: (code: number) => string) => (text: string) =>
    [...text].map((character) => how(character.charCodeAt(0))).join("");
  /** Lines of 16 bytes as `od`, `hexdump` and `xxd` write them. */
  const dumped = (
    text: string,
    base: 8 | 16,
    place: (at: number) => string,
    shown: (line: string) => string = () => "",
  ): string =>
    (text.match(/[^]{1,16}/g) ?? [])
      .map((line, row) => {
        const bytes = [...Buffer.from(line)].map((byte) => byte.toString(base).padStart(base === 8 ? 3 : 2, "0"));
        return `${place(row * 16)} ${bytes.join(" ")}${shown(line)}\n`;
      })
      .join("");
  /** What is left of a value: any six characters of it, once everything is read that we know to be read. */
  const WRITTEN: Readonly<Record<string, (text: string) => string>> = {
    "Base64 of UTF-16": (text) => base64(text, "utf16le"),
    "Base64 of Base64": (text) => base64(base64(text)),
    "Base64 of hexadecimal": (text) => base64(hex(text)),
    "hexadecimal of Base64": (text) => hex(base64(text)),
    "decimal bytes": (text) => JSON.stringify(Buffer.from(text)),
    "decimal bytes on lines": (text) => JSON.stringify(Buffer.from(text), undefined, 2),
    "sixteenths of a program": each((code) => `0x${code.toString(16)}, `),
    "entities without an end": each((code) => `&#${code}`),
    "entities with zeros": each((code) => `&#000000000${code};`),
    "entities by name": (text) => text.replaceAll("_", "&lowbar;"),
    "escaped twice in a URL": each((code) => `%25${code.toString(16)}`),
    "escaped twice in JSON": each((code) => `\\\\u00${code.toString(16)}`),
    "entities of entities": each((code) => `&amp;#${code};`),
    "decimal bytes, one a line": each((code) => `${code}\n`),
    "sixteenths, one a line": each((code) => `${code.toString(16)}\r\n`),
    "calls of a program": each((code) => `chr(${code}) + `),
    "octal escapes": each((code) => `\\${code.toString(8).padStart(3, "0")}`),
    "octal escapes of some characters": each((code) =>
      code % 2 === 0 ? String.fromCharCode(code) : `\\${code.toString(8).padStart(3, "0")}`,
    ),
    "octal numbers of a program": each((code) => `0o${code.toString(8).padStart(3, "0")}, `),
    "a dump by eight with places": (text) => dumped(text, 8, (at) => at.toString(8).padStart(7, "0")),
    "a dump by sixteen with places": (text) => dumped(text, 16, (at) => at.toString(16).padStart(8, "0")),
    "a dump by sixteen with its characters": (text) =>
      dumped(
        text,
        16,
        (at) => `${at.toString(16).padStart(8, "0")} `,
        (line) => `  |${line}|`,
      ),
    "a dump of pairs": (text) =>
      dumped(
        text,
        16,
        (at) => `${at.toString(16).padStart(8, "0")}:`,
        (line) => `  ${line}`,
      ).replaceAll(/ ([0-9a-f]{2}) ([0-9a-f]{2})(?= )/g, " $1$2"),
    "quoted-printable": (text) => fold(each((code) => `=${code.toString(16).toUpperCase()}`)(text), 30, "=\r\n"),
    "quoted-printable with soft breaks": (text) => fold(text, 7, "=\n"),
  };
  it.each(Object.entries(WRITTEN))("is found as %s, wherever it stands", (_, write) => {
    for (const before of ["", "a", "ab", "abc", "x".repeat(45)])
      for (const text of [write(`${before}${value} tail`), `begin ${write(before + value)} end`]) {
        const cleaned = cleanText(text);
        expect(cleaned, text).toContain(LABEL);
        for (const piece of [value, ...pieces(write(value))]) expect(cleaned, text).not.toContain(piece);
      }
  });

  const BREAKS = ["\n", "\r\n", "\n    ", " \n\t", "\\n", "\\r\\n", "\\\\n", "\u2028"];
  const FORMS: Readonly<Record<string, (text: string) => string>> = {
    "as it is": (text) => text,
    Base64: (text) => base64(text),
    "Base64 for URLs": (text) => Buffer.from(text).toString("base64url"),
    hexadecimal: hex,
    "Base64 of UTF-16": (text) => base64(text, "utf16le"),
  };
  it.each(Object.entries(FORMS))("is found over several lines: %s", (_, write) => {
    for (const by of BREAKS)
      for (const columns of [7, 20, 60, 64, 76])
        for (const before of [0, 1, 2, 45]) {
          const text = fold(write(`${"x".repeat(before)}${value} tail ${"y".repeat(40)}`), columns, by);
          const cleaned = cleanText(text);
          expect(cleaned, text).toContain(LABEL);
          expect(cleaned.replaceAll(/\s|\\+[nr]/g, ""), text).not.toContain(write(value).slice(4, -6));
        }
  });

  it("is found over several lines with blanks of its own, wherever it is broken", () => {
    const blank = "two words & 3 more_b1ts";
    rememberSecret("blank", blank);
    for (const by of ["\n", "\r\n", "\\n"])
      for (let at = 1; at < blank.length; at += 1)
        expect(cleanText(`a ${blank.slice(0, at)}${by}${blank.slice(at)} z`), `${at}`).toBe("a [secret blank] z");
  });

  it("leaves what stands around it, and what is none", () => {
    expect(cleanText(`one\ntwo ${fold(base64(value), 20, "\n")} three\nfour`)).toMatch(
      /^one\ntwo \[secret wrapped\].{0,3} three\nfour$/s,
    );
    for (const text of ["a\nb %41 &amp;\n", base64("another text, on its own".repeat(9)), "1, 2, 3, 4, 5, 6, 7, 8"])
      expect(cleanText(text)).toBe(text);
  });

  it("is found in the strings of structured content together, and in lists of bytes", () => {
    for (const size of [1, 3, 7, value.length - 1]) {
      const parts = value.match(new RegExp(`.{1,${size}}`, "g")) ?? [];
      for (const structuredContent of [
        { parts },
        { rows: parts.map((part, at) => ({ at, part })) },
        Object.fromEntries(parts.map((part, at) => [`k${at}`, part])),
      ]) {
        const text = JSON.stringify(cleanResult({ content: [], structuredContent }));
        expect(text).toContain(LABEL);
        for (const part of parts.filter(({ length }) => length > 3)) expect(text).not.toContain(part);
      }
    }
    const data = [...Buffer.from(`a ${value} z`)];
    const cleaned = cleanResult({ content: [], structuredContent: { data, other: [1, 2, 3] } });
    expect(cleaned.structuredContent.data).toEqual(
      data.map((byte, at) => (at < 2 || at >= data.length - 2 ? byte : 0)),
    );
    expect(cleaned.structuredContent.other).toEqual([1, 2, 3]);
  });

  it("takes linear time to be looked for, whatever almost is one", () => {
    const took = (text: string): number => {
      // Of the processor: what else the machine does is no cost of the text.
      const begin = process.cpuUsage();
      cleanText(text, { textBytes: 10_000_000 });
      const { user, system } = process.cpuUsage(begin);
      return (user + system) / 1_000;
    };
    const seeds = ["%25", "\\", "\n", "a\n", "=41", "&#0", "&", "0", "1,", "QUFB", "41 ", " \n"];
    for (const seed of seeds) {
      took(seed.repeat(20_000));
      const [small, large] = [took(seed.repeat(20_000)), took(seed.repeat(160_000))];
      expect(large, JSON.stringify(seed)).toBeLessThan(8 * 5 * Math.max(small, 20));
    }
  }, 60_000);

  /** Pieces of what was written that say enough of the value to be told. */
  function pieces(text: string): readonly string[] {
    return text.length < 24 ? [] : [text.slice(8, -8)];
  }
});
