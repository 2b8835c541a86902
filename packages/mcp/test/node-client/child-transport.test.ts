// A link to a child: messages both ways, what it is started with, what is said when it cannot be, or has ended.
import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TREE_VARIABLE } from "../../src/node/child-tree.js";
import { type ChildCommand, childTransport } from "../../src/node/child-transport.js";
import { ECHO, opened, openScript, openShell, Recorded, request } from "./child-fixture.js";

let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "child-transport-"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a script prints as its only message. */
async function reported(expression: string, options: Partial<ChildCommand> = {}): Promise<unknown> {
  const child = await openScript(
    `console.log(JSON.stringify({ value: ${expression} })); process.stdin.resume()`,
    options,
  );
  return (await child.message(0)).value;
}

async function refusal(command: Partial<ChildCommand>): Promise<{ code: string; message: string }> {
  const recorded = new Recorded({ command: process.execPath, ...command });
  const error: unknown = await Promise.resolve(recorded.link.start(recorded)).catch((error: unknown) => error);
  expect(recorded.ends).toEqual([]);
  return error as { code: string; message: string };
}

describe("a child", () => {
  it("is sent messages and brings messages, and is closed once however often it is asked", async () => {
    const child = await openScript(ECHO);
    for (let id = 0; id < 100; id++) void child.request(id, { n: id });
    expect(await child.message(99)).toEqual({ jsonrpc: "2.0", id: 99, result: { n: 99 } });
    expect(child.texts).toHaveLength(100);
    await Promise.all([child.link.close(), child.link.close()]);
    await child.link.close();
    expect(child.ends).toEqual([undefined]);
  });

  it("may answer in any order, twice, under wrong ids: what carries the messages does not judge them", async () => {
    const child = await openShell(`for id in 2 2 '"x"' null; do echo '{"id":'$id',"result":{}}'; done`);
    await child.end();
    expect(child.texts.map((text) => (JSON.parse(text) as { id: unknown }).id)).toEqual([2, 2, "x", null]);
  });

  it("takes long messages of every character whole", async () => {
    const child = await openScript(ECHO);
    const text = "ä\u{1f600}\u2028 x".repeat(100_000);
    void child.request(1, { text });
    expect(((await child.message(0)).result as { text: string }).text === text).toBe(true);
  });

  it("makes the sender wait while it does not read, and refuses requests of those who do not", async () => {
    const child = await openShell("exec sleep 1000", {
      limits: { highWaterBytes: 500_000, outgoingBytes: 1_000_000 },
      closeTimeouts: { inputEndMs: 1 },
    });
    const text = "x".repeat(300_000);
    const waits = [1, 2, 3, 4].map((id) => child.request(id, { text }));
    expect(waits.map((wait) => wait !== undefined)).toEqual([false, true, true, true]);
    expect(child.losses.size).toBe(0);
    void child.request(5, { text });
    expect(child.losses.get(5)?.code).toBe("LIMIT");
    expect(child.losses.get(5)?.message).toContain("does not read");
  });

  it("lets the sender go on when it has read", async () => {
    const child = await openScript(ECHO, { limits: { highWaterBytes: 100_000 } });
    for (let id = 0; id < 20; id++) await child.request(id, { text: "x".repeat(90_000) });
    expect(await child.message(19)).toMatchObject({ id: 19 });
  });
});

describe("a child is started", () => {
  it("with six of our variables and those it is given, and a mark", async () => {
    process.env["CHILD_LINK_SECRET"] = "s";
    const names = (await reported(`Object.keys(process.env)`, { env: { GIVEN: "g" } })) as string[];
    const allowed = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "GIVEN", TREE_VARIABLE];
    expect(names.filter((name) => !allowed.includes(name))).toEqual([]);
    expect(names).toContain("GIVEN");
    expect(names).toContain("PATH");
    const secret = async (options: Partial<ChildCommand>): Promise<unknown> =>
      (await (await openShell('echo "{\\"value\\":\\"${CHILD_LINK_SECRET-none}\\"}"', options)).message(0)).value;
    expect(await secret({})).toBe("none");
    expect(await secret({ inheritEnv: ["CHILD_LINK_SECRET"] })).toBe("s");
    expect(await secret({ inheritEnv: true })).toBe("s");
    delete process.env["CHILD_LINK_SECRET"];
  });

  it("in its folder, with its arguments untouched by any shell, with three open files", async () => {
    const args = ["a b", "$HOME", "`id`", "; exit 1", "*", '"', ""];
    const both = await reported(`[process.cwd(), process.argv.slice(1)]`, { cwd: folder, args: ["--", ...args] });
    expect(both).toEqual([realpathSync(folder), args]);
    const list = await opened({ command: "ls", args: ["/proc/self/fd"] });
    await list.end();
    // The fourth is the folder that is listed. What whoever started us left open at high numbers, Node cannot close.
    expect(list.noises.filter((fd) => Number(fd) < 16)).toEqual(["0", "1", "2", "3"]);
  });

  it("in a group of its own", async () => {
    const child = await openShell('echo "{\\"value\\":$$}"; exec cat');
    const { value } = await child.message(0);
    expect(() => process.kill(-(value as number), 0)).not.toThrow();
    expect(child.link.describe?.()).toContain(`(process ${String(value)})`);
  });
});

describe("a child that cannot be started is reported with what to do:", () => {
  it("no such program", async () => {
    const { code, message } = await refusal({ command: "no-such-program-here" });
    expect(code).toBe("SPAWN_FAILED");
    expect(message).toMatch(
      /^Cannot start no-such-program-here: there is no program .* in the PATH of the child \(.*Install/,
    );
  });

  it("no such file, or an interpreter that is missing", async () => {
    expect((await refusal({ command: "/no/such/file" })).message).toContain('there is no file "/no/such/file"');
    const script = join(folder, "script");
    writeFileSync(script, "#!/no/such/interpreter\n", { mode: 0o755 });
    expect((await refusal({ command: "./script", cwd: folder })).message).toContain("the interpreter");
    expect((await refusal({ command: script })).message).toContain("the interpreter");
  });

  it("not executable, or a folder", async () => {
    const file = join(folder, "plain");
    writeFileSync(file, "");
    chmodSync(file, 0o644);
    expect((await refusal({ command: file })).message).toContain("chmod +x");
    expect((await refusal({ command: folder })).message).toContain("it is a folder");
  });

  it("no such working directory", async () => {
    const { code, message } = await refusal({ cwd: join(folder, "missing") });
    expect(code).toBe("SPAWN_FAILED");
    expect(message).toContain(`the working directory "${join(folder, "missing")}"`);
  });

  it("an empty name, a NUL character, too many arguments", async () => {
    expect((await refusal({ command: "" })).code).toBe("SPAWN_FAILED");
    expect((await refusal({ args: ["a\0b"] })).message).toContain("NUL");
    const args = Array.from({ length: 40 }, () => "x".repeat(100_000));
    expect((await refusal({ args })).message).toContain("longer than the system allows");
  });

  it("closed before it was opened", async () => {
    const link = childTransport({ command: process.execPath });
    await link.close();
    await expect(link.start(new Recorded({ command: "x" }))).rejects.toMatchObject({ code: "CLOSED" });
  });
});

describe("a child that ends unasked", () => {
  it("is reported with its status and its last 20 lines, controls made visible", async () => {
    const child = await openShell('exec >&2; seq -f "line %g" 0 29; printf %s "$0"; exit 3', {
      args: ["no \u001b[31mkey\u202e"],
    });
    const error = await child.end();
    expect(error?.code).toBe("EXITED");
    expect(error?.message).toMatch(
      /exited with status 3 \(after \d+\.\d s\)\. The end of its standard error:\n {2}line 11\n/,
    );
    expect(error?.message.endsWith("line 29\n  no \\x1b[31mkey\\u202e")).toBe(true);
    // Said once: whoever adds the troubles to an error does not say it again.
    expect(child.link.troubles?.()).toBe("");
    void child.link.send(request(1));
    expect(child.losses.get(1)).toBe(error);
  });

  it("is reported when it exits at once, by a signal, or through a shell that found nothing", async () => {
    const atOnce = await opened({ command: "true" });
    expect((await atOnce.end())?.message).toContain("exited with status 0 (after");
    expect(atOnce.ends[0]?.message).toContain("It wrote nothing to standard error.");
    const killed = await openShell("kill -KILL $$");
    expect((await killed.end())?.message).toContain("ended by SIGKILL");
    const shell = await openShell("no-such-program-here");
    expect((await shell.end())?.message).toContain(
      "status 127, which says that the program it should run was not found",
    );
  });

  it("exits on a message it does not know: what it answered before still arrives", async () => {
    const child = await openShell(`read -r _; echo '{"id":0,"result":{}}'; exit 1`);
    void child.request(0);
    await child.end();
    expect(child.texts).toEqual(['{"id":0,"result":{}}']);
  });

  it("shows no secret it was given by environment or command line", async () => {
    const child = await openShell(
      `long=$(head -c 490 /dev/zero | tr '\\0' x)$API_KEY
       echo $API_KEY >&2; echo key $API_KEY; echo $long; echo $long >&2; exit 1`,
      {
        env: { API_KEY: "hunter2-hunter2" },
        args: ["--", "--token", "sesame-open", "--password=abc123", "https://me:pw@host/"],
      },
    );
    const error = await child.end();
    const said = `${error?.message}${child.link.describe?.()}${child.noises.join()}`;
    for (const secret of ["hunt", "sesame", "abc123", ":pw"]) expect(said).not.toContain(secret);
    expect(child.noises[0]).toEqual("key [API_KEY]");
  });

  it.each(["0<&-", "1>&-"])("ends its part by %s and is ended", async (part) => {
    let report: () => void = () => undefined;
    const closed = new Promise<void>((resolve) => (report = resolve));
    const child = await openShell(`exec ${part}; echo closed >&2; exec sleep 1000`, { stderr: () => report() });
    await closed;
    // A process starting beside this one holds a copy of the pipe for a moment: what is written meanwhile finds room there.
    const writing = setInterval(() => void child.link.send({ text: "{}", kind: "notification" }), 10);
    const error = await child.end().finally(() => clearInterval(writing));
    expect(error?.code).toBe("EXITED");
    expect(error?.message).toContain("closed its standard");
  });
});

it("names another command line than its own in errors, without its secrets, where one is given", async () => {
  const child = await openShell("exit 3", { shown: ["weather", "--token", "t1"] });
  expect((await child.end())?.message).toMatch(/^The server weather --token \*\*\* exited with status 3/);
});
