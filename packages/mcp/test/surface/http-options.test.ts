// Every option of a server over HTTP is named on a page of the library: what stands in the types alone nobody finds.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const HTTP = `${ROOT}packages/mcp/src`;
const sources = readdirSync(HTTP, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => readFileSync(`${HTTP}/${name}`, "utf8"));
const library = readdirSync(`${ROOT}docs/library`).map((name) => `docs/library/${name}`);
const pages = [...library, "docs/scale.md"]
  .filter((name) => name.endsWith(".md"))
  .map((name) => readFileSync(ROOT + name, "utf8"))
  .join("\n");

/** The members of an interface, as the sources declare it. */
function members(name: string): readonly string[] {
  for (const text of sources) {
    const body = new RegExp(`^export interface ${name}\\b[^{]*\\{\\n([^]*?)^\\}`, "m").exec(text)?.[1];
    if (body !== undefined)
      return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(([, member = ""]) => member);
  }
  throw new Error(`no interface ${name}`);
}

describe("the options of serveHttp", () => {
  it.each(["ServeHttpOptions", "HttpOptions", "RateOptions", "RateLimits"])("are on a page: %s", (name) => {
    const all = members(name);
    expect(all.length).toBeGreaterThan(0);
    expect(all.filter((member) => !new RegExp(`\`[^\`\\n]*\\b${member}\\b|^ +${member}\\b`, "m").test(pages))).toEqual(
      [],
    );
  });
});
