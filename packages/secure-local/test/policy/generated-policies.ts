// Makes policies by chance, what each lets happen, and every way to deny more in them.
import fc from "fast-check";
import { approvalNeed, decideCommand } from "../../src/policy/decide-command.js";
import { decide, type PolicyRequest } from "../../src/policy/decide.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";
import { PRESET_NAMES } from "../../src/policy/policy-text.js";

export type Content = Readonly<Record<string, Readonly<Record<string, unknown>> | readonly unknown[]>>;

export const parse = (content: object): Promise<Policy> =>
  parsePolicy(JSON.stringify({ version: "1.0", ...content }), { file: "p.yaml", environment: { HOME: "/h" } });

const few = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(item, { maxLength: 3 });
const paths = few(fc.constantFrom("/a/**", "/a/b", "**/k/*", "/b/*", "/**", "**/B/**"));
const tools = few(fc.constantFrom("read_file", "write_*", "write_file", "web_*", "x", "*"));
const hosts = few(
  fc.record(
    { host: fc.constantFrom("a.test", "*.a.test", "b.test", "10.0.0.1"), ports: fc.constantFrom([443], [80, 443]) },
    { requiredKeys: ["host"] },
  ),
);
const ranges = few(fc.constantFrom("10.0.0.0/8", "10.0.0.1/32", "::/0"));
export const network = fc.record({ allowed_endpoints: hosts, denied_endpoints: hosts, allowed_ranges: ranges });
export const filesystem = fc.record({
  allowed_paths: paths,
  readable_paths: paths,
  denied_paths: paths,
  denied_write_paths: paths,
});
const approval = fc.record(
  {
    approve: fc.oneof(fc.constantFrom("destructive", "all"), fc.constantFrom(["read_file"], ["write_*", "x"])),
    when: fc.constantFrom({ path: "/a/**" }, { path: "/a/*", n: 1 }),
    answer_by: fc.constantFrom(["client"], ["terminal"]),
    remember: fc.constantFrom("none", "session", 5),
    timeout: fc.constantFrom(1, 5),
  },
  { requiredKeys: ["approve"] },
);
const program = {
  name: "go",
  executable: "/bin/go",
  flags: ["-v"],
  arguments: [
    { fixed: "run", optional: true },
    { path: "read", optional: true },
    { path: "write", optional: true },
  ],
};
export const content: fc.Arbitrary<Content> = fc.record({
  network,
  filesystem,
  tools: fc.record({ allowed: tools, denied: tools }),
  commands: fc.record({ blocked: few(fc.constantFrom("go", "cat")), allowed: fc.constantFrom([], [program]) }),
  approvals: few(approval),
});
export const presets = fc.subarray([...PRESET_NAMES]);

export const requests: PolicyRequest[] = [
  ...["read_file", "write_file", "web_search", "x", "calculate"].map((name) => ({ kind: "tool", name }) as const),
  ...["a.test", "x.a.test", "b.test", "duckduckgo.com", "10.0.0.1", "::1"].flatMap((host) =>
    [80, 443].map((port) => ({ kind: "network", host, port }) as const),
  ),
  ...["/a", "/a/b", "/a/k/x", "/b/c", "/c", "/h/.ssh/x"].flatMap((path) =>
    (["read", "write", "list", "delete"] as const).map((op) => ({ kind: "file", path, op }) as const),
  ),
];
const runs = ["go", "go run", "go run /a/b", "go run /b/c -v /a/b", "go -x"].map((text) => text.split(" "));
const calls = ["read_file", "write_file", "x"].flatMap((tool) =>
  [{}, { path: "/a/b" }, { path: "/a/b", n: 1 }, { path: "/q/../a" }].flatMap((given) =>
    [true, false].map((destructive) => ({ tool, destructive, arguments: given })),
  ),
);

/** What may happen under a policy: each request, each command line, each call with how freely it runs. */
export function powers(policy: Policy): number[] {
  return [
    ...requests.map((request) => Number(decide(policy, request).allowed)),
    ...runs.map(([name = "", ...given]) => Number(decideCommand(policy, name, given).allowed)),
    ...calls.map((call) => {
      const need = approvalNeed(policy, call);
      if (need === undefined) return 1_000_000;
      const remembered = { none: 0, session: 100, minutes: 50 }[need.remember.kind];
      return need.answerBy.size === 0 ? 0 : 1 + need.answerBy.size * 1_000 + remembered + need.timeoutMs / 1_000;
    }),
  ];
}

/** Every way to deny more. */
export function stricter(given: Content, other: Content): Content[] {
  const add = (section: string, key: string): Content => {
    const [mine, theirs] = [given[section], other[section]] as Record<string, unknown[]>[];
    return { ...given, [section]: { ...mine, [key]: [...(mine?.[key] ?? []), ...(theirs?.[key] ?? [])] } };
  };
  const set = (section: string, value: object): Content => ({ ...given, [section]: { ...given[section], ...value } });
  return [
    add("network", "denied_endpoints"),
    set("network", { blocked_ports: [443] }),
    set("network", { offline: true }),
    set("network", { allow_dns: false }),
    add("filesystem", "denied_paths"),
    add("filesystem", "denied_write_paths"),
    set("filesystem", { read_only: true }),
    add("tools", "denied"),
    add("commands", "blocked"),
    { ...given, approvals: [...(given["approvals"] as unknown[]), ...(other["approvals"] as unknown[])] },
  ];
}
