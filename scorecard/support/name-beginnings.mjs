// Attacks on protected names of several parts, at the place where they begin: links, folders filled elsewhere, two programs at once.
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { EVIL, folderIn, inside, tried } from "./granted-folder.mjs";

const DEPTHS = ["", "sub/"];

/** Protected names of several parts, each cut where a link or a folder can be put. */
const CUT = [
  [".config", "autostart/x.desktop"],
  [".config/systemd", "user/x.service"],
  [".local", "share/applications/x.desktop"],
  [".local/share", "dbus-1/services/x.service"],
  [".cargo", "config.toml"],
  [".bundle", "config"],
  [".gradle", "init.gradle"],
  [".yarn", "releases/yarn.cjs"],
  ["node_modules", "mcp-secure-local/package.json"],
];

export async function beginnings(report, parts, ground) {
  report.kind("a link, or a folder filled elsewhere, takes the name that protected names begin with", {
    found: "attack",
  });
  for (const [cut, rest] of CUT)
    for (const depth of DEPTHS) {
      const name = depth + cut;
      const filled = `mkdir -p n/${dirname(rest)} ${dirname(name)}; echo ${EVIL} > n/${rest}`;
      const ways = {
        linked: `${filled}; ln -sT "$PWD/n" ${name}`,
        "linked before it is filled": `mkdir -p n ${dirname(name)}; ln -sT "$PWD/n" ${name}; ${filled}`,
        "a link that is moved there": `${filled}; ln -s "$PWD/n" l; mv -T l ${name}`,
        "a link that is exchanged": `${filled}; mkdir -p ${name}; ln -s "$PWD/n" l; perl -e 'syscall(316,-100,"l",-100,"${name}",2)'`,
        "a second name of a link": `${filled}; ln -s "$PWD/n" l; ln -PT l ${name}`,
        "a link in a folder that is moved": `${filled}; mkdir o; ln -s "$PWD/n" o/l; mv -T o/l ${name}; mv -T o ${name}`,
        unpacked: `mkdir -p /tmp/u/${dirname(name)}; ln -sT "$PWD/n" /tmp/u/${name}; tar -C /tmp/u -cf - . | tar -xf -; ${filled}`,
        "moved there": `${filled}; mv -T n ${name}`,
      };
      const ask = (folder) => !existsSync(join(folder, name, rest)) || `${name}/${rest} is there`;
      await tried(report, parts, ground, { name: `${name}/${rest}`, ways, prepare: () => undefined, ask });
    }
}

/** Settings that are kept elsewhere, with a link to them, as people keep them under version control. */
export async function linkedBefore(report, parts, ground) {
  report.kind("a folder that protected names begin with is a link of the user's to a granted folder", {
    found: "attack",
  });
  for (const [cut, rest] of CUT.filter(([name]) => name !== "node_modules"))
    for (const [way, script] of Object.entries({
      written: `mkdir -p kept/${dirname(rest)}; echo ${EVIL} > kept/${rest}`,
      "moved there": `mkdir -p kept/${dirname(rest)}; echo ${EVIL} > n; mv n kept/${rest}`,
      "made in a folder that is moved": `mkdir -p n/${dirname(rest)}; echo ${EVIL} > n/${rest}; cp -r n/. kept`,
    }))
      await report.attack(`${cut}/${rest} ${way}`, async () => {
        const folder = folderIn(ground);
        mkdirSync(join(folder, "kept"));
        mkdirSync(join(folder, dirname(cut)), { recursive: true });
        symlinkSync(join(folder, "kept"), join(folder, cut));
        await inside(parts, folder, script);
        return !existsSync(join(folder, cut, rest)) || `${cut}/${rest} is there`;
      });
}

/** Makes a name in a folder as fast as it can, wherever that folder is by now. */
const FILLS = `my ($end, $last) = (time + shift, shift); while (time < $end) { mkdir "x"; open(my $f, ">", "x/$last"); mkdir "x/d" }`;
/** Renames that folder to what protected names begin with, and away. */
const RENAMES = `my ($end, $name, $last) = (time + shift, shift, shift); while (time < $end) { rename("x", $name); if (lstat "$name/$last") { print "there"; last } rmdir "$name/d"; rename($name, "x"); rmdir $name }`;
const TWO_HANDS_SECONDS = 2;

export async function twoHands(report, parts, ground) {
  report.kind("two sandboxes bring a protected name of two parts about together", { found: "attack" });
  for (const [name, last] of [
    [".bundle", "config"],
    [".cargo", "config.toml"],
    [".gradle", "init.gradle"],
  ])
    await report.attack(`${name}/${last}`, async () => {
      const folder = folderIn(ground);
      const perl = (text, ...args) => inside(parts, folder, `perl -e '${text}' ${TWO_HANDS_SECONDS} ${args.join(" ")}`);
      const [said] = await Promise.all([perl(RENAMES, name, last), perl(FILLS, last), perl(FILLS, last)]);
      return (said.stdout === "" && !existsSync(join(folder, name, last))) || `${name}/${last} was there`;
    });
}
