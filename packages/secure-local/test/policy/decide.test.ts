// Decisions: default deny, deny over allow, the rule behind each, monotony, and their cost.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainHost } from "../../src/policy/host-matcher.js";
import { builtInPolicy } from "../../src/policy/load-policy.js";
import { decide, type PolicyRequest } from "../../src/policy/decide.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { matchSegments, PathMatcher, segments } from "../../src/policy/path-matcher.js";
import type { Policy } from "../../src/policy/policy.js";
import { patternRule } from "../../src/policy/faults.js";
import { repeated } from "../../../mcp/test/support/soak.js";
import { threadMilliseconds } from "../../../mcp/test/support/thread-time.js";

const parse = (lists: object): Promise<Policy> =>
  parsePolicy(JSON.stringify({ version: "1.0", ...lists }), {
    file: "policy.yaml",
    environment: { HOME: "/home/ada" },
  });
const tool = (name: string): PolicyRequest => ({ kind: "tool", name });
const host = (name: string, port = 443, address?: string): PolicyRequest => ({
  kind: "network",
  host: name,
  port,
  ...(address === undefined ? {} : { address }),
});
const file = (path: string): PolicyRequest => ({ kind: "file", path, op: "read" });
const resource = (uri: string): PolicyRequest => ({ kind: "resource", uri });

function verdicts(policy: Policy, requests: readonly PolicyRequest[]): boolean[] {
  return requests.map((request) => decide(policy, request).allowed);
}

describe("the built-in policy", () => {
  const policy = builtInPolicy();
  it("allows what it names", () => {
    const named = [
      ...["web_search", "calculate", "get_timestamp"].map(tool),
      ...["html.duckduckgo.com", "lite.duckduckgo.com", "duckduckgo.com", "HTML.DuckDuckGo.com"].map((name) =>
        host(name),
      ),
      resource("server://info"),
      { kind: "prompt", name: "code_review" },
      { kind: "prompt", name: "analyze_logs" },
      { kind: "completion", of: "prompt", name: "code_review" },
      { kind: "completion", of: "resource", name: "server://info" },
    ] satisfies PolicyRequest[];
    expect(verdicts(policy, named)).toEqual(named.map(() => true));
  });

  it("allows nothing else", () => {
    const others = [
      ...["", "web_search ", "WEB_SEARCH", "run_command", "__proto__", "constructor", "*"].map(tool),
      ...[
        "duckduckgo.com..",
        "evil.com",
        "duckduckgo.com.evil.com",
        "xduckduckgo.com",
        "a.duckduckgo.com",
        "127.0.0.1",
        "::1",
        "localhost",
        "",
      ].map((name) => host(name)),
      host("duckduckgo.com", 80),
      host("duckduckgo.com", 0),
      host("duckduckgo.com", Number.NaN),
      ...["/", "/etc/passwd", "", "."].map(file),
      ...["server://infos", "server://info/", "file:///etc/passwd", ""].map(resource),
      { kind: "prompt", name: "other" },
      { kind: "completion", of: "prompt", name: "other" },
      { kind: "completion", of: "resource", name: "file:///{path}" },
    ] satisfies PolicyRequest[];
    expect(verdicts(policy, others)).toEqual(others.map(() => false));
  });
});

describe("ports", () => {
  it("are those that there are, however wide the permission", async () => {
    const network = { allowed_ranges: ["10.0.0.0/8"], denied_endpoints: [{ host: "10.0.0.9" }] };
    const policy = await parse({ network });
    const there = [1, 80, 65_535].map((port) => host("10.0.0.1", port));
    expect(verdicts(policy, there)).toEqual(there.map(() => true));
    const none = [0, -1, 65_536, 1e9, 443.5, Number.NaN, Number.POSITIVE_INFINITY].map((port) =>
      host("10.0.0.1", port),
    );
    expect(verdicts(policy, none)).toEqual(none.map(() => false));
  });
});

describe("names", () => {
  it("are denied before they are allowed, and the rule is told with its place", async () => {
    const text = 'version: "1.0"\ntools:\n  allowed:\n    - read_*\n    - calculate\n  denied: [read_secrets]\n';
    const policy = await parsePolicy(text, { file: "policy.yaml" });
    expect(decide(policy, tool("read_file"))).toMatchObject({
      allowed: true,
      rule: { text: "tools.allowed: read_*", line: 4, column: 7 },
    });
    expect(decide(policy, tool("read_secrets"))).toMatchObject({
      allowed: false,
      rule: { text: "tools.denied: read_secrets", line: 6 },
    });
    expect(decide(policy, tool("write_file"))).toMatchObject({ allowed: false, rule: { text: "default deny" } });
    expect(decide(policy, tool("write_file")).reason).toContain("tools.allowed");
  });

  it("of tools come from the rate limits when there is no list of tools", async () => {
    const rate_limits = { default: 60, web_search: 20 };
    expect(verdicts(await parse({ tools: { rate_limits } }), ["web_search", "default", "calculate"].map(tool))).toEqual(
      [true, false, false],
    );
    expect(verdicts(await parse({ tools: { rate_limits, allowed: [] } }), ["web_search"].map(tool))).toEqual([false]);
    expect(verdicts(await parse({ tools: { rate_limits, denied: ["web_search"] } }), ["web_search"].map(tool))).toEqual(
      [false],
    );
  });

  it("of resources hold in every spelling of a URI", async () => {
    const denied = ["file:///w/private*", "file:///w/my%20own/*", "file:///w/ä*", "db://notes*", "git:///w/old*"];
    const policy = await parse({ resources: { allowed: ["file:///*", "db://*", "git:///*"], denied } });
    const uris = [
      ...["file:///w/private/x", "file:///w/%70rivate/x", "file:///w/pri%76%61te", "FILE:///w//private/x"],
      ...[
        "file:////w/private/x",
        "file:///%77/private/x",
        "file:///w/my%20own/x",
        "file:///w/my own/x",
        "file:///w/m%79 own/x",
      ],
      ...["file:///w/%C3%A4/c", "file:///w/ä", "db://n%6ftes/schema", "git:///w/%6fld?ref=x", "git:///w//old?path=a"],
    ];
    expect(verdicts(policy, uris.map(resource))).toEqual(uris.map(() => false));
    const others = ["file:///w/public/x", "file:///w/%2570rivate/x", "db://n%256ftes/schema", "file:///w/%ff"];
    expect(verdicts(policy, others.map(resource))).toEqual(others.map(() => true));
    const host = await parse({ resources: { allowed: ["file://*"], denied: ["file:///w/private*"] } });
    expect(verdicts(host, [resource("file://localhost/w/private/x")])).toEqual([false]);
  });

  it("of a repository as such hold at every ref, and of one ref for no other", async () => {
    const denied = ["git:///w/whole", "git:///w/part?ref=old"];
    const policy = await parse({ resources: { allowed: ["git:///*"], denied } });
    const [no, yes] = [
      [
        "git:///w/whole",
        "git:///w/whole?ref=main",
        "git:///w/whole?ref=HEAD",
        "git:///w/whole?path=",
        "git:///w/part?ref=old",
      ],
      ["git:///w/whole?path=a", "git:///w/part", "git:///w/part?ref=main", "git:///w/part?ref=older"],
    ];
    expect(verdicts(policy, no.map(resource))).toEqual(no.map(() => false));
    expect(verdicts(policy, yes.map(resource))).toEqual(yes.map(() => true));
  });

  it("of git hold for every order, doubling and clothing of their members", async () => {
    const denied = ["git:///w/r?path=private*", "git:///w/r?ref=old*", "git:///w/r?path=one.txt", "x://a?b=1&c=2*"];
    const policy = await parse({ resources: { allowed: ["git:///*", "x://*"], denied } });
    const bases = ["git:///w/r", "git:///w/r/", "git:///w//r", "GIT:///w/%72", "git:////w/r"];
    const queries = [
      "?path=private/a.txt",
      "?ref=HEAD&path=private/a.txt",
      "?path=private/a.txt&ref=main",
      "?&path=private/a.txt",
      "?&&ref=main&&path=private&",
      "?path=%70rivate%2fa.txt",
      "?ref=&path=private%2Fa.txt",
      "?path=private/",
      "?ref=old&path=x",
      "?path=x&ref=old",
      "?path=x&ref=%6fld",
      "?path=one.txt&ref=HEAD",
      "?ref=main&path=one.txt",
    ];
    const uris = bases.flatMap((base) => queries.map((query) => resource(base + query)));
    expect(verdicts(policy, uris)).toEqual(uris.map(() => false));
    const others = [
      "git:///w/r",
      "git:///w/r?path=public",
      "git:///w/r?path=x/private",
      "git:///w/r?ref=main&path=one.txt2",
    ];
    expect(verdicts(policy, others.map(resource))).toEqual(others.map(() => true));
    const members = [
      "x://a?c=2&b=1",
      "x://a?b=1&&c=2",
      "x://a?%62=1&c=2",
      "x://a?b=1&c=2&d=3",
      "x://a?d=3&c=2&b=1&e=4",
    ];
    expect(verdicts(policy, members.map(resource))).toEqual(members.map(() => false));
    expect(verdicts(policy, [resource("x://a?1&2&3&4&5")])).toEqual([false]);
  });

  it("of resources cannot leave a prefix by dot segments", async () => {
    const policy = await parse({ resources: { allowed: ["logs://app/*"], denied: ["logs://app/private*"] } });
    const uris = [
      "logs://app/a",
      "LOGS://app/a",
      "logs://app/a..b",
      "logs://app/../x",
      "logs://app/%2e%2E/x",
      "logs://app/a%2f..%2fx",
      "logs://app/..",
      "logs://app/private/x",
      "LOGS://app/private",
      "logs://APP/a",
    ];
    expect(verdicts(policy, uris.map(resource))).toEqual([true, true, true, ...Array.from({ length: 7 }, () => false)]);
  });
});

describe("the network", () => {
  it("is matched by whole labels, ports and ranges", async () => {
    const policy = await parse({
      network: {
        allowed_endpoints: [
          { host: "*.Example.com", ports: [443, 8443] },
          { host: "api.test.org" },
          { host: "2001:DB8::1" },
          { host: "192.0.2.7", ports: [80] },
        ],
        denied_endpoints: [{ host: "*.bad.example.com" }, { host: "10.0.0.66" }],
        allowed_ranges: ["10.0.0.0/8", "fe80::/10", "::1/128"],
        blocked_ports: [22],
      },
    });
    const allowed = [
      host("a.example.com"),
      host("A.b.EXAMPLE.com", 8443),
      host("a.example.com."),
      host("api.test.org"),
      host("[2001:db8::1]"),
      host("2001:db8:0:0:0:0:0:1"),
      host("192.0.2.7", 80),
      host("10.255.0.1", 9),
      host("febf::1", 1),
      host("::1"),
    ];
    expect(verdicts(policy, allowed)).toEqual(allowed.map(() => true));
    const denied = [
      host("example.com"), host("aexample.com"), host("a.example.com", 80), host("a.example.com.."), host("x.bad.example.com"), host("10.0.0.66"),
      host("a.example.com", 443, "10.0.0.66"), host("10.0.0.1", 22), host("11.0.0.1"), host("fec0::1"), host("::ffff:10.0.0.1"), host("::2"), host("10.1"), host("0xa.0.0.1"),
      host("167772161"), host("user@a.example.com"), host("a.example.com:443"), host("a.example.com/"), host(".example.com"), host("a..example.com"), host("fe80::1%eth0"), host("api.test.org", 443.5),
    ]; // prettier-ignore
    expect(verdicts(policy, denied)).toEqual(denied.map(() => false));
  });

  it("takes names with and without the dot of the root for the same, in rules and in what is asked", async () => {
    for (const dot of ["", "."]) {
      const policy = await parse({
        network: {
          allowed_endpoints: [{ host: `*.a.test${dot}` }, { host: `b.test${dot}` }],
          denied_endpoints: [{ host: `x.a.test${dot}` }],
        },
      });
      const asked = ["y.a.test", "b.test", "x.a.test", "c.test"].flatMap((name) => [host(name), host(`${name}.`)]);
      expect(verdicts(policy, asked)).toEqual([true, true, true, true, false, false, false, false]);
    }
  });

  it("looks up only names that it may", async () => {
    const endpoints = [{ host: "a.test" }, { host: "b.test" }];
    const some = await parse({
      network: {
        allowed_endpoints: endpoints,
        dns_allowlist: ["a.test", "nas.lan"],
        allowed_ranges: ["192.168.0.0/16"],
      },
    });
    expect(
      verdicts(some, [
        host("a.test"),
        host("b.test"),
        host("nas.lan"),
        host("nas.lan", 80, "192.168.1.2"),
        host("nas.lan", 80, "8.8.8.8"),
      ]),
    ).toEqual([true, false, false, true, false]);
    const none = await parse({
      network: { allowed_endpoints: endpoints, allow_dns: false, allowed_ranges: ["192.168.0.0/16"] },
    });
    expect(verdicts(none, [host("a.test"), host("192.168.1.2")])).toEqual([false, true]);
    expect(decide(none, host("a.test")).rule.text).toBe("network.allow_dns: false");
  });
});

describe("paths", () => {
  it("are matched by segments, denials without regard to case", async () => {
    const policy = await parse({
      filesystem: {
        allowed_paths: ["~/projects/**", "/srv/*/public/*.tx?", "/one"],
        denied_paths: ["**/.ssh/**", "**/*.pem", "**/.env.*", "**/caf\u00e9"],
      },
    });
    const allowed = [
      "/home/ada/projects",
      "/home/ada/projects/a",
      "/home/ada/projects/a/b/c.ts",
      "/srv/x/public/a.txt",
      "/one",
      "/one/",
    ];
    expect(verdicts(policy, allowed.map(file))).toEqual(allowed.map(() => true));
    const denied = [
      "/home/ada", "/home/ada/projectsx", "/home/Ada/projects/a", "/srv/x/y/public/a.txt", "/srv/x/public/a.tx", "/one/two", "/", "home/ada/projects/a",
      "/home/ada/projects/.ssh", "/home/ada/projects/.SSH/id", "/home/ada/projects/x/.ssh/id", "/home/ada/projects/key.PEM", "/home/ada/projects/.env.local", "/home/ada/projects/cafe\u0301",
      "/home/ada/projects/../x", "/home/ada/projects/./x", "/home/ada//projects/x", "/home/ada/projects/a\0b",
    ]; // prettier-ignore
    expect(verdicts(policy, denied.map(file))).toEqual(denied.map(() => false));
  });

  it("are matched in bounded time, whatever the pattern", async () => {
    const policy = await parse({ filesystem: { allowed_paths: [`/${"**/a/".repeat(50)}b`, `/${"*a".repeat(60)}b`] } });
    const started = threadMilliseconds();
    decide(policy, file(`/${"a/".repeat(2_000)}c`));
    decide(policy, file(`/${"a".repeat(4_000)}c`));
    expect(threadMilliseconds() - started).toBeLessThan(100);
  });
});

describe("more denials and fewer permissions", () => {
  // Small alphabets, so that rules and requests meet often.
  const name = fc.constantFrom("a", "b", "ab", "abc", "b_c");
  const names = fc.array(
    fc.oneof(
      name,
      name.map((text) => `${text}*`),
    ),
    { maxLength: 4 },
  );
  const hosts = fc.constantFrom("x.a.test", "a.test", "*.a.test", "y.x.a.test", "*.x.a.test", "10.0.0.1");
  const endpoints = fc.array(
    fc.record({ host: hosts, ports: fc.uniqueArray(fc.constantFrom(80, 443), { minLength: 1 }) }),
    { maxLength: 4 },
  );
  const paths = fc.array(fc.constantFrom("/a/**", "/a/b", "**/b", "/a/*", "/**", "**/*.k", "/a/b/**"), {
    maxLength: 4,
  });
  const ranges = fc.array(fc.constantFrom("10.0.0.0/8", "10.0.0.1/32", "0.0.0.0/0", "::/0"), { maxLength: 3 });
  const uris = names.map((list) => list.map((text) => `s://${text}`));
  const lists = fc.record({
    tools: fc.record({ allowed: names, denied: names }),
    prompts: fc.record({ allowed: names, denied: names }),
    resources: fc.record({ allowed: uris, denied: uris }),
    filesystem: fc.record({ allowed_paths: paths, denied_paths: paths }),
    network: fc.record({
      allowed_endpoints: endpoints,
      denied_endpoints: endpoints,
      allowed_ranges: ranges,
      dns_allowlist: fc.array(hosts, { maxLength: 4 }),
    }),
  });
  type Lists = Map<string, Map<string, unknown[]>>;
  const mapped = (given: object): Lists =>
    new Map(
      Object.entries(given).map(([section, rules]) => [
        section,
        new Map(Object.entries(rules as Record<string, unknown[]>)),
      ]),
    );
  const ALLOWS = /^(?:allowed|dns)/;

  const DENIALS = repeated(20, 300);

  const requests: PolicyRequest[] = [
    ...["a", "b", "ab", "abc", "abcd", "b_c", "z"].flatMap((text): PolicyRequest[] => [
      tool(text),
      { kind: "prompt", name: text },
      resource(`s://${text}`),
    ]),
    ...["a.test", "x.a.test", "y.x.a.test", "10.0.0.1", "10.0.0.2", "::1"].flatMap((text) => [
      host(text, 80),
      host(text),
      host(text, 443, "10.0.0.1"),
    ]),
    ...["/a", "/a/b", "/a/b/c", "/c/b", "/a/x.k", "/z"].map(file),
  ];

  function neverMore(before: boolean[], after: boolean[]): void {
    expect(after.filter((allowed, index) => allowed && !before[index])).toEqual([]);
  }

  it(`never allow more (${DENIALS} runs)`, async () => {
    await fc.assert(
      fc.asyncProperty(lists, lists, fc.nat(), async (given, other, pick) => {
        const policy = verdicts(await parse(given), requests);
        const sections = Object.keys(given);
        const section = sections.at(pick % sections.length)!;
        for (const [key, list] of mapped(given).get(section)!) {
          const changed = ALLOWS.test(key)
            ? list.toSpliced(pick % 4, 1)
            : [...list, ...mapped(other).get(section)!.get(key)!];
          const rules = { ...Object.fromEntries(mapped(given).get(section)!), [key]: changed };
          neverMore(policy, verdicts(await parse({ ...given, [section]: rules }), requests));
        }
      }),
      { numRuns: DENIALS },
    );
  });
});

describe("a decision with 500 rules of a kind", () => {
  it("takes well under 50 microseconds", async () => {
    const many = (make: (index: number) => unknown): unknown[] =>
      Array.from({ length: 500 }, (_, index) => make(index));
    const policy = await parse({
      tools: { allowed: many((n) => (n % 2 ? `tool_${n}` : `group_${n}_*`)), denied: many((n) => `bad_${n}_*`) },
      resources: { allowed: many((n) => `logs://app${n}/*`) },
      network: {
        allowed_endpoints: many((n) => ({ host: n % 2 ? `*.h${n}.example.com` : `h${n}.example.com` })),
        allowed_ranges: many((n) => `10.${n >> 8}.${n & 255}.0/24`),
      },
      filesystem: {
        allowed_paths: many((n) => `/srv/app${n}/**`),
        denied_paths: many((n) => (n % 2 ? `**/*.x${n}` : `**/secret${n}/**`)),
      },
    });
    const asked = [
      tool("group_498_x"),
      tool("unknown"),
      resource("logs://app499/x"),
      host("a.b.h499.example.com"),
      host("10.1.200.9"),
      host("nothing.example.org"),
      file("/srv/app499/a/b/c/d.ts"),
      file("/nowhere/a/b/c/d.ts"),
    ];
    for (let warm = 0; warm < 2_000; warm++) verdicts(policy, asked);
    const started = threadMilliseconds();
    for (let run = 0; run < 2_000; run++) verdicts(policy, asked);
    const each = (1_000 * (threadMilliseconds() - started)) / (2_000 * asked.length);
    expect(each).toBeLessThan(50);
  });
});

describe("path rules among many", () => {
  const PATHS = repeated(200, 500);

  it(`are found as if each were looked at by itself (${PATHS} runs)`, () => {
    const segment = fc.constantFrom("a", "b", "*", "?", "*.k", "a*", "**", "B", "x.k", "é");
    const pattern = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => `/${parts.join("/")}`);
    const path = fc
      .array(fc.constantFrom("a", "b", "A", "x.k", "ab", "z", "e\u0301"), { minLength: 1, maxLength: 4 })
      .map((parts) => `/${parts.join("/")}`);
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 8 }), path, fc.boolean(), (patterns, given, fold) => {
        const rules = patterns.map((each) => patternRule("list", each));
        const alone = rules.some((rule) => new PathMatcher([rule], fold).find(given) !== undefined);
        const form = (text: string): string[] => segments(fold ? text.normalize("NFC").toLowerCase() : text);
        expect(patterns.some((each) => matchSegments(form(each), form(given)))).toBe(alone);
        expect(new PathMatcher(rules, fold).find(given) !== undefined).toBe(alone);
      }),
      { numRuns: PATHS },
    );
  });
});

it.each([
  ["**/*.key", "/a/.key"],
  ["**/*.key", "/.key"],
  ["**/?.key", "/a/b.key"],
  ["**/*", "/a"],
  ["/**", "/"],
])("the pattern %s names %s, where a wildcard stands for nothing or for all there is", (pattern, path) => {
  for (const fold of [false, true])
    expect(new PathMatcher([patternRule("denied_paths", pattern)], fold).find(path)?.text).toContain(pattern);
});

it("what is denied is denied with all that lies in it, from the topmost folder on", () => {
  const denied = new PathMatcher([patternRule("denied_paths", "/top"), patternRule("denied_paths", "/a/*/c")], true);
  for (const path of ["/top", "/TOP/a", "/top/a/b/c", "/a/b/c", "/a/x/c/d"])
    expect(denied.findAround(path), path).toBeDefined();
  for (const path of ["/", "/topmost", "/a/top", "/a/b", "/a/c", "/a/b/d/c"])
    expect(denied.findAround(path), path).toBeUndefined();
});

it("a host has as many characters as the DNS carries, and labels of 63", () => {
  const name = (length: number): string => `${"a".repeat(61)}.`.repeat(5).slice(0, length - 1) + "b";
  expect(plainHost(name(253))).toBe(name(253));
  expect(plainHost(name(254))).toBeUndefined();
  expect(plainHost(`${"a".repeat(63)}.test`)).toBeDefined();
  expect(plainHost(`${"a".repeat(64)}.test`)).toBeUndefined();
});
