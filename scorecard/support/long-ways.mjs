// Links that a program of the policy has put in the place of a folder, so many or so long that nobody wants to follow them.
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { place, SECRET } from "./place.mjs";
import { session, wasDenied, wasServed } from "./session.mjs";

/** So long a text may a link be. */
const LONGEST = 4_095;
const rounds = (text, target) => text.repeat(Math.floor((LONGEST - target.length) / text.length)) + target;

const LINKS = {
  plainly: (next) => next,
  "by thousands of ./": (next) => rounds("./", next),
  "by thousands of slashes": (next) => `.${rounds("/", next).slice(1)}`,
  "through a folder and back": (next) => rounds("x/../", next),
  "through a name of 255 bytes and back": (next) => rounds(`${"n".repeat(255)}/../`, next),
  "from the root": (next, inside) => rounds("/", join(inside, next)).replace(/^\/*/, "/"),
};
const COUNTS = [1, 2, 3, 4, 7, 12, 20, 33, 39, 40];

export async function longWays(report, parts) {
  report.kind("long ways by links that a program may put there", { found: "attack" });
  for (const [how, targetOf] of Object.entries(LINKS))
    for (const count of COUNTS) {
      const at = place();
      for (const name of ["x", "n".repeat(255), "honest"]) mkdirSync(join(at.inside, name));
      const kept = at.put("honest/kept.txt", "kept");
      symlinkSync(at.outside, join(at.inside, "k1"));
      for (let link = 2; link <= count; link += 1)
        symlinkSync(targetOf(`k${link - 1}`, at.inside), join(at.inside, `k${link}`));
      const named = join(at.inside, `k${count}`);
      const policy = `version: "1.0"
filesystem: { readable_paths: ["${named}/**", "${at.inside}/honest/**"] }
tools:
  allowed: [read_file, list_directory, search_files]
servers: { w: { command: [/usr/bin/w], filesystem: { allowed_paths: ["${at.inside}/**"] } } }`;
      const { call, close } = await session(parts, { policy, revision: "2026-07-28" });
      await report.benign(`read beside ${count} links, ${how}`, async () =>
        wasServed(await call("read_file", { path: kept })),
      );
      for (const [tool, args] of [
        ["read_file", { path: join(named, "secret.txt") }],
        ["list_directory", { path: named }],
        ["search_files", { path: named, pattern: "*.txt" }],
      ])
        await report.attack(`${tool} by ${count} links, ${how}`, async () => {
          const got = await call(tool, args);
          const text = JSON.stringify(got.answer);
          return text.includes(SECRET) ? "the secret is told" : wasDenied(got);
        });
      await close();
      const damage = at.damage();
      if (damage !== undefined) report.sideEffect(`${count} links, ${how}: ${damage}`);
      at.remove();
    }
}
