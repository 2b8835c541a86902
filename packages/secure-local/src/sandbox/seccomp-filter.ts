// Writes the program by which the Linux kernel judges every system call made behind the wall (seccomp, classic BPF).
import { Buffer } from "node:buffer";
import { callNumbers, type CallNumbers, type Processor } from "./system-calls.js";

// Instructions: load a word of the call's description, compare, return.
const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const IF_ANY_BIT = 0x45;
const RETURN = 0x06;

// What the kernel is told to do with a call.
const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const ERRNO = 0x0005_0000;
const NOTIFY = 0x7fc0_0000;
const EPERM = 1;
const NOT_SUPPORTED = 95;
const ENOSYS = 38;

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
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;

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
  | "netlink";

interface Instruction {
  readonly code: number;
  readonly value: number;
  readonly yes?: Target;
  readonly no?: Target;
}

export interface FilterOptions {
  /** Whether Unix sockets may be made, which the way to an egress proxy needs. */
  readonly unixSockets: boolean;
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
    ...ENDS,
  ]);
}

function keptCalls({ opening, kept, openat2, firstUnknown }: CallNumbers): Instruction[] {
  return [
    ...[...opening].map(([number, index]) => is(number, index === 1 ? "open" : "openat")),
    ...kept.map((number) => is(number, "notify")),
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

function blocksOf(processor: Processor, calls: CallNumbers, { unixSockets }: FilterOptions): [Target, Instruction[]][] {
  const x32: Instruction[] = processor === "x64" ? [{ code: IF_AT_LEAST, value: X32, yes: "refuse" }] : [];
  const begin: Instruction[] = [
    { code: LOAD, value: MODE },
    { code: IF_EQUAL, value: AUDIT_ARCH[processor], no: "kill" },
    { code: LOAD, value: NUMBER },
    ...x32,
    ...calls.refused.map((number) => is(number, "refuse")),
    // Its flags are in memory, where a filter cannot look; the C library falls back to clone.
    is(calls.clone3, "absent"),
    is(calls.clone, "clone"),
    is(calls.ioctl, "ioctl"),
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
    // Programs list their own interfaces with it; of this sandbox there is only loopback.
    ["netlink", [load(2), { code: IF_EQUAL, value: NETLINK_ROUTE, yes: "allow", no: "refuse" }]],
    ...ENDS,
  ];
}

const ENDS: [Target, Instruction[]][] = [
  ["allow", [{ code: RETURN, value: ALLOW }]],
  ["refuse", [{ code: RETURN, value: ERRNO | EPERM }]],
  ["absent", [{ code: RETURN, value: ERRNO | ENOSYS }]],
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
