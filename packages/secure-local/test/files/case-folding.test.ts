// Protected names on file systems that take several spellings for one: other cases, other forms of letters, short names of FAT.
import { linkSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { assert, constantFrom, array, property, stringMatching } from "fast-check";
import { describe, expect, it } from "vitest";
import { FileRules } from "../../src/capabilities/files/file-rules.js";
import { LISTING, type Listing, Mounts, storedPath } from "../../src/capabilities/files/mounted-names.js";
import { ownFiles } from "../../src/capabilities/files/own-files.js";
import { NAME_CLASSES, namesIn } from "../../src/capabilities/files/protected-names.js";
import { foldName, protectionOf } from "../../src/capabilities/files/protection-of.js";
import { foldCase } from "../../src/policy/path-matcher.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { filePolicy, tree } from "./tree.js";

const LAST_CHARACTER = 0x10ffff;

/** What some system folds a text to, by Unicode's tables as this engine has them. */
function foldings(text: string): string[] {
  return [text.toLowerCase(), text.toUpperCase(), text.toUpperCase().toLowerCase(), text.normalize("NFD")];
}

describe("the form in which names are compared", () => {
  it.each([
    ["names", foldName],
    ["paths", foldCase],
  ])("is one for all cases and forms of every character, of %s", (_, fold) => {
    const wrong: string[] = [];
    for (let code = 0x20; code <= LAST_CHARACTER; code += 1) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const name = `a${String.fromCodePoint(code)}b`;
      for (const other of foldings(name))
        if (other !== name && fold(other) !== fold(name)) wrong.push(`${code.toString(16)}: ${other}`);
    }
    expect(wrong).toEqual([]);
  });

  it("is that of the letters that others are taken for", () => {
    for (const [written, plain] of [
      [".\u00dfh", ".ssh"],
      [".\u1e9eH", ".ssh"],
      [".ba\u017fhrc", ".bashrc"],
      [".\u212aube", ".kube"],
      [".net\u200brc", ".netrc"],
    ] as const) {
      expect([foldName(written), foldCase(written)]).toEqual([plain, plain]);
    }
  });

  it("leaves no spelling of a protected name", () => {
    const same: Readonly<Record<string, readonly string[]>> = {
      s: ["S", "\u017f"],
      k: ["K", "\u212a"],
      ss: ["\u00df", "\u1e9e", "S\u017f"],
      fi: ["\ufb01"],
      st: ["\ufb06", "\ufb05"],
    };
    const names = NAME_CLASSES.flatMap(namesIn).map(
      ({ name }) => `/p/${name.replace(/^(?:~\/|\/)/, "").replaceAll("*", "x")}`,
    );
    const kept = names.filter((name) => protectionOf(name) !== undefined);
    expect(kept.length).toBeGreaterThan(500);
    const respelt = (name: string, picks: readonly number[]): string => {
      let at = 0;
      return name.replace(/ss|st|fi|[a-z]/g, (part) => {
        const forms = same[part] ?? [part.toUpperCase()];
        const pick = picks[at++ % picks.length] as number;
        return pick === 0 ? part : (forms[pick % forms.length] as string);
      });
    };
    assert(
      property(
        constantFrom(...kept),
        array(constantFrom(0, 1, 2, 3), { minLength: 3, maxLength: 12 }),
        (name, picks) => {
          expect(protectionOf(respelt(name, picks))?.class).toBe(protectionOf(name)?.class);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

describe("what a protected link leads to", () => {
  it("is that in all spellings which lead to the same file, or to nothing yet", async () => {
    const t = tree();
    for (const name of ["store/rc", "Store/rc", "store/RC2"]) t.put(name);
    linkSync(join(t.inside, "store/rc"), join(t.inside, "store/RC"));
    mkdirSync(join(t.inside, "conf"));
    symlinkSync("store/rc", join(t.inside, ".bashrc"));
    symlinkSync("conf/not-yet", join(t.inside, ".zshrc"));
    const policy = await filePolicy(t);
    const rules = await FileRules.of(policy, ownFiles(policy, []));
    const refused = (name: string): boolean => rules.judge(join(t.inside, name), "write") !== undefined;
    expect(["store/rc", "store/RC", "conf/NOT-YET", "conf/Not-Yet"].map(refused)).toEqual([true, true, true, true]);
    // Here they are other files.
    expect(["Store/rc", "store/Rc", "store/RC2", "conf/other"].map(refused)).toEqual([false, false, false, false]);
    expect(rules.onTheWay(join(t.inside, "store/RC"))).toBeDefined();
    expect(rules.onTheWay(join(t.inside, "Store/rc"))).toBeUndefined();
  });
});

it("what is denied by the name of a link is denied where it leads, in every case", async () => {
  const t = tree();
  t.put("store/x");
  symlinkSync("store", join(t.inside, "link"));
  const policy = await filePolicy(t, `  denied_paths: ["${t.inside}/link/**", "${t.inside}/Stra\u00dfe/**"]\n`);
  const rules = await FileRules.of(policy, ownFiles(policy, []));
  for (const name of ["store/x", "STORE/x", "Store/new", "STRASSE/x", "other/x"])
    expect([name, rules.judge(join(t.inside, name), "read") !== undefined]).toEqual([name, name !== "other/x"]);
});

it("the program's own files are known in every case", async () => {
  const t = tree();
  const text = `version: "1.0"\nfilesystem: { allowed_paths: ["${t.inside}/**"] }\n`;
  const policy = await parsePolicy(text, { file: join(t.inside, "Stra\u00dfe/policy.yaml") });
  const rules = await FileRules.of(policy, ownFiles(policy, []));
  for (const name of ["STRASSE/POLICY.YAML", "stra\u1e9ee/policy.yaml", "Stra\u00dfe/policy.yaml.new"])
    expect(rules.judge(join(t.inside, name), "read")?.rule).toBe("built-in protection of this program's own files");
});

/** A folder as FAT keeps it: what it lists are long names, and each is found by a short one as well. */
function fat(
  folder: string,
  names: readonly string[],
): { readonly listing: Listing; readonly shortOf: ReadonlyMap<string, string> } {
  const shortOf = new Map<string, string>();
  const taken = new Set<string>();
  for (const name of names) {
    const base = name.replace(/^\.+|\.[^.]*$/g, "");
    const end = /[^.]\.([^.]*)$/.exec(name)?.[1] ?? "";
    const letters = (text: string): string => text.toUpperCase().replace(/[^A-Z0-9]/g, "_");
    let short = "";
    for (let number = 1; short === "" || taken.has(short); number += 1)
      short = `${letters(base).slice(0, 6)}~${number}${end === "" ? "" : `.${letters(end).slice(0, 3)}`}`;
    taken.add(short);
    shortOf.set(name, short);
  }
  const all = new Map(
    names.flatMap((name, index) => [name, shortOf.get(name) ?? ""].map((each) => [each, `1:${index}`])),
  );
  const numberOf = (path: string): string | undefined =>
    path.startsWith(`${folder}/`) ? all.get(path.slice(folder.length + 1)) : "0:0";
  return { listing: { namesIn: (path) => (path === folder ? names : []), numberOf }, shortOf };
}

describe("short names of FAT", () => {
  it("are found to be those of the names that are listed", () => {
    const name = stringMatching(/^\.?[a-z ]{1,12}(?:\.[a-z]{1,5})?$/);
    assert(
      property(array(name, { minLength: 1, maxLength: 8 }), (written) => {
        const names = [...new Set(written)];
        const { listing, shortOf } = fat("/f", names);
        for (const each of names) {
          expect(storedPath(`/f/${shortOf.get(each)}`, "marked", listing)).toBe(`/f/${each}`);
          expect(storedPath(`/f/${each}`, "marked", listing)).toBe(`/f/${each}`);
        }
      }),
    );
  });

  it("are as protected as the names they are short for, and refused where that cannot be told", async () => {
    const t = tree();
    for (const name of [".env", "notes.txt", "old~1.txt"]) t.put(name);
    linkSync(t.put(".netrc"), join(t.inside, "NETRC~1"));
    linkSync(join(t.inside, ".env"), join(t.inside, "ENV"));
    t.put("LOST~1");
    // What stands in this list is not listed, as on FAT.
    const hidden = ["NETRC~1", "ENV", "LOST~1"];
    const namesIn = (folder: string): string[] => LISTING.namesIn(folder).filter((name) => !hidden.includes(name));
    const policy = await filePolicy(t);
    const judged = async (type: string, options: string, name: string): Promise<string | undefined> => {
      const mounts = new Mounts(
        () => `20 1 8:1 / / rw shared:1 - ext4 /dev/a rw\n21 20 8:2 / ${t.base} rw - ${type} /dev/b ${options}\n`,
      );
      const rules = await FileRules.of(policy, ownFiles(policy, []), { mounts, listing: { ...LISTING, namesIn } });
      return rules.judge(join(t.inside, name), "read")?.rule;
    };
    expect(await judged("vfat", "rw,codepage=437", "NETRC~1")).toMatch("protection of .netrc");
    expect(await judged("vfat", "rw,codepage=437", "LOST~1")).toMatch("names that are short for others");
    expect(await judged("vfat", "rw,codepage=437", "NEW~1")).toBeUndefined();
    expect(await judged("vfat", "rw,codepage=437", "old~1.txt")).toBeUndefined();
    expect(await judged("vfat", "rw,codepage=437,nonumtail", "ENV")).toMatch("protection of .env");
    expect(await judged("ntfs3", "rw", "NETRC~1")).toMatch("protection of .netrc");
    // This one has no short names.
    expect(await judged("ext4", "rw", "NETRC~1")).toBeUndefined();
  });
});
