// The wall on macOS, as far as it can be judged elsewhere: the profile it writes, and its door to the proxy.
import { once } from "node:events";
import { createServer as createHttpServer, request } from "node:http";
import { connect } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { EgressProxy } from "../../src/capabilities/egress-proxy.js";
import { LoopbackProxy } from "../../src/capabilities/sandbox-environment.js";
import { sandboxExec, seatbeltProfile } from "../../src/sandbox/find-wall.js";
import { KEPT_HOME, type Reach } from "../../src/sandbox/wall.js";
import { LIMITS } from "./walls.js";

const PROXY = "http://sandbox:token@127.0.0.1:4711";

describe("the profile for macOS", () => {
  test("denies by default, names what is granted, hides last", () => {
    const profile = seatbeltProfile({
      executable: "/opt/tool",
      reach: [
        { path: "/data/.env", access: "hidden" },
        { path: "/data", access: "write" },
        { path: "/docs", access: "read" },
      ],
    });
    expect(profile.startsWith("(version 1)\n(deny default)\n")).toBe(true);
    expect(profile).toContain('(allow file-read* file-write* (subpath "/data"))');
    expect(profile).toContain('(allow file-read* (subpath "/docs"))');
    expect(profile.indexOf('(deny file* (subpath "/data/.env"))')).toBeGreaterThan(
      profile.indexOf('(subpath "/data"))'),
    );
  });

  test("lets what is only read in a folder that is written not be written, and what is written below it be", () => {
    const reach: Reach[] = [
      { path: "/data/fixed/own", access: "write" },
      { path: "/data/fixed", access: "read" },
      { path: "/data", access: "write" },
    ];
    const lines = seatbeltProfile({ executable: "/x", reach }).split("\n");
    const at = (text: string): number => lines.findIndex((line) => line.includes(text));
    expect(at('(deny file-write* (subpath "/data/fixed"))')).toBeGreaterThan(at('(subpath "/data"))'));
    expect(at('file-write* (subpath "/data/fixed/own"))')).toBeGreaterThan(
      at('(deny file-write* (subpath "/data/fixed"))'),
    );
  });

  test("lets a program's own package be read in a folder that is covered, and not be written", () => {
    const reach: Reach[] = [
      { path: "/home/a", access: "write" },
      { path: "/home/a/state", at: "/home/a/state/", access: "hidden" },
      { path: "/home/a/state/packages/1", access: "read", apart: true },
    ];
    const lines = seatbeltProfile({ executable: "/x", reach }).split("\n");
    const own = '(subpath "/home/a/state/packages/1")';
    expect(lines.indexOf(`(allow file-read* ${own})(deny file-write* ${own})`)).toBeGreaterThan(
      lines.indexOf('(deny file* (subpath "/home/a/state"))'),
    );
  });

  test("has no network without a proxy, and the proxy's port alone with one", () => {
    const closed = seatbeltProfile({ executable: "/x" });
    expect(closed).toContain("(deny network*)");
    expect(closed).not.toContain("allow network");
    const open = seatbeltProfile({ executable: "/x", egress: PROXY }).split("\n");
    expect(open.filter((line) => line.includes("allow network"))).toEqual([
      '(allow network-outbound (remote ip "localhost:4711"))',
    ]);
    expect(open.indexOf("(deny network*)")).toBeLessThan(open.findIndex((line) => line.includes("allow network")));
    for (const egress of ["/tmp/egress.sock", "http://127.0.0.1", 'http://x:1") (allow network*'])
      expect(() => seatbeltProfile({ executable: "/x", egress })).toThrow(/a proxy on loopback/);
  });

  test("lets no path end its string", () => {
    const reach = [{ path: '/a") (allow default) ("\\', access: "read" }] as const;
    expect(seatbeltProfile({ executable: "/x", reach })).toContain('(subpath "/a\\") (allow default) (\\"\\\\"))');
    expect(() => seatbeltProfile({ executable: "/x\n", reach: [] })).toThrow(/control characters/);
  });

  test("is given to a command with its proxy and its home, and nothing of ours", () => {
    const reach: Reach[] = [{ path: "/Users/x/homes/npx-1", at: KEPT_HOME, access: "write" }];
    const command = {
      executable: "/bin/x",
      args: ["a b"],
      workingDirectory: "/w",
      egress: PROXY,
      reach,
      limits: LIMITS,
    };
    const { file, args, env, cwd } = sandboxExec.launch(command);
    expect([file, args[0], args[2], args[3], cwd]).toEqual(["/usr/bin/sandbox-exec", "-p", "/bin/x", "a b", "/w"]);
    expect(env).toMatchObject({ HTTPS_PROXY: PROXY, HOME: "/Users/x/homes/npx-1", NO_PROXY: "" });
    expect(Object.keys(env).filter((name) => /SOCKS/i.test(name))).toEqual([]);
    const handed = [{ path: "/x", bytes: Buffer.alloc(0) }];
    expect(() => sandboxExec.launch({ executable: "/x", args: [], limits: LIMITS, handed })).toThrow(
      /not walled in yet/,
    );
  });
});

describe("the door on loopback", async () => {
  const plain = createHttpServer((_, answer) => answer.end("plain answer"));
  await once(plain.listen(0, "127.0.0.1"), "listening");
  const { port } = plain.address() as { port: number };
  const decide = () => ({ allowed: true, rule: "test", allowPrivate: true });
  const proxy = await EgressProxy.open({ decide, resolve: async () => ["127.0.0.1"] });
  const door = await LoopbackProxy.open(proxy.socket);
  const at = new URL(door.url);
  const known = `Basic ${Buffer.from(`${at.username}:${at.password}`).toString("base64")}`;
  afterAll(async () => {
    await door.close();
    await proxy.close();
    plain.close();
  });

  function get(headers: Record<string, string | string[]>): Promise<string> {
    return new Promise((resolve, reject) => {
      const path = `http://allowed.test:${port}/`;
      const asked = request({ host: at.hostname, port: at.port, path, headers, agent: false }, (answer) => {
        let text = `${answer.statusCode} `;
        answer.setEncoding("utf8").on("data", (more: string) => (text += more));
        answer.on("end", () => resolve(text));
      });
      asked.on("error", reject).end();
    });
  }

  test("lets through who knows the token, which is another one each time", async () => {
    expect(await get({ "proxy-authorization": known })).toBe("200 plain answer");
    const other = await LoopbackProxy.open(proxy.socket);
    expect(new URL(other.url).password).not.toBe(at.password);
    expect(at.password.length).toBeGreaterThanOrEqual(43);
    await other.close();
  });

  test.each([
    ["nothing", {}],
    ["another token", { "proxy-authorization": `Basic ${Buffer.from("sandbox:guess").toString("base64")}` }],
    ["the token twice", { "proxy-authorization": [known, known] }],
    ["the token in another header", { authorization: known }],
    ["a part of it", { "proxy-authorization": known.slice(0, -1) }],
  ])("turns away who says %s", async (_what, headers) => {
    expect(await get(headers)).toBe("407 ");
  });

  test("turns away what is no request, and what has no end", async () => {
    for (const bytes of ["\x05\x01\x00", "x".repeat(40_000)]) {
      const socket = connect(Number(at.port), at.hostname).on("error", () => undefined);
      let got = "";
      socket.setEncoding("latin1").on("data", (more: string) => (got += more));
      socket.end(bytes);
      await once(socket, "close");
      expect(got.startsWith("HTTP/1.1 200")).toBe(false);
    }
  });
});
