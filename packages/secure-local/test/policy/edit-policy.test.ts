// What refuses a text before anything of it is used: policies to be edited, and the sandbox an editor's file asks for.
import { describe, expect, it } from "vitest";
import { withoutServer } from "../../src/policy/edit-servers.js";
import { PolicyError } from "../../src/policy/faults.js";
import { vscodeSandboxFault } from "../../src/policy/vscode-sandbox.js";

describe("a policy that is no YAML", () => {
  it("is edited by nobody", () => {
    expect(() => withoutServer("servers: {notes: [", "notes")).toThrow(PolicyError);
    expect(withoutServer('version: "1.0"\nservers: {notes: {url: "https://a.example"}}\n', "notes")).not.toContain(
      "notes",
    );
  });
});

describe("the sandbox that .vscode/mcp.json asks for", () => {
  it.each([["text"], [5], [true], [["a"]], [null]])("is a mapping, and not %j", (block) => {
    expect(vscodeSandboxFault(block, "notes")).toBe('sandbox of "notes" must be a mapping');
  });

  it.each([
    ["nothing", undefined],
    ["an empty one", {}],
    ["lists of texts", { filesystem: { allowWrite: ["/a"] }, network: { allowedDomains: [] } }],
  ])("may be %s", (_what, block) => expect(vscodeSandboxFault(block, "notes")).toBeUndefined());

  it.each([
    ["filesystem", "allowWrite"],
    ["filesystem", "denyRead"],
    ["filesystem", "denyWrite"],
    ["network", "allowedDomains"],
    ["network", "deniedDomains"],
  ])("names texts in %s.%s", (part, list) => {
    for (const value of ["/a", [5], {}, [["/a"]]])
      expect(vscodeSandboxFault({ [part]: { [list]: value } }, "notes")).toBe(
        `${part}.${list} of "notes" must be a list of texts`,
      );
  });
});
