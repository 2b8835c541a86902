// The relay of a sandbox that may use the network, in Perl: offers the proxy outside, which is a Unix socket, on loopback.

/**
 * Goes by what stands before this text: `$path` (the socket of the proxy) and `$door` (listening on loopback). No module is loaded,
 * so the numbers are Linux's own, the same on both processors.
 */
export const PERL_RELAY: string = String.raw`
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
