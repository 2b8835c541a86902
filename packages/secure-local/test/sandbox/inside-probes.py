# Runs in a sandbox and tries what must not work there, by lists of calls and places. Prints one JSON object: each try that went
# through, with what it did. An empty object: everything held.
import array, ctypes, errno, itertools, json, os, re, resource, socket, stat, struct, sys

libc = ctypes.CDLL(None, use_errno=True)
ARM = os.uname().machine == "aarch64"
through = {}


def attempt(name, body, expected=(OSError,)):
    try:
        what = body()
    except expected:
        return
    if what is not None:
        through[name] = what


def call(x64, arm64, *args):
    number = arm64 if ARM else x64
    if number is None:
        raise OSError(errno.ENOSYS, "no such call")
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def status(pid):
    lines = open(f"/proc/{pid}/status").read().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


# Each process that is seen, each of its files: nothing of a process with a weaker filter or wider limits is read or written.
def processes():
    mine, limits = status("self"), open("/proc/self/limits").read()
    for pid in pids():
        try:
            theirs = status(pid)
            same = theirs.get("Seccomp_filters") == mine.get("Seccomp_filters") and open(f"/proc/{pid}/limits").read() == limits
        except OSError:
            same = False
        names = os.listdir("/proc/self") + ["task/%d/mem" % pid, "task/%d/comm" % pid, "attr/current", "fd/0", "fd/1", "ns/user"]
        for name in names:
            for how in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY):
                told = how == os.O_RDONLY and name in ("stat", "statm", "status", "cmdline", "comm", "mountinfo", "mounts")
                # Without a keeper it is the kernel that decides what is told of a process that cannot be looked into.
                if same or told or pid == os.getpid() or sys.argv[2:] != ["kept"] and not TELLING.search(name):
                    continue
                def body():
                    fd = os.open(f"/proc/{pid}/{name}", how)
                    # A file of the program's own in the place of another's harms nobody.
                    own = "self" if os.path.samestat(os.fstat(fd), os.lstat(f"/proc/self/{name}")) else ""
                    text = b""
                    try:
                        text = os.read(fd, 64)
                    except OSError:
                        pass
                    os.close(fd)
                    return None if own or how == os.O_RDONLY and (not text or SHARED.match(name)) else f"opened {how}"
                attempt(f"/proc/{pid}/{name} {how}", body)
        # The keeper is not stopped, slowed or limited either.
        for number in ((19, "stopped"), (9, "killed")):
            if pid == 1:
                os.kill(pid, number[0])
        if pid == 1 and sys.argv[2:] == ["kept"]:
            attempt("affinity of the first process", lambda: os.sched_setaffinity(pid, {0}) or "set")
            attempt("its scheduler", lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)) or "set")
            attempt("its priority", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19) or "set")
            attempt("that of its group", lambda: os.setpriority(os.PRIO_PGRP, 0, 19) or "set")
            attempt("that of its user", lambda: os.setpriority(os.PRIO_USER, 0, 19) or "set")
            attempt("its limits", lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0)) and "set")
            attempt("its disk priority", lambda: call(251, 30, 1, pid, 3 << 13) and "set")
            attempt("that of its user", lambda: str(call(251, 30, 3, os.getuid(), 3 << 13)))
            attempt("a handle of it", lambda: os.pidfd_open(pid) and "opened")
            lease = os.open("lease", os.O_RDWR | os.O_CREAT)
            import fcntl
            attempt("a lease", lambda: f"{fcntl.fcntl(lease, 1024, 1)}")
            attempt("a delegation", lambda: f"{fcntl.fcntl(os.open('.', 0), 1040, struct.pack('IHHi', 0, 0, 0, 0))}")
            assert open("lease").read() == ""


TELLING = re.compile(r"mem$|environ|maps|pagemap|fd/|syscall|stack|auxv|^io$|^root$|^cwd$|^exe$")
SHARED = re.compile(r"^(?:net|task|fdinfo|fd|ns|attr|map_files|cwd|root|exe)$")


# A denied file by every name that it may get when the folders above its mount are moved.
def ancestors(mount, secret, kept):
    above = os.path.dirname(mount)
    while above != "/":
        up, name = os.path.split(above)
        other = os.path.join(up, "other-name")
        inner = os.path.join(other, os.path.relpath(mount, above))
        for way, move in {
            "renamed": lambda: os.rename(above, other),
            "renamed into its own name": lambda: (os.rename(above, other), os.makedirs(above), os.rename(other, above + "/" + name)),
            "exchanged": lambda: (os.makedirs(inner, exist_ok=True), call(316, 276, -100, above.encode(), -100, other.encode(), 2)),
            "exchanged the other way": lambda: (os.makedirs(inner, exist_ok=True), call(316, 276, -100, other.encode(), -100, above.encode(), 2)),
            "removed": lambda: os.rmdir(above),
            "replaced": lambda: (os.makedirs(other, exist_ok=True), os.rename(other, above)),
        }.items():
            attempt(f"{above} {way}", lambda: move() and "done" or "done")
        above = up
    for root, folders, files in itertools.chain(os.walk("/tmp"), os.walk("/".join(mount.split("/")[:2]))):
        for name in files:
            path = os.path.join(root, name)
            if name == os.path.basename(secret):
                attempt(f"{path} is read", lambda: open(path).read())
            if name == os.path.basename(kept):
                attempt(f"{path} is written", lambda: open(path, "a").write("EVIL") and "written")


# Every way to a Unix socket, every call that gives it an address.
def sockets(listening):
    kinds = {"stream": 1, "datagrams": 2, "raw": 3, "reliable": 4, "records": 5, "packets": 10}
    flags = {"": 0, " that never waits": os.O_NONBLOCK, " closed by exec": os.O_CLOEXEC, " both": os.O_NONBLOCK | os.O_CLOEXEC}
    def pair(kind):
        fds = (ctypes.c_int * 2)()
        call(53, 199, 1, kind, 0, fds)
        return [socket.socket(fileno=fd) for fd in fds]
    ways = {f"a pair: {name}{flag}": lambda kind=kind | value: pair(kind) for name, kind in kinds.items() for flag, value in flags.items()}
    ways |= {f"a socket: {name}": lambda kind=kind: [socket.socket(1, kind)] for name, kind in kinds.items()}
    ways |= {f"stream {fd} from outside": lambda fd=fd: [socket.socket(fileno=os.dup(fd))] for fd in (0, 2)}
    names = [".env.sock", "made.sock", os.getcwd() + "/made.sock", "\0abstract", "/proc/self/cwd/made.sock"]
    for (way, make), name in itertools.product(ways.items(), names + [listening]):
        try:
            ends = make()
        except OSError:
            continue
        for end in ends:
            end.setblocking(False)
            attempt(f"{way}: bind {name!r}", lambda: end.bind(name) or "bound")
            attempt(f"{way}: connect {name!r}", lambda: end.connect(name) or "connected")
            attempt(f"{way}: unbind, then connect {name!r}", lambda: (call(42, 203, end.fileno(), b"\0\0", 2), end.connect(name)) and "connected")
            if "outside" not in way: attempt(f"{way}: shut, then connect {name!r}", lambda: (end.shutdown(2), end.connect(name)) and "connected")
            attempt(f"{way}: listen", lambda: end.listen() or "listens")
            attempt(f"{way}: sendto {name!r}", lambda: end.type != socket.SOCK_SEQPACKET and end.sendto(b"x", name) and "sent" or None)
            attempt(f"{way}: sendmsg {name!r}", lambda: end.type != socket.SOCK_SEQPACKET and end.sendmsg([b"x"], [], 0, name) and "sent" or None)
        for end in ends:
            end.close()


# What came over a socket from another sandbox, or from outside: nothing behind it is used.
def handles(names):
    stream = socket.socket(fileno=os.dup(0))
    _, control, *_ = stream.recvmsg(1, socket.CMSG_SPACE(16))
    (fd,) = array.array("i", control[0][2])
    for base in (fd, f"/proc/self/fd/{fd}", f"/dev/fd/{fd}"):
        for name in json.loads(names):
            at = {"dir_fd": base} if isinstance(base, int) else {}
            path = name if isinstance(base, int) else f"{base}/{name}"
            for how in (os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_TRUNC):
                attempt(f"open {path} {how}", lambda: str(os.open(path, how, 0o600, **at)))
            attempt(f"make {path}.d", lambda: os.mkdir(path + ".d", **at) or "made")
            attempt(f"remove {path}", lambda: os.unlink(path, **at) or "removed")
            attempt(f"change {path}", lambda: os.chmod(path, 0o777, **at) or "changed")
            attempt(f"link {path}.l", lambda: os.symlink("x", path + ".l", **at) or "linked")
            if at:
                attempt(f"move {path}", lambda: os.rename(path, path + ".n", src_dir_fd=fd, dst_dir_fd=fd) or "moved")
                attempt(f"take {path}", lambda: os.rename(path, "taken", src_dir_fd=fd) or "moved")
                attempt(f"second name of {path}", lambda: os.link(path, "second", src_dir_fd=fd) or "linked")
                attempt(f"bring to {path}", lambda: (open("mine", "w").close(), os.rename("mine", path, dst_dir_fd=fd)) and "moved")
    attempt("the folder itself", lambda: str(os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)))
    attempt("beside it", lambda: os.listdir(os.open("..", os.O_RDONLY, dir_fd=fd)))
    attempt("standing in it", lambda: (os.fchdir(fd), open(json.loads(names)[0]).read())[1])


# What was open from the start, opened anew in every way.
def reopened():
    for fd in (0, 1, 2):
        for at in (f"/proc/self/fd/{fd}", f"/dev/fd/{fd}", ("/dev/stdin", "/dev/stdout", "/dev/stderr")[fd], f"/proc/thread-self/fd/{fd}", f"/proc/{os.getpid()}/task/{os.getpid()}/fd/{fd}"):
            for how in (os.O_RDWR, os.O_WRONLY, os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 3):
                if fd == 0:
                    attempt(f"{at} {how}", lambda: f"wrote {os.pwrite(os.open(at, how), b'EVIL', 0)}")
            attempt(f"truncate {at}", lambda: fd == 0 and (os.truncate(at, 0) or "cut") or None)
            attempt(f"chmod {at}", lambda: fd == 0 and (os.chmod(at, 0o777) or "changed") or None)
        attempt(f"fchmod {fd}", lambda: fd == 0 and (os.fchmod(fd, 0o777) or "changed") or None)
    attempt("read", lambda: None if open("/dev/stdin").read() == "handed" else "it is not read any more")


# Every call by which somebody else may be let use a file.
def modes(path):
    before = os.stat(path).st_mode
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, 7, 0xFFFFFFFF) for tag in (1, 4, 0x20))
    name, default, own = b"system.posix_acl_access", b"system.posix_acl_default", path.encode()
    fd = os.open(path, os.O_PATH)
    folder = os.open(os.path.dirname(path) or ".", os.O_PATH)
    calls = {
        "chmod": (90, None, own, 0o777), "fchmod": (91, 52, fd, 0o777), "fchmodat": (268, 53, -100, own, 0o777),
        "fchmodat2": (452, 452, -100, own, 0o777, 0), "fchmodat2 by handle": (452, 452, fd, b"", 0o777, 0x1000),
        "setxattr": (188, 5, own, name, acl, len(acl), 0), "lsetxattr": (189, 6, own, name, acl, len(acl), 0),
        "fsetxattr": (190, 7, fd, name, acl, len(acl), 0), "removexattr": (197, 14, own, name),
        "setxattr by number": (188, 5, b"/proc/self/fd/%d" % fd, name, acl, len(acl), 0),
        "setxattrat": (463, 463, -100, own, 0, name, struct.pack("QII", ctypes.addressof(ctypes.create_string_buffer(acl)), len(acl), 0), 16),
        "removexattrat": (466, 466, -100, own, 0, name), "a default": (188, 5, os.path.dirname(own) or b".", default, acl, len(acl), 0),
        "file_setattr": (469, 469, -100, own, struct.pack("QIIII", 0x40, 0, 0, 0, 0), 24, 0),
        "any attribute": (188, 5, own, b"user.x", b"1", 1, 0),
    }
    for call_name, (x64, arm64, *args) in calls.items():
        attempt(call_name, lambda: f"{call(x64, arm64, *args)}")
    for request in (0x40086602, 0x401C5820, 0x5000940E, 0x50009401):
        attempt(f"ioctl {request:x}", lambda: str(call(16, 29, os.open(".", os.O_RDONLY), request, b"\0" * 4096)))
    if os.stat(path).st_mode != before:
        through["its mode"] = oct(os.stat(path).st_mode)


# What programs do every day with the same calls.
def honest():
    import asyncio, mmap, multiprocessing, subprocess, threading
    one, other = socket.socketpair()
    one.sendall(b"hello")
    assert other.recv(5) == b"hello"
    kept = os.open("mapped", os.O_RDWR | os.O_CREAT)
    os.ftruncate(kept, 4096)
    socket.send_fds(one, [b"x"], [kept])
    _, (received,), *_ = socket.recv_fds(other, 1, 1)
    with mmap.mmap(received, 4096) as memory:
        memory[:2] = b"ok"
    assert os.pread(kept, 2, 0) == b"ok"
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(abs, [-3]) == [3]
    async def serve():
        server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
        reader, _ = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert await reader.read() == b""
        child = await asyncio.create_subprocess_exec("echo", "out", stdout=-1)
        return (await child.communicate())[0]
    assert asyncio.run(serve()) == b"out\n"
    assert subprocess.run("cat <(echo a) /dev/fd/0", shell=True, executable="/bin/bash", input=b"b", stdout=-1).stdout == b"a\nb"
    told = []
    thread = threading.Thread(target=lambda: told.append(open("/proc/thread-self/comm").read()))
    thread.start(), thread.join()
    assert told and open("/proc/self/stat").read().split()[0] == str(os.getpid())
    assert open(f"/proc/self/task/{os.getpid()}/comm").read()
    with open("/proc/self/mem", "r+b", 0) as memory:
        buffer = ctypes.create_string_buffer(b"old")
        memory.seek(ctypes.addressof(buffer)), memory.write(b"new")
        assert buffer.value == b"new"
    child = os.fork()
    if child == 0:
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    held = os.memfd_create("held")
    os.write(held, b"memory")
    assert open(f"/proc/self/fd/{held}").read() == "memory"
    os.set_blocking(held, True), os.sched_setaffinity(0, os.sched_getaffinity(0)), os.nice(1)
    assert subprocess.run(["ps", "-e"], stdout=-1).returncode == 0
    subprocess.run(["cp", "-a", "mapped", "copied"], check=True)


globals()[sys.argv[1]](*([] if sys.argv[1] == "processes" else sys.argv[2:]))
print(json.dumps(through))
