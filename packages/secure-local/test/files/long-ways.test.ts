// Ways by links, as a program that may put links into a folder makes them: whoever asks sees every link of them, or refuses.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { isExchangeable, isMoved, rememberBases } from "../../src/capabilities/files/bases.js";
import { FileRules } from "../../src/capabilities/files/file-rules.js";
import { FileSystem, logTail } from "../../src/capabilities/files/file-system.js";
import { leadsTo, wayTo } from "../../src/capabilities/files/leads-to.js";
import { ownFiles } from "../../src/capabilities/files/own-files.js";
import { checkedExecutable } from "../../src/capabilities/policy-run.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";
import { tree } from "./tree.js";

/** So long a text may a link be, its target included. */
const LONGEST = 4_095;
const rounds = (text: string, target: string): string =>
  text.repeat(Math.floor((LONGEST - target.length) / text.length)) + target;

/** Linux follows 40. What it has to look up anew, on a busy machine, it counts again: so many are followed at any time. */
const MANY = 12;

/** Puts links into the folder `inside`, the last of which leads to `to`. Returns the name of the one to use. */
type Make = (inside: string, to: string) => string;

function chain(inside: string, count: number, targetOf: (next: string) => string, to: string): string {
  symlinkSync(to, join(inside, "k1"));
  for (let link = 2; link <= count; link += 1) symlinkSync(targetOf(`k${link - 1}`), join(inside, `k${link}`));
  return `k${count}`;
}

const WAYS: Readonly<Record<string, Make>> = {
  "one link": (inside, to) => chain(inside, 1, (next) => next, to),
  "links of thousands of ./": (inside, to) => chain(inside, 5, (next) => rounds("./", next), to),
  "many links of thousands of ./": (inside, to) => chain(inside, MANY, (next) => rounds("./", next), to),
  "links of thousands of slashes": (inside, to) => chain(inside, 10, (next) => `.${rounds("/", next).slice(1)}`, to),
  "links through a folder and back": (inside, to) => {
    mkdirSync(join(inside, "x"));
    return chain(inside, MANY, (next) => rounds("x/../", next), to);
  },
  "many links": (inside, to) => chain(inside, MANY, (next) => next, to),
  "absolute links": (inside, to) => chain(inside, MANY, (next) => join(inside, next), to),
  "names of 255 bytes": (inside, to) => {
    const name = "n".repeat(255);
    mkdirSync(join(inside, name));
    return chain(inside, MANY, (next) => rounds(`${name}/../`, next), to);
  },
  "names of 255 bytes in letters of three": (inside, to) => {
    const name = "\u4e2d".repeat(85);
    mkdirSync(join(inside, name));
    return chain(inside, 10, (next) => `${name}/../${next}`, to);
  },
  "a link in each of many folders": (inside, to) => {
    let folder = inside;
    for (let depth = 0; depth < 30; depth += 1) mkdirSync((folder = join(folder, "d")));
    symlinkSync(to, join(folder, "last"));
    symlinkSync(`${"d/".repeat(30)}last`, join(inside, "first"));
    return "first";
  },
  "more names than are looked up": (inside, to) => {
    const names = Array.from({ length: 4_500 }, (_, index) => index.toString(36).padStart(3, "0"));
    for (const name of names) mkdirSync(join(inside, name));
    return chain(
      inside,
      10,
      (next) => {
        const from = Number(next.slice(1)) * 500 - 500;
        return (
          names
            .slice(from, from + 500)
            .map((name) => `${name}/../`)
            .join("") + next
        );
      },
      to,
    );
  },
};

async function policyFor(inside: string, named: string): Promise<Policy> {
  const text = JSON.stringify({
    version: "1.0",
    filesystem: { readable_paths: [`${named}/**`] },
    secrets: { s: { from: `file:${named}/token`, hosts: ["example.com"] } },
    databases: { d: { file: `${named}/data.db` } },
    prompts: { allowed: ["analyze_logs"], analyze_logs: { log_file: `${named}/f` } },
    commands: {
      allowed: [
        { name: "started", executable: `${named}/tool` },
        { name: "told", executable: "/usr/bin/node", flags: [{ flag: "--require", fixed: `${named}/hook.cjs` }] },
      ],
    },
    servers: { w: { command: ["/usr/bin/w"], filesystem: { allowed_paths: [`${inside}/**`] } } },
  });
  const policy = await parsePolicy(text, { file: "/nowhere/policy.yaml", environment: {} });
  rememberBases(policy);
  return policy;
}

const CODE = (error: unknown): string => (error as { readonly code?: string }).code ?? String(error);
const FILES = ["token", "data.db", "tool", "hook.cjs", "f"];

describe.skipIf(process.platform === "win32").each(Object.keys(WAYS))("%s", (way) => {
  it("lead nowhere for any part of the program, and what they lead to is protected", async () => {
    const t = tree();
    const to = join(t.outside, "real");
    mkdirSync(to);
    for (const name of FILES) writeFileSync(join(to, name), "#!/bin/sh\n", { mode: 0o755 });
    const named = join(t.inside, (WAYS[way] as Make)(t.inside, to));
    expect(readFileSync(join(named, "f"), "utf8")).toContain("sh");
    // What says that it saw all has seen what the system sees.
    const { real, links, isWhole } = wayTo(join(named, "f"));
    expect(real).toBe(realpathSync.native(join(named, "f")));
    expect(links[0]).toBe(named);
    expect(isWhole).toBe(way !== "more names than are looked up");
    expect(leadsTo(join(named, "f"), [])?.real).toBe(isWhole ? real : undefined);

    const policy = await policyFor(t.inside, named);
    expect(isExchangeable(join(named, "data.db"))).toBe(true);
    const system = new FileSystem(() => policy);
    onTestFinished(() => system.close());
    expect(
      await system
        .files()
        .read(join(named, "f"))
        .then(() => "read", CODE),
    ).toBe("denied");
    expect(
      await system
        .files()
        .list(named)
        .then(() => "listed", CODE),
    ).toBe("denied");
    expect(await logTail(() => policy, [])(100).then(() => "read", CODE)).toBe("link");
    const own = ownFiles(policy, []);
    expect(own.some((path) => join(to, "token").toLowerCase().startsWith(path))).toBe(true);
    const rules = await FileRules.of(policy, own);
    for (const name of ["tool", "hook.cjs"])
      for (const path of [join(named, name), join(to, name)])
        expect(rules.judge(path, "write")?.rule ?? "", path).not.toBe("");
  });

  it("are not followed to a program or to what it is told to run when somebody exchanged them", async () => {
    const t = tree();
    const [to, other] = [join(t.outside, "real"), join(t.outside, "other")];
    for (const folder of [to, other]) {
      mkdirSync(folder);
      for (const name of FILES) writeFileSync(join(folder, name), "#!/bin/sh\n", { mode: 0o755 });
    }
    symlinkSync(to, join(t.inside, "end"));
    const named = join(t.inside, (WAYS[way] as Make)(t.inside, join(t.inside, "end")));
    if (!existsSync(join(named, "f"))) return; // One link more than the system follows.
    const policy = await policyFor(t.inside, named);
    const started = (): Promise<string[]> =>
      Promise.all(
        [...policy.commands.allowed.values()].map((command) =>
          checkedExecutable(command).then(() => "started", String),
        ),
      );
    const isSeen = wayTo(named).isWhole;
    if (isSeen) expect(await started()).toEqual(["started", "started"]);
    rmSync(join(t.inside, "end"));
    symlinkSync(other, join(t.inside, "end"));
    expect(isMoved(join(named, "tool"))).toBe(true);
    for (const told of await started()) expect(told).toMatch(/was exchanged since the policy was loaded/);
  });
});

/** Ways that nobody can go to their end at this moment, though somebody may make them whole later. */
const BROKEN: Readonly<Record<string, Make>> = {
  "41 links": (inside, to) => chain(inside, 41, (next) => next, to),
  "a link to itself": (inside) => chain(inside, 1, (next) => next, "k1"),
  "a file in the place of a folder": (inside, to) => {
    writeFileSync(join(inside, "file"), "");
    return chain(inside, 2, (next) => `file/${next}`, to);
  },
  "a file in the place of a folder, and out of it": (inside, to) => {
    writeFileSync(join(inside, "file"), "");
    return chain(inside, 2, (next) => `file/../${next}`, to);
  },
  "a folder that is not there yet, and out of it": (inside, to) => chain(inside, 2, (next) => `later/../${next}`, to),
  "a name that is too long": (inside, to) => chain(inside, 2, (next) => `${"n".repeat(256)}/../${next}`, to),
  "a folder that nobody may look into": (inside, to) => {
    mkdirSync(join(inside, "shut"));
    symlinkSync(to, join(inside, "shut/k1"));
    symlinkSync("shut/k1", join(inside, "k2"));
    chmodSync(join(inside, "shut"), 0);
    return "k2";
  },
};

/** As somebody to whom the rights of folders apply. */
function asNobody(): void {
  if (process.geteuid?.() !== 0) return;
  process.seteuid?.(65_534);
  onTestFinished(() => process.seteuid?.(0));
}

describe.skipIf(process.platform === "win32").each(Object.keys(BROKEN))("a way by %s", (way) => {
  it("is one that a program may exchange", async () => {
    const t = tree();
    const to = join(t.outside, "real");
    mkdirSync(to);
    writeFileSync(join(to, "token"), "kept");
    const named = join(t.inside, (BROKEN[way] as Make)(t.inside, to));
    for (const folder of [join(t.inside, ".."), t.inside]) chmodSync(folder, 0o755);
    asNobody();
    expect(() => readFileSync(join(named, "token"))).toThrow();
    expect(wayTo(join(named, "token")).isWhole).toBe(false);
    expect(leadsTo(join(named, "token"), [])).toBeUndefined();
    const policy = await policyFor(t.inside, named);
    for (const name of ["data.db", "tool"]) expect(isExchangeable(join(named, name)), name).toBe(true);
    const rules = await FileRules.of(policy, ownFiles(policy, []));
    for (const name of ["tool", "token"]) expect(rules.judge(join(named, name), "write"), name).toBeDefined();
  });
});

it.skipIf(process.platform === "win32")(
  "a way through a folder that nobody may look into may have any link",
  async () => {
    const t = tree();
    const shut = join(t.outside, "shut");
    mkdirSync(join(shut, "below"), { recursive: true });
    await policyFor(t.inside, join(shut, "below"));
    expect(isExchangeable(join(shut, "below/data.db"))).toBe(false);
    for (const folder of [join(t.inside, ".."), t.outside]) chmodSync(folder, 0o755);
    chmodSync(shut, 0);
    asNobody();
    expect(isExchangeable(join(shut, "below/data.db"))).toBe(true);
  },
);
