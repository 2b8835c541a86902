// The first program in a sandbox, in Perl: waits at the gate, opens the way out, sets the limits, and starts the command, with a
// keeper before the folders it sees.
import { PERL_KEEPER, PERL_KEEPING } from "./keeper-in-perl.js";
import { PERL_REST } from "./keeper-rest-in-perl.js";
import { commandFilter, keptCallNames, type Processor, servedCalls } from "./seccomp-filter.js";
import type { WallLimits } from "./wall.js";

// The relay of a sandbox that may use the network, in Perl: offers the proxy outside, which is a Unix socket, on loopback.

/**
 * Goes by what stands before this text: `$path` (the socket of the proxy) and `$door` (listening on loopback). No module is loaded,
 * so the numbers are Linux's own, the same on both processors.
 */
const PERL_RELAY: string = String.raw`
my ($UNIX, $STREAM, $SET_FLAGS, $NONBLOCK, $INTERRUPTED, $AGAIN) = (1, 1, 4, 04000, 4, 11);
my ($CHUNK, $MOST_HELD, $MOST_PAIRS) = (65536, 262144, 128);
$SIG{PIPE} = 'IGNORE';

fcntl($door, $SET_FLAGS, $NONBLOCK) or exit 1;
# Who reads what the command writes is to see its end, whoever else is still there.
close($_) for $gate, *STDIN, *STDOUT, *STDERR;
# In their places, as no connection may get a number that stands for output.
open(my $nothing, '+<', '/dev/null') or exit 1;
syscall($call{dup3}, fileno($nothing), $_, 0) for 0, 1, 2;

# By file number: the handle, the number of its other half, what waits to be written to it,
# whether it has said all, whether it was told that its other half has.
my (%handle, %other, %held, %said, %told);

sub drop {
  my ($fd) = @_;
  for my $each ($fd, $other{$fd}) {
    close($handle{$each});
    delete $_->{$each} for \%handle, \%held, \%said, \%told;
  }
  delete @other{$fd, $other{$fd}};
}

sub pair {
  accept(my $inside, $door) or return;
  my $outside;
  unless (socket($outside, $UNIX, $STREAM, 0) && connect($outside, pack('S a108', $UNIX, $path))) {
    close($inside);
    return;
  }
  my ($one, $two) = (fileno($inside), fileno($outside));
  ($handle{$one}, $handle{$two}) = ($inside, $outside);
  ($other{$one}, $other{$two}) = ($two, $one);
  ($held{$one}, $held{$two}) = ('', '');
  fcntl($_, $SET_FLAGS, $NONBLOCK) for $inside, $outside;
}

# What a half has heard all of is told so; a pair that has heard all of both is over.
sub settle {
  my ($fd) = @_;
  my $from = $other{$fd};
  return unless $said{$from} && $held{$fd} eq '' && !$told{$fd};
  shutdown($handle{$fd}, 1);
  $told{$fd} = 1;
  drop($fd) if $told{$from};
}

sub later { return $! == $AGAIN || $! == $INTERRUPTED }

while (1) {
  my ($read, $write) = ('', '');
  vec($read, fileno($door), 1) = 1 if keys(%handle) < 2 * $MOST_PAIRS;
  for my $fd (keys %handle) {
    vec($read, $fd, 1) = 1 if !$said{$fd} && length($held{$other{$fd}}) < $MOST_HELD;
    vec($write, $fd, 1) = 1 if $held{$fd} ne '';
  }
  next if select($read, $write, undef, undef) < 0;
  for my $fd (keys %handle) {
    next unless exists $handle{$fd};
    if (vec($write, $fd, 1)) {
      my $wrote = syswrite($handle{$fd}, $held{$fd});
      if (defined $wrote) { substr($held{$fd}, 0, $wrote, ''); settle($fd); }
      elsif (!later()) { drop($fd); }
      next unless exists $handle{$fd};
    }
    if (vec($read, $fd, 1)) {
      my $got = sysread($handle{$fd}, my $bytes, $CHUNK);
      if (!defined $got) { drop($fd) unless later(); }
      elsif ($got == 0) { $said{$fd} = 1; settle($other{$fd}); }
      else { $held{$other{$fd}} .= $bytes; }
    }
  }
  pair() if vec($read, fileno($door), 1);
}
`;

/** Where the relay listens. A sandbox has a loopback of its own, so nobody else is at this port. */
export const RELAY_PORT = 3_128;

const MIB = 1024 * 1024;
/** The first program itself, which stays for as long as the command runs. */
const FIRST = 1;
/** Open files of one process: enough for a package manager. */
const OPEN_FILES = 4_096;

interface FirstProgram {
  readonly limits: WallLimits;
  /** Where the socket of the egress proxy is seen; undefined: no way out. */
  readonly egress: string | undefined;
  /** Whether a keeper does the look-ups. */
  readonly keeper: boolean;
  /** Where the folders are seen that it asks about. */
  readonly kept: readonly string[];
  readonly command: readonly string[];
}

/** A shell for what needs no more than limits, which is there sooner; both lie in /usr or /bin, where they are seen inside. */
export interface WallShells {
  readonly sh: string;
  readonly perl: string;
}

/** What is the same for every command in Perl: texts with the processor's numbers, and the command's own filter. */
interface PerlTexts {
  readonly first: string;
  readonly rest: string;
  readonly filter: string;
}

/**
 * What the wall's program is to run, as process 1 of the sandbox. No process there has more than the command: this one has the same
 * limits and filter, or (a keeper, a relay) nothing of it can be read, written or stopped from inside. It ends with the command,
 * and all that is left with it. It tells that it is there, and begins only when it is told to: by then the kernel knows to
 * end the sandbox with the process outside, and what was mounted was looked at.
 */
export class FirstPrograms {
  readonly #shells: WallShells;
  readonly #processor: Processor;
  /** By whether there is a keeper and a way out. */
  readonly #texts = new Map<string, PerlTexts>();

  constructor(shells: WallShells, processor: Processor) {
    this.#shells = shells;
    this.#processor = processor;
  }

  /** The words of the program with the command. */
  words({ limits, egress, keeper, kept, command }: FirstProgram): string[] {
    const { sh, perl } = this.#shells;
    if (!keeper && egress === undefined) return [sh, "-c", shellText(limits), "sh", ...command];
    const connected = egress !== undefined;
    const { first, rest, filter } = this.#textsFor(keeper, connected);
    const words = [limitsText(limits, connected), filter, egress ?? "", String(RELAY_PORT)];
    const more = keeper ? [rest, ...kept] : [];
    return [perl, "-e", GATE, first, ...words, String(more.length), ...more, ...command];
  }

  #textsFor(keeper: boolean, connected: boolean): PerlTexts {
    const key = `${keeper} ${connected}`;
    const known = this.#texts.get(key);
    if (known !== undefined) return known;
    const calls = servedCalls(this.#processor);
    const numbered = (text: string): string =>
      text.replace(/\$call\{(\w+)\}/g, (_, name: string) => String(calls[name]));
    const names = Object.entries(keptCallNames(this.#processor)).map(([name, number]) => `${number},'${name}'`);
    const way = connected
      ? [WAY_OUT, "unless ($relay) { keep_to_myself(); close($_) for $shown, $shows;", PERL_RELAY, "}", HIDDEN]
      : [];
    const begin = keeper ? [`my %name = (${names.join(",")});`, PERL_KEEPER, BEHIND, PERL_KEEPING] : [BEGIN];
    const texts = {
      first: numbered([OPENING, ...way, ...begin].join("\n")),
      rest: numbered(PERL_REST),
      filter: commandFilter(this.#processor, { keeper }).toString("hex"),
    };
    this.#texts.set(key, texts);
    return texts;
  }
}

/** CPU time, longest file, data, core, processes, open files: the kernel's numbers, with the softer and the harder limit. */
function limitsText({ processes, memoryMb, cpuSeconds, fileMb }: WallLimits, connected: boolean): string {
  // This program and the relay count as well, and have no part in what the command was allowed.
  const own = FIRST + (connected ? 1 : 0);
  const both = (kind: number, value: number): string => `${kind},${value},${value}`;
  return [
    // A second between: the first tells the program by a signal of its own.
    `0,${cpuSeconds},${cpuSeconds + 1}`,
    both(1, fileMb * MIB),
    both(2, memoryMb * MIB),
    both(4, 0),
    both(6, processes + own),
    both(7, OPEN_FILES),
  ].join(" ");
}

/** Bytes in a block of `ulimit -f`. */
const BLOCK = 512;
const KIB = 1024;

/**
 * Limits are set inside: the kernel counts processes by namespace, and outside they would be all of this user's. A command that
 * cannot be limited is not run. Shells do not agree on the letter for processes; POSIX has the units of `-f`.
 */
function shellText({ processes, memoryMb, cpuSeconds, fileMb }: WallLimits): string {
  const limits = [
    `{ ulimit -u ${processes + FIRST} 2>/dev/null || ulimit -p ${processes + FIRST}; }`,
    // Not the address space: Node reserves many times what it uses.
    `ulimit -d ${memoryMb * KIB}`,
    `ulimit -f ${(fileMb * MIB) / BLOCK}`,
    // A second between: the first tells the program by a signal of its own.
    `ulimit -S -t ${cpuSeconds} && ulimit -H -t ${cpuSeconds + 1}`,
    `ulimit -n ${OPEN_FILES}`,
    "ulimit -c 0",
  ];
  // How the command ended is told by the number alone: a shell would say it in words as well.
  const command = `exec 4>&2 2>/dev/null; "$@" 2>&4 4>&-; exit $?`;
  return `echo >&3; read -r go <&3 || exit 1; exec 3<&-; ${limits.join(" && ")} || exit 1; ${command}`;
}

/** Says that it is there before it reads the rest of its text: one is looked at while the other is read. */
const GATE = "open(my $gate, '+<&=', 3) or exit 1; syswrite($gate, qq(\n)); eval shift; print STDERR $@; exit 1;";

/** Nothing of this process can be looked into from inside, and none of its files are the command's. */
const OPENING = String.raw`
my ($limits, $filter, $path, $port, $count) = (shift, pack('H*', shift), shift, shift, shift);
my ($rest, @places) = splice(@ARGV, 0, $count);
my $says;
fcntl($gate, 2, 1);
sub limited {
  for (split / /, $limits) {
    my ($kind, @both) = split /,/;
    syscall($call{setrlimit}, 0 + $kind, pack('Q2', @both)) == 0 or complain('The limits of the sandbox cannot be set');
  }
}
sub filtered {
  my ($flags) = @_;
  return 0 if $filter eq '';
  return syscall($call{seccomp}, 1, $flags, pack('S x6 P', length($filter) / 8, $filter));
}
sub over { syscall($call{close}, $says) if defined $says; syscall($call{exit_group}, $_[0]) }
sub complain { print STDERR "$_[0] ($!).\n"; over($_[1] // 1) }
# How a process ended, as a shell says it.
sub leave { my ($how) = @_; over($how & 127 ? 128 + ($how & 127) : $how >> 8) }
sub wait_at_gate { sysread($gate, my $go, 1) or over(1) }
sub keep_to_myself { syscall($call{prctl}, 4, 0, 0, 0, 0) }
sub begin {
  delete $ENV{PERL_SKIP_LOCALE_INIT};
  exec { $ARGV[0] } @ARGV;
  complain($ARGV[0], $! == 2 ? 127 : 126);
}
`;

const WAY_OUT = String.raw`
socket(my $door, 2, 1, 0) or complain('The way out of the sandbox could not be opened');
bind($door, pack('S n C4 x8', 2, $port, 127, 0, 0, 1)) or complain('The way out of the sandbox could not be opened');
listen($door, 128) or complain('The way out of the sandbox could not be opened');
fcntl($door, 2, 1);
pipe(my $shown, my $shows) or exit 1;
my $relay = fork() // exit 1;
`;

/** The command is not there before nothing of the relay can be looked into. */
const HIDDEN = String.raw`
close($shows);
sysread($shown, my $nothing, 1);
close($shown);
`;

const BEGIN = String.raw`
wait_at_gate();
keep_to_myself();
limited();
filtered(0) == 0 or complain('The kernel takes no filter');
my $program = fork() // complain('The sandbox cannot start another process');
begin() unless $program;
close($_) for $gate, $door, *STDIN, *STDOUT, *STDERR;
while ((my $ended = wait) > 0) { leave($?) if $ended == $program }
exit 1;
`;

/**
 * The command is a child that shares its open files until it is another program: so the keeper comes by the listener. It begins when
 * the keeper has read its text, which it does while the sandbox is looked at outside.
 */
const BEHIND = String.raw`
# What tells of children that ended waits to be read.
my $ends = pack('Q', 1 << 16);
syscall($call{rt_sigprocmask}, 0, $ends, 0, 8);
my $pipe = "\0" x 8;
syscall($call{pipe2}, $pipe, 02000000) == 0 or exit 1;
(my $heard, $says) = unpack('l2', $pipe);
wait_at_gate();
$program = syscall($call{clone}, 0x400 | 17, 0, 0, 0, 0);
complain('The sandbox cannot start another process') if $program < 0;
if ($program == 0) {
  # A Unix socket that has an address, one of which nobody knows, is given no other.
  syscall($call{bind}, $_, my $unix = pack('S', 1), 2) for 0, 1, 2;
  limited();
  # Signals wait until a call was done; kernels before 5.19 do not know that.
  my $fd = filtered(8 | 32);
  $fd = filtered(8) if $fd < 0;
  complain('The kernel lets nobody stand before the folders of a sandbox (seccomp user notification, Linux 5.14 or later)') if $fd < 0;
  syscall($call{write}, $says, pack('L', $fd), 4);
  syscall($call{rt_sigprocmask}, 1, $ends, 0, 8);
  begin();
}
keep_to_myself();
my $number = "\0" x 4;
syscall($call{read}, $heard, $number, 4) == 4 or exit 1;
syscall($call{close}, $_) for $heard, $says;
$listener = unpack('L', $number);
`;
