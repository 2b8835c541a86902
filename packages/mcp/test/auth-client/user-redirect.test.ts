// The way to the user and back: a browser opened without a shell, a listener that takes one answer and shows nothing of it.
import { type IncomingHttpHeaders, request } from "node:http";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import {
  browserRedirect,
  listenForRedirect,
  openBrowser,
  pastedRedirect,
  type RedirectListener,
  userAuthorization,
} from "../../src/node/user-authorization.js";
import { call } from "./support/call.js";
import { mockAuthorization } from "./support/mock-authorization.js";
import { within } from "../support/within.js";

const WAIT_MS = 10_000;

interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

function get(url: string, headers: Record<string, string> = {}, method = "GET"): Promise<Got> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers, method, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.on("error", reject).end();
  });
}

async function listener(): Promise<RedirectListener> {
  const opened = await listenForRedirect();
  onTestFinished(() => opened.close());
  return opened;
}

describe("the browser", () => {
  const opened = async (url: string, platform: NodeJS.Platform): Promise<readonly string[]> => {
    let started: readonly string[] = [];
    await openBrowser(url, { platform, start: async (command, args) => void (started = [command, ...args]) });
    return started;
  };

  it.each([
    ["linux", ["xdg-open"]],
    ["freebsd", ["xdg-open"]],
    ["darwin", ["open"]],
    ["win32", ["rundll32", "url.dll,FileProtocolHandler"]],
  ] as const)("is started on %s by its arguments alone", async (platform, command) => {
    const url = "https://as.example/authorize?a=b&state=c";
    expect(await opened(url, platform)).toEqual([...command, url]);
  });

  it.each([
    "javascript:alert(1)",
    "file:///etc/passwd",
    "data:text/html,x",
    "--version",
    "/bin/sh",
    "vbscript:x",
    "ms-msdt:/id",
    "https:",
    "",
  ])("is not given %j", async (url) => {
    await expect(opened(url, "linux")).rejects.toMatchObject({ code: "AUTH_BROWSER" });
  });

  it.each(["$(id)", "`id`", "a;b|c", "'\"", "a b", "%PATH%^&calc", "\n--x", "{,}", "\\\\host"])(
    "is given nothing a shell would read: %j",
    async (bad) => {
      const [, url = ""] = await opened(`https://as.example/${bad}?q=${bad}`, "linux");
      expect(url).toMatch(/^https:\/\/as\.example\/[\w\-.~:/?#[\]@!&*+,;=%]*$/);
    },
  );

  it("that cannot be started is an error that says so", async () => {
    const start = (): Promise<void> => Promise.reject(new Error("ENOENT"));
    await expect(openBrowser("https://as.example/", { start })).rejects.toThrow(/pastedRedirect/);
  });
});

describe.skipIf(process.platform !== "linux")("the opener of this machine", () => {
  const path = process.env["PATH"];
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "opener-"));
    process.env["PATH"] = `${folder}:${path}`;
  });
  afterEach(async () => {
    process.env["PATH"] = path;
    await rm(folder, { recursive: true });
  });
  const opener = (script: string): Promise<void> =>
    writeFile(join(folder, "xdg-open"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });

  it("gets the address as its one argument", async () => {
    await opener('printf "%s|%s" "$#" "$1" > "$(dirname "$0")/args"');
    await openBrowser("https://as.example/a?b=c&d=$(id)");
    expect(await readFile(join(folder, "args"), "utf8")).toBe("1|https://as.example/a?b=c&d=%24%28id%29");
  });

  it("is told apart from one that fails, or is not there", async () => {
    await opener("exit 3");
    await expect(openBrowser("https://as.example/")).rejects.toMatchObject({ code: "AUTH_BROWSER" });
    process.env["PATH"] = join(folder, "nothing");
    await expect(openBrowser("https://as.example/")).rejects.toMatchObject({ code: "AUTH_BROWSER" });
  });
});

describe("the listener", () => {
  it("takes the one answer with its state, shows a page without any of it, and takes no second one", async () => {
    const { uri, answer, close } = bound(await listener());
    const came = answer("st4te", WAIT_MS);
    const page = await get(`${uri}?code=c0de&state=st4te&iss=https%3A%2F%2Fas.example&next=https%3A%2F%2Fevil.example`);
    expect(await came).toBe(
      `${uri}?code=c0de&state=st4te&iss=https%3A%2F%2Fas.example&next=https%3A%2F%2Fevil.example`,
    );
    expect(page.status).toBe(200);
    expect(page.text + JSON.stringify(page.headers)).not.toMatch(/c0de|st4te|as\.example|evil/);
    expect(page.headers).toMatchObject({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(page.headers.location).toBe(undefined);
    expect((await get(`${uri}?code=other&state=st4te`)).status).toBe(400);
    await close();
  });

  it("refuses everything else and waits on", async () => {
    const { uri, answer } = bound(await listener());
    const came = answer("right", WAIT_MS);
    const { host, port } = new URL(uri);
    const refused: [string, Promise<Got>, number][] = [
      ["wrong state", get(`${uri}?code=x&state=wrong`), 400],
      ["no state", get(`${uri}?code=x`), 400],
      ["two states", get(`${uri}?state=right&state=wrong`), 400],
      ["no query", get(uri), 404],
      ["another path", get(`http://${host}/?state=right`), 404],
      ["a longer path", get(`http://${host}/callback/?state=right`), 404],
      ["an encoded path", get(`http://${host}/%63allback?state=right`), 404],
      ["POST", get(`${uri}?state=right`, {}, "POST"), 405],
      ["a rebound name", get(`${uri}?state=right`, { host: `attacker.example:${port}` }), 421],
      ["localhost", get(`${uri}?state=right`, { host: `localhost:${port}` }), 421],
      ["a whole URL", raw(port, `GET http://evil.example/callback?state=right HTTP/1.1\r\nHost: ${host}`), 404],
    ];
    for (const [what, got, status] of refused) {
      const { status: given, text } = await got;
      expect([what, given, text]).toEqual([what, status, ""]);
    }
    await get(`${uri}?state=right&code=good`);
    expect(await came).toContain("code=good");
  });

  it("listens on this machine only, tries the port of last time, and takes another when it is in use", async () => {
    const first = await listener();
    const port = Number(new URL(first.uri).port);
    expect(new URL(first.uri).hostname).toBe("127.0.0.1");
    const second = await listenForRedirect({ preferredPort: port });
    expect(second.uri).not.toBe(first.uri);
    await second.close();
    await first.close();
    const third = await listenForRedirect({ preferredPort: port });
    expect(third.uri).toBe(first.uri);
    await third.close();
  });

  it("gives up in time and leaves nothing open", async () => {
    const opened = await listener();
    await expect(opened.answer("x", 1)).rejects.toMatchObject({ code: "TIMEOUT" });
    await opened.close();
    await expect(get(`${opened.uri}?state=x`)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  it("closes although somebody keeps a connection", async () => {
    const opened = await listener();
    const socket = connect(Number(new URL(opened.uri).port), "127.0.0.1");
    await new Promise<void>((resolve) => socket.once("connect", resolve));
    const gone = new Promise<void>((resolve) => socket.on("error", () => undefined).on("close", () => resolve()));
    await opened.close();
    await expect(within(gone, "the kept connection is closed")).resolves.toBeUndefined();
  });
});

describe("a user", () => {
  it("goes by the browser and comes back by the listener, with the same client the next time", async () => {
    const mock = await mockAuthorization();
    const open = async (url: string): Promise<void> => {
      const response = await fetch(url, { redirect: "manual" });
      void get(response.headers.get("location") ?? "").catch(() => undefined);
    };
    const redirect = browserRedirect({ open });
    const authorizer = userAuthorization({ serverUrl: mock.serverUrl, clientName: "test", redirect });
    expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
    mock.tokens.clear();
    mock.refreshTokens.clear();
    expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
    expect(mock.to("/authorize")).toHaveLength(2);
    const ports = mock.to("/authorize").map(({ query }) => query.get("redirect_uri"));
    expect(mock.to("/register")).toHaveLength(new Set(ports).size);
  });

  it("without a browser opens the address shown, on any machine, and pastes where it ended", async () => {
    const mock = await mockAuthorization();
    let shown = "";
    for (const part of [(url: string) => url, (url: string) => new URL(url).search]) {
      const read = async (): Promise<string> => {
        const response = await fetch(shown, { redirect: "manual" });
        return ` ${part(response.headers.get("location") ?? "")}\n`;
      };
      const redirect = pastedRedirect({ show: (url) => void (shown = url), read });
      const authorizer = userAuthorization({ serverUrl: mock.serverUrl, clientName: "test", redirect });
      expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
    }
  });

  it("who does not come, or whose browser does not start, is an error in time", async () => {
    const mock = await mockAuthorization();
    const never = browserRedirect({ open: () => Promise.resolve(), timeoutMs: 1 });
    const broken = browserRedirect({ open: () => Promise.reject(new Error("no display")) });
    const pasted = pastedRedirect({ show: () => undefined, read: () => new Promise(() => undefined), timeoutMs: 1 });
    const outcomes: unknown[] = [];
    for (const redirect of [never, broken, pasted]) {
      const authorizer = userAuthorization({ serverUrl: mock.serverUrl, clientName: "test", redirect });
      outcomes.push(await call(authorizer, mock.serverUrl).catch((error: unknown) => String(error)));
    }
    expect(outcomes).toEqual([
      expect.stringMatching(/Nobody came back/),
      expect.stringMatching(/no display/),
      expect.stringMatching(/Nothing was pasted/),
    ]);
    expect(mock.to("/token")).toEqual([]);
  });
});

function bound(listener: RedirectListener): RedirectListener {
  const { uri } = listener;
  return { uri, answer: (state, ms) => listener.answer(state, ms), close: () => listener.close() };
}

/** A request no client library would send. */
function raw(port: string, head: string): Promise<Got> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(Number(port), "127.0.0.1", () => socket.write(`${head}\r\nConnection: close\r\n\r\n`));
    socket.setEncoding("utf8").on("data", (chunk) => (text += String(chunk)));
    socket.on("error", reject);
    socket.on("end", () => {
      const [, body = ""] = text.split("\r\n\r\n");
      resolve({ status: Number(text.split(" ")[1]), headers: {}, text: body });
    });
  });
}
