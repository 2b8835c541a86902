// Before anything is started or connected to, somebody is shown exactly what; silence is no.
import { describe, expect, it, vi } from "vitest";
import { type AuthorizeRequest, launchOf } from "../../src/host/launch.js";
import { Host } from "../../src/serve/host.js";
import { hostWith, kept, shop } from "./host-fixture.js";

const LONG = "x".repeat(5_000);

describe("what is shown", () => {
  it("is the whole command line, names of variables, and values of those that decide what runs", async () => {
    const launch = await launchOf("a", {
      command: "npx",
      args: ["-y", "it's", LONG, "a\u202eb\n"],
      env: { KEY: "secret", NODE_OPTIONS: "--require=/evil.js", OFF: undefined },
      inheritEnv: ["LANG"],
      cwd: "/tmp/my folder",
    });
    expect(launch).toMatchObject({
      kind: "command",
      argv: ["npx", "-y", "it's", LONG, "a\u202eb\n"],
      env: ["KEY", "LANG", "NODE_OPTIONS"],
      steering: { NODE_OPTIONS: "--require=/evil.js" },
      cwd: "/tmp/my folder",
    });
    expect(launch.text).toBe(`npx -y 'it'\\''s' ${LONG} 'a\\u202eb\\n' (in '/tmp/my folder')`);
    expect(JSON.stringify(launch)).not.toContain("secret");
  });

  it("is the exact URL and the names of headers", async () => {
    const launch = await launchOf("a", {
      url: "https://user@host/mcp?x=1",
      headers: { Authorization: "Bearer secret" },
    });
    expect(launch).toMatchObject({ kind: "url", url: "https://user@host/mcp?x=1", headers: ["authorization"] });
    expect(JSON.stringify(launch)).not.toContain("secret");
  });

  const base = { command: "c", args: ["a", "b"], env: { A: "1", B: "2" }, cwd: "/x" };
  it.each([
    ["an argument", { ...base, args: ["a", "c"] }],
    ["the split of arguments", { ...base, args: ["a b"] }],
    ["the program", { ...base, command: "d" }],
    ["the folder", { ...base, cwd: "/y" }],
    ["a value", { ...base, env: { A: "1", B: "3" } }],
    ["a name", { ...base, env: { A: "1", C: "2" } }],
    ["what is inherited", { ...base, inheritEnv: true }],
    ["the kind", "https://c/"],
  ])("has another digest when %s changes", async (_, other) => {
    const one = await launchOf("a", base);
    expect((await launchOf("a", other)).digest).not.toBe(one.digest);
    expect((await launchOf("a", { ...base, env: { B: "2", A: "1" } })).digest).toBe(one.digest);
  });
});

describe("allowing", () => {
  it("is needed: without `authorize` nothing starts", async () => {
    const host = kept(new Host({ client: { verdicts: false } }));
    const { state, reason } = await host.add("a", shop("a"));
    expect(state).toBe("denied");
    expect(reason).toBe("a was not started: nobody can allow it; give the host an `authorize` function");
  });

  it.each([
    ["false", () => false],
    ["something that is not true", () => "yes" as never],
    ["an exception", () => Promise.reject(new Error("no screen"))],
    ["silence", () => new Promise<boolean>(() => undefined)],
  ])("%s is no", async (_, authorize) => {
    const links = vi.fn();
    const { host } = hostWith({ authorize, decisionTimeoutMs: 5 });
    const { state, reason } = await host.add("a", { link: links });
    expect(state).toBe("denied");
    expect(reason).toMatch(/^a was not started: /);
    expect(links).not.toHaveBeenCalled();
    expect(host.tools()).toEqual([]);
  });

  it("is asked once, and again when what would be started has changed", async () => {
    const asked: AuthorizeRequest[] = [];
    const approvals = new Map<string, string>();
    const authorize = (request: AuthorizeRequest): boolean => asked.push(request) > 0;
    const target = { url: "http://127.0.0.1:1/mcp" };
    for (const url of [target.url, target.url, "http://127.0.0.1:1/other"]) {
      const { host } = hostWith({ authorize, approvals });
      await host.add("a", { url });
      await host.close();
    }
    expect(asked.map(({ url, changed }) => [url, changed])).toEqual([
      ["http://127.0.0.1:1/mcp", false],
      ["http://127.0.0.1:1/other", true],
    ]);
  });

  it("that was denied is asked for again when the server is enabled", async () => {
    let answer = false;
    const { host } = hostWith({ authorize: () => answer });
    expect((await host.add("a", shop("a"))).state).toBe("denied");
    answer = true;
    expect((await host.enable("a")).state).toBe("ready");
  });

  it("that comes too late counts for nothing", async () => {
    let allow: (allowed: boolean) => void = () => undefined;
    const approvals = new Map<string, string>();
    const { host } = hostWith({
      authorize: () =>
        new Promise((resolve) => {
          allow = resolve;
        }),
      decisionTimeoutMs: 5,
      approvals,
    });
    expect((await host.add("a", shop("a"))).state).toBe("denied");
    allow(true);
    await Promise.resolve();
    expect(host.servers()[0]?.state).toBe("denied");
    expect(approvals.size).toBe(0);
  });

  it("is not waited for when the host closes", async () => {
    const { host } = hostWith({ authorize: () => new Promise<boolean>(() => undefined) });
    const adding = host.add("a", shop("a"));
    await host.close();
    expect((await adding).state).toBe("disabled");
  });

  it("commands are refused where there are no processes", async () => {
    const { host } = hostWith();
    await expect(host.add("a", { command: "x" })).rejects.toMatchObject({ code: "INVALID_TARGET" });
    await expect(host.add("a", "ftp://x")).rejects.toMatchObject({ code: "INVALID_TARGET" });
  });
});
