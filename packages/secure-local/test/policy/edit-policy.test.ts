// What refuses a text before anything of it is used: policies to be edited, and the sandbox an editor's file asks for.
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { profilesWith, withoutServer, withServer } from "../../src/policy/edit-servers.js";
import { PolicyError } from "../../src/policy/faults.js";
import { vscodeSandboxFault } from "../../src/policy/vscode-sandbox.js";

describe("a policy that is no YAML", () => {
  it("is edited by nobody", () => {
    expect(() => withoutServer("servers: {notes: [", "notes")).toThrow(PolicyError);
    const message: unknown = expect.stringContaining("Flow sequence");
    expect(() => withoutServer("servers: {notes: [", "notes")).toThrow(
      expect.objectContaining({ errors: [{ file: "the policy", line: 1, column: 1, message, placeless: true }] }),
    );
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
prompts: { allowed: [] }
servers:
  more: { url: "https://a.example" }
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

  const ENTRY = { command: ["node", "/n.mjs"], env: { KEY: "${secret:new_key}" } };
  const SECRETS = { new_key: { from: "file:/k", hosts: [] } };
  const WRITTEN = `# what I let in
version:   "1.0"
tools:
    allowed: [ calculate,   'read_file' ]   # by name
    rate_limits: { default: 60, web_search: 5 }
prompts: {allowed: [code_review,]}
secrets:
    old: {from: "env:OLD", hosts: [a.example]} # kept

servers:
    # the first
    more: { url: "https://a.example" }   # far
    last:
        command:
        - node
        - >-
            folded

# the end
audit: { log_level: INFO }
`;

  it("comes into a text of which every other character stays, and goes without a trace", () => {
    const text = withServer(WRITTEN, "new", ENTRY, SECRETS);
    const lines = text.split("\n");
    // Each line is there still, in its order: those of the two lists with one item more.
    let at = -1;
    for (const line of WRITTEN.split("\n")) {
      const as = (each: string): boolean => each.replace(/, new__\*/, "") === line;
      const found = lines.findIndex((each, index) => index > at && as(each));
      expect(found, line).toBeGreaterThan(at);
      at = found;
    }
    expect(parse(text)).toMatchObject({
      tools: { allowed: ["calculate", "read_file", "new__*"], rate_limits: { default: 60 } },
      prompts: { allowed: ["code_review", "new__*"] },
      secrets: { old: { from: "env:OLD" }, ...SECRETS },
      servers: { more: {}, last: { command: ["node", "folded"] }, new: ENTRY },
    });
    const [before, after] = [parse(WRITTEN), parse(withoutServer(text, "new"))] as { secrets?: object }[];
    expect(after).toEqual({ ...before, secrets: { ...before?.secrets, ...SECRETS } });
    for (const line of WRITTEN.split("\n")) expect(withoutServer(text, "new")).toContain(line);
  });

  it.each([
    ["nothing", ""],
    ["a comment", "# mine\n"],
    ["a line without an end", 'version: "1.0"'],
    ["lists that are blocks", "tools:\n  allowed:\n  - a # one\n  - b\nprompts:\n  allowed: []\n"],
    ["a section without anything", "servers:\ntools:\nprompts: {}\n"],
    ["everything in brackets", '{ version: "1.0", tools: { allowed: [a] }, servers: { b: { url: "https://b" } } }\n'],
    ["another of its name", 'servers:\n  new: { url: "https://b" }\n'],
    ["windows' ends of lines", 'version: "1.0"\r\ntools: { allowed: [a] }\r\n'],
    ["many lines in brackets", "tools: {\n  allowed: [\n    a, # one\n    b,\n  ],\n}\n"],
  ])("comes into a policy with %s", (_what, before) => {
    const text = withServer(before, "new", ENTRY, SECRETS);
    const had = (parse(before) ?? {}) as { tools?: { allowed?: string[] } | null; servers?: object | null };
    expect(parse(text)).toMatchObject({
      tools: { allowed: [...(had.tools?.allowed ?? []), "new__*"] },
      prompts: { allowed: ["new__*"] },
      servers: { ...had.servers, new: ENTRY },
      secrets: SECRETS,
    });
  });

  it.each([
    ["nothing", ""],
    ["a comment", "# mine\n"],
    ["odd blanks", 'version:   "1.0"   # ours\n'],
    ["no end of its last line", 'version:   "1.0"'],
  ])("comes behind all that is there where its sections are not: %s", (_what, before) => {
    const gap = before === "" || before.endsWith("\n") ? "" : "\n";
    expect(withServer(before, "new", ENTRY, SECRETS)).toBe(`${before}${gap}secrets:
  new_key:
    from: file:/k
    hosts: []
servers:
  new:
    command:
      - node
      - /n.mjs
    env:
      KEY: \${secret:new_key}
tools:
  allowed:
    - new__*
prompts:
  allowed:
    - new__*
`);
  });
});

describe("the sandbox that .vscode/mcp.json asks for", () => {
  it.each([["text"], [5], [true], [["a"]], [null]])("is a mapping, and not %j", (block) => {
    expect(vscodeSandboxFault(block, "notes", "/work")).toBe('sandbox of "notes" must be a mapping');
  });

  it.each([
    ["nothing", undefined],
    ["an empty one", {}],
    ["lists of texts", { filesystem: { allowWrite: ["/a"] }, network: { allowedDomains: [] } }],
  ])("may be %s", (_what, block) => expect(vscodeSandboxFault(block, "notes", "/work")).toBeUndefined());

  it.each([
    ["filesystem", "allowWrite"],
    ["filesystem", "denyRead"],
    ["filesystem", "denyWrite"],
    ["network", "allowedDomains"],
    ["network", "deniedDomains"],
  ])("names texts in %s.%s", (part, list) => {
    for (const value of ["/a", [5], {}, [["/a"]]])
      expect(vscodeSandboxFault({ [part]: { [list]: value } }, "notes", "/work")).toBe(
        `${part}.${list} of "notes" must be a list of texts`,
      );
  });

  it.each(["/${SUBD}", "${HOME}", "$HOME/x", "a/${workspaceFolder}/${env:X}", "${input:folder}"])(
    "leads by no variable but those of VS Code: %s",
    (path) => {
      expect(vscodeSandboxFault({ filesystem: { allowWrite: ["/a", path] } }, "notes", "/work")).toBe(
        `filesystem.allowWrite of "notes" has "${path}": of variables only \${workspaceFolder} and \${userHome} are taken`,
      );
      expect(vscodeSandboxFault({}, "notes", `/work/${path}`)).toContain("has a $ in its name");
    },
  );

  it("takes those of VS Code", () => {
    const paths = ["${workspaceFolder}/a", "${userHome}/b"];
    expect(vscodeSandboxFault({ filesystem: { allowWrite: paths } }, "notes", "/work")).toBeUndefined();
  });
});
