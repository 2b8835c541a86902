// T09: names that stay protected inside allowed folders: there or not, in every spelling, for every operation, by every link.
import { rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { place, SECRET } from "../support/place.mjs";
import { session, wasDenied, wasServed } from "../support/session.mjs";
import { refusal } from "../report/own-faults.mjs";

export const goal = { id: "T09", title: "Sensitive files inside allowed folders", atLeast: 7_500 };

const EVIL = new TextEncoder().encode("evil");

export async function run(report, parts) {
  const at = place();
  const text = `version: "1.0"\nfilesystem:\n  allowed_paths: ["${at.inside}/**"]\n  denied_paths: ["**/*.pem", "**/Private/**"]\n`;
  const own = join(at.inside, "policy.yaml");
  const log = join(at.inside, "audit.log");
  const policy = await parts.parsePolicy(`${text}audit: { log_file: "${log}" }\n`, { file: own });
  const system = new parts.FileSystem(() => policy);
  const files = system.files();
  for (const name of parts.PROTECTED) await protectedName(report, parts, { at, files, name });
  report.kind("names that the policy denies");
  for (const name of ["key.pem", "KEY.PEM", "a/k\u0065y.pEm", "Private/x", "private/x", "PRIVATE/a/b"])
    await each(report, parts, { files, path: join(at.inside, name), what: "denied by the policy" });
  report.kind("the program's own files");
  for (const path of [own, log, `${log}.head`, `${log}.1`, `${log}.lock`, own.toUpperCase()])
    await each(report, parts, { files, path, what: "the program's own" });
  for (const name of parts.HONEST) {
    const path = join(at.inside, "honest", name);
    await report.benign(`write ${name}`, async () => (await files.write(path, EVIL, { folders: true })).size === 4);
    await report.benign(`read ${name}`, async () => (await files.read(path)).size === 4);
    await report.benign(`list ${name}`, async () => (await files.list(dirname(path))).entries.length > 0);
    await report.benign(`remove ${name}`, async () => (await files.remove(path)) === undefined);
  }
  await throughTheProduct(report, parts, at);
  const damage = at.damage();
  if (damage !== undefined) report.sideEffect(damage);
  system.close();
  at.remove();
}

async function protectedName(report, parts, { at, files, name }) {
  report.kind("protected names that are absent, in every spelling");
  for (const spelling of [name, ...parts.spellings(name), name.normalize("NFD")])
    await each(report, parts, { files, path: join(at.inside, spelling), what: "absent" });
  report.kind("protected files that are there");
  const path = at.put(name, SECRET);
  await each(report, parts, { files, path, what: "there" });
  report.kind("links to protected files");
  const link = join(at.inside, "link");
  symlinkSync(path, link);
  await each(report, parts, { files, path: link, what: `a link to ${name}` });
  rmSync(link);
  symlinkSync(dirname(path), link);
  await each(report, parts, { files, path: join(link, name.split("/").at(-1)), what: "through a link" });
  rmSync(link);
  report.kind("lists of what is protected");
  await report.attack(`a list that shows ${name}`, async () => {
    const got = await files.list(dirname(path)).catch(refusal);
    if (got instanceof parts.FileError) return true;
    return got.entries.every((entry) => entry.path !== path) || "listed";
  });
  rmSync(path);
}

/** Every operation on one path. */
async function each(report, { FileError }, { files, path, what }) {
  const ops = {
    read: () => files.read(path),
    info: () => files.info(path),
    open: () => files.open(path),
    write: () => files.write(path, EVIL),
    create: () => files.write(path, EVIL, { folders: true, mode: "create" }),
    edit: () => files.edit(path, () => EVIL),
    remove: () => files.remove(path),
  };
  for (const [op, act] of Object.entries(ops))
    await report.attack(`${op} ${JSON.stringify(path)}, ${what}`, async () => {
      const got = await act().catch(refusal);
      if (!(got instanceof FileError)) return got instanceof Error ? String(got) : "done";
      return !got.message.includes(SECRET) || "the error tells the secret";
    });
}

async function throughTheProduct(report, parts, at) {
  const policy = `version: "1.0"
filesystem: { allowed_paths: ["${at.inside}/**"] }
tools:
  allowed: ["search_*", "read_file", "write_file", "edit_file", "list_directory"]`;
  const { call, close } = await session(parts, { policy, revision: "2026-07-28" });
  report.kind("protected names by the tools");
  for (const name of parts.PROTECTED) {
    const path = at.put(name, SECRET);
    await report.attack(`read_file ${name}`, async () => wasDenied(await call("read_file", { path })));
    await report.attack(`write_file ${name}`, async () =>
      wasDenied(await call("write_file", { path, content: "evil" })),
    );
    await report.attack(`search_text over ${name}`, async () => {
      const { answer } = await call("search_text", { path: at.inside, query: SECRET.slice(0, 10) });
      return !JSON.stringify(answer).includes(SECRET) || "found";
    });
    rmSync(path);
  }
  const path = at.put("src/config.ts", "export {}");
  await report.benign("read_file beside them", async () => wasServed(await call("read_file", { path })));
  await close();
}
