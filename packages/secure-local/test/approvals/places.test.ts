// Conditions of consent are about things: a file under each of its names, a host and a URL in each spelling.
import { link, mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { leadsTo, leadsToBy } from "../../src/capabilities/files/leads-to.js";
import { Mounts } from "../../src/capabilities/files/mounted-names.js";
import { approvalNeed } from "../../src/policy/decide-command.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { textOf } from "../guard/guarded-server.js";
import { approvingServer, erase, person, yes } from "./approving-server.js";

let place: string;

beforeAll(async () => {
  place = await realpath(await mkdtemp(join(tmpdir(), "places-")));
  for (const folder of ["protected/deep", "src/deep", "r1"]) await mkdir(join(place, folder), { recursive: true });
  for (const file of ["protected/hosts", "protected/several", "src/free"]) await writeFile(join(place, file), "x");
  const links: [string, string][] = [
    ["../protected", "src/vendor"],
    ["vendor", "src/again"],
    ["../protected/hosts", "src/direct"],
    ["../protected/made-later", "src/dangling"],
    ["protected/deep", "outer"],
    ["protected", "linked"],
    ["round", "src/round"],
    ["r1", "current"],
    ["../outer/..", "src/up"],
    [join("/proc/self/root", place, "protected"), "src/by-proc"],
  ];
  for (const [target, name] of links) await symlink(target, join(place, name));
  await link(join(place, "protected/several"), join(place, "src/several"));
});
afterAll(() => rm(place, { recursive: true, force: true }));

async function asks(when: Record<string, unknown>, given: Record<string, unknown>): Promise<boolean> {
  const text = `version: "1.0"\napprovals: [{ approve: all, when: ${JSON.stringify(when)} }]\n`;
  const policy = await parsePolicy(text, { file: "p.yaml" });
  return approvalNeed(policy, { tool: "x", destructive: false, arguments: given, leads: leadsTo }) !== undefined;
}

describe("a path", () => {
  it("is asked about wherever links bring it from, whether or not it exists, and when it cannot be told", async () => {
    const when = { path: `${place}/protected/**` };
    const led = ["src/vendor/hosts", "src/vendor", "src/again/hosts", "src/direct", "src/dangling", "outer/new/file"];
    const odd = ["src/several", "src/round/x", "src/up/hosts", "src/by-proc/hosts", "src/vendor/../protected/hosts"];
    for (const path of [...led, ...odd, "protected/hosts", "protected/not/yet"])
      expect(await asks(when, { path: `${place}/${path}` }), path).toBe(true);
    for (const path of ["src/free", "src/deep/new", "src", "current/x"])
      expect(await asks(when, { path: `${place}/${path}` }), path).toBe(false);
  });

  it("is compared with rules that are written through links, and with texts", async () => {
    expect(await asks({ path: `${place}/current/**` }, { path: `${place}/r1/x` })).toBe(true);
    expect(await asks({ path: `${place}/src/vendor/hosts` }, { path: `${place}/protected/hosts` })).toBe(true);
    expect(await asks({ path: "*/protected/*" }, { path: `${place}/src/vendor/hosts` })).toBe(true);
    expect(await asks({ path: "*/protected/*" }, { path: `${place}/src/free` })).toBe(false);
    expect(await asks({ path: `${place}/r1/**` }, { path: [`${place}/src/free`, `${place}/current/x`] })).toBe(true);
  });

  it("is shown as it was written and where it leads, and a link that moves on ends the consent", async () => {
    const server = await approvingServer(`  - { approve: all, when: { path: "${place}/protected/**" } }`);
    const shown: string[] = [];
    const peer = await server.connect(person(yes, shown));
    expect(textOf(await erase(peer, { path: `${place}/src/vendor/hosts` }))).toBe("done");
    expect(shown[0]).toContain(`"${place}/src/vendor/hosts" leads to "${place}/protected/hosts"`);
    await symlink("../protected/hosts", join(place, "src/moving"));
    const swapping = await server.connect(
      person(async () => {
        await symlink("free", join(place, "src/other"));
        await rename(join(place, "src/other"), join(place, "src/moving"));
        return yes();
      }),
    );
    const refused = await erase(swapping, { path: `${place}/src/moving` });
    expect(textOf(refused)).toContain("where its paths lead");
    expect(server.ran).toHaveLength(1);
  });
});

describe("a path that is mounted in several places", () => {
  /** A number below `most`, of a row that is the same in every run. */
  function numbers(seed: number): (most: number) => number {
    let state = (seed * 2_654_435_761) % 4_294_967_296;
    return (most) => (
      (state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296),
      Math.floor((state / 4_294_967_296) * most)
    );
  }

  /** As the kernel tells them: a part of the disk at a folder of `src`, at any depth of what the condition names. */
  function mounted(shown: string, at: string): Mounts {
    const lines = ["20 1 8:1 / /", `21 20 8:1 ${shown} ${at}`];
    return new Mounts(() => lines.map((line) => `${line} rw shared:1 - ext4 /dev/x rw\n`).join(""));
  }

  const asksBy = async (mounts: Mounts, pattern: string, path: string): Promise<boolean> => {
    const text = `version: "1.0"\napprovals: [{ approve: all, when: { path: "${pattern}" } }]\n`;
    const policy = await parsePolicy(text, { file: "p.yaml" });
    const call = { tool: "x", destructive: false, arguments: { path }, leads: leadsToBy(mounts) };
    return approvalNeed(policy, call) !== undefined;
  };

  it.each(Array.from({ length: 60 }, (_, seed) => [seed]))("is asked about under each name (%d)", async (seed) => {
    const next = numbers(seed + 1);
    const shown = ["protected", "protected/deep", "protected/deep/er", ""][next(4)] as string;
    const at = `${place}/${["src/mounted", "src/deep/alias", "alias"][next(3)]}`;
    const below = ["/f", "/new/f", ""][next(3)] as string;
    const through = [`${place}/src/vendor`, `${place}/protected`, `${place}/linked`][next(3)] as string;
    const patterns = [`${through}/**`, `${place}/protected/**`, "**/protected/**"];
    const pattern = patterns[next(patterns.length)] as string;
    // The whole folder is mounted: what lies in `protected` of it is meant, and nothing else.
    const inside = shown === "" ? `/protected${below}` : below;
    const mounts = mounted(shown === "" ? place : `${place}/${shown}`, at);
    expect(await asksBy(mounts, pattern, `${at}${inside}`)).toBe(true);
    expect(await asksBy(mounts, pattern, `${place}/outside/f`)).toBe(false);
    if (shown === "") expect(await asksBy(mounts, pattern, `${at}/r1/x`)).toBe(false);
  });
});

describe("a URL or a host", () => {
  it("is asked about in every spelling", async () => {
    const url = { url: "https://internal.example/admin*" };
    for (const spelling of [
      "HTTPS://Internal.Example/admin",
      "https://internal.example:443/admin/x",
      "https://user:word@internal.example/admin",
      "https://internal.example./admin",
      "https://internal.example/%61dmin",
      "https://internal.example/x/../admin",
      "https://internal.example/./admin?x=1#y",
      "https:\\\\internal.example\\admin",
      " https://internal.example/admin",
      "https:internal.example/admin",
      "https://inter\tnal.example/admin",
      "https://ｉnternal.example/admin",
      "https://internal.example/%",
      "https://[",
    ])
      expect(await asks(url, { url: spelling }), spelling).toBe(!spelling.endsWith("/%"));
    expect(await asks(url, { url: "https://other.example/admin" })).toBe(false);
    const host = { host: "bücher.example" };
    for (const spelling of ["xn--bcher-kva.example", "BÜCHER.example", "bücher.example.", "xn--bcher-kva.example:443"])
      expect(await asks(host, { host: spelling }), spelling).toBe(true);
    for (const spelling of ["2130706433.", "127.1", "0x7f.0.0.1", "127.0.0.1:80"])
      expect(await asks({ host: "127.0.0.1" }, { host: spelling }), spelling).toBe(true);
    expect(await asks({ url: "*://127.0.0.1/*" }, { url: "http://0x7f000001/x" })).toBe(true);
    expect(await asks({ text: "*prod*" }, { text: "https: is a scheme" })).toBe(false);
  });

  /** What `URL` leaves out or decodes, and what somebody puts around an address, at every place of one host. */
  function* spelled(host: string): Iterable<string> {
    for (const unseen of [
      "\t",
      "\n",
      "\r",
      "\r\n",
      "\u00ad",
      "\u200b",
      "\u2060",
      "\ufeff",
      "\ufe0f",
      "%c2%ad",
      "%E2%80%8B",
    ])
      for (let at = 0; at <= host.length; at++) yield host.slice(0, at) + unseen + host.slice(at);
    for (const [at, letter] of [...host].entries()) {
      const code = letter.charCodeAt(0);
      const wide = String.fromCharCode(code + 0xfee0);
      const others = [`%${code.toString(16)}`, wide, encodeURIComponent(wide), letter.toUpperCase()];
      const dots = letter === "." ? ["。", "｡", "%e3%80%82", "%EF%BD%A1"] : [];
      for (const other of [...others, ...dots]) yield host.slice(0, at) + other + host.slice(at + 1);
    }
    for (const [before, after] of AROUND) yield before + host + after;
  }
  const AROUND: readonly (readonly [string, string])[] = [
    ["//", ""],
    ["\\\\", "\\x"],
    ["https:", "/x"],
    ["https:////", "/x"],
    ["h\tttps://", "/x"],
    ["ht\ntps:\\\\", "/x"],
    [" \u0001https://", "/x"],
    ["a:b@", ":443/x"],
    ["https://a@b@", "/x"],
  ];
  /** No URL to `URL`, or another: what tools make one of all the same. */
  const LOOSE: readonly (readonly [string, string])[] = [
    ["", "/x"],
    ["//", "/x"],
    ["/\t/", "/x"],
    ["view-source:https://", "/x"],
    ["url:https://", "/x"],
    ["blob:https://", "/x"],
    ["redis://a@", ":6379/0"],
    ["foo:https:", "/x"],
    ["git@", ":owner/name"],
    ["<https://", "/x>"],
    ['"https://', '/x"'],
    ["[a](https://", "/x)"],
    ["\u00a0https://", "/x"],
    ["\u200bhttps://", "/x"],
    ...[" ", ",", ", ", "\n", "\r\n", ";", "|", "\t", "&", "=", "+", "\u0000", "\u3000"].flatMap((between) => [
      [`https://good.example/${between}https://`, "/x"] as const,
      [`good.example${between}`, ""] as const,
      ["", `${between}good.example`] as const,
    ]),
  ];
  const nameOf = (text: string): string | undefined =>
    [text, `https://${text}`].map((each) => URL.canParse(each) && new URL(each).hostname).find(Boolean) || undefined;

  it("is asked about however it is spelled, if only some reader takes it for that host", async () => {
    const alike = [...spelled("evil.example")].filter((text) => nameOf(text) === "evil.example");
    expect(alike.length).toBeGreaterThan(150);
    for (const text of [...alike, ...LOOSE.map(([before, after]) => `${before}evil.example${after}`)]) {
      expect(await asks({ host: "evil.example" }, { host: text }), JSON.stringify(text)).toBe(true);
      expect(await asks({ to: "*.example" }, { to: text }), JSON.stringify(text)).toBe(true);
    }
    for (const text of alike) {
      const url = /^[^@]*[/\\]/.test(text) ? text : `https://${text}/x`;
      expect(await asks({ url: "https://evil.example/*" }, { url }), JSON.stringify(url)).toBe(true);
    }
    for (const [before, after] of LOOSE.filter(([before]) => !/^(?:redis|git|foo)/.test(before)))
      expect(await asks({ url: "https://evil.example/*" }, { url: `${before}evil.example${after}` }), before).toBe(
        true,
      );
  });

  it("is not asked about where it is another one, in whatever spelling", async () => {
    // With a blank within it could be two.
    const alike = [...spelled("good.example")].filter(
      (text) => nameOf(text) === "good.example" && !/\w\s+\W*\w/.test(text),
    );
    expect(alike.length).toBeGreaterThan(100);
    const others = [
      "see https://good.example/ and good.example:8443",
      "bob@good.example, al@good.example",
      "localhost",
    ];
    for (const text of [
      ...alike,
      ...others,
      "https://good.example/a,b;c?d=e|f#g",
      "file:///work/x",
      "/work/some file.txt",
    ])
      for (const when of [{ host: "evil.example" }, { host: "https://evil.example/*" }])
        expect(await asks(when, { host: text }), JSON.stringify(text)).toBe(false);
  });

  it("is asked about where nobody can tell which host it is", async () => {
    const doubtful = ["evil%252eexample", "good.example:99999", "https://a b.example..", "exa mple!.x^", "about:blank"];
    const many = Array.from({ length: 100 }, (_, at) => `h${at}.example`).join(" ");
    for (const text of [...doubtful, many]) {
      expect(await asks({ host: "evil.example" }, { host: text }), text).toBe(true);
      expect(await asks({ text: "*evil*" }, { text: text.replaceAll("evil", "") }), text).toBe(false);
    }
  });

  it("and a number or a yes as tools read them", async () => {
    for (const count of [5, "5", "5.0", " 5 ", "0x5"]) expect(await asks({ count: 5 }, { count })).toBe(true);
    for (const force of [true, "true", "TRUE", " true "]) expect(await asks({ force: true }, { force })).toBe(true);
    for (const count of [6, "6", "", null]) expect(await asks({ count: 5 }, { count })).toBe(false);
  });
});

describe("a text", () => {
  const UNSEEN = [
    "\u0000",
    "\u0007",
    "\u0085",
    "\u009b0m",
    "\u001b[0m",
    "\u001b]0;x\u0007",
    "\u200b",
    "\u2060",
    "\ufeff",
  ];
  const TAGS = ["\u00ad", "\u{e0001}", "\u{e0064}", "\u0301", "\u20dd", "\ufe0f", "\ue000"];
  const BLANK = [" ", "\t", "\n", "\r\n", "\u00a0", "\u2028", "\u3000", "  \t"];
  const QUOTES = ["'", '"', "`", "\u201c", "\u00ab"];

  function* spelled(word: string): Iterable<string> {
    for (const each of [...UNSEEN, ...TAGS])
      for (let at = 0; at <= word.length; at++) yield word.slice(0, at) + each + word.slice(at);
    for (const each of [...BLANK, ...QUOTES]) yield* [each + word, each + word + each];
    for (const [at, letter] of [...word].entries())
      for (const other of [letter.toUpperCase(), String.fromCharCode(letter.charCodeAt(0) + 0xfee0)])
        yield word.slice(0, at) + other + word.slice(at + 1);
    yield* [
      `${word}\u0000.txt`,
      `\u0000 ${word}`,
      String.fromCodePoint(...[...word].map((c) => c.charCodeAt(0) + 0x1d3b9)),
    ];
  }

  it("is asked about whatever is put around and between its letters that a person does not read", async () => {
    for (const mode of spelled("delete"))
      for (const pattern of ["delete", "del*", "?elete"])
        expect(await asks({ mode: pattern }, { mode }), `${pattern} ${JSON.stringify(mode)}`).toBe(true);
    for (const mode of spelled("create"))
      expect(await asks({ mode: "del*" }, { mode }), JSON.stringify(mode)).toBe(false);
    for (const words of ["drop  table", "drop\ttable", "DROP\r\n table", "drop\u00a0\u200btable"])
      expect(await asks({ sql: "drop table*" }, { sql: words }), JSON.stringify(words)).toBe(true);
    for (const count of ["\u00005", "５", "5\u200b"]) expect(await asks({ count: 5 }, { count }), count).toBe(true);
    for (const force of ["\u0000no", "ｎｏ"]) expect(await asks({ force: false }, { force }), force).toBe(true);
  });
});

it.each([" ", '"', "\u0001", "\u001b[", "a", "a.", "ab:/", "e\u0301", "\n,"])(
  "a list of long texts of %j is judged in little time, whatever is sought",
  async (part) => {
    const texts = Array.from({ length: 50 }, () => `a${part.repeat(4_000 / part.length)}b`);
    for (const when of [{ url: "https://evil.example/*" }, { mode: "del*" }]) {
      const given = Object.fromEntries(Object.keys(when).map((name) => [name, texts]));
      const before = process.cpuUsage();
      await asks(when, given);
      const { user } = process.cpuUsage(before);
      // By the square of their length it is two seconds.
      expect(user / 1_000).toBeLessThan(700);
    }
  },
);
