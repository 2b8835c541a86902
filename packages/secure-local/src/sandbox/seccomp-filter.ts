// Writes the program by which the Linux kernel judges every system call made behind the wall (seccomp, classic BPF).
import { Buffer } from "node:buffer";

// Instructions: load a word of the call's description, compare, return, keep some of its bits.
const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const IF_ANY_BIT = 0x45;
const RETURN = 0x06;
const KEEP_BITS = 0x54;

// What the kernel is told to do with a call.
const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const ERRNO = 0x0005_0000;
const NOTIFY = 0x7fc0_0000;
const EPERM = 1;
const NOT_SUPPORTED = 95;
const ENOSYS = 38;
const ENOTTY = 25;

// Where the description of a call holds what: its number, the processor's mode, the low words of its arguments.
const NUMBER = 0;
const MODE = 4;
const argument = (index: number): number => 16 + 8 * index;

const AUDIT_ARCH: Readonly<Record<Processor, number>> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };
/** From here on, numbers belong to x32, a second table of calls on the same processor that the list would miss. */
const X32 = 0x4000_0000;

/** Every namespace flag of clone: CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACE = 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;
/** Types a character into the terminal, and controls the console. */
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const AF_UNIX = 1;
/** The kind of a socket, beside flags, and the two kinds of which a pair can never be pointed elsewhere: a stream, with or without records. */
const SOCK_KIND = 0xf;
const SOCK_STREAM = 1;
const SOCK_SEQPACKET = 5;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;

/** What kind of thing a request of `ioctl` is for, and the two kinds that act on no file: terminals and pipes, sockets. */
const REQUEST_KIND = 0xff00;
const OF_TERMINALS = 0x5400;
const OF_SOCKETS = 0x8900;
/**
 * Requests that only tell of a file, or copy between two that are open: FIGETBSZ, FS_IOC_GETFLAGS, FS_IOC_GETVERSION, FS_IOC_FSGETXATTR,
 * FS_IOC_FIEMAP, FICLONE, FICLONERANGE, FIDEDUPERANGE, RNDGETENTCNT. Others make names (subvolumes), or change what a file is.
 */
const TELLING = [
  0x2, 0x8008_6601, 0x8008_7601, 0x801c_581f, 0xc020_660b, 0x4004_9409, 0x4020_940d, 0xc018_9436, 0x8004_5200,
];
/** Leases and delegations hold up whoever opens the file, or makes a name in the folder: the keeper, or others outside. */
const HOLDING_UP = [1_024, 1_040];
/** The first process of a sandbox, which is its keeper where there is one. */
const KEEPER = 1;
/** `which` of setpriority and ioprio_set: one process. */
const PRIO_PROCESS = 0;
const IOPRIO_WHO_PROCESS = 1;

/** Opens nothing: a handle for what is there. */
const O_PATH = 0o10000000;
/** A file without a name, in a folder. */
const O_TMPFILE = 0o20000000;

type Target =
  | "next"
  | "notify"
  | "unsupported"
  | "open"
  | "openat"
  | "allow"
  | "refuse"
  | "absent"
  | "kill"
  | "clone"
  | "ioctl"
  | "socket"
  | "netlink"
  | "socketpair"
  | "no request"
  | "fcntl"
  | "first"
  | "second"
  | "setpriority"
  | "ioprio_set";

interface Instruction {
  readonly code: number;
  readonly value: number;
  readonly yes?: Target;
  readonly no?: Target;
}

interface FilterOptions {
  /** Whether Unix sockets may be made, which the way to an egress proxy needs. */
  readonly unixSockets: boolean;
  /** Whether a keeper is among those it holds for, which acts on what a program has open; the program's own filter refuses that. */
  readonly keeper: boolean;
}

/** Returns the program in the byte order of both processors (little endian), for `bwrap --seccomp`. */
export function seccompFilter(processor: Processor, options: FilterOptions): Buffer {
  return assembled(blocksOf(processor, callNumbers(processor), options));
}

/** What a command is refused beyond that: Unix sockets. With a keeper it is handed all that is looked up by a path. */
export function commandFilter(processor: Processor, { keeper }: { readonly keeper: boolean }): Buffer {
  const calls = callNumbers(processor);
  const begin: Instruction[] = [
    { code: LOAD, value: MODE },
    { code: IF_EQUAL, value: AUDIT_ARCH[processor], no: "kill" },
    { code: LOAD, value: NUMBER },
    is(calls.socket, "socket"),
    ...(keeper ? keptCalls(calls) : []),
    { code: RETURN, value: ALLOW },
  ];
  const flagsOf = (index: number): Instruction[] => [
    load(index),
    { code: IF_ANY_BIT, value: O_PATH, yes: "allow" },
    { code: IF_ANY_BIT, value: O_TMPFILE, yes: "unsupported", no: "notify" },
  ];
  return assembled([
    ["next", begin],
    ["open", flagsOf(1)],
    ["openat", flagsOf(2)],
    ["socket", [load(0), { code: IF_EQUAL, value: AF_UNIX, yes: "refuse", no: "allow" }]],
    [
      "ioctl",
      [
        load(1),
        ...TELLING.map((request) => is(request, "allow")),
        { code: KEEP_BITS, value: REQUEST_KIND },
        is(OF_TERMINALS, "allow"),
        { code: IF_EQUAL, value: OF_SOCKETS, yes: "allow", no: "no request" },
      ],
    ],
    ["fcntl", [load(1), ...HOLDING_UP.map((command) => is(command, "refuse")), { code: RETURN, value: ALLOW }]],
    ["setpriority", [load(0), { code: IF_EQUAL, value: PRIO_PROCESS, yes: "second", no: "refuse" }]],
    ["ioprio_set", [load(0), { code: IF_EQUAL, value: IOPRIO_WHO_PROCESS, yes: "second", no: "refuse" }]],
    ["second", [load(1), { code: IF_EQUAL, value: KEEPER, yes: "refuse", no: "allow" }]],
    ["first", [load(0), { code: IF_EQUAL, value: KEEPER, yes: "refuse", no: "allow" }]],
    ...ENDS,
  ]);
}

function keptCalls({
  opening,
  kept,
  slowing,
  taking,
  unmade,
  guarded,
  openat2,
  firstUnknown,
}: CallNumbers): Instruction[] {
  return [
    ...[...opening].map(([number, index]) => is(number, index === 1 ? "open" : "openat")),
    ...kept.map((number) => is(number, "notify")),
    ...slowing.map((number) => is(number, "first")),
    is(taking, "refuse"),
    ...unmade.map((number) => is(number, "unsupported")),
    ...(["ioctl", "fcntl", "setpriority", "ioprio_set"] as const).map((name) => is(guarded[name], name)),
    // Its flags are in memory, where a filter cannot look; programs fall back to openat.
    is(openat2, "absent"),
    { code: IF_AT_LEAST, value: firstUnknown, yes: "absent" },
  ];
}

function assembled(blocks: readonly (readonly [Target, Instruction[]])[]): Buffer {
  const starts = new Map<Target, number>();
  const program: Instruction[] = [];
  for (const [label, block] of blocks) {
    starts.set(label, program.length);
    program.push(...block);
  }
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, { code, value, yes, no }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jump(starts, index, yes), index * 8 + 2);
    bytes.writeUInt8(jump(starts, index, no), index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}

/** How many instructions are left out. */
function jump(starts: ReadonlyMap<Target, number>, from: number, to: Target = "next"): number {
  return to === "next" ? 0 : starts.get(to)! - from - 1;
}

function blocksOf(
  processor: Processor,
  calls: CallNumbers,
  { unixSockets, keeper }: FilterOptions,
): [Target, Instruction[]][] {
  const x32: Instruction[] = processor === "x64" ? [{ code: IF_AT_LEAST, value: X32, yes: "refuse" }] : [];
  const begin: Instruction[] = [
    { code: LOAD, value: MODE },
    { code: IF_EQUAL, value: AUDIT_ARCH[processor], no: "kill" },
    { code: LOAD, value: NUMBER },
    ...x32,
    ...calls.refused.filter((number) => !keeper || number !== calls.taking).map((number) => is(number, "refuse")),
    // Its flags are in memory, where a filter cannot look; the C library falls back to clone.
    is(calls.clone3, "absent"),
    is(calls.clone, "clone"),
    is(calls.ioctl, "ioctl"),
    is(calls.socketpair, "socketpair"),
    { code: IF_EQUAL, value: calls.socket, yes: "socket", no: "allow" },
  ];
  const unix: Instruction[] = unixSockets ? [is(AF_UNIX, "allow")] : [];
  return [
    ["next", begin],
    ["clone", [load(0), { code: IF_ANY_BIT, value: NEW_NAMESPACE, yes: "refuse", no: "allow" }]],
    ["ioctl", [load(1), is(TIOCSTI, "refuse"), { code: IF_EQUAL, value: TIOCLINUX, yes: "refuse", no: "allow" }]],
    [
      "socket",
      [
        load(0),
        ...unix,
        is(AF_INET, "allow"),
        is(AF_INET6, "allow"),
        { code: IF_EQUAL, value: AF_NETLINK, yes: "netlink", no: "refuse" },
      ],
    ],
    [
      "socketpair",
      [
        load(1),
        { code: KEEP_BITS, value: SOCK_KIND },
        is(SOCK_STREAM, "allow"),
        { code: IF_EQUAL, value: SOCK_SEQPACKET, yes: "allow", no: "refuse" },
      ],
    ],
    // Programs list their own interfaces with it; of this sandbox there is only loopback.
    ["netlink", [load(2), { code: IF_EQUAL, value: NETLINK_ROUTE, yes: "allow", no: "refuse" }]],
    ...ENDS,
  ];
}

const ENDS: [Target, Instruction[]][] = [
  ["allow", [{ code: RETURN, value: ALLOW }]],
  ["refuse", [{ code: RETURN, value: ERRNO | EPERM }]],
  ["absent", [{ code: RETURN, value: ERRNO | ENOSYS }]],
  ["no request", [{ code: RETURN, value: ERRNO | ENOTTY }]],
  ["unsupported", [{ code: RETURN, value: ERRNO | NOT_SUPPORTED }]],
  ["notify", [{ code: RETURN, value: NOTIFY }]],
  ["kill", [{ code: RETURN, value: KILL_PROCESS }]],
];

function is(value: number, yes: Target): Instruction {
  return { code: IF_EQUAL, value, yes };
}

function load(index: number): Instruction {
  return { code: LOAD, value: argument(index) };
}

// Lists the system calls that no program behind a wall gets, with their numbers on each processor.

export type Processor = "x64" | "arm64";

/** Numbers on x64 and arm64; undefined where the processor has no such call. */
type Numbers = readonly [x64: number | undefined, arm64: number | undefined];

/** Looking into other processes, kernel interfaces with a long record of holes, mounts, namespaces, clocks, modules. */
const REFUSED: Readonly<Record<string, Numbers>> = {
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  process_mrelease: [448, 448],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  userfaultfd: [323, 282],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
  unshare: [272, 97],
  setns: [308, 268],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  nfsservctl: [180, 42],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  adjtimex: [159, 171],
  clock_adjtime: [305, 266],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  lookup_dcookie: [212, 18],
  vhangup: [153, 58],
  move_pages: [279, 239],
  migrate_pages: [256, 238],
  fanotify_init: [300, 262],
  personality: [135, 92],
  iopl: [172, undefined],
  ioperm: [173, undefined],
  uselib: [134, undefined],
  ustat: [136, undefined],
  sysfs: [139, undefined],
  _sysctl: [156, undefined],
  modify_ldt: [154, undefined],
};

/** Calls that are judged by their arguments. */
const JUDGED = {
  clone: [56, 220],
  clone3: [435, 435],
  ioctl: [16, 29],
  socket: [41, 198],
  socketpair: [53, 199],
} as const;

/** Calls that look something up by its path, or make what could be given a name, which the keeper does in the program's place. */
const KEPT = {
  open: [2, undefined],
  creat: [85, undefined],
  openat: [257, 56],
  mkdir: [83, undefined],
  mkdirat: [258, 34],
  mknod: [133, undefined],
  mknodat: [259, 33],
  rename: [82, undefined],
  renameat: [264, 38],
  renameat2: [316, 276],
  link: [86, undefined],
  linkat: [265, 37],
  symlink: [88, undefined],
  symlinkat: [266, 36],
  unlink: [87, undefined],
  unlinkat: [263, 35],
  rmdir: [84, undefined],
  truncate: [76, 45],
  chmod: [90, undefined],
  fchmod: [91, 52],
  fchmodat: [268, 53],
  fchmodat2: [452, 452],
  chown: [92, undefined],
  fchown: [93, 55],
  lchown: [94, undefined],
  fchownat: [260, 54],
  utime: [132, undefined],
  utimes: [235, undefined],
  futimesat: [261, undefined],
  utimensat: [280, 88],
  inotify_add_watch: [254, 27],
  readlink: [89, undefined],
  readlinkat: [267, 78],
  socketpair: [53, 199],
} satisfies Record<string, Numbers>;

/** Calls by which a process slows another down, whose number stands first. */
const SLOWING: Readonly<Record<string, Numbers>> = {
  sched_setaffinity: [203, 122],
  sched_setscheduler: [144, 119],
  sched_setparam: [142, 118],
  sched_setattr: [314, 274],
  prlimit64: [302, 261],
  pidfd_open: [434, 434],
};

/**
 * Attributes beside a file: some of them say who may use it, in other words than its mode. By a path they are not read either: what was
 * opened was judged.
 */
const UNMADE: Readonly<Record<string, Numbers>> = {
  setxattr: [188, 5],
  lsetxattr: [189, 6],
  fsetxattr: [190, 7],
  setxattrat: [463, 463],
  removexattr: [197, 14],
  lremovexattr: [198, 15],
  fremovexattr: [199, 16],
  removexattrat: [466, 466],
  file_setattr: [469, 469],
  getxattr: [191, 8],
  lgetxattr: [192, 9],
  getxattrat: [464, 464],
  listxattr: [194, 11],
  llistxattr: [195, 12],
  listxattrat: [465, 465],
};

/** Calls that are judged by their arguments where there is a keeper. */
const GUARDED = {
  ioctl: [16, 29],
  fcntl: [72, 25],
  setpriority: [141, 140],
  ioprio_set: [251, 30],
} as const;

/** What the first program of a sandbox needs for itself beyond them. */
const OWN = {
  openat2: [437, 437],
  statx: [332, 291],
  close: [3, 57],
  write: [1, 64],
  ioctl: [16, 29],
  ftruncate: [77, 46],
  close_range: [436, 436],
  read: [0, 63],
  pread64: [17, 67],
  ppoll: [271, 73],
  bind: [49, 200],
  pipe2: [293, 59],
  memfd_create: [319, 279],
  rt_sigprocmask: [14, 135],
  signalfd4: [289, 74],
  exit_group: [231, 94],
  prctl: [157, 167],
  setrlimit: [160, 164],
  seccomp: [317, 277],
  clone: [56, 220],
  dup3: [292, 24],
  pidfd_open: [434, 434],
  pidfd_getfd: [438, 438],
} satisfies Record<string, Numbers>;

const OPENING = new Set(["open", "openat"]);

/** Calls from here on are later than this list: what they look up nobody knows. */
const FIRST_UNKNOWN = 470;

/** By name, for the texts in Perl. */
export function servedCalls(processor: Processor): Readonly<Record<string, number>> {
  return numbersOf({ ...KEPT, ...OWN }, processor);
}

/** Those that the keeper is handed. */
export function keptCallNames(processor: Processor): Readonly<Record<string, number>> {
  return numbersOf(KEPT, processor);
}

function numbersOf(calls: Readonly<Record<string, Numbers>>, processor: Processor): Readonly<Record<string, number>> {
  const at = processor === "x64" ? 0 : 1;
  const there = Object.entries(calls).flatMap(([name, numbers]) => {
    const number = numbers[at];
    return number === undefined ? [] : [[name, number] as const];
  });
  return Object.fromEntries(there);
}

interface CallNumbers {
  readonly refused: readonly number[];
  readonly clone: number;
  readonly clone3: number;
  readonly ioctl: number;
  readonly socket: number;
  readonly socketpair: number;
  readonly slowing: readonly number[];
  /** Takes what another process has open. */
  readonly taking: number;
  readonly unmade: readonly number[];
  readonly guarded: Readonly<Record<keyof typeof GUARDED, number>>;
  /** Where the flags of a call say how a file is opened: the index of that argument, by the number of the call. */
  readonly opening: ReadonlyMap<number, number>;
  /** Every other call for the keeper. */
  readonly kept: readonly number[];
  readonly openat2: number;
  readonly firstUnknown: number;
}

function callNumbers(processor: Processor): CallNumbers {
  const at = processor === "x64" ? 0 : 1;
  const numbers = numbersOf(KEPT, processor);
  const all = (calls: Readonly<Record<string, Numbers>>): number[] => Object.values(numbersOf(calls, processor));
  return {
    refused: all(REFUSED),
    clone: JUDGED.clone[at],
    clone3: JUDGED.clone3[at],
    ioctl: JUDGED.ioctl[at],
    socket: JUDGED.socket[at],
    socketpair: JUDGED.socketpair[at],
    slowing: all(SLOWING),
    taking: OWN.pidfd_getfd[at],
    unmade: all(UNMADE),
    guarded: numbersOf(GUARDED, processor),
    opening: new Map(
      [[numbers["open"] ?? -1, 1] as const, [KEPT.openat[at], 2] as const].filter(([number]) => number >= 0),
    ),
    kept: Object.entries(numbers).flatMap(([name, number]) => (OPENING.has(name) ? [] : [number])),
    openat2: OWN.openat2[at],
    firstUnknown: FIRST_UNKNOWN,
  };
}
