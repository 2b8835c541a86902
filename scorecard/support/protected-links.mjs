// Where links under protected names lead: by every call that tells it, from every place.
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { folderIn, inside } from "./granted-folder.mjs";

const SECRET = "PLACE-OF-THE-USER";
const READLINKAT = process.arch === "x64" ? 267 : 78;

export async function links(report, parts, ground) {
  report.kind("where a protected link leads is read", { found: "attack" });
  for (const name of [".ssh/link", "deep/.aws/credentials", ".env", ".netrc", "a/b/.gnupg/x"]) {
    const folder = folderIn(ground);
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    symlinkSync(SECRET, join(folder, name));
    const [above, last] = [dirname(name), name.split("/").at(-1)];
    const ways = {
      "by its path": `readlink ${name}`,
      "by its whole path": `readlink "$PWD/${name}"`,
      "in its folder": `cd ${above}; readlink ${last}`,
      "in a list": `ls -l ${above} ${name}`,
      resolved: `realpath ${name}; realpath -m ${name}; readlink -f ${name}`,
      "through the folder of a process": `readlink /proc/self/cwd/${name}; perl -e 'print readlink("/proc/$$/cwd/${name}")'`,
      "by its folder's handle": `perl -e 'my $t = "\\0" x 99; my $n = "${last}"; sysopen(my $h, "${above}", 010000000); syscall(${READLINKAT}, fileno($h), $n, $t, 99); print $t'`,
      "by a handle of its own": `perl -e 'my $t = "\\0" x 99; my $n = ""; sysopen(my $h, "${name}", 010400000); syscall(${READLINKAT}, fileno($h), $n, $t, 99); print $t'`,
      "of a second name": `ln -P ${name} n; readlink n`,
      "of a copy": `cp -P ${name} n; readlink n; tar -cf - ${name}`,
      "where it was moved to": `mv ${name} n; readlink n`,
    };
    for (const [way, script] of Object.entries(ways))
      await report.attack(`${name} ${way}`, async () => {
        const { stdout, stderr } = await inside(parts, folder, script);
        return !`${stdout}${stderr}`.includes(SECRET) || `${stdout}${stderr}`;
      });
  }
}
