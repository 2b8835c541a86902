// html5lib's tokenizer cases as pages and as the words of pages: whatever a page is made of, nothing of it is live HTML or an image,
// and its words are never live.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { publicList } from "../../../mcp/test/support/public-list.js";
import { sampled } from "../../../mcp/test/support/soak.js";
import { systemClock } from "../../src/capabilities/clock.js";
import { Pace } from "../../src/tools/tool.js";
import { toMarkdown } from "../../src/tools/web-fetch/markdown.js";
import { readPage } from "../../src/tools/web-fetch/page-tree.js";
import { FRAMES, liveIn } from "./page-liveness.js";
import { powers } from "./powers.js";

interface Case {
  readonly input: string;
  readonly doubleEscaped?: boolean;
}

const folder = publicList("html5lib-tests");
const inputs = (folder === undefined ? [] : readdirSync(join(folder, "tokenizer")))
  .filter((name) => name.endsWith(".test"))
  .flatMap((name) => {
    const { tests = [] } = JSON.parse(readFileSync(join(folder ?? "", "tokenizer", name), "utf8")) as {
      tests?: Case[];
    };
    return tests.map(({ input, doubleEscaped }) => (doubleEscaped ? unescaped(input) : input));
  });

function unescaped(text: string): string {
  return text.replace(/\\u([0-9a-fA-F]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

const markdown = async (html: string): Promise<string> => {
  const { root } = await readPage(html, new Pace(powers({ clock: systemClock })));
  return toMarkdown(root, "https://site.test/docs/");
};

/** What may be live of a page that has its own links and headings. */
const OWN = /^(?:heading|link (?:https?:|mailto:))/;
/** Elements whose text a parser does not look into. */
const RAW = ["plaintext", "xmp", "noframes", "title", "textarea", "noscript", "script", "style", "iframe"];

describe.skipIf(folder === undefined)("html5lib's tokens", () => {
  it("are there", () => expect(inputs.length).toBeGreaterThan(6_000));

  it("as a page and within raw text bring no HTML, no image and no link of another scheme", async () => {
    for (const input of sampled(inputs, 11))
      for (const page of [input, ...RAW.map((name) => `<p>a<${name}>${input}`)])
        expect([page, liveIn(await markdown(page)).filter((one) => !OWN.test(one))]).toEqual([page, []]);
  });

  it.each(Object.entries(FRAMES))("stay words in a %s", async (_name, frame) => {
    for (const input of sampled(inputs, 41)) expect([input, liveIn(await markdown(frame(input)))]).toEqual([input, []]);
  });
});
