// Which calls need consent, and that doubt leads to a question.
import { describe, expect, it } from "vitest";
import { approvalNeed } from "../../src/policy/decide-command.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";

async function need(approvals: string, tool: string, given: unknown, destructive = false) {
  const policy = await parsePolicy(`version: "1.0"\napprovals:\n${approvals}\n`, { file: "p.yaml", environment: {} });
  return approvalNeed(policy, { tool, destructive, arguments: given });
}
const etc = '  - { approve: [write_file], when: { path: "/etc/**" } }';

describe("a call needs consent", () => {
  it("by its effect, its name, or always", async () => {
    expect(await need("  - approve: destructive", "x", {}, true)).toBeDefined();
    expect(await need("  - approve: destructive", "x", {}, false)).toBeUndefined();
    expect(await need("  - approve: all", "x", {})).toBeDefined();
    expect(await need("  - approve: [git_*]", "git_push", {})).toBeDefined();
    expect(await need("  - approve: [git_*]", "gi_push", {})).toBeUndefined();
  });

  it.each([
    ["/etc/passwd", true],
    ["/etc", true],
    ["/ETC/Passwd", true],
    ["/work/x", false],
    ["/work/../etc/passwd", true],
    ["etc/passwd", true],
    ["", true],
    ["\\etc\\passwd", true],
    [["/work/x", "/etc/x"], true],
    [["/work/x"], false],
    [{ odd: true }, true],
    [`/work/${"x".repeat(5_000)}`, true],
    [null, false],
  ])("by a path: %j %s", async (path, asked) => {
    expect((await need(etc, "write_file", { path })) !== undefined).toBe(asked);
  });

  it("by texts, numbers and nested values, every condition together", async () => {
    const rules = '  - { approve: all, when: { "to.name": "*@Example.com", count: 3, force: true } }';
    const fits = { to: { name: "a/b@example.COM" }, count: 3, force: true };
    expect(await need(rules, "x", fits)).toBeDefined();
    expect(await need(rules, "x", { ...fits, count: "3" })).toBeDefined();
    expect(await need(rules, "x", { ...fits, count: 4 })).toBeUndefined();
    expect(await need(rules, "x", { ...fits, to: { name: "a@example.org" } })).toBeUndefined();
    expect(await need(rules, "x", { count: 3, force: true })).toBeUndefined();
    expect(await need('  - { approve: all, when: { toString: "*" } }', "x", {})).toBeUndefined();
  });

  it.each([
    [true, [true, 1, -1, "1", "true", "yes", "on", "no", "false", {}], [false, 0, null, "", undefined]],
    [false, [false, 0, null, "", "false", "No", " off ", "0", "0.0", {}], [true, 1, "true", "yes", 2]],
    [3, [3, "3", " 3.0 ", "0x3", {}], [4, "three", null, "", true]],
    [1, [1, "1", true], [0, false, null]],
  ])("by everything that is read as %s", async (pattern, fitting, others) => {
    const rules = `  - { approve: all, when: { o.force: ${pattern} } }`;
    for (const force of fitting) expect(await need(rules, "x", { o: { force } }), JSON.stringify(force)).toBeDefined();
    for (const force of others) expect(await need(rules, "x", { o: { force } }), JSON.stringify(force)).toBeUndefined();
  });

  /** Shapes in which a tool may take what stands under `files.path`, with a value in it. */
  const SHAPES: readonly ((value: unknown) => object)[] = [
    (path) => ({ files: { path } }),
    (path) => ({ files: { path: [path] } }),
    (path) => ({ files: [{ path }] }),
    (path) => ({ files: [{ path: "/work/a" }, [{ path: ["/work/b", path] }]] }),
    (path) => ({ files: [[path]] }),
    (path) => ({ files: path }),
    (path) => ({ files: JSON.stringify({ path }) }),
    (path) => ({ "files.path": path }),
    (path) => ({ files: [{ other: 1 }, { path: { deep: path } }] }),
  ];

  it("by a nested value, whatever lists, texts and names with a dot stand on the way to it", async () => {
    const rules = '  - { approve: all, when: { "files.path": "/etc/**" } }';
    for (const shape of SHAPES)
      expect(await need(rules, "x", shape("/etc/x")), JSON.stringify(shape("/etc/x"))).toBeDefined();
    for (const shape of SHAPES.slice(0, 4)) expect(await need(rules, "x", shape("/work/x"))).toBeUndefined();
    for (const other of [{}, { files: null }, { files: [] }, { files: [{}, { other: "/etc/x" }] }, { path: "/etc/x" }])
      expect(await need(rules, "x", other), JSON.stringify(other)).toBeUndefined();
    expect(await need(rules, "x", { files: Array.from({ length: 1_001 }, () => ({ path: "/work/x" })) })).toBeDefined();
    let deep: unknown = { path: "/work/x" };
    for (let depth = 0; depth < 4_100; depth++) deep = [deep];
    expect(await need(rules, "x", { files: deep })).toBeDefined();
  });

  it.each(["/x:/etc/s", "/x,/etc/s", "/x\n/etc/s", "/x; /etc/s", "/x|~/s", "C:/etc/s"])(
    "where one text may be several paths, or one that leads from where nobody knows: %j",
    async (path) => {
      expect(await need(etc, "write_file", { path })).toBeDefined();
    },
  );

  it.each([
    "a.evil.example",
    "https://a.evil.example/x",
    "[a.evil.example]",
    "a.evil.example#",
    "a.evil.example/..",
    "\\\\a.evil.example\\s",
    "//a.evil.example/x",
    "user@A.EVIL.example:443?x",
    " http://u:p@a.evil.example.:8080/x",
  ])("by the host that %j names", async (host) => {
    const rules = '  - { approve: all, when: { host: "*.evil.example" } }';
    expect(await need(rules, "x", { host })).toBeDefined();
    expect(await need(rules, "x", { host: host.replace(/evil\.example/i, "good.example") })).toBeUndefined();
  });

  it("on the strictest terms of all rules that fit", async () => {
    const rules = [
      "  - { approve: all, timeout: 60, remember: session }",
      "  - { approve: [x], timeout: 20, remember: 10, answer_by: [client] }",
      "  - { approve: [y], answer_by: [client] }",
      "  - { approve: [y], answer_by: [terminal], remember: none }",
    ].join("\n");
    expect(await need(rules, "x", {})).toMatchObject({
      rules: [
        { text: "approvals: all", line: 3 },
        { text: "approvals: x", line: 4 },
      ],
      timeoutMs: 20_000,
      remember: { kind: "minutes", minutes: 10 },
      answerBy: new Set(["client"]),
    });
    expect(await need(rules, "y", {})).toMatchObject({ remember: { kind: "none" }, answerBy: new Set() });
  });
});
