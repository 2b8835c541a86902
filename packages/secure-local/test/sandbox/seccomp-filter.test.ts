// Runs the system call filters as the kernel does, against the numbers of its own headers: a wrong one would be a hole on a
// processor that nobody here tests on.
import { describe, expect, it } from "vitest";
import {
  commandFilter,
  keptCallNames,
  type Processor,
  seccompFilter,
  servedCalls,
} from "../../src/sandbox/seccomp-filter.js";

/** name:x64:arm64, from asm/unistd_64.h and asm-generic/unistd.h of Linux 6.1 and, for what is newer, 6.15. */
const REFUSED = read(`
  ptrace:101:117 process_vm_readv:310:270 process_vm_writev:311:271 process_madvise:440:440 process_mrelease:448:448
  pidfd_getfd:438:438 kcmp:312:272 add_key:248:217 request_key:249:218 keyctl:250:219 bpf:321:280 perf_event_open:298:241
  io_uring_setup:425:425 io_uring_enter:426:426 io_uring_register:427:427 userfaultfd:323:282 mount:165:40 umount2:166:39
  pivot_root:155:41 chroot:161:51 open_tree:428:428 move_mount:429:429 fsopen:430:430 fsconfig:431:431 fsmount:432:432
  fspick:433:433 mount_setattr:442:442 open_tree_attr:467:467 unshare:272:97 setns:308:268 kexec_load:246:104
  kexec_file_load:320:294 init_module:175:105 finit_module:313:273 delete_module:176:106 reboot:169:142 swapon:167:224
  swapoff:168:225 acct:163:89 quotactl:179:60 quotactl_fd:443:443 nfsservctl:180:42 syslog:103:116 settimeofday:164:170
  clock_settime:227:112 adjtimex:159:171 clock_adjtime:305:266 sethostname:170:161 setdomainname:171:162 name_to_handle_at:303:264
  open_by_handle_at:304:265 lookup_dcookie:212:18 vhangup:153:58 move_pages:279:239 migrate_pages:256:238 fanotify_init:300:262
  personality:135:92 iopl:172:- ioperm:173:- uselib:134:- ustat:136:- sysfs:139:- _sysctl:156:- modify_ldt:154:-`);
const KEPT = read(`
  creat:85:- mkdir:83:- mkdirat:258:34 mknod:133:- mknodat:259:33 rename:82:- renameat:264:38 renameat2:316:276 link:86:-
  linkat:265:37 symlink:88:- symlinkat:266:36 unlink:87:- unlinkat:263:35 rmdir:84:- truncate:76:45 chmod:90:- fchmod:91:52
  fchmodat:268:53 fchmodat2:452:452 chown:92:- fchown:93:55 lchown:94:- fchownat:260:54 utime:132:- utimes:235:- futimesat:261:-
  utimensat:280:88 inotify_add_watch:254:27
  readlink:89:- readlinkat:267:78 socketpair:53:199`);
/** Towards the first process alone. */
const SLOWING = read(`
  sched_setaffinity:203:122 sched_setscheduler:144:119 sched_setparam:142:118 sched_setattr:314:274 prlimit64:302:261
  pidfd_open:434:434`);
const UNMADE = read(`
  setxattr:188:5 lsetxattr:189:6 fsetxattr:190:7 setxattrat:463:463 removexattr:197:14 lremovexattr:198:15 fremovexattr:199:16
  removexattrat:466:466 file_setattr:469:469 getxattr:191:8 lgetxattr:192:9 getxattrat:464:464 listxattr:194:11 llistxattr:195:12
  listxattrat:465:465`);
const OTHERS = read(`
  clone:56:220 clone3:435:435 ioctl:16:29 socket:41:198 open:2:- openat:257:56 fcntl:72:25 setpriority:141:140 ioprio_set:251:30
  read:0:63 write:1:64 execve:59:221 mmap:9:222 futex:202:98 exit_group:231:94 openat2:437:437 statx:332:291`);
/** What the first program calls by number, from Perl. */
const OWN = read(`
  openat2:437:437 statx:332:291 close:3:57 write:1:64 ioctl:16:29 ftruncate:77:46 close_range:436:436 read:0:63 pread64:17:67 ppoll:271:73
  bind:49:200 pipe2:293:59 memfd_create:319:279
  rt_sigprocmask:14:135 signalfd4:289:74 exit_group:231:94 prctl:157:167 setrlimit:160:164
  seccomp:317:277 clone:56:220 dup3:292:24 pidfd_open:434:434 pidfd_getfd:438:438`);

type Numbers = ReadonlyMap<string, readonly [number | undefined, number | undefined]>;
type Verdict = "allow" | "kill" | "notify" | `errno ${number}`;

const PROCESSORS = [
  ["x64", 0xc000_003e],
  ["arm64", 0xc000_00b7],
] as const;

function read(list: string): Numbers {
  const number = (text = "-"): number | undefined => (text === "-" ? undefined : Number(text));
  const rows = list
    .trim()
    .split(/\s+/)
    .map((row) => row.split(":"));
  return new Map(rows.map(([name = "", x64, arm64]) => [name, [number(x64), number(arm64)]]));
}

/** Numbers of one processor, by name. */
function numbersOf(list: Numbers, processor: Processor): Map<string, number> {
  const at = processor === "x64" ? 0 : 1;
  return new Map([...list].flatMap(([name, numbers]) => (numbers[at] === undefined ? [] : [[name, numbers[at]]])));
}

/** What the filter says of a call: classic BPF, jumps forward over 32-bit words. */
function judged(filter: Buffer, mode: number, call: number, args: readonly number[] = []): Verdict {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call >>> 0, 0);
  data.writeUInt32LE(mode, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt(value), 16 + 8 * index);
  let word = 0;
  for (let at = 0; ; at += 1) {
    const code = filter.readUInt16LE(at * 8);
    const value = filter.readUInt32LE(at * 8 + 4);
    const jump = (met: boolean): void => void (at += filter.readUInt8(at * 8 + (met ? 2 : 3)));
    if (code === 0x20) word = data.readUInt32LE(value);
    else if (code === 0x15) jump(word === value);
    else if (code === 0x35) jump(word >= value);
    else if (code === 0x45) jump((word & value) !== 0);
    else if (code === 0x54) word = (word & value) >>> 0;
    else if (code === 0x06) return verdict(value);
    else throw new Error(`no instruction of these filters: ${code}`);
  }
}

function verdict(value: number): Verdict {
  const actions = new Map<number, Verdict>([
    [0x7fff_0000, "allow"],
    [0x8000_0000, "kill"],
    [0x7fc0_0000, "notify"],
  ]);
  return actions.get(value) ?? `errno ${value - 0x0005_0000}`;
}

const EPERM = "errno 1";
const ENOSYS = "errno 38";
const EOPNOTSUPP = "errno 95";

describe.each(PROCESSORS)("the filter of a wall on %s", (processor, mode) => {
  const filter = seccompFilter(processor, { unixSockets: false, keeper: false });
  const at = (name: string): number => numbersOf(OTHERS, processor).get(name) ?? -1;
  const pairs = numbersOf(KEPT, processor).get("socketpair") ?? -1;

  it("refuses each call of the list, and no other number", () => {
    const refused = new Set(numbersOf(REFUSED, processor).values());
    const special = new Set(["clone3", "ioctl", "socket"].map(at).concat(pairs));
    for (let number = 0; number < 600; number += 1)
      if (!special.has(number))
        expect(judged(filter, mode, number), `${number}`).toBe(refused.has(number) ? EPERM : "allow");
    expect(judged(filter, mode, at("clone3"))).toBe(ENOSYS);
  });

  it("lets a keeper take what a program has open, and no program", () => {
    const taking = numbersOf(REFUSED, processor).get("pidfd_getfd") ?? -1;
    const all = seccompFilter(processor, { unixSockets: false, keeper: true });
    for (let number = 0; number < 600; number += 1)
      if (number !== taking) expect(judged(all, mode, number), `${number}`).toBe(judged(filter, mode, number));
    expect(judged(all, mode, taking)).toBe("allow");
    expect(judged(commandFilter(processor, { keeper: true }), mode, taking)).toBe(EPERM);
  });

  it("judges namespaces, terminals and sockets by their arguments", () => {
    const clone = (flags: number): Verdict => judged(filter, mode, at("clone"), [flags]);
    for (const flag of [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000])
      expect(clone(flag), flag.toString(16)).toBe(EPERM);
    expect(clone(0x3d_0f00)).toBe("allow");
    const ioctl = (request: number): Verdict => judged(filter, mode, at("ioctl"), [1, request]);
    expect([ioctl(0x5412), ioctl(0x541c), ioctl(0x5413)]).toEqual([EPERM, EPERM, "allow"]);
    const socket = (...args: number[]): Verdict => judged(filter, mode, at("socket"), args);
    expect([1, 2, 10, 17, 38, 40].map((family) => socket(family))).toEqual([
      EPERM,
      "allow",
      "allow",
      EPERM,
      EPERM,
      EPERM,
    ]);
    expect([socket(16, 3, 0), socket(16, 3, 9)]).toEqual(["allow", EPERM]);
    // A stream, with records or without, whatever flags stand beside; not datagrams, which go to any address, nor raw ones.
    const pair = (kind: number): Verdict => judged(filter, mode, pairs, [1, kind]);
    for (const flags of [0, 0o4000, 0o2000000, 0o2004000])
      expect([1, 2, 3, 4, 5, 6, 10].map((kind) => pair(kind | flags))).toEqual([
        "allow",
        EPERM,
        EPERM,
        EPERM,
        "allow",
        EPERM,
        EPERM,
      ]);
    const open = seccompFilter(processor, { unixSockets: true, keeper: false });
    expect([1, 17].map((family) => judged(open, mode, at("socket"), [family]))).toEqual(["allow", EPERM]);
  });

  it("ends who calls in another mode of the processor", () => {
    expect(judged(filter, 0x4000_0003, at("read"))).toBe("kill");
    const kept = commandFilter(processor, { keeper: true });
    expect(judged(kept, 0x4000_0003, at("read"))).toBe("kill");
    expect(judged(filter, mode, 0x4000_0000 + at("read"))).toBe(processor === "x64" ? EPERM : "allow");
  });

  it("hands a keeper each call with a path, and what it cannot see into is not there", () => {
    const kept = commandFilter(processor, { keeper: true });
    const bare = commandFilter(processor, { keeper: false });
    const paths = new Set(numbersOf(KEPT, processor).values());
    const unmade = new Set(numbersOf(UNMADE, processor).values());
    const guarded = ["open", "openat", "openat2", "socket", "ioctl", "fcntl", "setpriority", "ioprio_set"];
    const special = new Set(guarded.map(at));
    for (let number = 0; number < 600; number += 1) {
      if (special.has(number) || number === numbersOf(REFUSED, processor).get("pidfd_getfd")) continue;
      const made = paths.has(number) ? "notify" : unmade.has(number) ? EOPNOTSUPP : "allow";
      const wanted = number >= 470 ? ENOSYS : made;
      expect(judged(kept, mode, number), `${number}`).toBe(wanted);
      expect(judged(bare, mode, number)).toBe("allow");
    }
    expect(judged(kept, mode, at("openat2"))).toBe(ENOSYS);
    const flags = [0, 0o10000000, 0o20000000, 0o1];
    const opened = ["notify", "allow", EOPNOTSUPP, "notify"];
    expect(flags.map((flag) => judged(kept, mode, at("openat"), [0, 0, flag]))).toEqual(opened);
    // The flags stand elsewhere: what is in that place decides nothing.
    expect(judged(kept, mode, at("openat"), [0, 0o10000000, 0])).toBe("notify");
    if (processor === "x64") expect(flags.map((flag) => judged(kept, mode, at("open"), [0, flag]))).toEqual(opened);
    expect([1, 2].map((family) => judged(kept, mode, at("socket"), [family]))).toEqual([EPERM, "allow"]);
    expect([1, 2].map((family) => judged(bare, mode, at("socket"), [family]))).toEqual([EPERM, "allow"]);
  });

  it("lets nobody slow the keeper down, whoever it is named by", () => {
    const kept = commandFilter(processor, { keeper: true });
    for (const number of numbersOf(SLOWING, processor).values())
      expect([0, 1, 2, 100].map((pid) => judged(kept, mode, number, [pid]))).toEqual([
        "allow",
        EPERM,
        "allow",
        "allow",
      ]);
    const priority = (...args: number[]): Verdict => judged(kept, mode, at("setpriority"), args);
    expect([priority(0, 0), priority(0, 1), priority(0, 2)]).toEqual(["allow", EPERM, "allow"]);
    expect([priority(1, 0), priority(2, 0), priority(2, 1_000)]).toEqual([EPERM, EPERM, EPERM]);
    const io = (...args: number[]): Verdict => judged(kept, mode, at("ioprio_set"), args);
    expect([io(1, 0), io(1, 1), io(1, 2), io(2, 0), io(3, 0)]).toEqual(["allow", EPERM, "allow", EPERM, EPERM]);
    const fcntl = (command: number): Verdict => judged(kept, mode, at("fcntl"), [3, command]);
    expect([0, 1, 2, 3, 4, 6, 1_024, 1_030, 1_033, 1_040].map(fcntl)).toEqual(
      [0, 1, 2, 3, 4, 6, 1_024, 1_030, 1_033, 1_040].map((each) =>
        each === 1_024 || each === 1_040 ? EPERM : "allow",
      ),
    );
  });

  it("lets ioctl act on terminals, pipes and sockets, and of files only tell", () => {
    const kept = commandFilter(processor, { keeper: true });
    const ioctl = (request: number): Verdict => judged(kept, mode, at("ioctl"), [3, request]);
    for (const request of [0x5401, 0x541b, 0x5421, 0x802c_542a, 0x8912, 0x8008_6601, 0x4004_9409])
      expect(ioctl(request), request.toString(16)).toBe("allow");
    // FS_IOC_SETFLAGS, FSSETXATTR, btrfs subvolumes and snapshots, bcachefs subvolumes, namespaces, seccomp, userfaultfd, FUSE.
    for (const request of [
      0x4008_6602, 0x401c_5820, 0x5000_940e, 0x5000_9401, 0x5000_9417, 0x5000_9418, 0x4020_bc10, 0xb701, 0xc050_2100,
      0xaa00, 0xc018_aa3f, 0x8004_e500, 0xff02, 0x1,
    ])
      expect(ioctl(request), request.toString(16)).toBe("errno 25");
  });

  it("gives the first program the numbers of this processor", () => {
    const kept = new Map(numbersOf(KEPT, processor));
    for (const name of ["open", "openat"]) if (at(name) >= 0) kept.set(name, at(name));
    expect(new Map(Object.entries(keptCallNames(processor)))).toEqual(kept);
    const wanted = new Map([...kept, ...numbersOf(OWN, processor)]);
    expect(new Map(Object.entries(servedCalls(processor)))).toEqual(wanted);
  });
});
