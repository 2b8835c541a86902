// The keeper of a sandbox's folders, in Perl: it does every look-up by path for the programs inside, as far as it is judged.
//
// The kernel stops each call that opens, makes, moves or removes something by its path, or reads a link, and hands it to the keeper (seccomp user
// notification). The keeper finds what the path leads to by handle, asks the guard outside whether that may be done, and does it
// on the very handle it asked about; the program gets an open file or an error. No call is let go on by itself: its path lies in the
// program's memory, where another thread can change it after it was judged.
import { constants } from "node:fs";

// Numbers of Linux that stand in the texts, the same on both processors but for the two that Node knows.
const { O_DIRECTORY, O_NOFOLLOW } = constants;
const [O_WRONLY, O_CREAT, O_EXCL, O_NOCTTY, O_TRUNC] = [0o1, 0o100, 0o200, 0o400, 0o1000];
const [O_NONBLOCK, O_CLOEXEC, O_PATH] = [0o4000, 0o2000000, 0o10000000];
/** What is there is opened: nothing is made of it. */
const NOT_ANEW = O_CREAT | O_EXCL | O_NOFOLLOW;
export const KIND = 0o170000;
export const LINK = 0o120000;
export const PIPE = 0o010000;
/** Of openat2: no link of /proc is followed. */
export const NO_MAGIC = 2;
/** Of statx: what the handle itself stands for; its kind, mode, number and mount. */
const [EMPTY_PATH, STATX_WANTED] = [0x1000, 0x1103];
/** Requests to the listener: the next call, an answer, whether one still waits, an open file for it. */
const RECEIVE = 0xc050_2100;
export const SEND = 0xc018_2101;
export const VALID = 0x4008_2102;
export const HAND = 0x4018_2103;
const [EACCES, EEXIST, EINVAL, ELOOP] = [13, 17, 22, 40];
export const LONGEST_PATH = 4_096;

/**
 * The first process of the sandbox, which the kernel lets nobody in it end, and to which all fall whose parent is gone. Each start
 * reads this text, so it holds no more than it takes to open what is there and in no judged folder; the other one has the rest.
 *
 * It goes by what stands before it: numbers of system calls (`$call{…}`), `%name` (of those that are handed over, by number),
 * `@places` (where the judged folders are seen), `$gate` (the socket of the guard) and `$rest` (the other text). What stands after it
 * makes `$program` (its process), and `$listener`.
 */
export const PERL_KEEPER: string = String.raw`
my ($listener, $program, $mounts, @held);
# By handle, while one call is done: the name of what it stands for, and its kind; of a file that was handed over open, how it may be
# opened.
my (%where, %kind, %handed_how);
# By mount: the handle of a judged folder, where the kernel had it at the start, and its name for the guard; every other mount of this
# sandbox. By file: how stdin, stdout and stderr were opened outside.
my (%judged_mounts, %own_mounts, %handed_over);
my $top = '/';
$top = syscall($call{openat}, -100, $top, ${O_PATH | O_CLOEXEC}, 0);

# What is needed for the first time is read then: many programs open what is there, and change no names.
sub AUTOLOAD {
  my $text = $rest // die "There is no $AUTOLOAD.\n";
  undef $rest;
  eval $text;
  die $@ if $@;
  goto &$AUTOLOAD;
}

# Of what is not known where it is, nothing: not of a mount that is none of this sandbox's, nor of what was moved out of its judged
# folder, nor of anything in a folder that was moved as a whole.
sub seen {
  my ($fd) = @_;
  return $fd if $fd < 0;
  push @held, $fd;
  my ($mount, $file, $mode) = mount_of($fd);
  $where{$fd} = $own_mounts{$mount} && !$judged_mounts{$mount} ? shown($fd) : name_of($fd, $mount, $file);
  $kind{$fd} = $mode & ${KIND};
  return $fd if defined $where{$fd};
  $! = ${EACCES};
  return -1;
}

# The mount something is on, which file of which disk it is, and its kind and mode.
sub mount_of {
  my $stat = "\0" x 256;
  return ('', '', 0) if syscall($call{statx}, $_[0], my $itself = '', ${EMPTY_PATH}, ${STATX_WANTED}, $stat) != 0;
  my ($mode, $inode, $major, $minor, $mount) = unpack('x28 S x2 Q x96 L2 Q', $stat);
  return ($mount, "$major:$minor:$inode", $mode);
}

sub shown { return readlink("/proc/self/fd/$_[0]") // '' }

# Opens what a handle stands for, and hands it to the program in place of the call's result; or what went wrong.
sub reopen {
  my ($id, $path, $flags) = @_;
  my $fd = syscall($call{openat}, -100, $path, $flags & ~${NOT_ANEW} | ${O_NOCTTY | O_CLOEXEC}, 0);
  return -(0 + $!) if $fd < 0;
  push @held, $fd;
  syscall($call{ioctl}, $listener, ${HAND}, pack('Q L4', $id, 2, $fd, 0, $flags & ${O_CLOEXEC}));
  return undef;
}

sub opened {
  my ($id, $pid, $base, $path, $flags, $mode, $links) = @_;
  # Neither one nor the other: some files take it for both.
  return -${EINVAL} if ($flags & 3) == 3;
  my $how = pack('Q3', $flags & ${O_NOFOLLOW | O_DIRECTORY} | ${O_PATH | O_CLOEXEC}, 0, ${NO_MAGIC});
  my $found = seen(syscall($call{openat2}, $base, $path, $how, 24));
  return opened_by_name(0 + $!, @_) if $found < 0;
  my ($real, $kind) = ($where{$found}, $kind{$found});
  return -${EEXIST} if ($flags & ${O_CREAT | O_EXCL}) == ${O_CREAT | O_EXCL};
  # A link that was not to be followed, one of /proc as well: what it leads to was not judged.
  return -${ELOOP} if $kind == ${LINK};
  return -${EACCES} if exists $handed_how{$found} && !as_handed($found, $flags);
  return opened_of_process($id, $pid, $found, $path, $flags) if $real =~ m{^/proc/\d};
  for (@places) {
    next unless $real eq $_ || index($real, "$_/") == 0;
    my $no = judged_for($real, $kind, $flags);
    return -$no if $no;
  }
  # What waits for another process is opened by a process of its own.
  return opened_apart($id, $found, $flags) if $kind == ${PIPE};
  return reopen($id, "/proc/self/fd/$found", $flags);
}

# Older calls are the newer ones at the working folder.
sub opening {
  my ($id, $pid, $call, @a) = @_;
  unshift @a, -100 if $call ne 'openat';
  @a[2, 3] = (${O_CREAT | O_WRONLY | O_TRUNC}, $a[2]) if $call eq 'creat';
  my ($path) = texts($id, $pid, $a[1]) or return -${EACCES};
  my $base = $path =~ m{^/(?!proc/)} ? $top : base_of($pid, $a[0], $path);
  return $base < 0 ? -(0 + $!) : opened($id, $pid, $base, $path, $a[2] & 0xffffffff, $a[3], 0);
}

# The texts at some places in the memory of the process that waits, which is still the one it was.
sub texts {
  my ($id, $pid, @places) = @_;
  my $memory = syscall($call{openat}, -100, my $path = "/proc/$pid/mem", ${O_CLOEXEC}, 0);
  return if $memory < 0;
  push @held, $memory;
  for (@places) {
    my ($at, $text) = ($_, '');
    while (($_ = index($text, "\0")) < 0) {
      # Up to the end of a page: the next one may not be there.
      my $bytes = "\0" x (4096 - ($at & 4095));
      my $got = syscall($call{pread64}, $memory, $bytes, length $bytes, $at);
      return if $got <= 0 || length $text > ${LONGEST_PATH};
      $text .= substr($bytes, 0, $got);
      $at += $got;
    }
    $_ = substr($text, 0, $_);
  }
  return syscall($call{ioctl}, $listener, ${VALID}, pack('Q', $id)) == 0 ? @places : ();
}

open(my $list, '<', '/proc/self/mountinfo') or exit 1;
$mounts .= $_ while <$list>;
close($list);
$own_mounts{$1} = 1 while $mounts =~ /^(\d+)/mg;
for my $handle (*STDIN, *STDOUT, *STDERR) {
  my $how = fcntl($handle, 3, 0) // next;
  my $file = join ' ', (mount_of(fileno $handle))[0, 1];
  $handed_over{$file} = ($handed_over{$file} // $how & 3) == ($how & 3) ? $how & 3 : 2;
}
for my $place (@places) {
  my $fd = syscall($call{openat}, -100, "$place", ${O_PATH | O_CLOEXEC}, 0);
  my ($mount) = mount_of($fd);
  exit 1 unless $own_mounts{$mount};
  $judged_mounts{$mount} = [$fd, shown($fd), $place];
}
`;

/** When the program is there. Its files are the keeper's own from here on: who reads what the program writes is to see its end. */
export const PERL_KEEPING: string = String.raw`
umask(0);
syscall($call{close_range}, 0, 2, 2) == 0 or exit 1;
my $ended = syscall($call{signalfd4}, -1, $ends, 8, ${O_CLOEXEC | O_NONBLOCK});
my $polled = pack('l s s l s s', $listener, 1, 0, $ended, 1, 0);
while (1) {
  next if syscall($call{ppoll}, $polled, 2, 0, 0, 0) < 0;
  my (undef, undef, $asked, undef, undef, $over) = unpack('l s s l s s', $polled);
  if ($asked & 1) {
    my $notice = "\0" x 80;
    if (syscall($call{ioctl}, $listener, ${RECEIVE}, $notice) == 0) {
      my ($id, $pid, undef, $number, undef, undef, @arguments) = unpack('Q L L l L Q Q6', $notice);
      my $call = $name{$number} // '';
      my $result = $call =~ /^(?:open(?:at)?|creat)\z/ ? opening($id, $pid, $call, @arguments) : changed($id, $pid, $call, @arguments);
      syscall($call{ioctl}, $listener, ${SEND}, pack('Q q l L', $id, 0, $result, 0)) if defined $result;
      syscall($call{close}, $_) for splice @held;
      %where = %kind = %handed_how = ();
    }
  }
  # Nobody is left who could ask; it would be told at every turn.
  elsif ($asked) { substr($polled, 0, 4) = pack('l', -1) }
  next unless $over;
  syscall($call{read}, $ended, my $which = "\0" x 128, 128);
  while ((my $child = waitpid(-1, 1)) > 0) {
    leave($?) if $child == $program;
  }
}
`;
