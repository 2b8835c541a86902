// What refuses a text before anything of it is used: policies to be edited, and the sandbox an editor's file asks for.
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { profilesWith, withoutServer, withServer } from "../../src/policy/edit-servers.js";
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

describe("a server", () => {
  const POLICY = `version: "1.0" # ours
tools:
  allowed: [calculate, "notes__*", "notes__extra"] # by name
  denied: ["notes__*"]
prompts: { allowed: ["notes__*"] }
servers:
  notes: { command: [node, /n.mjs] }
  more: { url: "https://a.example" }
`;

  it("goes with what was allowed for it and nothing else", () => {
    const text = withoutServer(POLICY, "notes");
    expect(text).toBe(`version: "1.0" # ours
tools:
  allowed: [calculate, "notes__extra"] # by name
  denied: ["notes__*"]
prompts: {allowed: []}
servers:
  more: {url: "https://a.example"}
`);
    expect(withoutServer(text, "more")).not.toContain("servers");
    expect(withoutServer(text, "absent")).toBe(text);
    expect(withoutServer('version: "1.0"\nservers: {}\n', "notes")).toBe('version: "1.0"\n');
  });

  it("goes from profiles, too, and a profile that named no other is left with none rather than all", () => {
    const profiles = "profiles:\n  work:\n    servers: [notes, more]\n  home:\n    servers: [notes]\n  all: {}\n";
    expect(profilesWith(POLICY + profiles, "notes")).toEqual(["work", "home"]);
    const text = withoutServer(POLICY + profiles, "notes");
    expect((parse(text) as { profiles: object }).profiles).toEqual({
      work: { servers: ["more"] },
      home: { servers: [] },
      all: {},
    });
  });

  it("comes with its tools and prompts behind those that are allowed, or as the first", () => {
    const entry = {
      command: ["node", "/n.mjs"],
      url: undefined,
      filesystem: { readable_paths: ["/r"], allowed_paths: undefined },
    };
    const secrets = { key: { from: "env:KEY", hosts: ["a.example"] } };
    const text = withServer('version: "1.0"\ntools: { allowed: [calculate] }\n', "notes", entry, secrets);
    expect(parse(text)).toEqual({
      version: "1.0",
      tools: { allowed: ["calculate", "notes__*"] },
      prompts: { allowed: ["notes__*"] },
      secrets: { key: { from: "env:KEY", hosts: ["a.example"] } },
      servers: { notes: { command: ["node", "/n.mjs"], filesystem: { readable_paths: ["/r"] } } },
    });
    expect(text).not.toContain("null");
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
