// The sections this product adds to the format: what they come to, and how faults in them are told.
import { describe, expect, it } from "vitest";
import { decide } from "../../src/policy/decide.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { profiledPolicy } from "../../src/policy/read-names.js";
import { PolicyError } from "../../src/policy/faults.js";
import type { Policy } from "../../src/policy/policy.js";
import { VERSION_LINE } from "./malformed-policies.js";

const environment = { HOME: "/home/ada" };
const SHA = "ab".repeat(32);

function parse(text: string): Promise<Policy> {
  return parsePolicy(VERSION_LINE + text, { file: "policy.yaml", environment });
}

async function faultsOf(text: string): Promise<string[]> {
  const error: unknown = await parse(text).catch((thrown: unknown) => thrown);
  if (!(error instanceof PolicyError)) throw new Error(`this loaded: ${text}`, { cause: error });
  return error.errors.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

describe("approvals", () => {
  it("name calls by effect, tool and argument", async () => {
    const { approvals } = await parse(`approvals:
  - approve: destructive
  - approve: [write_file, "git_*"]
    when: { path: ~/etc/**, mode: "over*", force: true, count: 3 }
    timeout: 30
    remember: 10
    answer_by: [terminal]
`);
    expect(approvals[0]).toMatchObject({
      rule: { text: "approvals: destructive", line: 3, column: 5 },
      approve: "destructive",
      when: [],
      timeoutMs: 120_000,
      remember: { kind: "none" },
      answerBy: new Set(["client", "terminal"]),
    });
    expect(approvals[1]).toMatchObject({
      rule: {
        text: "approvals: write_file, git_* when path: /home/ada/etc/**, mode: over*, force: true, count: 3",
        line: 4,
      },
      when: [
        { argument: "path", pattern: "/home/ada/etc/**", isPath: true },
        { argument: "mode", pattern: "over*", isPath: false },
        { argument: "force", pattern: true },
        { argument: "count", pattern: 3 },
      ],
      timeoutMs: 30_000,
      remember: { kind: "minutes", minutes: 10 },
      answerBy: new Set(["terminal"]),
    });
  });
});

describe("profiles", () => {
  const SERVER = 'servers: { notes: { command: [node, "/srv/notes.mjs"] } }\n';

  it.each(["work", "a", "w-2", "a".repeat(32)])("may be called %j", async (name) => {
    expect([...(await parse(`profiles: { ${name}: {} }`)).profiles.keys()]).toEqual([name]);
  });

  it.each(["Work", "2w", "-w", "w_x", "w/x", "a".repeat(33), ""])(
    "are not called %j, which no URL ends in",
    async (name) => {
      const [fault] = await faultsOf(`profiles:\n  "${name}": {}\n`);
      expect(fault).toMatch(/^3:3 profiles has the name ".*"; it must be at most 32 small letters/);
    },
  );

  it.each(["5", "true", '""', "[notes]"])("name servers by texts, and not by %s", async (server) => {
    expect(await faultsOf(`${SERVER}profiles: { work: { servers: [${server}] } }`)).toEqual([
      expect.stringMatching(/^3:31 each item of profiles\.work\.servers must be the name of a server/),
    ]);
  });

  it.each([
    ["note", '; did you mean "notes"?'],
    ["quite_another", "; add it to servers"],
  ])("are told at their place that there is no server %j", async (server, hint) => {
    expect(await faultsOf(`${SERVER}profiles:\n  work: { servers: [notes, ${server}] }\n`)).toEqual([
      `4:3 profiles.work names the server "${server}", which servers does not have${hint}`,
    ]);
  });

  it("leave of the policy what both name, and of its denials all", async () => {
    const policy = await parse(`${SERVER}menu: search
tools: { allowed: ["notes__*", calculate, read_file], denied: [notes__drop] }
profiles:
  work: { servers: [], tools: { allowed: ["notes__*", web_fetch], denied: [notes__erase] } }
  home: { servers: [notes] }
`);
    const names = ["notes__add", "notes__drop", "notes__erase", "calculate", "web_fetch", "search_tools"];
    const allowed = (profile?: string): string[] => {
      const own = profile === undefined ? policy : profiledPolicy(policy, profile);
      return names.filter((name) => decide(own, { kind: "tool", name }).allowed);
    };
    expect(allowed()).toEqual(["notes__add", "notes__erase", "calculate", "search_tools"]);
    expect(allowed("work")).toEqual(["notes__add", "search_tools"]);
    expect(allowed("home")).toEqual(allowed());
    expect([...profiledPolicy(policy, "work").servers.keys()]).toEqual([]);
    expect([...profiledPolicy(policy, "home").servers.keys()]).toEqual(["notes"]);
    const [by, without] = ["notes__erase", "calculate"].map((name) =>
      decide(profiledPolicy(policy, "work"), { kind: "tool", name }),
    );
    expect(by?.rule.text).toBe("profiles.work.tools.denied: notes__erase");
    expect(without?.rule.text).toBe("profiles: work");
  });

  it("leave out with a tool the resources that it reads, under every door to them", async () => {
    const policy = await parse(`${SERVER}resources: { allowed: ["file:///*", "git:///*", "db://*", "note://a"] }
tools: { allowed: [calculate, read_file, list_directory, query_database] }
profiles:
  low: { tools: { allowed: [calculate] } }
  files: { tools: { allowed: ["read_*"] } }
  unlisted: { tools: { denied: [list_directory] } }
  data: { tools: { allowed: [query_database] } }
  home: { servers: [notes] }
`);
    const uris = ["file:///a", "FILE:///a", "git:///a/.git/x", "db://sales/t", "file:///{+path}", "note://a"];
    const allowed = (profile: string): string[] => {
      const own = profiledPolicy(policy, profile);
      const byDoor = [
        uris.filter((uri) => decide(own, { kind: "resource", uri }).allowed),
        uris.filter((name) => decide(own, { kind: "completion", of: "resource", name }).allowed),
      ];
      expect(byDoor[0]).toEqual(byDoor[1]);
      return byDoor[0] ?? [];
    };
    expect(allowed("home")).toEqual(uris);
    expect(allowed("low")).toEqual(["note://a"]);
    expect(allowed("files")).toEqual(uris.filter((uri) => !uri.startsWith("db")));
    expect(allowed("unlisted")).toEqual(["db://sales/t", "note://a"]);
    expect(allowed("data")).toEqual(["db://sales/t", "note://a"]);
    expect(decide(profiledPolicy(policy, "low"), { kind: "resource", uri: "file:///a" }).reason).toContain(
      'does not name the tool "read_file"',
    );
  });

  it("give nobody the tools of a menu that the policy denies, or does not have", async () => {
    const denying = await parse("menu: search\ntools: { denied: [search_tools] }\nprofiles: { work: {} }\n");
    const without = await parse("tools: { allowed: ['*'] }\nprofiles: { work: { tools: { allowed: [calculate] } } }\n");
    for (const policy of [denying, without])
      expect(decide(profiledPolicy(policy, "work"), { kind: "tool", name: "search_tools" }).allowed).toBe(false);
  });

  it("that are not there are told with those that are", async () => {
    const policy = await parse("profiles: { work: {}, home: {} }");
    expect(() => profiledPolicy(policy, "worc")).toThrow('there is no profile "worc"; did you mean "work"?');
    expect(() => profiledPolicy(policy, "quite-another")).toThrow("; there are work, home");
    // What programs get of it (`--json`): the file is to blame, and no place in it.
    const message = 'there is no profile "work"; the policy has no profiles';
    const none = await parse("menu: full");
    expect(() => profiledPolicy(none, "work")).toThrow(
      expect.objectContaining({ errors: [{ file: "policy.yaml", line: 1, column: 1, message, placeless: true }] }),
    );
  });
});

describe("secrets and databases", () => {
  it("are known by name", async () => {
    const policy = await parse(`secrets:
  github: { from: env:GITHUB_TOKEN, hosts: [api.github.com, { host: ghe.example.com, ports: [8443] }], header: Authorization }
  sales_url: { from: "file:~/sales.url", hosts: [] }
  login: { from: env:LOGIN, hosts: [login.example.com], body: client_secret }
  hook: { from: env:HOOK, hosts: [hook.example.com], body: "*" }
databases:
  notes: { file: ~/notes.db, read_only: false, row_limit: 50, timeout: 2 }
  sales: { secret: sales_url }
`);
    const github = policy.secrets.get("github")!;
    expect(github).toMatchObject({ from: { kind: "env", name: "GITHUB_TOKEN" }, header: "authorization" });
    expect(github.rule).toMatchObject({ text: "secrets: github", line: 3 });
    expect(["github", "login", "hook"].map((name) => policy.secrets.get(name)?.body)).toEqual([
      undefined,
      "client_secret",
      "*",
    ]);
    expect(github.hosts.find("api.github.com", 443)).toBeDefined();
    expect(github.hosts.find("api.github.com", 80)).toBeUndefined();
    expect(github.hosts.find("ghe.example.com", 8443)).toBeDefined();
    expect(policy.secrets.get("sales_url")?.from).toEqual({ kind: "file", path: "/home/ada/sales.url" });
    expect(policy.databases.get("notes")).toMatchObject({
      store: { kind: "sqlite", file: "/home/ada/notes.db" },
      readOnly: false,
      rowLimit: 50,
      timeoutMs: 2_000,
    });
    expect(policy.databases.get("sales")).toMatchObject({
      store: { kind: "postgresql", secret: "sales_url" },
      readOnly: true,
      rowLimit: 1_000,
      timeoutMs: 10_000,
    });
  });
});

describe("commands", () => {
  it("have a grammar for every argument", async () => {
    const { commands } = await parse(`commands:
  blocked: [curl]
  allowed:
    - name: log
      executable: /usr/bin/git
      sha256: ${SHA.toUpperCase()}
      flags: [--oneline, { flag: --max-count, integer: [1, 100] }]
      arguments:
        - fixed: log
        - { pattern: "[a-z]+", optional: true }
        - { path: read, optional: true, repeat: 5 }
      env: { LANG: C.UTF-8 }
      working_directory: ~/project/
      timeout: 5
      network: { allowed_endpoints: [{ host: github.com }] }
`);
    const log = commands.allowed.get("log")!;
    expect(log).toMatchObject({ executable: "/usr/bin/git", sha256: SHA, timeoutMs: 5_000 });
    expect(log.workingDirectory).toBe("/home/ada/project");
    expect(log.env).toEqual(new Map([["LANG", "C.UTF-8"]]));
    expect(log.flags).toMatchObject([
      { flag: "--oneline", value: undefined },
      { flag: "--max-count", value: { kind: "integer", min: 1, max: 100 } },
    ]);
    expect(log.positions).toMatchObject([
      { grammar: { kind: "fixed", text: "log" }, optional: false, repeat: 1 },
      { grammar: { kind: "pattern", source: "[a-z]+" }, optional: true },
      { grammar: { kind: "path", access: "read" }, repeat: 5 },
    ]);
    const grammar = log.positions[1]!.grammar;
    expect(grammar.kind === "pattern" && ["main", "main1", "a\nb"].map((text) => grammar.fits(text))).toEqual([
      true,
      false,
      false,
    ]);
    expect(log.network.allowedEndpoints.find("github.com", 443)).toBeDefined();
    expect(commands.blocked.map(({ pattern }) => pattern)).toEqual(["curl"]);
  });
});

describe("plugins, sandbox, output and audit", () => {
  it("have defaults", async () => {
    const policy = await parse("");
    expect(policy.plugins).toEqual({ folder: undefined, load: new Map() });
    expect(policy.sandbox).toMatchObject({ mode: "required", processes: 64, memoryMb: 1_024, readOnlyPaths: [] });
    expect(policy.output).toMatchObject({ markUntrusted: false, redactSecrets: true, hiddenUnicode: "strip" });
    expect(policy.output.maxBytes).toBe(policy.tools.maxOutputBytes);
    expect(policy.audit).toMatchObject({ rotateBytes: 64 * 1024 * 1024, checkpoints: undefined });
  });

  it("are read", async () => {
    const policy = await parse(`plugins:
  folder: ~/plugins
  load:
    - { name: weather, network: { allowed_endpoints: [{ host: api.weather.example }] } }
    - { name: other, path: /opt/other.mjs, enabled: false, secrets: [key], filesystem: { readable_paths: ["/srv/**"] } }
secrets: { key: { from: env:KEY, hosts: [api.weather.example] } }
sandbox: { processes: 10, memory_mb: 256, cpu_seconds: 5, file_mb: 1, read_only_paths: [/opt/tools] }
output: { max_bytes: 4096, mark_untrusted: true, hidden_unicode: refuse }
audit: { rotate_mb: 1, checkpoints: { file: /mnt/other/heads, every_records: 10, every_seconds: 5 } }
`);
    expect(policy.plugins.load.get("weather")).toMatchObject({ path: "/home/ada/plugins/weather", enabled: true });
    expect(policy.plugins.load.get("other")).toMatchObject({
      path: "/opt/other.mjs",
      enabled: false,
      secrets: ["key"],
    });
    expect(policy.sandbox).toMatchObject({ mode: "required", memoryMb: 256, readOnlyPaths: ["/opt/tools"] });
    expect(policy.output).toMatchObject({ maxBytes: 4_096, markUntrusted: true, hiddenUnicode: "refuse" });
    expect(policy.tools.maxOutputBytes).toBe(4_096);
    expect(policy.audit.checkpoints).toEqual({ file: "/mnt/other/heads", everyRecords: 10, everyMs: 5_000 });
  });

  it("may say sandbox: none, and the rule knows its line", async () => {
    for (const text of ["sandbox: none\n", "sandbox: { mode: none }\n"]) {
      expect((await parse(text)).sandbox).toMatchObject({ mode: "none", rule: { line: 2 } });
    }
  });
});

describe("a fault in a new section", () => {
  it.each([
    ["approvals: destructive", "2:12 approvals must be a list"],
    ["approvals: [destructive]", "2:13 approvals[0] must be a mapping"],
    ["approvals: [{}]", "2:13 approvals[0] needs approve: destructive, tainted or all"],
    ["approvals: [{ approve: some }]", "2:24 approvals[0].approve must be destructive, tainted or all"],
    ["approvals: [{ approve: [] }]", "2:24 approvals[0].approve is empty"],
    ["approvals: [{ approve: all, timeout: 301 }]", "2:38 approvals[0].timeout must be a number of seconds"],
    ["approvals: [{ approve: all, remember: always }]", "2:39 approvals[0].remember must be none, session"],
    ["approvals: [{ approve: all, answer_by: [] }]", "2:40 approvals[0].answer_by is empty; name client or terminal"],
    ["approvals: [{ approve: all, answer_by: }]", "2:40 approvals[0].answer_by is empty; name client or terminal"],
    [
      "approvals: [{ approve: all, when: { path: /a/../b } }]",
      '2:43 approvals[0].when.path: "/a/../b" has the segment',
    ],
    ["approvals: [{ approv: all }]", "2:13 approvals[0] needs approve"],
    ["approvals: [{ approve: [write_file, call_tool] }]", "2:37 approvals[0].approve names call_tool, and a call"],
    ["tools: { rate_limits: { call_tool: 2 } }", "2:25 a limit names call_tool, and a call"],
    ["tools: { timeouts: { call_tool: 2 } }", "2:22 a limit names call_tool, and a call"],
    ["secrets: { a b: { from: env:A, hosts: [] } }", '2:12 secrets has the name "a b"'],
    ["secrets: { a: }", "2:15 secrets.a needs from"],
    ["secrets: { a: { from: A, hosts: [] } }", "2:23 secrets.a.from must be env:NAME or file:PATH"],
    ["secrets: { a: { from: env:A } }", "2:15 secrets.a needs hosts"],
    ["secrets: { a: { from: env:A, hosts: ['https://x'] } }", '2:38 secrets.a.hosts: "https://x" is a URL'],
    ["secrets: { a: { from: 'file:b', hosts: [] } }", '2:23 secrets.a.from: "b" is not absolute'],
    ["secrets: { a: { from: env:A, hosts: [], header: 'a b' } }", "2:49 secrets.a.header must be the name of a header"],
    ["secrets: { a: { from: env:A, hosts: [], body: 'a b' } }", "2:47 secrets.a.body must be the name of a field"],
    ["databases: { a: {} }", "2:17 databases.a needs a file (SQLite) or a secret"],
    ["databases: { a: { file: /a, secret: b } }", "2:17 databases.a needs a file"],
    ["databases: { a: { secret: b } }", '2:14 databases: a names "b", which secrets does not have'],
    [
      "databases: { a: { file: /a, superuser: true } }",
      "2:17 databases.a is an SQLite file; functions and superuser are",
    ],
    [
      "databases: { a: { file: /a, functions: [x] } }",
      "2:17 databases.a is an SQLite file; functions and superuser are",
    ],
    [
      'databases: { a: { secret: b, functions: ["*"] } }',
      "each item of databases.a.functions must be the name of a function",
    ],
    [
      'databases: { a: { secret: b, functions: ["a b"] } }',
      "each item of databases.a.functions must be the name of a function",
    ],
    ['databases: { a: { secret: b, superuser: "yes" } }', "databases.a.superuser must be true or false"],
    ["databases: { a: { file: /a/ } }", '2:25 databases.a.file: "/a/" names a folder'],
    ["databases: { a: { file: /a, readonly: true } }", 'did you mean "read_only"'],
    ["commands: { allowed: [git] }", "2:23 commands.allowed[0] must be a mapping"],
    ["commands: { allowed: [{ name: git }] }", "2:23 commands.allowed[0] needs executable"],
    ["commands: { allowed: [{ name: git, executable: git }] }", '"git" is not absolute'],
    ["commands: { allowed: [{ name: g, executable: /g, sha256: ab }] }", "sha256 must be a SHA-256"],
    ["commands: { allowed: [{ name: g, executable: /g, arguments: [{}] }] }", "needs exactly one of fixed, enum"],
    [
      "commands: { allowed: [{ name: g, executable: /g, arguments: [{ pattern: '(?=a)' }] }] }",
      "is not an RE2 expression",
    ],
    ["commands: { allowed: [{ name: g, executable: /g, arguments: [{ integer: [3, 1] }] }] }", "needs the lowest"],
    ["commands: { allowed: [{ name: g, executable: /g, flags: [oneline] }] }", "must be a flag with its dashes"],
    [
      "commands: { allowed: [{ name: g, executable: /g, env: { A-B: x } }] }",
      "not the name of an environment variable",
    ],
    ["commands: { allowed: [{ name: g, executable: /g }, { name: g, executable: /h }] }", 'two commands "g"'],
    ["plugins: { load: [{ name: a }] }", "2:19 plugins.load[0] needs a path, or plugins a folder"],
    ["plugins: { load: [{ name: a, path: /a, comands: [] }] }", 'did you mean "commands"'],
    [
      "plugins: { load: [{ name: a, path: /a, commands: [git] }] }",
      'names "git", which commands.allowed does not have',
    ],
    ["plugins: { load: [{ name: a, path: /a }, { name: a, path: /b }] }", 'two plugins "a"'],
    ["sandbox: off", "2:10 sandbox must be required or none"],
    ["sandbox: { memory_mb: 1 }", "2:23 sandbox.memory_mb must be a whole number from 16"],
    ["output: { hidden_unicode: keep }", "2:27 output.hidden_unicode must be strip, show or refuse"],
    ["output: { max_bytes: 2048 }\ntools: { max_output_bytes: 2048 }", "say the same thing"],
    ["audit: { checkpoints: {} }", "2:23 audit.checkpoints needs file"],
    ["filesystem: { read_only: 1 }", "2:26 filesystem.read_only must be true or false"],
    ["extends: ofline", '2:10 extends knows no preset "ofline"; did you mean "offline"?'],
    ["extends: [offline, offline]", '2:20 extends names "offline" twice'],
    ["extends: { a: b }", "2:10 extends knows no preset"],
    ["extends: offline\nnetwork: { offline: false }", '3:21 network.offline is true in the preset "offline"'],
  ])("%s", async (text, expected) => expect((await faultsOf(`${text}\n`)).join("\n")).toContain(expected));
});

it("says of a list whose items are wrong what is wrong with them, and not that it is empty", async () => {
  for (const text of [
    "approvals: [{ approve: all, answer_by: [ada] }]",
    "approvals: [{ approve: [7] }]",
    "servers: { up: { command: [7] } }",
    "network: { allowed_endpoints: [{ host: a.example, ports: [many] }] }",
  ]) {
    const faults = (await faultsOf(`${text}\n`)).join("\n");
    expect(faults, text).toContain("each item of");
    expect(faults, text).not.toContain("is empty");
  }
});

it("has no two servers whose names differ in case alone: URIs of the one would pass for the other's", async () => {
  for (const [one, other] of [
    ["up", "Up"],
    ["git-hub", "GIT-hub"],
    ["a_B", "A_b"],
  ] as const) {
    const entry = '{ command: ["/bin/true"] }';
    const text = `version: "1.0"\nservers:\n  ${one}: ${entry}\n  x: ${entry}\n  ${other}: ${entry}\n`;
    await expect(parsePolicy(text, { file: "policy.yaml", environment: {} })).rejects.toThrow(
      new RegExp(`:5:.*servers has ${one} \\(line 3\\) and ${other} \\(line 5\\), which differ in case alone`),
    );
  }
});
