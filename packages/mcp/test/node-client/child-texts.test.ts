// The small parts of a child link: what is shown of a command line, the pace of restarts, the allow-list, the last lines.
import { describe, expect, it } from "vitest";
import { restartDelay } from "../../src/jsonrpc/outgoing.js";
import { visibleText } from "../../src/jsonrpc/message.js";
import { childEnvironment, TREE_VARIABLE } from "../../src/node/child-tree.js";
import { commandKey } from "../../src/node/child-transport.js";
import { commandText, secretHider, StderrTail } from "../../src/node/child-output.js";

describe("text of a stranger", () => {
  it.each([
    ["plain ä \u{1f600}", "plain ä \u{1f600}"],
    ["a\tb\r\nc\0", "a\\tb\\r\\nc\\x00"],
    ["\u001b]8;;x\u0007\u009b31m\u007f", "\\x1b]8;;x\\x07\\x9b31m\\x7f"],
    ["\u202eevil\u2066\ufeff\u200b\u{e0041}", "\\u202eevil\\u2066\\ufeff\\u200b\\u{e0041}"],
    ["\ud800", "\\ud800"],
  ])("%j is shown as %s", (text, shown) => {
    expect(visibleText(text, 100)).toBe(shown);
  });

  it("is cut to a length, and says how long it was", () => {
    expect(visibleText("x".repeat(11), 10)).toBe(`${"x".repeat(10)}… (11 characters)`);
  });
});

describe("a command line", () => {
  it.each([
    ["npx", ["-y", "some-server@1.0"], "npx -y some-server@1.0"],
    ["my server", ["it's"], "'my server' 'it'\\''s'"],
    [
      "x",
      ["--api-key", "k1", "--token=t1", "-v", "https://u:p@h/"],
      "x --api-key *** '--token=***' -v 'https://***@h/'",
    ],
    [
      "x",
      ["--header", "Authorization: Bearer abc", "-e", "API_KEY=abc"],
      "x --header 'Authorization: ***' -e 'API_KEY=***'",
    ],
    ["x", ["--key", "--verbose", "y"], "x --key --verbose y"],
  ])("of %s %j is shown as %s", (command, args, shown) => {
    expect(commandText(command, args)).toBe(shown);
  });

  it("gives no way to find a secret of the environment", () => {
    const hide = secretHider({ DB_PASSWORD: "secret-1", HOST: "visible", API_TOKEN: "abc" });
    expect(hide("secret-1 at visible, abc, secret-1")).toBe("[DB_PASSWORD] at visible, abc, [DB_PASSWORD]");
  });
});

describe("the environment of a child", () => {
  const mark = "0123456789abcdef";

  it("leaves out functions of the shell, and what is taken away", () => {
    const parent = { PATH: "/bin", HOME: "() { :; }", USER: "u", OTHER: "o" };
    expect(childEnvironment({}, mark, parent)).toEqual({ PATH: "/bin", USER: "u", [TREE_VARIABLE]: mark });
    const options = { env: { USER: undefined, A: "1" }, inheritEnv: ["OTHER"] };
    expect(childEnvironment(options, mark, parent)).toEqual({
      PATH: "/bin",
      OTHER: "o",
      A: "1",
      [TREE_VARIABLE]: mark,
    });
  });

  it("adds its mark to those of the trees around it, and takes over no other text", () => {
    const outer = "fedcba9876543210";
    expect(childEnvironment({}, mark, { [TREE_VARIABLE]: outer })).toEqual({ [TREE_VARIABLE]: `${outer}:${mark}` });
    expect(childEnvironment({}, mark, { [TREE_VARIABLE]: "x y" })).toEqual({ [TREE_VARIABLE]: mark });
    expect(childEnvironment({ env: { [TREE_VARIABLE]: "" } }, mark, {})).toEqual({ [TREE_VARIABLE]: mark });
  });
});

describe("the last lines", () => {
  it.each([1, 3, 64, 100_000])("are found in chunks of %i bytes", (size) => {
    const all = Buffer.from(Array.from({ length: 50 }, (_, i) => `line ${i} ä\n`).join("") + "begun");
    const heard: string[] = [];
    for (const tail of [new StderrTail(String), new StderrTail(String, (line) => heard.push(line))]) {
      for (let at = 0; at < all.length; at += size) tail.push(all.subarray(at, at + size));
      expect(tail.lines).toHaveLength(20);
      expect([tail.lines[0], tail.lines[18], tail.lines[19]]).toEqual(["line 31 ä", "line 49 ä", "begun"]);
      tail.end();
      expect(tail.lines.at(-1)).toBe("begun");
    }
    expect(heard).toHaveLength(51);
  });
});

describe("a restart", () => {
  it("waits from half a second up to a minute, half of it left to chance", () => {
    const least = [0, 1, 2, 3, 8, 9, 1_000].map((failures) => restartDelay(failures, { random: () => 0 }));
    const most = [0, 1, 2, 3, 8, 9, 1_000].map((failures) => restartDelay(failures, { random: () => 1 }));
    expect(least).toEqual([0, 250, 500, 1_000, 30_000, 30_000, 30_000]);
    expect(most).toEqual([0, 500, 1_000, 2_000, 60_000, 60_000, 60_000]);
    expect(restartDelay(3, { firstMs: 10, mostMs: 30, random: () => 1 })).toBe(30);
    expect(restartDelay(2_000, { firstMs: 0 })).toBe(0);
  });
});

describe("what is remembered of a command", () => {
  const command = { command: "npx", args: ["-y", "a server"], env: { API_KEY: "very secret" }, cwd: "/tmp" };

  it("is remembered of the same one, and shows none of it", () => {
    expect(commandKey({ ...command, env: { ...command.env } })).toBe(commandKey(command));
    expect(commandKey(command)).not.toMatch(/npx|server|secret|tmp/);
    expect(commandKey({ command: "npx" })).toBe(commandKey({ command: "npx", cwd: process.cwd() }));
  });

  it.each([
    ["program", { ...command, command: "npx2" }],
    ["argument", { ...command, args: ["-y", "a", "server"] }],
    ["variable", { ...command, env: { API_KEY: "another" } }],
    ["name of a variable", { ...command, env: { API_KEX: "very secret" } }],
    ["inherited variable", { ...command, inheritEnv: true }],
    ["folder", { ...command, cwd: "/" }],
  ])("is not remembered of one with another %s", (_what, other) => {
    expect(commandKey(other)).not.toBe(commandKey(command));
  });
});
