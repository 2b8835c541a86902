// Answers that are small on the wire and huge, deep or endless once read, and their honest twins. Data for both processes.
import { brotliCompressSync, gzipSync } from "node:zlib";
import { COMPRESSED } from "./compressed-bombs.mjs";

const MB = 1_048_576;
/** As much as the product reads of one page. */
const PAGE = 2 * MB - 64;

/** `count` times `unit`, cut to a page. */
const fill = (unit, count = PAGE) => unit.repeat(Math.min(count, Math.floor(PAGE / unit.length)));
const numbered = (make, from = 0) => {
  const parts = [];
  for (let n = from, size = 0; size < PAGE - 100; n += 1) {
    const part = make(n);
    size += part.length;
    parts.push(part);
  }
  return parts.join("");
};

/** HTML: read to its bounds, within time and memory. */
const HTML = {
  "20,000 nested elements": () => `<p>start</p>${"<div>".repeat(20_000)}deep${"</div>".repeat(20_000)}`,
  "as deep as a page can be": () => fill("<b>"),
  "deep divs": () => fill("<div>"),
  "deep spans with classes": () => fill('<span class="a b">'),
  "deep paragraphs": () => fill("<p>"),
  "deep lists": () => fill("<ul><li><ol><li>"),
  "deep quotes": () => fill("<blockquote>x"),
  "deep tables": () => fill("<table><tr><td>"),
  "deep links": () => fill("<a href=/x>x"),
  "deep forms": () => fill("<form><button><select>"),
  "deep, then closed": () => `${"<div>".repeat(190_000)}${"</div>".repeat(170_000)}`,
  "end tags without beginnings": () => `${"<i>".repeat(29_000)}${fill("</b>")}`.slice(0, PAGE),
  misnested: () => fill("<b><i></b></i>"),
  adoption: () => fill("<a><div></a><p>"),
  "formatting without end": () => fill("<b><i><u><s>x</p>"),
  "flat elements": () => fill("<p>a"),
  "flat breaks": () => fill("<br>"),
  "many cells": () => `<table>${fill("<td>x")}`.slice(0, PAGE),
  "many rows": () => `<table>${fill("<tr><td>a<td>b")}`.slice(0, PAGE),
  "one row, many rows": () => `<table><tr>${"<td>x".repeat(5_000)}${fill("<tr><td>y")}`.slice(0, PAGE),
  "many links": () => fill("<a href=/x>y</a> "),
  "many headings": () => fill("<h1>x</h1>"),
  "one attribute of a page": () => `<p title="${"x".repeat(PAGE - 20)}">`,
  "one class of a page": () => `<p class="${"x ".repeat(PAGE / 2 - 20)}">`,
  "one style of a page": () => `<p style="${"display:".repeat(PAGE / 8 - 20)}">`,
  "one link of a page": () => `<a href="${"/..".repeat(PAGE / 3 - 20)}">x</a>`,
  "many attributes": () => `<p ${numbered((n) => `a${n}=1 `)}>`,
  "many equal attributes": () => `<p ${fill("a=1 ", PAGE - 10)}>`.slice(0, PAGE),
  "attributes without an end": () => fill("<p a='"),
  "one name of a page": () => `<${"x".repeat(PAGE - 10)}>`,
  "one comment of a page": () => `<!--${"-".repeat(PAGE - 10)}`,
  comments: () => fill("<!---->"),
  declarations: () => fill("<!DOCTYPE x><?x?>"),
  entities: () => fill("&amp;"),
  "entities that are long": () => fill("&CounterClockwiseContourIntegral;"),
  "entities that are none": () => fill("&a"),
  "numeric entities": () => fill("&#x0000000000000000000000000000000041;"),
  "one number of a page": () => `&#${"9".repeat(PAGE - 10)};`,
  spaces: () => fill(" "),
  "line feeds": () => fill("<pre>\n"),
  "less than": () => fill("<"),
  script: () => `<script>${fill("</scrip")}`.slice(0, PAGE),
  titles: () => fill("<title>x"),
  bases: () => fill("<base href=//x>"),
  backticks: () => fill("<code>`</code>"),
  "one code of a page": () => `<code>${"`".repeat(PAGE - 20)}</code>`,
  "one preformatted code of a page": () => `<pre>${"`".repeat(PAGE - 20)}</pre>`,
  "one code of escapes": () => `<code>${"\\`".repeat(PAGE / 2 - 20)}</code>`,
  "words that are marks": () => `<p>${"*_`<&\\".repeat(PAGE / 6 - 20)}`,
  "deep code": () => fill("<pre><code>"),
  images: () => fill("<img alt=x>"),
  definitions: () => fill("<dl><dt>a<dd>b"),
  ruby: () => fill("<ruby><rb>x<rt>y"),
  templates: () => fill("<template>"),
  drawings: () => fill("<svg><foreignObject>"),
  formulas: () => fill("<math><mi><mtext>"),
  frames: () => fill("<frameset>"),
  brackets: () => `<a href=/x>${"[".repeat(PAGE - 20)}</a>`,
  pipes: () => `<table><tr><td>${"|".repeat(PAGE - 100)}<tr><td>x`,
  "zero bytes": () => fill("<p\0>\0"),
};

const LAUGHS = `<!DOCTYPE l [<!ENTITY l0 "lol">${Array.from({ length: 30 }, (_, n) => `<!ENTITY l${n + 1} "${`&l${n};`.repeat(10)}">`).join("")}]>`;
const XML = {
  "billion laughs": () => `<?xml version="1.0"?>${LAUGHS}<l>&l30;</l>`,
  "quadratic blow-up": () => `<!DOCTYPE x [<!ENTITY a "${"a".repeat(100_000)}">]><x>${fill("&a;", 300_000)}</x>`,
  "external entities": () =>
    '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd"><!ENTITY % b SYSTEM "http://127.0.0.1:1/x">%b;]><x>&a;</x>',
  deep: () => fill("<a>"),
  "many namespaces": () => `<x ${numbered((n) => `xmlns:a${n}="u" `)}/>`,
  "processing instructions": () => fill("<?a?>"),
  sections: () => `<x>${fill("<![CDATA[")}`.slice(0, PAGE),
};

const JSON_BOMBS = {
  "deep lists": () => fill("["),
  "deep lists, closed": () => "[".repeat(PAGE / 2) + "]".repeat(PAGE / 2),
  "5,000 deep": () => "[".repeat(5_000) + "]".repeat(5_000),
  "3,000 deep objects": () => `${'{"a":'.repeat(3_000)}1${"}".repeat(3_000)}`,
  "wide at a depth of 900": () => `${"[".repeat(900)}${"1,".repeat(500_000)}1${"]".repeat(900)}`,
  "many keys": () => `{${numbered((n) => `"k${n}":1,`)}"z":1}`,
  "numbers that are keys": () => `{${numbered((n) => `"${n * 7_919}":1,`)}"z":1}`,
  "many small objects": () => `[${fill("{},", PAGE - 10)}0]`.slice(-PAGE),
  "one number of a page": () => "9".repeat(PAGE),
  escapes: () => `"${"\\u0041".repeat(PAGE / 6 - 10)}"`,
};

const CHARSETS = [
  "utf-16le",
  "utf-16be",
  "utf-7",
  "utf-32",
  "iso-2022-jp",
  "gb18030",
  "shift_jis",
  "euc-kr",
  "big5",
  "x-user-defined",
  "hz-gb-2312",
  "replacement",
  "iso-2022-kr",
  "x".repeat(400),
  "__proto__",
];

/** Every bomb by name. `refused` says that nothing of it may be served. */
export const BOMBS = {
  ...named("", COMPRESSED, (bomb) => ({ type: "text/html", ...bomb, refused: true })),
  ...named("HTML: ", HTML, (body) => ({ type: "text/html", body, page: true })),
  ...named("XHTML: ", { ...XML, deep: HTML["deep divs"] }, (body) => ({ type: "application/xhtml+xml", body })),
  ...named("XML: ", XML, (body) => ({ type: "application/xml", body })),
  ...named("JSON: ", JSON_BOMBS, (body) => ({ type: "application/json", body })),
  ...Object.fromEntries(
    CHARSETS.map((charset) => [
      `HTML in ${charset.slice(0, 30)}`,
      { type: `text/html; charset=${charset}`, body: () => Buffer.from(fill("\x1b$B<p>\xff\x81~{"), "latin1") },
    ]),
  ),
  "a declaration in UTF-16": { type: "text/html", body: () => `<meta charset=utf-16le>${fill("<p>x")}`.slice(0, PAGE) },
  "a byte order mark": {
    type: "text/html",
    body: () => Buffer.from(`\ufeff${fill("<b>x")}`, "utf16le").subarray(0, PAGE),
  },
  "declarations of charsets": { type: "text/html", body: () => fill("<meta charset=") },
  "text: one line": { type: "text/plain", body: () => fill("a") },
  "text: sequences": { type: "text/plain", body: () => fill("\x1b[8m") },
};

/** What honest servers send, alike in form. */
export const TWINS = {
  ...named(
    "honest ",
    {
      gzip: { encoding: "gzip", body: () => gzipSync(text(50_000)) },
      "x-gzip": { encoding: "x-gzip", body: () => gzipSync(text(50_000)) },
      "gzip in two members": {
        encoding: "gzip",
        body: () => Buffer.concat([gzipSync(text(20_000)), gzipSync("<p>end")]),
      },
      brotli: { encoding: "br", body: () => brotliCompressSync(text(50_000)) },
      identity: { encoding: "identity", body: () => text(50_000) },
      plain: { body: () => text(50_000) },
      "a page of 1.9 MB in gzip": { encoding: "gzip", body: () => gzipSync(text(1_900_000)) },
      "a page of 1.9 MB": { body: () => text(1_900_000) },
      "a table of equal rows": {
        encoding: "gzip",
        body: () => gzipSync(`<p>word 1</p><table>${"<tr><td>0<td>0".repeat(9_000)}</table>`),
      },
      chunks: { body: () => text(50_000), chunked: true },
      "100 nested elements": { body: () => `${"<div>".repeat(100)}<p>word 1</p>${"</div>".repeat(100)}` },
      "a long attribute": { body: () => `<p title="${"x".repeat(50_000)}">word 1</p>` },
      entities: { body: () => "<p>word&nbsp;1 &lt;b&gt; word 1 &eacute;</p>" },
      "a letter of Latin 1": {
        type: "text/html; charset=iso-8859-1",
        body: () => Buffer.from("<p>caf\xe9 word 1", "latin1"),
      },
      "a page of UTF-16": { body: () => Buffer.from("\ufeff<p>word 1</p>", "utf16le") },
      "a feed": { type: "application/rss+xml", body: () => "<rss><channel><title>word 1</title></channel></rss>" },
      "XML with an entity": { type: "application/xml", body: () => '<!DOCTYPE x [<!ENTITY a "b">]><x>word 1 &a;</x>' },
      XHTML: { type: "application/xhtml+xml", body: () => "<html><body><p>word 1</p></body></html>" },
      JSON: { type: "application/json", body: () => JSON.stringify({ a: [{ b: "word 1" }] }) },
      "JSON of a megabyte": {
        type: "application/json",
        body: () => JSON.stringify(Array.from({ length: 20_000 }, (_, n) => ({ n, text: `word ${n}` }))),
      },
      text: { type: "text/plain", body: () => "word 1\n".repeat(1_000) },
    },
    (twin) => ({ type: "text/html", ...twin }),
  ),
};

function named(prefix, list, make) {
  return Object.fromEntries(Object.entries(list).map(([name, one]) => [prefix + name, make(one)]));
}

function text(size) {
  const words = [];
  for (let n = 0, at = 0; at < size; n += 1)
    at += words[words.push(`<p>word ${n} of ${(n * 7_919) % 1_009}</p>\n`) - 1].length;
  return words.join("").slice(0, size);
}
