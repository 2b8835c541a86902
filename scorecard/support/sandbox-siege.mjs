// A siege of a granted folder: programs inside rename, link, exchange, race, mount and save anew at random over a tree with protected
// and own names, while the outside saves files as editors and git do. What was protected is compared with before.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";

const SECRET = "SECRET-OF-THE-USER";
/** What stands there before. The last few are the guard's own. */
const PROTECTED = [
  ...[
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/HEAD",
    ".vscode/tasks.json",
    "sub/.vscode/settings.json",
    ".mcp.json",
  ],
  ...["sub/deep/.git/config", ".ssh/id_ed25519", "sub/.env", ".npmrc", "conf/policy.yaml", "conf/state/audit.log"],
];
/** A socket and a pipe of somebody outside, whom nobody inside may reach. */
const [AGENT, PIPE] = ["a/agent.sock", "sub/pipe"];
const PLAIN = ["a/one.txt", "a/b/two.txt", "sub/three.txt", "sub/deep/four.txt", "conf/readme.txt"];
/** Saved anew outside all the while, and never to be read inside. */
const SAVED = ["sub/.env", ".ssh/id_ed25519", "a/.netrc"];
const MADE = /(?:^|\/)(?:\.git|\.vscode|\.mcp\.json|\.ssh|\.env|\.npmrc|\.bashrc|\.cursor|\.envrc)(?:\/|$)/i;

/** Runs inside, with every call by which a name can come to be or go, or something can be read: most of them fail. */
const ATTACKER = String.raw`
use Fcntl; use Socket; srand(shift); my $end = time + shift; my $marker = "${SECRET}";
my @names = qw(.git .vscode .mcp.json .ssh .env .npmrc .bashrc .cursor .envrc config hooks tasks.json conf policy.yaml a sub deep b n m x HEAD objects refs state audit.log id_ed25519 .netrc agent.sock pipe);
my @above = ('', qw(a/ a/b/ sub/ sub/deep/ .git/ .vscode/ conf/ conf/state/ n/ m/ n/m/ .ssh/ /tmp/ sub/../ ./ x/));
my @proc = ('/proc/self/cwd/', '/proc/thread-self/cwd/', "/proc/$$/cwd/", "/proc/self/root$ENV{ROOT}/", '/dev/fd/../cwd/');
my $O_PATH = 010000000;
my @known = qw(${[...PROTECTED, ...PLAIN, ...PLAIN, "a/.netrc", "a", "sub/deep", "conf"].join(" ")});
# What is there, or was at the beginning, and what may come to be.
sub any { $_[rand @_] } sub path { rand() < 0.5 ? any(@known) : any(@above) . any(@names) }
my ($turns, $read, $set, $reached, %kinds) = (0, 0, 0, 0);
sub slurp { my ($f) = @_; my $got = sysread($f, my $t, 4096); $read++ if $got && index($t, $marker) >= 0; return $got }
my %do = (
  renamed => sub { rename(path(), any(path(), any(@above))) },
  exchanged => sub { syscall(316, -100, my $a = path(), -100, my $b = path(), 2) == 0 },
  "hard link" => sub { link(path(), path()) },
  "hard link of a handle" => sub { sysopen(my $f, path(), any(O_RDONLY, $O_PATH)) or return; my ($n, $e) = ("/proc/self/fd/" . fileno($f), ''); syscall(265, any(-100, fileno($f)), any($n, $e), -100, my $b = path(), any(0x400, 0x1000)) == 0 },
  "symbolic link" => sub { symlink(any(path(), any(@above), "..", "/proc/self/cwd"), path()) },
  "folder made" => sub { mkdir(path()) }, "folder removed" => sub { rmdir(path()) }, removed => sub { unlink(path()) },
  written => sub { open(my $f, any('>', '>>', '+<'), path()) or return; print $f "EVIL" },
  "a .git that is a file" => sub { open(my $f, '>', any(@above) . ".git") or return; print $f "gitdir: ./x\n" },
  "opened with flags" => sub { sysopen(my $f, path(), any(O_WRONLY|O_CREAT, O_RDWR|O_CREAT|O_EXCL, O_WRONLY|O_TRUNC, O_RDONLY|O_TRUNC, 020200000|O_RDWR)) or return; syswrite($f, "EVIL") },
  cut => sub { truncate(path(), 0) }, "mode changed" => sub { chmod(any(0, 0777), path()) }, "times changed" => sub { utime(1, 1, path()) },
  "attribute set" => sub { my ($n, $v) = (any("user.x", "system.posix_acl_access", "security.x"), "v" x 28); my $done = syscall(any(188, 189), my $a = path(), $n, $v, 28, 0) == 0; $set++ if $done; $done },
  "read" => sub { sysopen(my $f, path(), O_RDONLY|O_NONBLOCK) or return; slurp($f) },
  "read by /proc" => sub { sysopen(my $f, any(@proc) . path(), O_RDONLY|O_NONBLOCK) or return; slurp($f) },
  "written by /proc" => sub { sysopen(my $f, any(@proc) . path(), any(O_WRONLY|O_CREAT|O_TRUNC, O_RDWR)|O_NONBLOCK) or return; syswrite($f, "EVIL") },
  "opened anew by its number" => sub { open(my $f, '<', path()) or return; chmod(0777, $f); open(my $w, '>', "/proc/self/fd/" . fileno($f)) or return; print $w "EVIL" },
  "a handle opened anew" => sub { sysopen(my $h, path(), $O_PATH|any(0, 0400000)) or return; sysopen(my $f, any("/proc/self/fd/", "/dev/fd/", "/proc/$$/task/$$/fd/") . fileno($h), any(O_RDONLY, O_RDWR)|O_NONBLOCK) or return; slurp($f); syswrite($f, "EVIL") },
  "a folder's handle" => sub { sysopen(my $h, any(@above) || '.', $O_PATH|O_DIRECTORY) or return; my $fd = syscall(257, fileno($h), my $n = any(@names), any(O_RDONLY, O_RDWR|O_CREAT)|O_NONBLOCK, 0644); $fd >= 0 or return; open(my $f, '+<&=', $fd) or return; slurp($f); syswrite($f, "EVIL") },
  "stood in" => sub { my $in = chdir(any(@above) || '.'); mkdir(path()) if any(0, 1); chdir($ENV{ROOT}); $in },
  "entries moved" => sub { opendir(my $d, any(@above) || '.') or return; my @n = readdir($d); @n and rename(any(@above) . any(@n), path()) },
  mounted => sub { syscall(165, my $a = path(), my $b = path(), 0, 4096, 0) == 0 }, "namespaces" => sub { syscall(272, 0x10020000) == 0 }, "root changed" => sub { syscall(161, my $a = path()) == 0 },
  "openat2" => sub { syscall(437, -100, my $a = path(), my $h = pack('Q3', 01101, 0644, 0), 24) >= 0 }, "io_uring" => sub { syscall(425, 8, my $b = "\0" x 256) >= 0 },
  "a path changed while it is judged" => sub { my $p = "a/one.txt\0" . "x" x 64; my $t = path(); my $pid = fork() // return; unless ($pid) { syscall(257, -100, $p, 01101, 0644) for 1..20; exit } substr($p, 0, length($t) + 1) = "$t\0"; waitpid($pid, 0) },
  "a socket made" => sub { socket(my $s, AF_UNIX, any(SOCK_STREAM, SOCK_DGRAM), 0) or return; bind($s, pack_sockaddr_un(path())) },
  "a socket reached" => sub { (socket(my $s, AF_UNIX, any(SOCK_STREAM, SOCK_DGRAM), 0) or socketpair($s, my $o, AF_UNIX, SOCK_STREAM, 0)) or return; my $done = connect($s, pack_sockaddr_un(any("", any(@proc)) . "${AGENT}")); $reached++ if $done; $done },
  "a pipe made" => sub { my $p = path(); my $done = syscall(133, $p, 0010644, 0) == 0; unlink($p) if $done && $p =~ m{^/tmp/}; $done },
  "a pipe opened" => sub { my $f; my $done = sysopen($f, any("", any(@proc)) . "${PIPE}", any(O_RDONLY, O_RDWR, O_WRONLY)|O_NONBLOCK) && -p $f; $reached++ if $done; $done },
  started => sub { my $pid = fork() // return; unless ($pid) { close STDOUT; close STDERR; exec { any("", any(@proc)) . path() } "x"; kill(9, $$) } waitpid($pid, 0); ($? & 127) == 0 },
  "others ended" => sub { rand() < 0.001 and kill(9, any(1, 2, 3)) },
  "memory of others" => sub { opendir(my $d, '/proc') or return; my $any; for (grep { /^\d+$/ } readdir($d)) { open(my $m, '+<', "/proc/$_/mem") or next; if ($_ <= 2) { sysseek($m, 0x400000, 0); $any = syswrite($m, "EVIL") } } $any },
);
my @kinds = sort keys %do;
while (time < $end) { for (1 .. 50) { my $kind = any(@kinds); my $done = eval { $do{$kind}->() }; $kinds{$kind}[0]++; $kinds{$kind}[1]++ if $done } $turns += 50 }
print join("\n", "$turns $read $set $reached", map { join "\t", $_, $kinds{$_}[0] // 0, $kinds{$_}[1] // 0 } @kinds), "\n";
`;
const LANES = 2;

/**
 * What became of it after so many seconds. `lost` is what was made under a protected name, `odd` are new pipes and sockets, `set` says
 * how many attributes were set, `reached` how often somebody outside was; `kinds`: by what was tried, how often, and how often it was
 * done. `pause` is how many seconds long, at most, no program came to its end: many are ended by others.
 */
export async function sandboxSiege({ createRun, parsePolicy }, folder, seconds) {
  const root = join(folder, "p");
  for (const name of [...PROTECTED, ...PLAIN])
    put(root, name, `before ${PROTECTED.includes(name) ? SECRET : ""} ${name}`);
  const policy = await parsePolicy(
    `version: "1.0"
filesystem: { allowed_paths: ["${root}/**"] }
sandbox: { cpu_seconds: 3600 }
commands:
  allowed:
    - name: attack
      executable: /usr/bin/perl
      arguments: [{ fixed: "-e" }, { pattern: "(?s).*" }, { integer: [0, 999999] }, { integer: [1, 3600] }]
      env: { ROOT: "${root}" }
      timeout: 30
      working_directory: ${root}
`,
    { file: join(folder, "policy.yaml"), environment: {} },
  );
  const run = createRun(() => policy, [join(root, "conf/policy.yaml"), join(root, "conf/state")]);
  execFileSync("mkfifo", [join(root, PIPE)]);
  const agent = createServer((stream) => {
    outcome.reached += 1;
    stream.on("error", () => undefined).destroy();
  }).listen(join(root, AGENT));
  if (!existsSync(join(root, AGENT))) await once(agent, "listening");
  const others = new Set([AGENT, PIPE].map((name) => lstatSync(join(root, name)).ino));
  const watched = PROTECTED.filter((name) => !SAVED.includes(name));
  const outcome = { pause: 0, tries: 0, read: 0, set: 0, reached: 0, kinds: new Map() };
  const before = hashes(root, watched);
  let over = false;
  const saving = save(root, () => over);
  const deadline = performance.now() + seconds * 1_000;
  let lastEnd = performance.now();
  const lane = async (seed) => {
    for (; performance.now() < deadline; seed += LANES) {
      const left = Math.max(1, Math.ceil((deadline - performance.now()) / 1_000));
      const { stdout } = await run("attack", ["-e", ATTACKER, String(seed), String(Math.min(left, 20))]);
      count(outcome, stdout);
      if (stdout === "") continue;
      outcome.pause = Math.max(outcome.pause, (performance.now() - lastEnd) / 1_000);
      lastEnd = performance.now();
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, seed) => lane(seed)));
  outcome.pause = Math.max(outcome.pause, (performance.now() - lastEnd) / 1_000);
  over = true;
  await saving;
  agent.close();
  const after = hashes(root, watched);
  const changed = watched.filter((name) => before.get(name) !== after.get(name));
  const known = new Set(
    [...PROTECTED, ...SAVED].flatMap((name) => name.split("/").map((_, at, all) => all.slice(0, at + 1).join("/"))),
  );
  const lost = namesIn(root)
    .filter((name) => MADE.test(name) && !known.has(name))
    .map((name) => `${name} (${told(join(root, name))})`);
  // Those of others may be moved.
  const odd = namesIn(root, "", (entry) => entry.isFIFO() || entry.isSocket()).filter(
    (name) => !others.has(lstatSync(join(root, name)).ino),
  );
  return { ...outcome, root, changed, lost, odd };
}

/** Adds what one program tells of its turns: their number first, then a line for each kind. */
function count(outcome, said) {
  const [sums = "", ...lines] = said.trim().split("\n");
  const [turns = 0, read = 0, set = 0, reached = 0] = sums.split(" ").map(Number);
  outcome.tries += turns;
  outcome.read += read;
  outcome.set += set;
  outcome.reached += reached;
  for (const line of lines) {
    const [kind, tried, done] = line.split("\t");
    const [before, doneBefore] = outcome.kinds.get(kind) ?? [0, 0];
    outcome.kinds.set(kind, [before + Number(tried), doneBefore + Number(done)]);
  }
}

/** As editors save (a new file moved over the old one), and as git does (a lock file, then a move). */
async function save(root, over) {
  for (let turn = 0; !over(); turn += 1) {
    // A program that did away with the tree, or shut it, would have nothing left to try.
    await tryTo(() => openAgain(root));
    await tryTo(() => namesIn(root, "", (entry) => entry.isDirectory()).forEach((name) => openAgain(join(root, name))));
    for (const name of PLAIN)
      if (!existsSync(join(root, name))) await tryTo(() => put(root, name, "plain", { flag: "wx" }));
    for (const name of SAVED)
      await tryTo(() => {
        const path = join(root, name);
        mkdirSync(dirname(path), { recursive: true });
        if (turn % 3 === 0) return writeFileSync(path, SECRET);
        const beside = turn % 3 === 1 ? `${path}.lock` : join(dirname(path), `.env.${turn}`);
        writeFileSync(beside, SECRET);
        renameSync(beside, path);
      });
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** A folder that nobody may enter any more, the granted one too, is one to its owner again. */
function openAgain(path) {
  const { mode } = lstatSync(path);
  if ((mode & 0o700) !== 0o700) chmodSync(path, 0o755);
}

async function tryTo(work) {
  try {
    await work();
  } catch {
    // The programs inside may have a plain folder elsewhere at this moment.
  }
}

/** All below a folder, or those that are `wanted`; links lead nowhere. */
export function namesIn(root, below = "", wanted = () => true) {
  return readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    const own = wanted(entry) ? [name] : [];
    return entry.isDirectory() ? [...own, ...namesIn(root, name, wanted)] : own;
  });
}

/** With the flag `wx` no link is followed: one made inside would lead this hand to any name. */
function put(root, name, text, options = {}) {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text, options);
}

function hashes(root, names) {
  return new Map(names.map((name) => [name, hashOf(join(root, name))]));
}

/** What a name that should not be there stands for. */
function told(path) {
  const stats = lstatSync(path);
  return stats.isFile() ? JSON.stringify(readFileSync(path, "utf8").slice(0, 20)) : `mode ${stats.mode.toString(8)}`;
}

function hashOf(path) {
  try {
    return createHash("sha256").update(readFileSync(path)).digest("hex");
  } catch (error) {
    return error.code;
  }
}

/** What people build in folders that they grant. */
export const BUILDS = {
  "a C build": `printf 'int f(void){return 0;}' > f.c; printf 'int f(void);int main(void){return f();}' > m.c; printf 'm: m.o f.o\n\t$(CC) -o $@ $^\n' > Makefile; make -s -j2 m; ./m`,
  "a Python environment": `/usr/bin/python3 -m venv --without-pip v; v/bin/python -c 'import sys; sys.exit(sys.prefix == sys.base_prefix)'`,
  "npm install": `mkdir -p dep; echo '{"name":"dep","version":"1.0.0","main":"i.js"}' > dep/package.json; echo 'module.exports=7' > dep/i.js; echo '{"name":"app","version":"1.0.0"}' > package.json; (cd dep && npm pack --silent --pack-destination ..); npm install --offline --no-audit --no-fund ./dep-1.0.0.tgz; [ $(node -p 'require("dep")') = 7 ]`,
  "git clone": `git init -q one; cd one; echo 1 > f; git add f; git -c user.name=n -c user.email=e commit -qm one; cd ..; git clone -q one two; [ $(cat two/f) = 1 ]`,
};
