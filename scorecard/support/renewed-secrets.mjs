// Files of secrets that are replaced while the server runs: whoever knows the new value tries to have it told, or put on record.
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { session } from "./session.mjs";

const HOW = {
  "written anew": (file, value) => writeFileSync(file, value),
  "exchanged for another file": (file, value) => {
    writeFileSync(`${file}.new`, value);
    renameSync(`${file}.new`, file);
  },
  "removed and made": (file, value) => {
    rmSync(file);
    writeFileSync(file, value);
  },
  "made a link": (file, value) => {
    writeFileSync(`${file}-${value.replaceAll(" ", "-")}`, value);
    rmSync(file);
    symlinkSync(`${file}-${value.replaceAll(" ", "-")}`, file);
  },
};
/** What is served looks like no token, and has always the same length. */
const valueNo = (n) => `plain words ${String(n).padStart(5, "0")}`;

export async function renewed(report, parts) {
  report.kind("the new value of a secret whose file was replaced", { found: "attack" });
  const folder = mkdtempSync(join(tmpdir(), "scorecard-renewed-"));
  mkdirSync(join(folder, "open"));
  const token = join(folder, "token");
  writeFileSync(token, valueNo(0));
  const policy = `version: "1.0"
filesystem: { allowed_paths: ["${folder}/open/**"] }
tools:
  allowed: [read_file, search_text, write_file]
output: { redact_secrets: false }
secrets: { renewed: { from: "file:${token}", hosts: [example.com] } }`;
  const { call, close } = await session(parts, { policy, revision: "2026-07-28" });
  const path = join(folder, "open/notes.txt");
  const ways = {
    read_file: { path },
    search_text: { path: join(folder, "open"), query: "plain" },
    write_file: (content) => ({ path: join(folder, "open/copy.txt"), content }),
  };
  const told = async (name, args) => JSON.stringify(await call(name, args));
  let count = 0;
  for (let round = 0; round < 5; round += 1)
    for (const [how, replace] of Object.entries(HOW))
      for (const [tool, given] of Object.entries(ways)) {
        const value = valueNo((count += 1));
        const args = typeof given === "function" ? given(value) : given;
        writeFileSync(path, `It is ${value}.`);
        await report.benign(`${tool} before it is a secret`, async () => (await told(tool, args)).includes(value));
        replace(token, value);
        for (const [when, of] of Object.entries({ "the new value": value, "the one before": valueNo(count - 1) }))
          await report.attack(`round ${round}: ${tool}, ${when}, ${how}`, async () => {
            writeFileSync(path, `It is ${of}.`);
            const got = await told(tool, typeof given === "function" ? given(of) : given);
            return (!got.includes(of) && got.includes("[secret renewed]")) || got.slice(0, 400);
          });
      }
  await close();
  rmSync(folder, { recursive: true });
}
