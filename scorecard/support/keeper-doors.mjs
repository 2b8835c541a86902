// Ways past the keeper: names that are no text, handles, sockets, environments of Python's, calls that tell of a file without opening it.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { EVIL, folderIn, inside, put } from "./granted-folder.mjs";

const SECRET = "SECRET-OF-THE-USER";
const PYTHON = "/usr/bin/python3";

/** Bytes that are no UTF-8: alone, cut short, too long a form, a surrogate, beyond the last character. */
const NO_TEXT = ["\\xe4", "\\x80", "\\xe2\\x82", "\\xc0\\xae", "\\xed\\xa0\\x80", "\\xf4\\x90\\x80\\x80"];

/** What is done with such a name, `$n`, and with the one that it is decoded to, `$t`. */
const NO_TEXT_WAYS = {
  "a folder of that name is moved with a twin of its decoded name": `mkdir "keep/$t"; mv keep was; cat was/*/secret`,
  "brought with a twin to where it may not be written": `mkdir -p "x/$n" "x/$t"; echo ${EVIL} > "x/$n/run"; mv -T x dist`,
  "exchanged with its twin": `mkdir -p "x/$t"; perl -e 'syscall(316,-100,my $a="keep",-100,my $b="x",2)'; cat */*/secret`,
  "a repository in a folder of that name": `cat "r$n/config"; echo ${EVIL} >> "r$n/config"; echo ${EVIL} > "r$n/hooks/update"`,
  "that repository through a link": `ln -s "r$n" l; cat l/config; echo ${EVIL} > l/hooks/update`,
  "that repository moved": `mv "r$n" plain; cat plain/config; cp -r "r$n" c; cat c/config`,
};

export async function noText(report, parts, ground) {
  report.kind("names that are no UTF-8, and what they are decoded to", { found: "attack" });
  for (const bytes of NO_TEXT)
    for (const [way, script] of Object.entries(NO_TEXT_WAYS)) {
      const folder = folderIn(ground);
      const name = Buffer.from(
        bytes.replace(/\\x(..)/g, (_, hex) => String.fromCharCode(`0x${hex}`)),
        "latin1",
      );
      const at = (before, after) => Buffer.concat([Buffer.from(`${folder}/${before}`), name, Buffer.from(after)]);
      mkdirSync(at("keep/", ""), { recursive: true });
      writeFileSync(at("keep/", "/secret"), SECRET);
      for (const part of ["objects", "refs", "hooks"]) mkdirSync(at("r", `/${part}`), { recursive: true });
      writeFileSync(at("r", "/HEAD"), "ref: refs/heads/main");
      writeFileSync(at("r", "/config"), SECRET);
      const denied = `, denied_paths: ["${folder}/keep/*/secret"], denied_write_paths: ["${folder}/dist/*/run"]`;
      const asked = `n=$(printf '${bytes}'); t='${name.toString()}'; ${script}`;
      await report.attack(`${bytes}: ${way}`, async () => {
        const { stdout, stderr } = await inside(parts, folder, asked, { denied });
        const kept = readFileSync(at("r", "/config"), "utf8") === SECRET && !existsSync(at("r", "/hooks/update"));
        return (kept && !existsSync(at("dist/", "/run")) && !stdout.includes(SECRET)) || `${stdout} ${stderr}`;
      });
    }
  const folder = folderIn(ground);
  await report.benign("names in the letters of the world", async () => {
    const { exitCode, stderr } = await inside(
      parts,
      folder,
      `set -e; for n in Gehälter 給料 "a b" $(printf '\\xef\\xbf\\xbd'); do mkdir "$n"; echo x > "$n/f"; mv "$n" m; mv m "$n"; cat "$n/f"; done`,
    );
    return exitCode === 0 || stderr;
  });
}

/** Ways to change a file of an environment `v` in the folder. */
const ENVIRONMENT_WAYS = {
  written: (path) => `echo ${EVIL} >> ${path}`,
  "removed and made": (path) => `rm -f ${path}; echo ${EVIL} > ${path}`,
  "moved over": (path) => `echo ${EVIL} > n; mv -f n ${path}; ln -f n ${path}`,
  "its folder moved": (path) => `mv v w; mkdir -p $(dirname ${path}); cp -r w/. v; echo ${EVIL} > ${path}`,
  "settings made first": (path) =>
    `rm -f v/pyvenv.cfg; echo > pyvenv.cfg; echo > v/bin/pyvenv.cfg; echo ${EVIL} > ${path}`,
  "made anew": (path) => `${PYTHON} -m venv --clear --without-pip v; echo ${EVIL} > ${path}`,
};

export async function environments(report, parts, ground) {
  report.kind("files that run by themselves in an environment of Python's that was there", { found: "attack" });
  if (!existsSync(PYTHON)) return report.demand("Python is there to be tried", false);
  const version = execFileSync(PYTHON, ["-c", "import sys; print('python%d.%d' % sys.version_info[:2])"]);
  const site = `lib/${String(version).trim()}/site-packages`;
  for (const name of ["pyvenv.cfg", `${site}/x.pth`, "bin/activate", "bin/activate.csh", "bin/Activate.ps1"])
    for (const [way, script] of Object.entries(ENVIRONMENT_WAYS)) {
      const folder = folderIn(ground);
      execFileSync(PYTHON, ["-m", "venv", "--without-pip", join(folder, "v")]);
      const text = () => (existsSync(join(folder, "v", name)) ? readFileSync(join(folder, "v", name), "utf8") : "");
      const before = text();
      await report.attack(`${name}: ${way}`, async () => {
        await inside(parts, folder, script(`v/${name}`));
        return (text() === before && !existsSync(join(folder, "v/bin/pyvenv.cfg"))) || text().slice(0, 100);
      });
    }
  await report.benign("an environment is made, changed, made anew and removed inside", async () => {
    const script = `set -e; ${PYTHON} -m venv --without-pip v; echo '#' > v/${site}/x.pth; echo '#' >> v/pyvenv.cfg; echo '#' >> v/bin/activate;
      v/bin/python -c 'print(1)'; ${PYTHON} -m venv --clear --without-pip v; rm -r v`;
    const { exitCode, stderr } = await inside(parts, folderIn(ground), script);
    return exitCode === 0 || stderr;
  });
}

/** Calls that tell of a file, or change it, without opening it; each says what it got on a line, or nothing. */
const TELLING = {
  "watched by inotify": `fd = l.inotify_init(); w = l.inotify_add_watch(fd, p, 0xfff); print("TOLD") if w > 0 else 0`,
  "watched where it is a folder": `fd = l.inotify_init(); w = l.inotify_add_watch(fd, p, 0x1000fff); print("TOLD") if w > 0 else 0`,
  "an attribute read": `n = l.getxattr(p, b"user.note", b, 99); print(b.value.decode()) if n > 0 else 0`,
  "an attribute read, of no link": `n = l.lgetxattr(p, b"user.note", b, 99); print(b.value.decode()) if n > 0 else 0`,
  "its owner named anew": `l.chown(p, -1, -1); l.lchown(p, os.getuid(), -1); l.fchownat(-100, p, -1, -1, 0)`,
  "its owner named by a handle": `f = os.open(p, 0o10000000); l.fchownat(f, b"", -1, -1, 0x1000); l.chown(b"/proc/self/fd/%d" % f, -1, -1)`,
  "its dates set": `l.utimes(p, None); l.utime(p, None); l.lutimes(p, None); l.utimensat(-100, p, None, 0)`,
  "its dates set by a handle": `f = os.open(p, 0o10000000); l.utimensat(f, b"", None, 0x1000); l.utimes(b"/proc/self/fd/%d" % f, None)`,
  "its dates set to others": `t = (ctypes.c_long * 4)(7, 0, 7, 0); l.utimensat(-100, p, t, 0); l.futimesat(-100, p, t); l.utimensat(-100, p, t, 0x100)`,
};

export async function told(report, parts, ground) {
  report.kind("calls that tell of a protected file, or change it, without opening it", { found: "attack" });
  const folder = folderIn(ground);
  const begin = "import ctypes, os; l = ctypes.CDLL(None); b = ctypes.create_string_buffer(99)";
  const denied = `, denied_paths: ["${folder}/denied", "${folder}/denied/**"]`;
  for (const name of ["denied/x", ".ssh/id_rsa", ".env", "sub/.netrc"]) {
    put(folder, name, "text");
    chmodSync(join(folder, name), 0o4755);
    execFileSync(PYTHON, [
      "-c",
      `import os; os.setxattr(${JSON.stringify(join(folder, name))}, "user.note", b"${SECRET}")`,
    ]);
    for (const [way, call] of Object.entries(TELLING))
      for (const path of [name, `./${name}`, `/proc/self/cwd/${name}`, join(folder, name)])
        await report.attack(`${path}: ${way}`, async () => {
          const script = `${PYTHON} -c '${begin}; p = b"${path}"; ${call}'`;
          const before = statSync(join(folder, name)).mtimeMs;
          const { stdout } = await inside(parts, folder, script, { denied });
          const { mode: rights, mtimeMs } = statSync(join(folder, name));
          const mode = rights & 0o7777;
          chmodSync(join(folder, name), 0o4755);
          return (stdout === "" && mode === 0o4755 && mtimeMs === before) || `${stdout} ${mode.toString(8)} ${mtimeMs}`;
        });
  }
  await report.benign("a server that watches its sources, and an archive unpacked with owners", async () => {
    const script = `set -e; mkdir -p src; echo x > src/a; tar --same-owner -cf a.tar src; rm -r src; tar --same-owner -xf a.tar; cp -a src copy
      ${PYTHON} -c '${begin}; fd = l.inotify_init(); w = l.inotify_add_watch(fd, b"src", 0xfff); open("src/b", "w").close(); print(w > 0, len(os.read(fd, 999)) > 0)'`;
    const { exitCode, stdout, stderr } = await inside(parts, folderIn(ground), script);
    return (exitCode === 0 && stdout === "True True\n") || `${stdout} ${stderr}`;
  });
}

/** Opens `name` as a handle that cannot be read, several times, then each number anew. */
function opened(name, at, how) {
  return `perl -MFcntl -e 'sysopen($h[$_], "${name}", 010000000) for 0 .. 7;
    for my $n (3 .. 10) { next unless sysopen(my $f, "${at}", ${how}); print <$f>; syswrite($f, "${EVIL}") }'`;
}

export async function handles(report, parts, ground) {
  report.kind("a handle of a protected file is opened anew by its number", { found: "attack" });
  const folder = folderIn(ground);
  for (const name of [".env", "deep/.ssh/id_rsa", ".git/config", ".npmrc"])
    for (const at of ["/proc/self/fd/$n", "/dev/fd/$n", "/proc/$$/fd/$n", "/proc/$$/task/$$/fd/$n"])
      for (const how of ["O_RDONLY", "O_RDWR", "O_WRONLY | O_APPEND", "O_WRONLY | O_TRUNC"]) {
        put(folder, name, SECRET);
        const scripts = ["", " | O_NOFOLLOW"].map((link) => opened(name, at, how + link));
        await report.attack(`${name} by ${at}: ${how}`, async () => {
          const { stdout } = await inside(parts, folder, scripts.join("\n"));
          return !stdout.includes(SECRET) && readFileSync(join(folder, name), "utf8") === SECRET;
        });
      }
}

export async function sockets(report, parts, ground) {
  report.kind("sockets and pipes of others in granted folders", { found: "reader" });
  let heard = 0;
  const agent = createServer((stream) => {
    heard += 1;
    stream.on("error", () => undefined).destroy();
  });
  const folder = folderIn(ground);
  await once(agent.listen(join(folder, "agent.sock")), "listening");
  symlinkSync(join(folder, "agent.sock"), join(folder, "link.sock"));
  const network = `network: { allowed_endpoints: [{ host: example.com }] }`;
  for (const granted of ["", network])
    for (const path of [
      "agent.sock",
      "./agent.sock",
      "link.sock",
      "/proc/self/cwd/agent.sock",
      join(folder, "agent.sock"),
    ])
      for (const kind of ["SOCK_STREAM", "SOCK_DGRAM", "SOCK_SEQPACKET"])
        await report.attack(`${kind} to ${path}${granted ? " with a network" : ""}`, async () => {
          const before = heard;
          const script = `perl -MSocket -e 'socket(my $s, AF_UNIX, ${kind}, 0) or die "no: $!"; connect($s, pack_sockaddr_un("${path}")) or die "no: $!"; print "connected"'`;
          const { stdout } = await inside(parts, folder, script, { network: granted });
          return (heard === before && !stdout.includes("connected")) || stdout;
        });
  agent.close();
  await report.attack("a pipe is made in a granted folder", async () => {
    await inside(parts, folder, "mkfifo p; mknod q p; perl -e 'syscall(133,\"r\",0010644,0)'");
    return !["p", "q", "r"].some((name) => existsSync(join(folder, name)));
  });
}
