// Links whose names are no UTF-8, on the way to protected and to own files: they are found by their bytes, so what they lead to is judged.
import { Buffer } from "node:buffer";
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileRules } from "../../src/capabilities/files/file-rules.js";
import { leadsTo, wayTo } from "../../src/capabilities/files/leads-to.js";
import { ownFiles } from "../../src/capabilities/files/own-files.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { filePolicy, type Tree, tree } from "./tree.js";

/** Each kind of them: alone, cut short, too long a form, a surrogate, beyond the last character. */
const BYTES = ["\\xe4", "\\x80", "\\xe2\\x82", "\\xc0\\xae", "\\xed\\xa0\\x80", "\\xf4\\x90\\x80\\x80"];

/** `\\xe4` stands for a byte. */
function raw(path: string): Buffer {
  const bytes = Buffer.from(path).toString("latin1");
  return Buffer.from(
    bytes.replace(/\\x(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
}

function link(t: Tree, name: string, target: string): void {
  mkdirSync(raw(dirname(join(t.inside, name))), { recursive: true });
  symlinkSync(raw(target), raw(join(t.inside, name)));
}

/** Links by where they stand, and what of the rest nobody exchanges; `!` stands for the bytes. */
const WAYS: Readonly<Record<string, { links: Readonly<Record<string, string>>; kept: readonly string[] }>> = {
  "the protected name itself": { links: { ".env.!": "store/v1/rc" }, kept: ["store", "store/v1"] },
  "the protected name, by a link": {
    links: { "g!.pem": "store/cur/rc", "store/cur": "v1" },
    kept: ["store", "store/cur", "store/v1"],
  },
  "a link that it leads to": {
    links: { ".bashrc": "l!", "l!": "store/cur/rc", "store/cur": "v1" },
    kept: ["store", "store/cur", "store/v1"],
  },
  "a folder that is a link": {
    links: { ".bashrc": "l!/rc", "l!": "store/cur", "store/cur": "v1" },
    kept: ["store", "store/cur", "store/v1"],
  },
  "several of them, and umlauts": {
    links: { ".npmrc": "ä/l!", "ä/l!": "../m!n/x", "m!n/x": "../store/cur/rc", "store/cur": "v1" },
    kept: ["store", "store/cur", "store/v1", "ä"],
  },
  "a folder in a protected one": { links: { ".ssh/d!/x": "../../store/v1/rc" }, kept: ["store", "store/v1"] },
};

describe.runIf(process.platform === "linux").each(BYTES)("a name of the bytes %s", (bytes) => {
  it.each(Object.keys(WAYS))("hides no way to what a protected name leads to: %s", async (what) => {
    const { links, kept } = WAYS[what]!;
    const t = tree();
    t.put("store/v1/rc", "good");
    t.put("store/v1/other", "good");
    for (const [name, target] of Object.entries(links))
      link(t, name.replaceAll("!", bytes), target.replaceAll("!", bytes));
    const policy = await filePolicy(t);
    const rules = await FileRules.of(policy, ownFiles(policy, []));
    expect(rules.judge(join(t.inside, "store/v1/rc"), "write")?.rule).toMatch(/^built-in protection of /);
    expect(rules.judge(join(t.inside, "store/v1/other"), "write")).toBeUndefined();
    for (const name of kept)
      expect([name, rules.onTheWay(join(t.inside, name))?.rule]).toEqual([name, expect.any(String)]);
  });

  it("hides no way to a file of the program's own", async () => {
    const t = tree();
    const token = t.put("store/v1/token", "good");
    link(t, "token", `l${bytes}`);
    link(t, `l${bytes}`, "store/cur/token");
    link(t, "store/cur", "v1");
    const at = (name: string): string => join(t.inside, name);
    expect(leadsTo(at("token"), [])).toEqual({ real: token, names: [token] });
    expect(wayTo(at("token"))).toEqual({ real: token, links: [at("token"), at("store/cur")], isWhole: true });
    const policy = await parsePolicy(
      JSON.stringify({
        version: "1.0",
        filesystem: { allowed_paths: [`${t.inside}/**`] },
        secrets: { k: { from: `file:${at("token")}`, hosts: ["a.example"] } },
      }),
      { file: "/nowhere/policy.yaml", environment: {} },
    );
    const rules = await FileRules.of(policy, ownFiles(policy, []));
    for (const name of ["token", "store/cur", "store/v1/token"])
      expect(rules.judge(at(name), "write")?.rule).toBe("built-in protection of this program's own files");
  });

  it("leads to what no rule can name, and that is not what it looks like", () => {
    const t = tree();
    const twin = t.put(raw(`d${bytes}`).toString(), "good");
    link(t, "x", `d${bytes}`);
    expect(leadsTo(join(t.inside, "x"), [])).toBeUndefined();
    expect(wayTo(join(t.inside, "x")).isWhole).toBe(false);
    expect(leadsTo(twin, [])?.real).toBe(twin);
  });
});

it("a folder is no part of the place that a path comes to when it was left again", () => {
  const t = tree();
  t.put("long-name/x", "");
  t.put("b/file", "");
  const [left, path] = [join(t.inside, "long-name"), `${t.inside}/long-name/../b/file`];
  const real = join(t.inside, "b/file");
  expect(leadsTo(path, [left, join(t.inside, "b")])).toEqual({ real, names: [real, real] });
});
