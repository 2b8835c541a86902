// Attacks on a repository's settings from a sandbox that may work with git.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EVIL, folderIn, inside } from "./granted-folder.mjs";
import { namesIn } from "./sandbox-siege.mjs";

/** What makes git run something, and the ways a program has to write it where it may work with git. */
const RUNS = [
  "core.fsmonitor",
  "core.hooksPath",
  "core.sshCommand",
  "core.pager",
  "core.editor",
  "alias.st",
  "include.path",
  "filter.x.clean",
  "diff.external",
  "credential.helper",
  "gpg.program",
  "remote.o.uploadpack",
  "remote.o.vcs",
  "core.gitProxy",
  "url.ext::x.insteadOf",
  "uploadpack.packObjectsHook",
  "core.worktree",
  "merge.x.driver",
  "init.templateDir",
  "submodule.x.update",
];

export async function withGit(report, parts, ground) {
  report.kind("git's own settings where sandbox.git is on", { found: "own" });
  for (const key of RUNS) {
    const [section, ...rest] = key.split(".");
    const [name, sub] = [rest.at(-1), rest.slice(0, -1).join(".")];
    const header = sub === "" ? `[${section}]` : `[${section} "${sub}"]`;
    const ways = {
      "by git": `git config '${key}' ${EVIL}`,
      "by the lock": `printf '%s\\n\\t%s = %s\\n' '${header}' '${name}' ${EVIL} > .git/config.lock; mv .git/config.lock .git/config`,
      "on the line of a header": `printf '%s %s = %s\\n' '${header}' '${name}' ${EVIL} > .git/config.lock; mv .git/config.lock .git/config`,
      "in a comment's place": `printf '[user]\\n\\tname = "a\\\\n" # x\\n%s\\n%s=%s\\n' '${header}' '${name}' ${EVIL} > .git/config.lock; mv .git/config.lock .git/config`,
      "after it was taken": `exec 5> .git/config.lock; printf '[user]\\n\\tname = a\\n' >&5; mv .git/config.lock .git/config; printf '%s\\n\\t%s = %s\\n' '${header}' '${name}' ${EVIL} >&5`,
      "as the work tree's": `printf '%s\\n\\t%s = %s\\n' '${header}' '${name}' ${EVIL} > .git/config.worktree`,
    };
    const all = folderIn(ground);
    for (const [way, script] of Object.entries(ways))
      await report.attack(`${key} ${way}`, async () => {
        const folder = folderIn(all);
        await inside(parts, folder, `git init -q . && ${script}`, { git: true });
        const texts = namesIn(join(folder, ".git")).filter((one) => /^config(?!\.lock)|^hooks/.test(one));
        return (
          texts.length > 0 && texts.every((one) => !readFileSync(join(folder, ".git", one), "utf8").includes(EVIL))
        );
      });
  }
  await report.benign("a repository is made, cloned, committed to", async () => {
    const script = `set -e; git init -q a; cd a; git config user.name A; git config user.email a@b.c; echo x > f; git add .; git commit -qm m; cd ..; git clone -q a b; [ -f b/f ]`;
    const { exitCode, stderr } = await inside(parts, folderIn(ground), script, { git: true });
    return exitCode === 0 || stderr;
  });
}
