// The public list of URI templates: what each expands to, what is none, and the way back.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { UriTemplate } from "../../src/protocol/uri-template.js";
import type { TemplateValues } from "../../src/protocol/uri-template/expand.js";
import { publicList } from "../support/public-list.js";

/** What a template expands to, one of a few in any order, or false where it is none or cannot be expanded. */
type Case = readonly [template: string, expanded: string | readonly string[] | false];

interface Section {
  readonly variables: TemplateValues;
  readonly testcases: readonly Case[];
}

const FILES = ["spec-examples", "spec-examples-by-section", "extended-tests", "negative-tests"];
const folder = publicList("uritemplate-test");
const sections = (folder === undefined ? [] : FILES).flatMap((name) =>
  Object.entries(JSON.parse(readFileSync(join(folder ?? "", `${name}.json`), "utf8")) as Record<string, Section>),
);

function expanded(template: string, values: TemplateValues): string | false {
  try {
    return new UriTemplate(template).expand(values);
  } catch (error) {
    expect(["INVALID_TEMPLATE", "INVALID_VALUE"]).toContain((error as { code?: string }).code);
    return false;
  }
}

describe.skipIf(folder === undefined)("the public list of URI templates", () => {
  it.each(sections)("%s", (_name, { variables, testcases }) => {
    for (const [template, wanted] of testcases) {
      const all: readonly (string | false)[] = Array.isArray(wanted) ? wanted : [wanted];
      expect(all, template).toContain(expanded(template, variables));
    }
  });

  it("is long enough to be the list", () => {
    expect(sections.flatMap(([, { testcases }]) => testcases).length).toBeGreaterThanOrEqual(250);
  });
});
