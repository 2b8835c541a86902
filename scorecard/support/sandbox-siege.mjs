// A siege of a granted folder: programs inside rename, link, exchange, race, mount and save anew at random over a tree with protected
// and own names, while the outside saves files as editors and git do. What was protected is compared with before.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
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
const PLAIN = ["a/one.txt", "a/b/two.txt", "sub/three.txt", "sub/deep/four.txt", "conf/readme.txt"];
/** Saved anew outside all the while, and never to be read inside. */
const SAVED = ["sub/.env", ".ssh/id_ed25519", "a/.netrc"];
const MADE = /(?:^|\/)(?:\.git|\.vscode|\.mcp\.json|\.ssh|\.env|\.npmrc|\.bashrc|\.cursor|\.envrc)(?:\/|$)/i;

/** Runs inside, with every call by which a name can come to be or go: most of them fail. */
const ATTACKER = String.raw`
use Fcntl; srand(shift); my $end = time + shift; my $marker = "${SECRET}";
my @names = qw(.git .vscode .mcp.json .ssh .env .npmrc .bashrc .cursor .envrc config hooks tasks.json conf policy.yaml a sub deep b n m x HEAD objects refs state audit.log id_ed25519 .netrc);
my @above = ('', qw(a/ a/b/ sub/ sub/deep/ .git/ .vscode/ conf/ conf/state/ n/ m/ n/m/ .ssh/ /tmp/ sub/../ ./ x/));
sub any { $_[rand @_] } sub path { any(@above) . any(@names) }
my ($turns, $read) = (0, 0);
my @do = (
  sub { rename(path(), path()) }, sub { rename(any(@above), path()) },
  sub { syscall(316, -100, my $a = path(), -100, my $b = path(), 2) },
  sub { link(path(), path()) }, sub { symlink(any(path(), any(@above), "..", "/proc/self/cwd"), path()) },
  sub { mkdir(path()) }, sub { rmdir(path()) }, sub { unlink(path()) },
  sub { open(my $f, any('>', '>>', '+<'), path()) and print $f "EVIL" },
  sub { sysopen(my $f, path(), any(O_WRONLY|O_CREAT, O_RDWR|O_CREAT|O_EXCL, O_WRONLY|O_TRUNC, O_RDONLY|O_TRUNC)) and syswrite($f, "EVIL") },
  sub { truncate(path(), 0) }, sub { chmod(any(0, 0777), path()) }, sub { utime(1, 1, path()) },
  sub { open(my $f, '<', path()) or return; local $/; my $t = <$f> // ''; $read++ if index($t, $marker) >= 0 },
  sub { open(my $f, '<', path()) or return; open(my $w, '>', "/proc/self/fd/" . fileno($f)) and print $w "EVIL"; chmod(0777, $f) },
  sub { chdir(any(@above) || '.'); my $r = any(0, 1); mkdir(path()) if $r; chdir($ENV{ROOT}) },
  sub { opendir(my $d, any(@above) || '.') or return; my @n = readdir($d); rename(any(@above) . any(@n), path()) if @n },
  sub { syscall(165, my $a = path(), my $b = path(), 0, 4096, 0) }, sub { syscall(272, 0x10020000) }, sub { syscall(161, my $a = path()) },
  sub { syscall(437, -100, my $a = path(), my $h = pack('Q3', 01101, 0644, 0), 24) }, sub { syscall(425, 8, my $b = "\0" x 256) },
  sub { my $p = "a/one.txt\0" . "x" x 64; my $t = path(); my $pid = fork() // return; unless ($pid) { syscall(257, -100, $p, 01101, 0644) for 1..20; exit } substr($p, 0, length($t) + 1) = "$t\0"; waitpid($pid, 0) },
  sub { kill(9, any(1, 2, 3)) if rand() < 0.001 },
  sub { opendir(my $d, '/proc') or return; for (grep { /^\d+$/ } readdir($d)) { open(my $m, '+<', "/proc/$_/mem") or next; if ($_ <= 2) { sysseek($m, 0x400000, 0); syswrite($m, "EVIL") } } },
);
while (time < $end) { eval { any(@do)->() } for 1..50; $turns += 50 }
print "$turns $read\n";
`;
const LANES = 2;

/** What became of it after so many seconds. `lost` is what was made under a protected name. */
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
  const watched = PROTECTED.filter((name) => !SAVED.includes(name));
  const before = hashes(root, watched);
  let over = false;
  const saving = save(root, () => over);
  const outcome = { tries: 0, read: 0 };
  const deadline = performance.now() + seconds * 1_000;
  const lane = async (seed) => {
    for (; performance.now() < deadline; seed += LANES) {
      const left = Math.max(1, Math.ceil((deadline - performance.now()) / 1_000));
      const { stdout } = await run("attack", ["-e", ATTACKER, String(seed), String(Math.min(left, 20))]);
      const [turns = 0, read = 0] = stdout.split(" ").map(Number);
      outcome.tries += turns;
      outcome.read += read;
      // A program that did away with the tree has nothing left to try.
      for (const name of PLAIN) if (!existsSync(join(root, name))) await tryTo(() => put(root, name, "plain"));
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, seed) => lane(seed)));
  over = true;
  await saving;
  const after = hashes(root, watched);
  const changed = watched.filter((name) => before.get(name) !== after.get(name));
  const known = new Set(
    [...PROTECTED, ...SAVED].flatMap((name) => name.split("/").map((_, at, all) => all.slice(0, at + 1).join("/"))),
  );
  const lost = namesIn(root).filter((name) => MADE.test(name) && !known.has(name));
  return { ...outcome, changed, lost };
}

/** As editors save (a new file moved over the old one), and as git does (a lock file, then a move). */
async function save(root, over) {
  for (let turn = 0; !over(); turn += 1) {
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

async function tryTo(work) {
  try {
    await work();
  } catch {
    // The programs inside may have a plain folder elsewhere at this moment.
  }
}

/** All below a folder; links lead nowhere. */
export function namesIn(root, below = "") {
  return readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    return entry.isDirectory() ? [name, ...namesIn(root, name)] : [name];
  });
}

function put(root, name, text) {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text);
}

function hashes(root, names) {
  return new Map(names.map((name) => [name, hashOf(join(root, name))]));
}

function hashOf(path) {
  try {
    return createHash("sha256").update(readFileSync(path)).digest("hex");
  } catch (error) {
    return error.code;
  }
}
