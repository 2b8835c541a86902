// Every name the package gives away says what it is: the reference is made of nothing else.
import { describe, expect, it } from "vitest";
import { publicNames, referencePage, undocumented } from "../../../../scripts/lib/api-reference.mjs";

describe("the reference", () => {
  it("has a doc comment for every public name", () => {
    expect(undocumented()).toEqual([]);
  });

  it("shows a name with its comment and its declaration", () => {
    const server = publicNames().find(({ subpath }) => subpath === "./server");
    const page = server === undefined ? "" : referencePage(server);
    expect(page).toContain("## Server\n\nA server for every revision of the protocol.");
    expect(page).toContain("```ts\nclass Server extends LeanServer {");
    expect(page).not.toContain("#private");
  });
});
