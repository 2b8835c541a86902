// T45: the console's listener: whoever is not its own signed-in page learns nothing, does nothing, and cannot show it as theirs.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const goal = { id: "T45", title: "The console's listener", atLeast: 120, refusalMs: 500 };

export const defences = [
  {
    name: "one Host alone is answered",
    file: "secure-local/src/console/console-listener.ts",
    find: "headers.host !== this.#host || hosts !== 1",
    replace: "false",
  },
  {
    name: "pages of other origins are refused",
    file: "secure-local/src/console/console-listener.ts",
    find: "other || foreign || (!reads && origin === undefined)",
    replace: "false",
  },
  {
    name: "the cookie is not enough: the key of the page is needed",
    file: "secure-local/src/console/console-listener.ts",
    find: "&& timingSafeEqual(session.key, given);",
    replace: "&& given.length > 0;",
  },
  {
    name: "a code counts once",
    file: "secure-local/src/console/console-listener.ts",
    find: "this.#codes = open.filter((each) => !timingSafeEqual(each.digest, given));\n    if (this.#codes.length === open.length) return",
    replace: "this.#codes = open;\n    if (!open.some((each) => timingSafeEqual(each.digest, given))) return",
  },
  {
    name: "wrong codes leave the owner's as they are",
    file: "secure-local/src/console/console-listener.ts",
    find: "if (this.#codes.length === open.length) return undefined;",
    replace: "if (this.#codes.length === open.length) return void (this.#codes = []);",
  },
  {
    name: "a page of the console is framed by nobody",
    file: "secure-local/src/console/console-listener.ts",
    find: "frame-ancestors 'none'; ",
    replace: "",
  },
  {
    name: "what acts is JSON, which no form of another page sends",
    file: "secure-local/src/console/console-listener.ts",
    find: 'request.headers["content-type"] !== "application/json"',
    replace: "false",
  },
];

const SECRET = "what only the owner may see";

/** A console's listener whose API counts who got through. */
class Door {
  #folder = mkdtempSync(join(tmpdir(), "scorecard-console-"));
  #listener;
  through = 0;

  constructor(parts) {
    writeFileSync(join(this.#folder, "index.html"), "<!doctype html><title>Console</title>");
    writeFileSync(join(this.#folder, "console.js"), "");
    const api = async () => {
      this.through += 1;
      return { json: { text: SECRET } };
    };
    const report = () => undefined;
    this.#listener = new parts.ConsoleListener({ api, assets: this.#folder, port: 0, report });
  }

  static async open(parts) {
    const door = new Door(parts);
    await door.#listener.listen();
    return door;
  }

  newCode() {
    const { host, hash } = new URL(this.#listener.address());
    this.host = host;
    this.origin = `http://${host}`;
    return new URLSearchParams(hash.slice(1)).get("code");
  }

  async signIn(code = this.newCode()) {
    const answer = await this.send("POST", "/api/sign-in", { ...this.own(), body: JSON.stringify({ code }) });
    const cookie = /set-cookie: ([^;\r]*)/i.exec(answer)?.[1];
    const key = /"key":"([\w-]+)"/.exec(answer)?.[1];
    return cookie === undefined ? undefined : { cookie, key };
  }

  /** What the page itself sends. */
  own(session) {
    const headers = { origin: this.origin, "sec-fetch-site": "same-origin", "content-type": "application/json" };
    if (session !== undefined) Object.assign(headers, { cookie: session.cookie, "x-console-key": session.key });
    return { headers };
  }

  /** The whole answer, as text. `headers` may have lists of values, and `undefined` for none. */
  send(method, path, { headers = {}, body = "" } = {}) {
    const all = { host: this.host, connection: "close", "content-length": Buffer.byteLength(body), ...headers };
    const lines = Object.entries(all).flatMap(([name, value]) =>
      value === undefined ? [] : [value].flat().map((each) => `${name}: ${each}\r\n`),
    );
    return this.raw(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
  }

  raw(bytes) {
    const [address, port] = this.host.split(":");
    return new Promise((resolve) => {
      const socket = connect(Number(port), address, () => socket.end(bytes));
      let text = "";
      socket.setEncoding("latin1").on("data", (piece) => (text += piece));
      socket.on("error", () => resolve(text));
      socket.on("close", () => resolve(text));
    });
  }

  async close() {
    await this.#listener.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export async function run(report, parts) {
  const door = await Door.open(parts);
  const session = await door.signIn();
  const attempt = (name, ask) =>
    report.attack(name, async () => {
      const before = door.through;
      const answer = await ask();
      if (door.through !== before) return "it got through";
      if (answer.includes(SECRET)) return "it was told";
      return /^HTTP\/1\.1 (4\d\d|200)/.test(answer) || answer === "" || answer.slice(0, 80);
    });
  const context = { door, session, attempt, report };
  await strangers(context);
  await rebinding(context);
  await foreignPages(context);
  await forms(context);
  await paths(context);
  await smuggling(context);
  await codes(context);
  await cookies(context);
  await framing(context);
  await honest(context);
  await door.close();
  await otherConsole(parts, report);
  await wrongTries(parts, report);
}

const READ = ["GET", "/api/policy"];
const ACT = ["POST", "/api/answer"];

/** Programs of this machine and pages that are not signed in. */
async function strangers({ door, session, attempt, report }) {
  report.kind("programs and pages that are not signed in");
  const { headers } = door.own(session);
  const wrong = "A".repeat(43);
  const tries = {
    "nothing but the address": { cookie: undefined, "x-console-key": undefined },
    "the cookie alone": { "x-console-key": undefined },
    "the key alone": { cookie: undefined },
    "an empty key": { "x-console-key": "" },
    "a guessed key": { "x-console-key": wrong },
    "a key that is cut": { "x-console-key": session.key.slice(0, -1) },
    "two keys": { "x-console-key": [wrong, session.key] },
    "the cookie as the key": { "x-console-key": session.cookie.split("=")[1] },
    "a guessed cookie": { cookie: session.cookie.replace(/=.*/, `=${wrong}`) },
    "an empty cookie": { cookie: session.cookie.replace(/=.*/, "=") },
    "the cookie in quotes": { cookie: session.cookie.replace(/=(.*)/, '="$1"') },
    "the cookie under another name": { cookie: session.cookie.replace("console", "Console") },
    "a bearer token": { cookie: undefined, "x-console-key": undefined, authorization: `Bearer ${session.key}` },
  };
  for (const [name, change] of Object.entries(tries))
    for (const [method, path] of [READ, ACT])
      await attempt(`${path} with ${name}`, () =>
        door.send(method, path, { headers: { ...headers, ...change }, body: method === "GET" ? "" : "{}" }),
      );
}

/** Other names of this machine, as a page behind a name that leads here would ask. */
async function rebinding({ door, session, attempt, report }) {
  report.kind("names that lead here");
  const port = door.host.split(":")[1];
  const { headers } = door.own(session);
  const hosts = [
    "evil.example",
    `evil.example:${port}`,
    "localhost",
    `localhost:${port}`,
    "127.0.0.1",
    "127.0.0.1:1",
    `127.0.0.1.evil.example:${port}`,
    `127.1:${port}`,
    `0.0.0.0:${port}`,
    `[::1]:${port}`,
    `2130706433:${port}`,
    `0x7f000001:${port}`,
    `${door.host}.`,
    `${door.host}@evil.example`,
    `evil.example, ${door.host}`,
    "",
  ];
  for (const host of hosts) {
    await attempt(`host "${host}"`, () => door.send(...READ, { headers: { ...headers, host } }));
    await attempt(`host "${host}" for the page itself`, async () => {
      const answer = await door.send("GET", "/", { headers: { host } });
      return answer.startsWith("HTTP/1.1 200") ? `${SECRET}: the page` : answer;
    });
  }
  await attempt("two hosts", () => door.send(...READ, { headers: { ...headers, host: [door.host, "evil.example"] } }));
  await attempt("the foreign host first", () =>
    door.send(...READ, { headers: { ...headers, host: ["evil.example", door.host] } }),
  );
  await attempt("a whole address as the target", () =>
    door.send("GET", "http://evil.example/api/policy", { headers: { ...headers, host: "evil.example" } }),
  );
}

/** Pages of other origins in the signed-in browser. Its cookie goes along; a page that reads the key is not assumed. */
async function foreignPages({ door, session, attempt, report }) {
  report.kind("pages of other origins");
  const port = door.host.split(":")[1];
  const { headers } = door.own(session);
  const origins = [
    "null",
    "http://evil.example",
    `http://localhost:${port}`,
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    `https://${door.host}`,
    `${door.origin}.evil.example`,
    `${door.origin}/`,
    door.origin.toUpperCase(),
    "file://",
    "",
  ];
  for (const origin of origins)
    for (const [method, path] of [READ, ACT])
      await attempt(`${path} from the origin "${origin}"`, () =>
        door.send(method, path, { headers: { ...headers, origin }, body: method === "GET" ? "" : "{}" }),
      );
  for (const site of ["cross-site", "same-site", "evil"])
    for (const [method, path] of [READ, ACT])
      await attempt(`${path} by a ${site} page`, () =>
        door.send(method, path, {
          headers: { ...headers, "sec-fetch-site": site },
          body: method === "GET" ? "" : "{}",
        }),
      );
  const navigated = { ...headers, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
  for (const destination of ["document", "iframe", "embed", "object", "frame", "empty"])
    for (const [method, path] of [READ, ACT])
      await attempt(`${path} by a link to be shown as ${destination}`, () =>
        door.send(method, path, {
          headers: { ...navigated, "sec-fetch-dest": destination },
          body: method === "GET" ? "" : "{}",
        }),
      );
  await attempt("an act without an origin", () =>
    door.send(...ACT, { headers: { ...headers, origin: undefined }, body: "{}" }),
  );
  await attempt("a preflight", async () => {
    const asked = {
      origin: "http://evil.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "x-console-key",
    };
    const answer = await door.send("OPTIONS", ACT[1], { headers: asked });
    return /access-control-allow/i.test(answer) ? SECRET : answer;
  });
}

/** What a form, an image or a link can send without a script's leave. */
async function forms({ door, session, attempt, report }) {
  report.kind("forms, bodies and methods that no page of ours sends");
  const { headers } = door.own(session);
  for (const type of [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=utf-8",
    undefined,
  ])
    await attempt(`an act as ${type}`, () =>
      door.send(...ACT, { headers: { ...headers, "content-type": type }, body: "{}" }),
    );
  for (const body of ["", "{", "[]", "null", '"x"', "id=1", `{"a":"${"x".repeat(1_100_000)}"}`])
    await attempt(`an act with the body ${body.slice(0, 12)}`, () => door.send(...ACT, { headers, body }));
  for (const method of ["PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "HEAD"])
    await attempt(`${method} of what can be asked`, () => door.send(method, READ[1], { headers }));
  await attempt("an upgrade to another protocol", () =>
    door.send(...READ, {
      headers: {
        cookie: session.cookie,
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": 13,
        "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
      },
    }),
  );
}

/** Files beside the page, and the API under other spellings. */
async function paths({ door, attempt, report }) {
  report.kind("paths of other files");
  const asked = [
    "/../package.json",
    "/..%2f..%2fetc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "//etc/passwd",
    "/\\..\\x",
    "/console.js/../../x",
    "/index.html%00.js",
    "/.",
    "/console.js.br",
    "/API/policy",
    "/api/../api/policy",
    "/api//policy",
    "/api/policy/",
    "/api/policy%2f",
    "/api%2fpolicy",
    "/%61pi/policy",
    "/api/policy;x",
    "/__proto__",
    "/constructor",
  ];
  for (const path of asked)
    await attempt(`the path ${path}`, async () => {
      const answer = await door.send("GET", path);
      return answer.startsWith("HTTP/1.1 200") ? SECRET : answer;
    });
}

/** Requests that two readers could cut in two ways. */
async function smuggling({ door, session, attempt, report }) {
  report.kind("requests inside of others");
  const key = `cookie: ${session.cookie}\r\nx-console-key: ${session.key}\r\norigin: ${door.origin}\r\ncontent-type: application/json\r\n`;
  const start = `POST /api/answer HTTP/1.1\r\nhost: ${door.host}\r\n${key}`;
  const bytes = {
    "two lengths": `${start}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`,
    "a length and chunks": `${start}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    "chunks spelled otherwise": `${start}transfer-encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    "a length below zero": `${start}content-length: -2\r\n\r\n{}`,
    "a length with a sign": `${start}content-length: +2\r\n\r\n{}`,
    "a folded line": `${start}x: a\r\n b: c\r\ncontent-length: 2\r\n\r\n{}`,
    "a space before the colon": `${start}content-length : 2\r\n\r\n{}`,
    "a bare line feed in a name": `${start}x\ny: a\r\ncontent-length: 2\r\n\r\n{}`,
    "no host": `POST /api/answer HTTP/1.1\r\n${key}content-length: 2\r\n\r\n{}`,
    "another version": `POST /api/answer HTTP/9.9\r\nhost: ${door.host}\r\n${key}content-length: 2\r\n\r\n{}`,
    noise: "\x16\x03\x01\x00\xa5\x01\x00\x00",
    "a head without end": `${start}${"x: y\r\n".repeat(4_000)}`,
  };
  for (const [name, text] of Object.entries(bytes)) await attempt(`smuggled: ${name}`, () => door.raw(text));
}

/** Codes that were used, replaced, guessed or changed. */
async function codes({ door, report }) {
  report.kind("codes that are wrong, old, guessed or sent by others");
  const refused = (name, ask) =>
    report.attack(`a code that is ${name}`, async () => ((await ask()) === undefined ? true : "it signed in"));
  const used = door.newCode();
  await door.signIn(used);
  await refused("used already", () => door.signIn(used));
  const old = door.newCode();
  // The newest four count.
  for (let newer = 0; newer < 3; newer += 1) door.newCode();
  const code = door.newCode();
  await refused("older than four others", () => door.signIn(old));
  for (const [name, changed] of Object.entries({
    "cut short": code.slice(0, -1),
    "longer by one": `${code}A`,
    "in capitals": code.toUpperCase(),
    empty: "",
    "a number": 5,
    "an object": {},
    "a list": [code],
    nothing: null,
  }))
    await refused(name, () => door.signIn(changed));
  await report.attack("a code sent by a page of another origin", async () => {
    const headers = { ...door.own().headers, origin: "http://evil.example" };
    const answer = await door.send("POST", "/api/sign-in", { headers, body: JSON.stringify({ code }) });
    return /set-cookie/i.test(answer) ? "it signed in" : true;
  });
  await report.attack("a code sent with GET", async () => {
    const answer = await door.send("GET", `/api/sign-in?code=${code}`);
    return /set-cookie/i.test(answer) ? "it signed in" : true;
  });
  await refused("used at the same time by ten", async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => door.signIn(code)));
    return all.filter((each) => each !== undefined).length > 1 ? all : undefined;
  });
}

/** Whoever reaches the port tries codes: the owner's still counts, and none of theirs. */
async function wrongTries(parts, report) {
  const door = await Door.open(parts);
  report.kind("wrong codes that would void the owner's", { found: "attack" });
  const changed = (code, at) => code.slice(0, at) + (code[at] === "A" ? "B" : "A") + code.slice(at + 1);
  const ways = {
    "made up": (_, at) => `guess${at}`,
    "the owner's, with a wrong character": changed,
    "the owner's, cut short": (code, at) => code.slice(0, at),
    empty: () => "",
  };
  for (const [name, wrong] of Object.entries(ways))
    for (const times of [1, 19, 20, 21])
      await report.attack(`${times} that are ${name}`, async () => {
        const code = door.newCode();
        for (let at = 0; at < times; at += 1)
          if ((await door.signIn(wrong(code, at))) !== undefined) return "a wrong one signed in";
        return (await door.signIn(code)) !== undefined || "the owner's code is void";
      });
  await door.close();
}

/** Cookies that another program of this machine, on another port, has set beside ours or instead. */
async function cookies({ door, session, attempt, report }) {
  report.kind("cookies and keys of others");
  const { headers } = door.own(session);
  const name = session.cookie.split("=")[0];
  const planted = [
    `${session.cookie}; ${session.cookie}`,
    `${name}=x; ${session.cookie}`,
    `${session.cookie}; ${name}=x`,
  ];
  for (const cookie of planted)
    await report.benign(`the cookie ${cookie.replaceAll(session.cookie, "OURS").replaceAll(name, "NAME")}`, async () =>
      (await door.send(...READ, { headers: { ...headers, cookie } })).startsWith("HTTP/1.1 200"),
    );
  for (const cookie of [`${name}=${session.cookie}`, `${name}=x; ${name}=y`])
    await attempt(`the cookie ${cookie.replaceAll(session.cookie, "OURS").replaceAll(name, "NAME")}`, () =>
      door.send(...READ, { headers: { ...headers, cookie } }),
    );
  const other = await door.signIn();
  await attempt("the cookie of one session with the key of another", () =>
    door.send(...READ, { headers: { ...headers, cookie: other.cookie } }),
  );
  await report.attack("a script that reads the cookie, another site that sends it", async () => {
    const answer = await door.send("POST", "/api/sign-in", {
      ...door.own(),
      body: JSON.stringify({ code: door.newCode() }),
    });
    return /set-cookie: [^\r]*HttpOnly; SameSite=Strict/i.test(answer) || "the cookie can be had";
  });
}

/** What every answer says about who may show, load or measure it. */
async function framing({ door, session, report }) {
  report.kind("pages that frame, load or keep ours");
  const wanted = {
    "framed by a page": /content-security-policy: [^\r]*frame-ancestors 'none'/i,
    "framed by an old browser's page": /x-frame-options: DENY/i,
    "made to load a script": /content-security-policy: default-src 'none'; script-src 'self';/i,
    "given a base": /content-security-policy: [^\r]*base-uri 'none'/i,
    "made to send a form": /content-security-policy: [^\r]*form-action 'none'/i,
    "given markup by its own script":
      /content-security-policy: [^\r]*require-trusted-types-for 'script'; trusted-types 'none'/i,
    "opened and held by a page": /cross-origin-opener-policy: same-origin/i,
    "loaded as an image or script": /cross-origin-resource-policy: same-origin/i,
    "taken for another type": /x-content-type-options: nosniff/i,
    "named to another page": /referrer-policy: no-referrer/i,
  };
  const answers = { page: ["GET", "/"], data: READ, "a refusal": ["GET", "/nothing"] };
  for (const [what, [method, path]] of Object.entries(answers)) {
    const answer = await door.send(method, path, path === "/" ? {} : door.own(session));
    for (const [name, header] of Object.entries(wanted))
      await report.attack(`${what}: ${name}`, async () => header.test(answer) || "no header against it");
  }
  await report.attack(
    "data kept by a cache",
    async () => /cache-control: no-store/i.test(await door.send(...READ, door.own(session))) || "it may be kept",
  );
}

/** The page itself, as it asks. */
async function honest({ door, session, report }) {
  for (const [method, path] of [READ, ACT])
    await report.benign(`${path} of its own page`, async () => {
      const body = method === "GET" ? "" : "{}";
      return (await door.send(method, path, { ...door.own(session), body })).includes(SECRET);
    });
  await report.benign("the page", async () => (await door.send("GET", "/")).startsWith("HTTP/1.1 200"));
  await report.benign("another browser signs in", async () => (await door.signIn()) !== undefined);
}

/** A session ends with its console, also where another one listens at the same place, and is worth nothing at another's. */
async function otherConsole(parts, report) {
  report.kind("a session of another console");
  const [one, two] = [await Door.open(parts), await Door.open(parts)];
  const session = await one.signIn();
  two.newCode();
  await report.attack("a session of another console", async () => {
    const answer = await two.send(...READ, { headers: { ...two.own(session).headers } });
    return two.through === 0 && !answer.includes(SECRET) ? true : "it got through";
  });
  await Promise.all([one.close(), two.close()]);
}
