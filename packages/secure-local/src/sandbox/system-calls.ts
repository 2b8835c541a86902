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
} as const;

/** Calls that look something up by its path, which the keeper of a sandbox's folders does in the program's place. */
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
  fchmodat: [268, 53],
  fchmodat2: [452, 452],
} satisfies Record<string, Numbers>;

/** What the first program of a sandbox needs for itself beyond them. */
const OWN = {
  openat2: [437, 437],
  close: [3, 57],
  ftruncate: [77, 46],
  pidfd_open: [434, 434],
  exit_group: [231, 94],
  prctl: [157, 167],
  setrlimit: [160, 164],
  seccomp: [317, 277],
  clone: [56, 220],
  dup3: [292, 24],
} satisfies Record<string, Numbers>;

const OPENING = new Set(["open", "openat"]);

/** Calls from here on are later than this list: what they look up nobody knows. */
const FIRST_UNKNOWN = 470;

/** By name, for the texts in Perl. */
export function servedCalls(processor: Processor): Readonly<Record<string, number>> {
  return numbersOf({ ...KEPT, ...OWN }, processor);
}

function numbersOf(calls: Readonly<Record<string, Numbers>>, processor: Processor): Readonly<Record<string, number>> {
  const at = processor === "x64" ? 0 : 1;
  const there = Object.entries(calls).flatMap(([name, numbers]) => {
    const number = numbers[at];
    return number === undefined ? [] : [[name, number] as const];
  });
  return Object.fromEntries(there);
}

export interface CallNumbers {
  readonly refused: readonly number[];
  readonly clone: number;
  readonly clone3: number;
  readonly ioctl: number;
  readonly socket: number;
  /** Where the flags of a call say how a file is opened: the index of that argument, by the number of the call. */
  readonly opening: ReadonlyMap<number, number>;
  /** Every other call for the keeper. */
  readonly kept: readonly number[];
  readonly openat2: number;
  readonly firstUnknown: number;
}

export function callNumbers(processor: Processor): CallNumbers {
  const at = processor === "x64" ? 0 : 1;
  const numbers = numbersOf(KEPT, processor);
  return {
    refused: Object.values(REFUSED).flatMap((numbers) => numbers[at] ?? []),
    clone: JUDGED.clone[at],
    clone3: JUDGED.clone3[at],
    ioctl: JUDGED.ioctl[at],
    socket: JUDGED.socket[at],
    opening: new Map(
      [[numbers["open"] ?? -1, 1] as const, [KEPT.openat[at], 2] as const].filter(([number]) => number >= 0),
    ),
    kept: Object.entries(numbers).flatMap(([name, number]) => (OPENING.has(name) ? [] : [number])),
    openat2: OWN.openat2[at],
    firstUnknown: FIRST_UNKNOWN,
  };
}
