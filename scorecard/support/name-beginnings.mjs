// Attacks on protected names of several parts, at the place where they begin: links, folders filled elsewhere, two programs at once.
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { EVIL, folderIn, inside, tried } from "./granted-folder.mjs";

const DEPTHS = ["", "sub/"];

/** Protected names of several parts, each cut where a link or a folder can be put. */
const CUT = [
  [".config", "autostart/x.desktop"],
  [".config/systemd", "user/x.service"],
  [".config", "Code/User/settings.json"],
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
        "a link that is exchanged": `${filled}; mkdir -p ${name}; ln -s "$PWD/n" l; perl -e 'syscall(316,-100,my $a="l",-100,my $b="${name}",2)'`,
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
      "made behind a link": `mkdir -p n/${dirname(rest)}; echo ${EVIL} > n/${rest}; for f in n/*; do ln -sT "$PWD/$f" kept/\${f#n/}; done`,
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

/** So many folders, with so many names each, are judged in the time that one program needs to make a name in a folder that another moves. */
const [FOLDERS, NAMES] = [20, 100];
const ROUNDS = 4;
/** The other program is there within this, on a busy machine too. */
const WAITS_S = 30;
/** Renames a folder to what protected names begin with, when the other program is ready, and back; until the protected name was there. */
const MOVES = `my ($name, $last, $rounds) = @ARGV;
for my $round (1 .. $rounds) {
  open(my $said, ">", "round$round"); close $said;
  my $until = time + ${WAITS_S};
  until (-e "ready$round") { if (time > $until) { print "alone"; last } select(undef, undef, undef, 0.002) }
  my $moved = rename("x", $name);
  open(my $tried, ">", "moved$round"); close $tried;
  if (lstat "$name/$last") { print "there"; last }
  if ($moved) { rename($name, "x") or last }
  rename("x", "y"); unlink("y/$last"); rename("y", "x");
}
open(my $over, ">", "over");`;
/**
 * Makes the name in that folder as soon as the folder was listed: whoever judges what lies in it opens the folders below it one by one,
 * and the kernel tells of that (inotify).
 */
const FILLS = `my ($last, $rounds) = @ARGV;
my ($init, $watch) = (uname() eq "aarch64") ? (26, 27) : (294, 254);
sub uname { my $u = qx(uname -m); chomp $u; return $u }
for my $round (1 .. $rounds) {
  until (-e "round$round") { exit if -e "over"; select(undef, undef, undef, 0.002) }
  my $fd = syscall($init, 04000);
  for (glob "x/d*") { syscall($watch, $fd, my $folder = $_, 0x20) }
  open(my $said, ">", "ready$round"); close $said;
  until (-e "moved$round") {
    vec(my $read = "", $fd, 1) = 1;
    select($read, undef, undef, 0.002) or next;
    open(my $made, ">", "x/$last");
    last;
  }
  open(my $events, "<&=", $fd); close $events;
}`;

/** Where the folder is judged before it is moved, and the name comes to be after it was listed. */
export async function twoHands(report, parts, ground) {
  report.kind("two sandboxes bring a protected name of two parts about together", { found: "attack" });
  for (const [name, last] of [
    [".bundle", "config"],
    [".cargo", "config.toml"],
    [".gradle", "init.gradle"],
    ["config", "secrets.yml"],
    ["age", "keys.txt"],
  ])
    await report.attack(`${name}/${last}`, async () => {
      const folder = folderIn(ground);
      for (let at = 0; at < FOLDERS; at += 1) {
        mkdirSync(join(folder, `x/d${at}`), { recursive: true });
        for (let each = 0; each < NAMES; each += 1) writeFileSync(join(folder, `x/d${at}/n${each}`), "");
      }
      const perl = (text, ...args) => inside(parts, folder, `perl -e '${text}' ${args.join(" ")}`);
      const [said] = await Promise.all([perl(MOVES, name, last, ROUNDS), perl(FILLS, last, ROUNDS)]);
      return (said.stdout === "" && !existsSync(join(folder, name, last))) || `${name}/${last}: ${said.stdout}`;
    });
}
