// How calls are written for `policy explain`, what is said of them, and what `policy init` asks.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { FileRules } from "../../src/capabilities/files/file-rules.js";
import { judgeQuestion, readQuestion, readQuestionText } from "../../src/cli/policy-explain.js";
import { type PolicyContext, reviewedTools } from "../../src/cli/settings.js";
import { askWishes, usualWishes } from "../../src/cli/policy-command.js";
import { decide } from "../../src/policy/decide.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";
import { policyText, PRESET_NAMES } from "../../src/policy/policy-text.js";
import { reviewPolicy } from "../../src/policy/review-policy.js";

const parse = (body: string): Promise<Policy> =>
  parsePolicy(`version: "1.0"\n${body}`, { file: "policy.yaml", environment: { HOME: "/home/ada" } });

describe("a question", () => {
  it.each([
    ['web_search {"query": "a b"}', { kind: "tool", name: "web_search", arguments: { query: "a b" } }],
    ["web_search query=x", { kind: "tool", name: "web_search", arguments: { query: "x" } }],
    ["calculate", { kind: "tool", name: "calculate", arguments: {} }],
    ['tool read {"path": "/a b"}', { kind: "tool", name: "read", arguments: { path: "/a b" } }],
    ['read {"path": "/a"}', { kind: "tool", name: "read", arguments: { path: "/a" } }],
    ["fetch https://a.example/x", { kind: "fetch", url: "https://a.example/x" }],
    ["read /a b/c", { kind: "file", op: "read", path: "/a b/c" }],
    ["delete /a", { kind: "file", op: "delete", path: "/a" }],
    ["run git log -n", { kind: "command", name: "git", arguments: ["log", "-n"] }],
    ["prompt code_review", { kind: "prompt", name: "code_review", arguments: {} }],
    ['prompt code_review {"code": "a b"}', { kind: "prompt", name: "code_review", arguments: { code: "a b" } }],
    ["prompt code_review code=x", { kind: "prompt", name: "code_review", arguments: { code: "x" } }],
    ["resource server://info", { kind: "resource", name: "server://info" }],
  ])("%s", (text, question) => expect(readQuestionText(text)).toEqual(question));

  it.each([
    [[], "name a call"],
    [["fetch", "a", "b"], "takes one thing"],
    [["web_search", "{bad"], "are not JSON"],
    [["web_search", "words"], "neither key=value"],
    [["foo", "bar"], '"foo" is taken for a tool. To ask about something else, name a call, as in'],
  ])("%j is none", (words, why) => {
    expect(() => readQuestion(words)).toThrow(why);
  });
});

describe("what is said of a call", () => {
  const effects: PolicyContext["effects"] = (name) => {
    const readOnly = name.startsWith("read");
    return { readOnly, destructive: !readOnly };
  };
  const verdict = async (body: string, text: string) => {
    const policy = await parse(body);
    const rules = FileRules.byName(policy);
    const around: PolicyContext = {
      effects,
      idle: () => undefined,
      lacking: () => ({ text: "default deny" }),
      unknown: () => undefined,
      judge: (path, op) => rules.judge(path, op),
    };
    const { verdict, steps, need, notes } = judgeQuestion(policy, readQuestionText(text), around);
    return { verdict, rule: need?.rules[0]?.text ?? steps.at(-1)!.decision.rule.text, steps: steps.length, notes };
  };
  const body = `network: { allowed_endpoints: [{ host: a.example }, { host: b.example, ports: [80] }], dns_allowlist: [a.example, c.example], allowed_ranges: ["10.0.0.0/8"] }
filesystem: { readable_paths: ["/r/**"], allowed_paths: ["/w/**"], denied_paths: [/w/deep] }
tools: { allowed: [web_fetch, read_file, write_file, run] }
resources: { allowed: ["file:///*", "git:///*"] }
approvals: [{ approve: [write_file], when: { path: "/w/keep/**" } }]
`;
  it.each([
    ["fetch https://a.example/x", "allowed", "network.allowed_endpoints: a.example"],
    ["fetch http://a.example/x", "address", "default deny"],
    ["fetch http://b.example/x", "denied", "default deny"],
    ["fetch http://a.example:443/", "denied", "plain http needs an endpoint with a port of its own"],
    ["fetch https://c.example/", "address", "default deny"],
    ["fetch http://10.0.0.1/", "allowed", "network.allowed_ranges: 10.0.0.0/8"],
    ["fetch http://169.254.169.254/", "denied", "default deny"],
    ["fetch file:///etc/passwd", "denied", "built-in rule: only plain http(s) URLs"],
    ["read /r/a", "allowed", "filesystem.readable_paths: /r/**"],
    ["write /r/a", "denied", "default deny"],
    ["read /r/../etc/passwd", "denied", "default deny"],
    ["read /w/deep/inside", "denied", "filesystem.denied_paths: /w/deep"],
    ["read /r/.env", "denied", "built-in protection of .env*: environment files hold secrets"],
    ['web_fetch {"url": "https://a.example/"}', "allowed", "network.allowed_endpoints: a.example"],
    ['web_fetch {"url": "https://evil.example/"}', "denied", "default deny"],
    ['read_file {"path": "/r/a"}', "allowed", "filesystem.readable_paths: /r/**"],
    ['write_file {"path": "/r/a"}', "denied", "default deny"],
    ['write_file {"path": "/w/a"}', "allowed", "filesystem.allowed_paths: /w/**"],
    ['write_file {"path": "/w/keep/a"}', "approval", "approvals: write_file when path: /w/keep/**"],
    ["unknown_tool", "denied", "default deny"],
    ["resource file:///r/a", "allowed", "filesystem.readable_paths: /r/**"],
    ["resource file:///r", "allowed", "filesystem.readable_paths: /r/**"],
    ["resource file:///r/.env", "denied", "built-in protection of .env*: environment files hold secrets"],
    ["resource file:///etc/passwd", "denied", "default deny"],
    ["resource file:///r/%2e%2e", "denied", "built-in rule: no dot segments where a prefix decides"],
    ["resource git:///r?path=a", "allowed", "filesystem.readable_paths: /r/**"],
    ["resource git:///r?ref=v1&path=.env", "denied", "built-in protection of .env*: environment files hold secrets"],
    ["resource git:///w?path=deep/a", "denied", "filesystem.denied_paths: /w/deep"],
    ["resource git:///r?path=a&path=b", "denied", "built-in rule: only plain file and git URIs"],
    ["resource db://x/schema", "denied", "default deny"],
    ["run git log", "denied", "default deny"],
  ])("%s: %s by %s", async (text, wanted, rule) => {
    expect(await verdict(body, text)).toMatchObject({ verdict: wanted, rule });
  });

  it.each([
    ["run git log", 'run_command {"command": "git", "arguments": ["log"]}', "run_command"],
    ["write /w/a", 'write_file {"path": "/w/a"}', "write_file"],
    ["read /r/a", 'read_file {"path": "/r/a"}', "read_file"],
    ["fetch https://a.example/x", 'web_fetch {"url": "https://a.example/x"}', "web_fetch"],
  ])("%s: a person is asked as for %s", async (thing, call, tool) => {
    const open = `network: { allowed_endpoints: [{ host: a.example }], dns_allowlist: [a.example] }
filesystem: { readable_paths: ["/r/**"], allowed_paths: ["/w/**"] }
commands: { allowed: [{ name: git, executable: /usr/bin/git, arguments: [{ fixed: log }] }] }
`;
    const rule = tool === "write_file" || tool === "run_command" ? "destructive" : tool;
    for (const approve of [rule, "all", `[${tool}]`, "[other]"]) {
      const asks = `${open}tools: { allowed: [${tool}] }\napprovals: [{ approve: ${approve === tool ? `[${tool}]` : approve} }]\n`;
      const said = await verdict(asks, thing);
      expect(said).toMatchObject({ verdict: (await verdict(asks, call)).verdict });
      expect(said.verdict).toBe(approve === "[other]" ? "allowed" : "approval");
      // Nobody is asked about what no tool does.
      const idle = `${open}tools: { allowed: [other] }\napprovals: [{ approve: ${approve === tool ? `[${tool}]` : approve} }]\n`;
      expect((await verdict(idle, thing)).verdict).toBe("allowed");
    }
  });

  it("a command that no tool runs is said to be so", async () => {
    const commands = "commands: { allowed: [{ name: git, executable: /usr/bin/git, arguments: [{ fixed: log }] }] }\n";
    const notes = async (tool: string) =>
      (await verdict(`${commands}tools: { allowed: [${tool}] }\n`, "run git log")).notes;
    expect(await notes("calculate")).toEqual([expect.stringContaining("add run_command to tools.allowed")]);
    expect(await notes("run_command")).toEqual([]);
  });

  it.each(["read", "write", "list", "delete", "fetch", "run", "prompt", "resource", "tool", "call"])(
    "%s alone is no question",
    (word) => expect(() => readQuestion([word])).toThrow("name a call"),
  );

  it.skipIf(process.platform === "win32")("follows links as they are now", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "in"));
    symlinkSync("/etc", join(folder, "in", "link"));
    const open = `filesystem: { readable_paths: ["${folder}/in/**"] }`;
    expect((await verdict(open, `read ${folder}/in/new/file`)).verdict).toBe("allowed");
    expect((await verdict(open, `read ${folder}/in/link/hosts`)).verdict).toBe("denied");
  });
});

const known = (names: readonly string[]) => names.map((name) => ({ name }));

describe("a policy that can be used but is not meant", () => {
  const tools = ["web_search", "web_fetch", "calculate", "read_file"];
  const remarks = async (body: string): Promise<string[]> =>
    reviewPolicy(await parse(body), known(tools)).map(({ rule, message }) => `${rule?.line ?? ""} ${message}`);

  it.each([
    ["", "allows nothing at all"],
    ["prompts: { allowed: [x] }", "allows no tool"],
    ["filesystem: { allowed_paths: [/srv/**] }", "it serves `sandbox -- COMMAND`, and no client"],
    ["tools: { allowed: [calculate], denied: [calc*] }", '2 "tools.allowed: calculate" never counts'],
    ["tools: { allowed: ['calc*'], denied: ['*'] }", "never counts"],
    ["tools: { allowed: ['c*', calculate] }", 'already allowed by "tools.allowed: c*" in line 2'],
    ["tools: { allowed: [calcualte] }", 'there is no tool "calcualte"; did you mean "calculate"?'],
    ["tools: { allowed: [calculate], rate_limits: { web_search: 1 } }", 'rate_limits limits "web_search"'],
    ["tools: { allowed: [calculate], timeouts: { x: 1 } }", 'timeouts limits "x"'],
    ["network: { allowed_endpoints: [{ host: a.b }], denied_endpoints: [{ host: '*.b.c' }, { host: a.b }] }", "a.b"],
    ["network: { allowed_endpoints: [{ host: a.b, ports: [22] }], blocked_ports: [22] }", "blocked_ports: 22"],
    ["network: { allowed_endpoints: [{ host: a.b }], offline: true }", "network.offline: true"],
    ["network: { allowed_endpoints: [{ host: a.b }], allow_dns: false }", "network.allow_dns: false"],
    ["network: { allowed_endpoints: [{ host: a.b }], dns_allowlist: [c.d] }", "never looked up"],
    ["network: { allowed_ranges: ['0.0.0.0/0'] }", "every address there is"],
    ["filesystem: { allowed_paths: [/a/b/**], denied_paths: [/a/**] }", '2 "filesystem.allowed_paths: /a/b/**" never'],
    ["filesystem: { readable_paths: ['/**'] }", "every file of this machine"],
    ["commands: { blocked: [git], allowed: [{ name: g, executable: /usr/bin/git }] }", "never counts"],
    ["sandbox: none", "2 servers, plugins and commands run without a wall"],
    ["output: { redact_secrets: false }", "may see keys"],
  ])("%s", async (body, message) => expect((await remarks(body)).join("\n")).toContain(message));

  it.each([
    ["commands: { allowed: [{ name: g, executable: /usr/bin/gitt }] }", 'the executable of "g", /usr/bin/gitt, is not'],
    [
      "commands: { allowed: [{ name: g, executable: /there, working_directory: /srv/projct }] }",
      'the working_directory of "g", /srv/projct, is not',
    ],
    [
      "servers: { s: { command: [/there], working_directory: /srv/projct } }",
      'the working_directory of "s", /srv/projct, is not',
    ],
    ["databases: { d: { file: /srv/d.sqlite } }", 'the file of "d", /srv/d.sqlite, is not'],
  ])("names what is not there: %s", async (body, message) => {
    const kindOf = (path: string) => (path === "/there" ? "file" : "nothing");
    const found = reviewPolicy(await parse(body), [], { kindOf }).map((each) => each.message);
    expect(found).toContainEqual(expect.stringContaining(`${message} on this machine; check the spelling`));
    expect(found.join("\n")).not.toContain("/there,");
    expect(
      reviewPolicy(await parse(body), [])
        .map((each) => each.message)
        .join("\n"),
    ).not.toContain(message);
  });

  it.each([
    [
      "tools: { denied: [raed_file] }",
      'there is no tool "raed_file", so this stands against nothing; did you mean "read_file"?',
    ],
    [
      "tools: { denied: [Calculate] }",
      'there is no tool "Calculate", so this stands against nothing; did you mean "calculate"?',
    ],
    ["tools: { denied: ['raed*'] }", 'there is no tool "raed*", so this stands against nothing'],
    [
      "approvals: [{ approve: [wirte_file] }]",
      'there is no tool "wirte_file", so this stands against nothing; did you mean "write_file"?',
    ],
    [
      "approvals: [{ approve: [write_file], when: { pth: /a } }]",
      'has an argument "pth", so nobody is asked; did you mean "path"?',
    ],
    ["approvals: [{ approve: ['write*', read_file], when: { pth.a: x } }]", 'has an argument "pth"'],
    ["approvals: [{ approve: all, when: { databse: x } }]", 'did you mean "database"?'],
    [
      "tools: { denied: [read_file, 'web*', ev__x] }\napprovals: [{ approve: [write_file, 'plugin:a'], when: { path: /a } }]",
      "",
    ],
    [
      "approvals: [{ approve: all, when: { command: x } }, { approve: tainted }, { approve: ['ev__*'], when: { x: y } }]",
      "",
    ],
  ])("stands against nothing by %s", async (body, message) => {
    const policy = await parse(body);
    const found = reviewPolicy(policy, reviewedTools(policy)).map(({ message: each }) => each);
    const open = found.filter((each) => /stands against nothing|nobody is asked/.test(each)).join("\n");
    if (message === "") expect(open).toBe("");
    else expect(open).toContain(message);
  });

  it.each([
    ["ev__*", ""],
    ["ev__read", ""],
    ["ev__reed", 'ev has no tool "ev__reed"; did you mean "ev__read"?'],
    ["ev__write*", 'ev has no tool "ev__write*"'],
    ["new__*", "nothing of the server new is approved yet: look at it with mcp-secure-local servers review new"],
    ["off__*", "the entry of the server off says enabled: false, so it has no tools"],
    ["eve__*", 'there is no server "eve"; did you mean "ev"?'],
  ])("names tools of a server by %s", async (pattern, message) => {
    const servers = "servers: { ev: { command: [x] }, new: { command: [x] }, off: { command: [x], enabled: false } }";
    const item = { kind: "tool", own: "read", shown: "ev__read" } as const;
    const approved = { servers: new Map([["ev", [item]]]), plugins: new Map() };
    for (const list of ["allowed", "denied"]) {
      const body = `tools: { allowed: [calculate], ${list === "denied" ? "denied" : "allowed"}: ["${pattern}"] }`;
      const policy = await parse(
        `${list === "denied" ? body : body.replace("allowed: [calculate], ", "")}\n${servers}`,
      );
      const found = reviewPolicy(policy, known(tools), { approved }).map(({ message: each }) => each);
      if (message === "") expect(found).toEqual([]);
      else expect(found).toContain(message);
      // Where nobody knows what was approved, nothing is said of it.
      if (/^(?:ev|new)__/.test(pattern)) expect(reviewPolicy(policy, known(tools))).toEqual([]);
    }
  });

  it.each([
    ["prompts: { allowed: ['ev__*', 'new__*'] }", []],
    ["prompts: { allowed: [ev__sumary] }", ['ev has no prompt "ev__sumary"']],
    ["prompts: { allowed: ['ev__su*'] }", ['ev has no prompt "ev__su*"']],
  ])("names prompts of a server that has tools alone by %s", async (body, messages) => {
    const approved = {
      servers: new Map([["ev", [{ kind: "tool", own: "read", shown: "ev__read" } as const]]]),
      plugins: new Map(),
    };
    const servers = "servers: { ev: { command: [x] }, new: { command: [x] } }";
    const policy = await parse(`tools: { allowed: [calculate] }\n${body}\n${servers}`);
    expect(reviewPolicy(policy, known(tools), { approved }).map(({ message }) => message)).toEqual(messages);
  });

  it("names a tool of a server or plugin without what stands before it, and is told of no prompt", async () => {
    const items = (owner: string) =>
      (["tool", "prompt"] as const).map((kind) => ({ kind, own: kind, shown: `${owner}${kind}` }));
    const approved = { servers: new Map([["ev", items("ev__")]]), plugins: new Map([["we", items("we_")]]) };
    const said = async (pattern: string): Promise<string[]> =>
      reviewPolicy(await parse(`tools: { allowed: [calculate, ${pattern}] }`), known(tools), { approved }).map(
        ({ message }) => message,
      );
    expect(await said("ev_tool")).toEqual(['there is no tool "ev_tool"; did you mean "ev__tool"?']);
    expect(await said("w_tool")).toEqual(['there is no tool "w_tool"; did you mean "we_tool"?']);
    expect(await said("ev_prompt")).toEqual(['there is no tool "ev_prompt"']);
    expect(await said("w_prompt")).toEqual(['there is no tool "w_prompt"']);
  });

  const NAMED = ["delete_entities", "read_graph", "write"];
  const PLACES: readonly (readonly [
    place: string,
    body: (name: string) => string,
    owner: "server" | "plugin" | "own",
  ])[] = (["server", "plugin"] as const)
    .flatMap((owner): (readonly [string, (name: string) => string, "server" | "plugin" | "own"])[] => [
      ["tools.allowed", (name) => `tools: { allowed: [${name}] }`, owner],
      ["tools.denied", (name) => `tools: { allowed: ['*'], denied: [${name}] }`, owner],
      ["approvals", (name) => `tools: { allowed: ['*'] }\napprovals: [{ approve: [${name}] }]`, owner],
      ["tools.rate_limits", (name) => `tools: { allowed: ['*'], rate_limits: { ${name}: 3 } }`, owner],
      ["the limits that stand for the list", (name) => `tools: { rate_limits: { ${name}: 3 } }`, owner],
      ["tools.timeouts", (name) => `tools: { allowed: ['*'], timeouts: { ${name}: 3 } }`, owner],
      [
        "profiles allowed",
        (name) => `tools: { allowed: ['*'] }\nprofiles: { home: { tools: { allowed: [${name}] } } }`,
        owner,
      ],
      [
        "profiles denied",
        (name) => `tools: { allowed: ['*'] }\nprofiles: { home: { tools: { denied: [${name}] } } }`,
        owner,
      ],
    ])
    .concat([
      [
        "the entry of the server",
        (name) => `tools: { allowed: ['*'] }\nservers: { memory: { command: [x], tools: { denied: [${name}] } } }`,
        "own",
      ],
    ]);

  it.each(PLACES)("has in %s a name that no tool has", async (_place, body, owner) => {
    const item = (own: string, shown: string) => ({ kind: "tool" as const, own, shown });
    const approved = {
      servers: new Map([["memory", NAMED.map((own) => item(own, `memory__${own}`))]]),
      plugins: new Map([["weather", NAMED.map((own) => item(`weather_${own}`, `weather_${own}`))]]),
    };
    const stem = owner === "server" ? "memory__" : owner === "plugin" ? "weather_" : "";
    const rest = `\nservers: { memory: { command: [x] } }\nplugins: { load: [{ name: weather, path: /opt/weather }] }`;
    const found = async (name: string): Promise<string[]> => {
      const text = body(name);
      const policy = await parse(text.includes("servers:") ? text : text + rest);
      return reviewPolicy(policy, known(tools), { approved }).map(({ message }) => message);
    };
    for (const name of NAMED) {
      expect(await found(stem + name)).toEqual([]);
      // Each letter of the name left out, doubled, and exchanged with the next.
      for (let at = 1; at < name.length - 1; at++) {
        const [a, b] = [name[at] ?? "", name[at + 1] ?? ""];
        const typos = [name.slice(0, at) + name.slice(at + 1), name.slice(0, at) + a + name.slice(at)];
        if (a !== b) typos.push(name.slice(0, at) + b + a + name.slice(at + 2));
        for (const typo of typos.filter((each) => !NAMED.includes(each))) {
          const who = owner === "plugin" ? "weather" : "memory";
          const said = `${who} has no tool "${stem}${typo}"; did you mean "${stem}${name}"?`;
          expect(await found(stem + typo)).toEqual([expect.stringContaining(said)]);
        }
      }
    }
  });

  it("is one that allows tools with nothing to work on", async () => {
    const lack = "The policy lets no file be read; add folders.";
    const policy = await parse("tools: { allowed: [read_file, 'search_*'] }");
    const idle = [
      { name: "read_file", lack },
      { name: "search_text", lack },
    ];
    const nothing = "no tool the policy allows has anything to work on: a client can do nothing useful";
    const one = `"read_file" is allowed and has nothing to work on. ${lack}`;
    expect(reviewPolicy(policy, idle).map(({ message }) => message)).toEqual([nothing, one]);
    const some = [...idle, { name: "search_files" }];
    expect(reviewPolicy(policy, some).map(({ message }) => message)).toEqual([one]);
  });

  it("is not found where all is meant", async () => {
    const good = `tools: { allowed: [calculate, read_file, web_fetch] }
network: { allowed_endpoints: [{ host: a.b, ports: [1, 2] }], blocked_ports: [1], denied_endpoints: [{ host: x.a.b }] }
filesystem: { allowed_paths: [/a/**], denied_paths: [/a/b/**, "**/*.pem"] }`;
    expect(await remarks(good)).toEqual([]);
    expect(await remarks("extends: developer\ntools: { denied: [web_search] }")).toEqual([
      expect.stringContaining('"preset developer, tools.allowed: web_search" never counts'),
    ]);
  });
});

describe("policy init", () => {
  const answering = (...answers: string[]) => {
    const asked: string[] = [];
    const ask = (question: string): Promise<string> => {
      asked.push(question);
      return Promise.resolve(answers.shift() ?? "");
    };
    return { ask, asked };
  };
  const made = async (ask: (question: string) => Promise<string>, preset?: string): Promise<Policy> =>
    parsePolicy(policyText(await askWishes(ask, preset)), { file: "p.yaml", environment: {} });

  it.each(["n", "No", "none"])("takes %s for no page at all", async (answer) => {
    const { network } = await made(answering("", "n", answer).ask);
    expect(network.allowedEndpoints.find(answer.toLowerCase(), 443)).toBeUndefined();
  });

  it("writes what was answered", async () => {
    const folder = temporaryFolder();
    const { ask } = answering(folder, "y", "", "n", "docs.example.com, *.wikipedia.org");
    const policy = await made(ask);
    const request = { kind: "file", path: join(folder, "a/b.txt"), op: "write" } as const;
    expect(decide(policy, request).allowed).toBe(true);
    expect(decide(policy, { kind: "network", host: "en.wikipedia.org", port: 443 }).allowed).toBe(true);
    expect(decide(policy, { kind: "network", host: "duckduckgo.com", port: 443 }).allowed).toBe(false);
    expect(
      ["edit_file", "web_fetch", "web_search"].map((name) => decide(policy, { kind: "tool", name }).allowed),
    ).toEqual([true, true, false]);
    expect(policy.approvals).toHaveLength(1);
  });

  it("asks again where an answer cannot be used, and allows no file to be changed unless told", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "file"), "");
    const { ask, asked } = answering("/", "/no/such", join(folder, "file"), folder, "perhaps", "", "", "https://x", "");
    const policy = await made(ask);
    expect(asked.join("\n")).toContain("everything on this machine");
    expect(asked.join("\n")).toContain("There is no folder /no/such.");
    expect(asked.join("\n")).toContain("is a URL");
    expect(decide(policy, { kind: "file", path: join(folder, "a"), op: "read" }).allowed).toBe(true);
    expect(decide(policy, { kind: "file", path: join(folder, "a"), op: "write" }).allowed).toBe(false);
    expect(decide(policy, { kind: "tool", name: "web_search" }).allowed).toBe(true);
  });

  it.each([undefined, ...PRESET_NAMES])("without questions writes a policy of use: %s", async (preset) => {
    const policy = await parsePolicy(policyText(usualWishes(preset)), { file: "p.yaml", environment: {} });
    expect(policy.presets).toEqual(preset === undefined ? [] : [preset]);
    expect(decide(policy, { kind: "tool", name: "calculate" }).allowed).toBe(true);
    expect(reviewPolicy(policy, known(["calculate"])).filter(({ rule }) => rule === undefined)).toEqual([]);
  });
});
