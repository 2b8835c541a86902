// The rest of the keeper's text in Perl, which it reads when something in it is needed for the first time.
import { constants } from "node:fs";
import { HAND, KIND, LINK, LONGEST_PATH, NO_MAGIC, PIPE, SEND, VALID } from "./keeper-in-perl.js";

const { O_DIRECTORY, O_NOFOLLOW } = constants;

/** Everything but opening what is there, in no judged folder. */
export const PERL_REST: string = String.raw`
my ($O_CREAT, $O_EXCL, $O_NOCTTY, $O_NONBLOCK, $O_CLOEXEC, $O_PATH) = (0100, 0200, 0400, 04000, 02000000, 010000000);
my ($O_DIRECTORY, $O_NOFOLLOW) = (${O_DIRECTORY}, ${O_NOFOLLOW});
my ($EPERM, $ENOENT, $EBADF, $EACCES, $EBUSY, $EEXIST, $EINVAL, $ELOOP, $ENXIO) = (1, 2, 9, 13, 16, 17, 22, 40, 6);
my ($LINK, $FOLDER, $FILE, $PIPE, $KIND) = (${LINK}, 0040000, 0100000, ${PIPE}, ${KIND});
my ($CWD, $EFAULT, $EMFILE) = (-100, 14, 24);
my ($MAY_NOW, $MOST_KNOWN, $MOST_LINKS, $LONGEST) = (255, 4000, 40, ${LONGEST_PATH});
my (%known, $known_at);
# Where anything is mounted.
my @mounted = map { s/\\([0-7]{3})/chr oct $1/ger } $mounts =~ /^\d+ \S+ \S+ \S+ (\S+)/mg;

sub held { push @held, $_[0] if $_[0] >= 0; return $_[0] }

sub look {
  my ($base, $path, $flags) = @_;
  my $how = pack('Q3', $flags | $O_PATH | $O_CLOEXEC, 0, ${NO_MAGIC});
  return seen(syscall($call{openat2}, $base, "$path", $how, 24));
}

sub small { return unpack('l', pack('L', $_[0] & 0xffffffff)) }

# Whether it still waits that asked: what was read of its memory was its own.
sub waits { return syscall($call{ioctl}, $listener, ${VALID}, pack('Q', $_[0])) == 0 }

sub base {
  my ($pid, $fd, $path) = @_;
  my $at = $path =~ m{^/} ? '/' : $fd == $CWD ? "/proc/$pid/cwd" : "/proc/$pid/fd/$fd";
  return held(syscall($call{openat}, $CWD, $at, $O_PATH | $O_CLOEXEC, 0));
}

# An open file for the program, in place of the call's result.
sub hand {
  my ($id, $fd, $flags) = @_;
  syscall($call{ioctl}, $listener, ${HAND}, pack('Q L4', $id, 2, $fd, 0, $flags & $O_CLOEXEC));
  return undef;
}

# Where a path begins that is to be opened, which may be changed: "self" is whoever asks, and not the keeper.
sub base_of {
  my ($pid, $fd, $path) = @_;
  if ($path eq '') { $! = $ENOENT; return -1 }
  $_[2] =~ s{^/proc/thread-self(?=/|\z)}{/proc/$pid/task/$pid} or $_[2] =~ s{^/proc/self(?=/|\z)}{/proc/$pid};
  return base($pid, small($fd), $path);
}

# Whether a path lies in a judged folder.
sub judged {
  my ($path) = @_;
  for (@places) { return 1 if $path eq $_ || index($path, "$_/") == 0 }
  return 0;
}

# What a link of /proc leads to.
sub followed { return seen(syscall($call{openat}, $CWD, $_[0], $O_PATH | $O_CLOEXEC, 0)) }

sub name_of {
  my ($fd, $mount, $file) = @_;
  my $judged = $judged_mounts{$mount};
  if (!$judged) {
    my $how = $handed_over{"$mount $file"};
    $handed_how{$fd} = $how if defined $how;
    return defined $how || inner($mount) ? shown($fd) : undef;
  }
  my ($root, $began, $place) = @$judged;
  # The folder itself is looked up before and after: what lies above it may be moved at any moment.
  my $still = shown($root) eq $began;
  my $path = shown($fd);
  return undef unless $still && shown($root) eq $began;
  return $path eq $began ? $place : index($path, "$began/") == 0 ? $place . substr($path, length $began) : undef;
}

# Files that no folder holds, in which the kernel keeps pipes, and memory of the program's own.
sub inner {
  my ($mount) = @_;
  unless (defined $own_mounts{''}) {
    $own_mounts{''} = 0;
    my $ends = "\0" x 8;
    syscall($call{pipe2}, $ends, $O_CLOEXEC) == 0 or return 0;
    my @made = (unpack('l2', $ends), syscall($call{memfd_create}, my $nothing = '', 1));
    for (grep { $_ >= 0 } @made) { $own_mounts{(mount_of($_))[0]} = 1; syscall($call{close}, $_) }
  }
  return $own_mounts{$mount};
}

sub where { return $where{$_[0]} // '' }

sub kind { my @stat = stat("/proc/self/fd/$_[0]"); return @stat ? $stat[2] & $KIND : 0 }

# What the guard outside says: 0, or the number of an error.
sub ask {
  my ($op, $path) = @_;
  my $asked = "$op$path";
  # An answer counts for a second: links and names that protect come to be outside, too.
  my $now = time;
  (%known, $known_at) = () if ($known_at // 0) != $now;
  $known_at = $now;
  my $said = $known{$asked};
  return $said if defined $said;
  my $frame = pack('N/a*', $asked);
  while (length $frame) { my $n = syswrite($gate, $frame) or exit 1; substr($frame, 0, $n, ''); }
  sysread($gate, my $byte, 1) or exit 1;
  $said = ord($byte);
  return 0 if $said == $MAY_NOW;
  # What may be changed depends on what lies around it, which changes.
  return $said if $op =~ /[mvwdhcsn]/;
  %known = () if keys %known >= $MOST_KNOWN;
  return $known{$asked} = $said;
}

sub may { my ($op, $path) = @_; return judged($path) ? ask($op, $path) : 0 }

# A path of the program's own: what the keeper calls "self" is another process.
sub own {
  my ($pid, $path) = @_;
  $path =~ s{^/proc/$$/task/$$(?=/|\z)}{/proc/$pid/task/$pid} or $path =~ s{^/proc/$$(?=/|\z)}{/proc/$pid};
  return $path;
}

# What is told of the processes that are before the program, which are no part of it.
my $TOLD = qr{^(?:stat|statm|status|cmdline|comm)\z};
# What may be written of its own processes: nothing that changes what they do, but for the memory of the very one that asks.
my $WRITTEN = qr{^(?:comm|oom_score_adj|coredump_filter|timerslack_ns)\z};

# Whether a file of /proc may be opened so.
sub of_process {
  my ($pid, $path, $op, $asked) = @_;
  my ($of, $file) = $path =~ m{^/proc/(\d+)(?:/task/\d+)?(?:/(.*))?\z}s or return 1;
  my $before = $of == $$ || defined $relay && $of == $relay || $asked =~ m{^/proc/$$(?:/|\z)};
  return 1 unless defined $file || $before;
  if ($before) { return $op eq 'r' && (!defined $file || $file =~ $TOLD) }
  return group($pid) == group($of) if $file eq 'mem';
  return $op eq 'r' || $file =~ $WRITTEN;
}

sub group {
  my ($pid) = @_;
  open(my $status, '<', "/proc/$pid/status") or return 0;
  while (<$status>) { return $1 if /^Tgid:\s*(\d+)/ }
  return 0;
}

# Whether what was open from the start would be opened for no more than it was then.
sub as_handed {
  my ($fd, $flags) = @_;
  my $how = $handed_how{$fd} // return 1;
  return kind($fd) != $FOLDER && ($how == 2 || ($flags & 3) == $how && ($how == 1 || op_of($flags) eq 'r'));
}

sub op_of { return ($_[0] & 3) || ($_[0] & 01000) ? 'w' : 'r' }

# 0, or the number of an error.
sub judged_for {
  my ($real, $kind, $flags) = @_;
  # It was removed or replaced meanwhile: the kernel no longer says where it was.
  return $ENOENT if $real =~ / \(deleted\)\z/;
  return $ENXIO unless $kind == $FILE || $kind == $FOLDER;
  my $op = op_of($flags);
  return ask($kind == $FOLDER && $op eq 'r' ? 'l' : $op, $real);
}

# Of what the keeper is, nothing; of what the program is, the same name.
sub opened_of_process {
  my ($id, $pid, $found, $path, $flags) = @_;
  my $real = $where{$found};
  my $other = $path =~ m{^/proc/$$(?:/|\z)} ? $real : own($pid, $real);
  return -$EACCES unless of_process($pid, $other, op_of($flags), $path);
  return reopen($id, $other eq $real ? "/proc/self/fd/$found" : $other, $flags);
}

sub opened_apart {
  my ($id, $found, $flags) = @_;
  return reopen($id, "/proc/self/fd/$found", $flags) if $flags & $O_NONBLOCK;
  my $pid = fork() // return -12;
  return undef if $pid;
  my $result = reopen($id, "/proc/self/fd/$found", $flags);
  syscall($call{ioctl}, $listener, ${SEND}, pack('Q q l L', $id, 0, $result, 0)) if defined $result;
  syscall($call{exit_group}, 0);
}

# The folder a path stands in, and the last name: (handle, name, where that is), or (-1).
sub place {
  my ($pid, $base, $path) = @_;
  my ($above, $name) = $path =~ m{^(.*?/?)([^/]+)/*\z}s ? ($1, $2) : ('', '');
  if ($name eq '' || $name eq '.' || $name eq '..') { $! = $EINVAL; return -1 }
  my $folder = look($base, $above eq '' ? '.' : $above, $O_DIRECTORY);
  return -1 if $folder < 0;
  my $real = own($pid, where($folder));
  return ($folder, $name, $real eq '/' ? "/$name" : "$real/$name");
}

sub masked {
  my ($pid, $mode) = @_;
  open(my $status, '<', "/proc/$pid/status") or return $mode & 0700;
  while (<$status>) { return $mode & 01777 & ~oct($1) if /^Umask:\s*(\d+)/ }
  return $mode & 0700;
}

# What is not there yet, or cannot be reached by a look alone: a link of /proc.
sub opened_by_name {
  my ($errno, $id, $pid, $base, $path, $flags, $mode, $links) = @_;
  return -$ELOOP if $links > $MOST_LINKS;
  return -$errno unless $errno == $ENOENT || $errno == $ELOOP;
  my ($folder, $name, $real) = place($pid, $base, $path);
  return -(0 + $!) if $folder < 0;
  my ($in) = $real =~ m{^(.*)/[^/]*\z}s;
  if ($in =~ m{^/proc/\d+(?:/task/\d+)?/fd\z} && $name =~ /^\d+\z/ || $in =~ m{^/proc/\d+(?:/task/\d+)?\z} && $name eq 'exe') {
    return -$ELOOP if $flags & $O_NOFOLLOW;
    # By handle: another thread can put another file in its place.
    my $to = followed($real);
    return -(0 + $!) if $to < 0;
    return -$ELOOP if kind($to) == $LINK;
    return -$EACCES unless as_handed($to, $flags);
    my $no = may(op_of($flags), where($to));
    return -$no if $no;
    return opened_apart($id, $to, $flags) if kind($to) == $PIPE;
    return reopen($id, "/proc/self/fd/$to", $flags);
  }
  my $to = readlink("/proc/self/fd/$folder/$name");
  if (defined $to) {
    return -$EEXIST if ($flags & $O_CREAT) && ($flags & $O_EXCL);
    return -$ELOOP if $flags & $O_NOFOLLOW;
    return opened($id, $pid, $to =~ m{^/} ? base($pid, 0, '/') : $folder, $to, $flags, $mode, $links + 1);
  }
  return -$errno if $errno == $ELOOP || !($flags & $O_CREAT) || $path =~ m{/\z};
  my $no = may('w', $real);
  return -$no if $no;
  my $made = held(syscall($call{openat}, $folder, "$name", $flags | $O_EXCL | $O_NOFOLLOW | $O_CLOEXEC | $O_NOCTTY, masked($pid, $mode)));
  $errno = 0 + $!;
  if ($made >= 0) {
    my $elsewhere = stays('w', $made, $folder, $name, $real);
    return -$elsewhere if $elsewhere;
    # Whose files of Python's they are is asked for later: the guard hears who made them.
    ask('n', (split /:/, (mount_of($made))[1])[2] . " $real") if $name =~ /^pyvenv\.cfg\z|\.pth\z/ && judged($real);
    return hand($id, $made, $flags);
  }
  return -$errno unless $errno == $EEXIST && !($flags & $O_EXCL);
  return opened($id, $pid, $base, $path, $flags, $mode, $links + 1);
}

# What was made may have come under another name since that was judged, with the folder it lies in: then it is judged anew, and
# taken away where it may not be. 0, or the number of an error.
sub stays {
  my ($op, $made, $folder, $name, $real) = @_;
  my $now = here($made);
  return 0 if $now eq $real || $now ne '' && !may($op, $now);
  my @made = stat("/proc/self/fd/$made");
  my $gone = result(syscall($call{unlinkat}, $folder, "$name", kind($made) == $FOLDER ? 0x200 : 0));
  taken_away($folder, $name, @made) if $gone;
  return $EACCES;
}

# The name by now of what a handle stands for; '' where that is not known.
sub here {
  my $again = seen(syscall($call{openat}, $CWD, "/proc/self/fd/$_[0]", $O_PATH | $O_CLOEXEC, 0));
  return $again < 0 ? '' : where($again);
}

# What may not be where it came to be, and does not go back: it comes to the top of its judged folder, under a name that nobody chose, or
# is removed with all that lies in it. Others may have put something else in its place: that stays.
sub taken_away {
  my ($folder, $name, @thing) = @_;
  is_there($folder, $name, @thing) or return;
  my ($root, $began, $place) = @{$judged_mounts{(mount_of($folder))[0]} // []};
  if (defined $root && shown($root) eq $began) {
    for my $turn (1 .. 20) {
      my $other = sprintf('taken-back-%d-%d', time, $turn);
      next if syscall($call{renameat2}, $folder, "$name", $root, $other, 1) != 0;
      return if kept($root, $other, $place);
      ($folder, $name) = ($root, $other);
      last;
    }
  }
  emptied($folder, $name);
}

sub is_there {
  my ($folder, $name, @thing) = @_;
  my @now = lstat("/proc/self/fd/$folder/$name") or return 0;
  return $now[0] == $thing[0] && $now[1] == $thing[1];
}

# Removes it with all that lies in it; what cannot be removed, since others go on filling it, can be entered by nobody.
sub emptied {
  my ($folder, $name) = @_;
  return if syscall($call{unlinkat}, $folder, "$name", 0) == 0;
  my $below = syscall($call{openat}, $folder, "$name", $O_DIRECTORY | $O_NOFOLLOW | $O_CLOEXEC, 0);
  return if $below < 0;
  if (opendir(my $names, "/proc/self/fd/$below")) {
    for (readdir $names) { emptied($below, $_) unless /^\.\.?\z/ }
  }
  chmod(0, "/proc/self/fd/$below") if syscall($call{unlinkat}, $folder, "$name", 0x200) != 0;
  syscall($call{close}, $below);
}

sub result { return $_[0] < 0 ? -(0 + $!) : 0 }

sub moved {
  my ($pid, $from, $old, $to, $new, $flags) = @_;
  my ($one, $first, $was) = place($pid, base($pid, $from, $old), $old);
  return -(0 + $!) if $one < 0;
  my ($two, $second, $is) = place($pid, base($pid, $to, $new), $new);
  return -(0 + $!) if $two < 0;
  return -$EINVAL if $flags & ~3;
  # What something is mounted in stays where it is: names of what is mounted are made of it.
  for my $path ($was, $is) { return -$EBUSY if grep { index($_, "$path/") == 0 } @mounted }
  my (@stat, @other);
  if (judged($was) || judged($is)) {
    # Git's configuration is looked through, and put in place outside.
    return -ask('c', $is) if $is =~ m{^(.*/\.git)/config\z}s && $was eq "$1/config.lock" && judged($is);
    @stat = lstat("/proc/self/fd/$one/$first") or return -$ENOENT;
    @other = lstat("/proc/self/fd/$two/$second");
    for my $move ([$was, $is, $stat[2]], $flags & 2 && @other ? [$is, $was, $other[2]] : ()) {
      my ($a, $b, $mode) = @$move;
      for ($a, $b) { my $no = may('w', $_); return -$no if $no }
      if (($mode & $KIND) == $LINK) { my $no = may('s', $b); return -$no if $no }
      next unless ($mode & $KIND) == $FOLDER;
      # All that lies in it gets another path.
      my $no = ask('m', pack('N/a*', $a) . $b);
      return -$no if $no;
    }
  }
  my $exchanged = $flags & 2;
  my $done = result(syscall($call{renameat2}, $one, "$first", $two, "$second", $flags));
  return $done if $done || !judged($was) && !judged($is);
  # Both folders may have come under other names meanwhile, and what was moved may have been filled.
  my ($from_now, $to_now) = (here($one), here($two));
  return 0 if $from_now ne '' && $to_now ne '' && kept($two, $second, $to_now) && (!$exchanged || kept($one, $first, $from_now));
  # Back, but over nothing that others put there.
  syscall($call{renameat2}, $two, "$second", $one, "$first", $exchanged || 1);
  for my $thing (\@stat, $exchanged ? \@other : ()) {
    for my $place ([$two, $second, 0], [$one, $first, 1]) {
      my ($folder, $name, $lost) = @$place;
      # What is back where it came from, outside of all judged folders by now, is as it was.
      my $in = here($folder);
      taken_away($folder, $name, @$thing) unless $in eq '' ? $lost : kept($folder, $name, $in);
    }
  }
  return -$EACCES;
}

# Whether what came to a folder may be there, with all that lies in it.
sub kept {
  my ($folder, $name, $in) = @_;
  my @stat = lstat("/proc/self/fd/$folder/$name") or return 1;
  my $path = "$in/$name";
  return 1 unless judged($path);
  return 0 if ask('w', $path) || ($stat[2] & $KIND) == $LINK && ask('s', $path);
  return ($stat[2] & $KIND) != $FOLDER || !ask('v', $path);
}

sub linked {
  my ($pid, $from, $old, $to, $new, $flags) = @_;
  return -$ENOENT if $flags & 0x1000;
  my $found = look(base($pid, $from, $old), $old, $flags & 0x400 ? 0 : $O_NOFOLLOW);
  return -(0 + $!) if $found < 0;
  my ($two, $second, $is) = place($pid, base($pid, $to, $new), $new);
  return -(0 + $!) if $two < 0;
  for (where($found), $is) { my $no = may('w', $_); return -$no if $no }
  my $op = kind($found) == $LINK ? 's' : 'w';
  if ($op eq 's') { my $no = may('s', $is); return -$no if $no }
  my $done = result(syscall($call{linkat}, $CWD, "/proc/self/fd/$found", $two, "$second", 0x400));
  return $done if $done || !judged($is);
  my $made = syscall($call{openat}, $two, "$second", $O_PATH | $O_NOFOLLOW | $O_CLOEXEC, 0);
  return $made < 0 ? 0 : -stays($op, held($made), $two, $second, $is);
}

# A call with one path: what is done to the name in its folder. What is made there is asked for by $op.
sub named {
  my ($pid, $fd, $path, $do, $op) = @_;
  my ($folder, $name, $real) = place($pid, base($pid, $fd, $path), $path);
  return -(0 + $!) if $folder < 0;
  my $no = may($op // 'w', $real);
  return -$no if $no;
  my $done = result($do->($folder, "$name", $real));
  return $done if $done || !defined $op || !judged($real);
  my $made = syscall($call{openat}, $folder, "$name", $O_PATH | $O_NOFOLLOW | $O_CLOEXEC, 0);
  return $made < 0 ? 0 : -stays($op, held($made), $folder, $name, $real);
}

# A call with one path: what is done to the thing it leads to.
sub found {
  my ($pid, $fd, $path, $do, $flags, $op) = @_;
  my $found = look(base($pid, $fd, $path), $path, $flags);
  # What the program has open itself: so the C library changes what it does not follow, by a handle of it.
  if ($found < 0 && $! == $ELOOP && !($flags & $O_NOFOLLOW) && $path =~ m{^/proc/(?:thread-)?self/fd/(\d+)\z}) {
    $found = followed("/proc/$pid/fd/$1");
    return -$EPERM if $found >= 0 && exists $handed_how{$found};
  }
  return -(0 + $!) if $found < 0;
  my $no = may($op, where($found));
  return -$no if $no;
  return $do->("/proc/self/fd/$found");
}

sub truncated {
  my ($pid, $path, $length) = @_;
  return found($pid, $CWD, $path, sub {
    my $fd = held(syscall($call{openat}, $CWD, $_[0], 1 | $O_CLOEXEC | $O_NOCTTY | $O_NONBLOCK, 0));
    return -(0 + $!) if $fd < 0;
    return result(syscall($call{ftruncate}, $fd, $length));
  }, 0, 'w');
}

# Two sockets that have an address each, one that nobody can connect to: so they are given none in a folder.
sub paired {
  my ($id, $pid, $type, $protocol, $at) = @_;
  my $ends = "\0" x 8;
  return -(0 + $!) if syscall($call{socketpair}, 1, $type | $O_CLOEXEC, $protocol, $ends) != 0;
  my @ends = map { held($_) } unpack('l2', $ends);
  for my $end (@ends) { return -(0 + $!) if syscall($call{bind}, $end, my $unix = pack('S', 1), 2) != 0 }
  sysopen(my $memory, "/proc/$pid/mem", 2 | $O_CLOEXEC) or return -$EACCES;
  waits($id) or return undef;
  my @given = map { syscall($call{ioctl}, $listener, ${HAND}, pack('Q L4', $id, 0, $_, 0, $type & $O_CLOEXEC)) } @ends;
  return -$EMFILE if grep { $_ < 0 } @given;
  sysseek($memory, $at, 0);
  return (syswrite($memory, pack('l2', @given)) // 0) == 8 ? 0 : -$EFAULT;
}

# Where a link leads, as a text in the memory of the program. A link of /proc is that of whoever asks, and not the keeper's.
sub read_link {
  my ($id, $pid, $fd, $path, $at, $size) = @_;
  return -$EINVAL if $size <= 0;
  $path =~ s{^/proc/thread-self(?=/)}{/proc/$pid/task/$pid} or $path =~ s{^/proc/self(?=/)}{/proc/$pid};
  my $found = $path eq '' ? followed("/proc/$pid/fd/$fd") : look(base($pid, $fd, $path), $path, $O_NOFOLLOW);
  return -(0 + $!) if $found < 0;
  return -($path eq '' ? $ENOENT : $EINVAL) unless kind($found) == $LINK;
  my $real = where($found);
  my $no = may('r', $real);
  return -$no if $no;
  my $other = $path =~ m{^/proc/$$(?:/|\z)} ? $real : own($pid, $real);
  return -$EACCES unless of_process($pid, $other, 'r', $path);
  my $text = $real eq '/proc/self' ? group($pid) : $real eq '/proc/thread-self' ? group($pid) . "/task/$pid" : '';
  if ($text eq '' && $other ne $real) { $text = readlink($other) // return -(0 + $!) }
  elsif ($text eq '') {
    my $bytes = "\0" x $LONGEST;
    my $got = syscall($call{readlinkat}, $found, my $itself = '', $bytes, $LONGEST);
    return -(0 + $!) if $got < 0;
    $text = substr($bytes, 0, $got);
  }
  sysopen(my $memory, "/proc/$pid/mem", 2 | $O_CLOEXEC) or return -$EACCES;
  waits($id) or return undef;
  sysseek($memory, $at, 0);
  return syswrite($memory, $text, $size) // -$EFAULT;
}

# What is watched tells names and moments, as reading it does. The watch is made on the very handle that was judged, among the program's
# own; a link that is not followed is watched itself.
sub watched {
  my ($id, $pid, $fd, $path, $mask) = @_;
  my $found = look(base($pid, $CWD, $path), $path, $mask & 0x2000000 ? $O_NOFOLLOW : 0);
  return -(0 + $!) if $found < 0;
  return -$EACCES if where($found) =~ m{^/proc(?:/|\z)};
  my $no = may(kind($found) == $FOLDER ? 'l' : 'r', where($found));
  return -$no if $no;
  my $process = held(syscall($call{pidfd_open}, 0 + group($pid), 0));
  return -(0 + $!) if $process < 0;
  my $watches = held(syscall($call{pidfd_getfd}, $process, $fd, 0));
  return -(0 + $!) if $watches < 0;
  waits($id) or return undef;
  my $watch = syscall($call{inotify_add_watch}, $watches, "/proc/self/fd/$found", $mask & 0xfdffffff);
  return $watch < 0 ? -(0 + $!) : $watch;
}

# To whom a file belongs cannot be changed, but to be asked for it takes away what lets others run it as its owner.
sub owned { return result(syscall($call{fchownat}, $CWD, "$_[0]", $_[1] & 0xffffffff, $_[2] & 0xffffffff, 0)) }

# The dates of a file are changed as its mode is: who else looks at them takes a file for written, or for not written. The older calls
# give them in other units.
sub dated {
  my ($id, $pid, $call, @a) = @_;
  unshift @a, $CWD if $call eq 'utime' || $call eq 'utimes';
  my ($fd, $at, $given, $flags) = (small($a[0]), $a[1], $a[2], $call eq 'utimensat' ? small($a[3]) : 0);
  return -$EINVAL if $flags & ~0x1100;
  my $dates = 0;
  if ($given) {
    my $size = $call eq 'utime' ? 16 : 32;
    sysopen(my $memory, "/proc/$pid/mem", $O_CLOEXEC) or return -$EACCES;
    sysseek($memory, $given, 0);
    return -$EFAULT unless (sysread($memory, my $bytes, $size) // 0) == $size;
    my @t = unpack('q*', $bytes);
    @t = $call eq 'utime' ? ($t[0], 0, $t[1], 0) : ($t[0], $t[1] * 1000, $t[2], $t[3] * 1000) if $call ne 'utimensat';
    $dates = pack('q4', @t);
  }
  my $set = sub { return result(syscall($call{utimensat}, $CWD, "$_[0]", $dates, 0)) };
  my $path = '';
  if ($at) { ($path) = texts($id, $pid, $at) or return -$EACCES }
  return found($pid, $fd, $path, $set, $flags & 0x100 ? $O_NOFOLLOW : 0, 'h') if $path ne '';
  return -$ENOENT if $at && !($flags & 0x1000);
  my $open = followed("/proc/$pid/fd/" . ($fd & 0x7fffffff));
  return -($! == $ENOENT ? $EBADF : 0 + $!) if $open < 0;
  waits($id) or return undef;
  return -$EPERM if exists $handed_how{$open};
  my $no = may('h', where($open));
  return $no ? -$no : $set->("/proc/self/fd/$open");
}

sub changed {
  my ($id, $pid, $call, @a) = @_;
  return dated($id, $pid, $call, @a) if $call =~ /^(?:utimes?|futimesat|utimensat)\z/;
  return paired($id, $pid, @a[1 .. 3]) if $call eq 'socketpair';
  # Older calls are the newer ones at the working folder.
  if ($call eq 'mkdir' || $call eq 'mknod' || $call eq 'chmod') { $call .= 'at'; unshift @a, $CWD; $call = 'fchmodat' if $call eq 'chmodat'; $a[3] = 0 if $call eq 'fchmodat' }
  elsif ($call eq 'readlink') { $call = 'readlinkat'; unshift @a, $CWD }
  elsif ($call eq 'unlink') { $call = 'unlinkat'; @a = ($CWD, $a[0], 0) }
  elsif ($call eq 'rmdir') { $call = 'unlinkat'; @a = ($CWD, $a[0], 0x200) }
  elsif ($call eq 'symlink') { $call = 'symlinkat'; @a = ($a[0], $CWD, $a[1]) }
  elsif ($call eq 'rename') { $call = 'renameat2'; @a = ($CWD, $a[0], $CWD, $a[1], 0) }
  elsif ($call eq 'renameat') { $call = 'renameat2'; $a[4] = 0 }
  elsif ($call eq 'link') { $call = 'linkat'; @a = ($CWD, $a[0], $CWD, $a[1], 0) }
  elsif ($call eq 'fchmodat') { $a[3] = 0 }
  elsif ($call eq 'fchmodat2') { $call = 'fchmodat' }
  elsif ($call eq 'chown' || $call eq 'lchown') { @a = ($CWD, @a[0 .. 2], $call eq 'chown' ? 0 : 0x100); $call = 'fchownat' }

  if ($call eq 'fchmod' || $call eq 'fchown') {
    my $open = followed("/proc/$pid/fd/" . ($a[0] & 0x7fffffff));
    return -($! == $ENOENT ? $EBADF : 0 + $!) if $open < 0;
    waits($id) or return undef;
    return -$EPERM if exists $handed_how{$open};
    my $no = may('h', where($open));
    return -$no if $no;
    return owned("/proc/self/fd/$open", @a[1, 2]) if $call eq 'fchown';
    return chmod($a[1] & 01777, "/proc/self/fd/$open") ? 0 : -(0 + $!);
  }
  my %paths = (truncate => [0], symlinkat => [0, 2], renameat2 => [1, 3], linkat => [1, 3]);
  my @path = texts($id, $pid, map { $a[$_] } @{$paths{$call} // [1]}) or return -$EACCES;
  for (@path) { return -$ENOENT if $_ eq '' && $call ne 'symlinkat' && $call ne 'readlinkat' }
  my ($one, $two) = @path;
  return moved($pid, small($a[0]), $one, small($a[2]), $two, $a[4]) if $call eq 'renameat2';
  return linked($pid, small($a[0]), $one, small($a[2]), $two, $a[4]) if $call eq 'linkat';
  return read_link($id, $pid, small($a[0]), $one, $a[2], small($a[3])) if $call eq 'readlinkat';
  return truncated($pid, $one, $a[1]) if $call eq 'truncate';
  return watched($id, $pid, small($a[0]), $one, $a[2]) if $call eq 'inotify_add_watch';
  return named($pid, small($a[1]), $two, sub { syscall($call{symlinkat}, "$one", $_[0], $_[1]) }, 's') if $call eq 'symlinkat';
  my $fd = small($a[0]);
  return named($pid, $fd, $one, sub { syscall($call{mkdirat}, @_[0, 1], masked($pid, $a[2])) }, 'd') if $call eq 'mkdirat';
  return named($pid, $fd, $one, sub { syscall($call{unlinkat}, @_[0, 1], $a[2] & 0x200) }) if $call eq 'unlinkat';
  if ($call eq 'mknodat') {
    my $kind = $a[2] & $KIND;
    return -$EPERM unless $kind == $FILE || $kind == $PIPE || $kind == 0;
    return named($pid, $fd, $one, sub {
      if ($kind == $PIPE && judged($_[2])) { $! = $EPERM; return -1 }
      return syscall($call{mknodat}, @_[0, 1], $kind | masked($pid, $a[2] & 07777), 0);
    }, 'w');
  }
  if ($call eq 'fchmodat') {
    return found($pid, $fd, $one, sub { chmod($a[2] & 01777, $_[0]) ? 0 : -(0 + $!) }, $a[3] & 0x100 ? $O_NOFOLLOW : 0, 'h');
  }
  if ($call eq 'fchownat') {
    return found($pid, $fd, $one, sub { owned($_[0], @a[2, 3]) }, $a[4] & 0x100 ? $O_NOFOLLOW : 0, 'h');
  }
  return -$EPERM;
}
`;
