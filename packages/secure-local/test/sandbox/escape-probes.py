# Tries to get out of the sandbox it runs in. Prints one JSON object: the name of each probe, and why it failed; null where it got out.
import ctypes, errno, fcntl, json, os, resource, socket, struct, subprocess, sys

canary, port, outer_pid, socket_path, abstract = sys.argv[1:6]
port, outer_pid = int(port), int(outer_pid)
libc = ctypes.CDLL(None, use_errno=True)
ARM = os.uname().machine == "aarch64"
held = {}


class Held(Exception):
    pass


def probe(name):
    def run(body):
        try:
            held[name] = None if body() is not False else "nothing there"
        except (OSError, Held, MemoryError, ValueError) as error:
            held[name] = str(error) or type(error).__name__
    return run


def call(x64, arm64, *args):
    number = arm64 if ARM else x64
    if number is None:
        raise Held("no such call on this processor")
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def reading(name, path):
    @probe("read " + name)
    def _():
        with open(path, "rb") as file:
            return len(file.read(64)) > 0


def listing(name, path):
    @probe("list " + name)
    def _():
        return len(os.listdir(path)) > 0


def writing(name, path, text="x"):
    @probe("write " + name)
    def _():
        with open(path, "w") as file:
            file.write(text)


# Files
reading("the canary", canary)
reading("the canary through /proc/1/root", "/proc/1/root" + canary)
reading("the canary through /proc/self/root", "/proc/self/root" + canary)
reading("the canary through the working folder", "/proc/self/cwd/../../../../../.." + canary)
reading("the canary of the parent", "/proc/%d/root%s" % (os.getppid(), canary))
reading("the canary of the outer process", "/proc/%d/root%s" % (outer_pid, canary))
reading("/etc/shadow", "/etc/shadow")
reading("private keys", "/etc/ssl/private")
reading("kernel messages", "/proc/kmsg")
reading("kernel memory", "/proc/kcore")
reading("the disk", "/dev/vda")
reading("memory", "/dev/mem")
listing("the folder of the canary", os.path.dirname(canary))
listing("home folders", "/home")
listing("root's home", "/root")
listing("/sys", "/sys")
listing("/run", "/run/user")
writing("the canary", canary)
writing("the canary through /proc/1/root", "/proc/1/root" + canary)
writing("beside the canary", os.path.dirname(canary) + "/escaped")
writing("memory of the outer process", "/proc/%d/mem" % outer_pid)
writing("/usr", "/usr/escaped")
writing("a system program", "/usr/bin/env")
writing("through /bin", "/bin/escaped")
writing("/etc", "/etc/escaped")
writing("the root folder", "/escaped")
writing("a device", "/dev/escaped")
writing("core_pattern", "/proc/sys/kernel/core_pattern", "|/tmp/x")
writing("modprobe", "/proc/sys/kernel/modprobe", "/tmp/x")
writing("sysctl of the network", "/proc/sys/net/ipv4/ip_forward", "1")
writing("sysrq", "/proc/sysrq-trigger", "h")
writing("its user map", "/proc/self/uid_map", "0 0 1")
writing("its limits of namespaces", "/proc/sys/user/max_user_namespaces", "100")
writing("oom score of the outer process", "/proc/%d/oom_score_adj" % outer_pid, "1000")


@probe("link to the canary")
def _():
    os.symlink(canary, "/tmp/link")
    with open("/tmp/link") as file:
        return file.read() != ""


@probe("device node")
def _():
    os.mknod("/tmp/disk", 0o600 | 0o060000, os.makedev(8, 0))
    return open("/tmp/disk", "rb").read(1) != b""


@probe("loader runs the canary")
def _():
    loader = "/lib/ld-linux-aarch64.so.1" if ARM else "/lib64/ld-linux-x86-64.so.2"
    if subprocess.run([loader, canary], capture_output=True).returncode != 0:
        raise Held("not run")


# Processes and the kernel
@probe("see processes outside")
def _():
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return len(pids) > 6


@probe("signal the outer process")
def _():
    os.kill(outer_pid, 0)


@probe("capabilities")
def _():
    status = dict(line.split(":\t") for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
    if int(status["CapEff"], 16) == 0 and int(status["CapBnd"], 16) == 0 and status["NoNewPrivs"] == "1":
        raise Held("none")


@probe("set user id")
def _():
    os.setuid(0)


@probe("run a program as another user")
def _():
    result = subprocess.run(["/usr/bin/su", "-c", "cat " + canary], capture_output=True, stdin=subprocess.DEVNULL)
    if result.returncode != 0:
        raise Held("refused")


@probe("make a process of higher priority")
def _():
    os.setpriority(os.PRIO_PROCESS, 0, -10)


@probe("raise a limit")
def _():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, 1 << 40))


@probe("a larger file than allowed")
def _():
    with open("/tmp/large", "wb") as file:
        os.ftruncate(file.fileno(), 1 << 30)


@probe("more memory than allowed")
def _():
    memory = bytearray(2 << 30)
    return len(memory) > 0


@probe("fill the memory of the machine through /tmp")
def _():
    for index in range(4096):
        with open("/tmp/fill%d" % index, "wb") as file:
            file.write(bytes(2 << 20))


@probe("fill the memory of the machine through /dev/shm")
def _():
    for index in range(4096):
        with open("/dev/shm/fill%d" % index, "wb") as file:
            file.write(bytes(2 << 20))


def kernel(name, x64, arm64, *args):
    @probe("call " + name)
    def _():
        call(x64, arm64, *args)


buffer = ctypes.create_string_buffer(256)
NEW_USER, NEW_NET = 0x10000000, 0x40000000
kernel("unshare a user namespace", 272, 97, NEW_USER)
kernel("unshare a network", 272, 97, NEW_NET)
kernel("clone into a user namespace", 56, 220, NEW_USER | 17, 0, 0, 0, 0)
kernel("clone3", 435, 435, buffer, 88)
kernel("setns", 308, 268, 0, 0)
kernel("ptrace", 101, 117, 16, 1, 0, 0)
kernel("process_vm_readv", 310, 270, os.getppid(), buffer, 1, buffer, 1, 0)
kernel("pidfd_getfd", 438, 438, 0, 0, 0)
kernel("mount", 165, 40, b"none", b"/tmp", b"tmpfs", 0, 0)
kernel("umount", 166, 39, b"/usr", 2)
kernel("pivot_root", 155, 41, b"/tmp", b"/tmp")
kernel("chroot", 161, 51, b"/tmp")
kernel("open_tree", 428, 428, -100, b"/", 1)
kernel("fsopen", 430, 430, b"tmpfs", 0)
kernel("move_mount", 429, 429, -100, b"/usr", -100, b"/tmp", 0)
kernel("keyctl", 250, 219, 0, -3, 0)
kernel("add_key", 248, 217, b"user", b"x", b"x", 1, -3)
kernel("bpf", 321, 280, 0, buffer, 128)
kernel("perf_event_open", 298, 241, buffer, 0, -1, -1, 0)
kernel("io_uring_setup", 425, 425, 8, buffer)
kernel("userfaultfd", 323, 282, 1)
kernel("open_by_handle_at", 304, 265, -100, buffer, 0)
kernel("name_to_handle_at", 303, 264, -100, b"/usr", buffer, buffer, 0)
kernel("fanotify_init", 300, 262, 0, 0)
kernel("quotactl", 179, 60, 0, b"/dev/vda", 0, buffer)
kernel("kexec_load", 246, 104, 0, 0, 0, 0)
kernel("init_module", 175, 105, buffer, 0, b"")
kernel("reboot", 169, 142, 0xFEE1DEAD, 672274793, 0, 0)
kernel("sethostname", 170, 161, b"x", 1)
kernel("settimeofday", 164, 170, buffer, 0)
kernel("personality", 135, 92, 0x0400000)
kernel("syslog", 103, 116, 3, buffer, 200)
kernel("swapon", 167, 224, b"/tmp/x", 0)
kernel("a call of the x32 table", 0x40000000 + 39, None)


@probe("type into the terminal")
def _():
    fcntl.ioctl(0, 0x5412, b"x")


# Network and what else leads out
def connecting(name, family, kind, address, protocol=0):
    @probe("connect " + name)
    def _():
        with socket.socket(family, kind, protocol) as out:
            out.settimeout(2)
            out.connect(address)
            out.send(b"x")


connecting("to loopback outside", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port))
connecting("to loopback outside over IPv6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", port))
connecting("to the metadata address", socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80))
connecting("to a public address", socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 443))
connecting("by UDP", socket.AF_INET, socket.SOCK_DGRAM, ("1.1.1.1", 53))
connecting("by UDP over IPv6", socket.AF_INET6, socket.SOCK_DGRAM, ("2606:4700:4700::1111", 53))
connecting("by ICMP", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0), socket.IPPROTO_ICMP)
connecting("by a raw socket", socket.AF_INET, socket.SOCK_RAW, ("1.1.1.1", 0), socket.IPPROTO_ICMP)
connecting("to the host of a virtual machine", 40, socket.SOCK_STREAM, (2, 1024))
connecting("to an abstract Unix socket", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract)
connecting("to a Unix socket", socket.AF_UNIX, socket.SOCK_STREAM, socket_path)


@probe("connect to a Unix socket from a pair")
def _():
    # A pair needs no call that is refused; its halves could be pointed elsewhere.
    for address in (socket_path, "\0" + abstract):
        one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        one.sendto(b"x", address)


@probe("sockets that hand over files")
def _():
    with socket.socket(fileno=os.dup(0)) as stream:
        _, control, *_ = stream.recvmsg(1, socket.CMSG_SPACE(64), socket.MSG_DONTWAIT)
        if not control:
            raise Held("none came")


@probe("send packets")
def _():
    socket.socket(17, socket.SOCK_RAW, 3)


@probe("kernel cryptography sockets")
def _():
    socket.socket(38, socket.SOCK_SEQPACKET, 0)


@probe("look up a name")
def _():
    socket.getaddrinfo("example.com", 443)


@probe("see connections outside")
def _():
    return ":%04X" % port in open("/proc/net/tcp").read()


@probe("add an address by netlink")
def _():
    with socket.socket(16, socket.SOCK_RAW, 0) as link:
        body = struct.pack("BBBBI", 2, 8, 0, 0, 1) + struct.pack("HH4s", 8, 2, bytes([10, 0, 0, 9]))
        link.send(struct.pack("IHHII", 16 + len(body), 20, 5, 1, 0) + body)
        code = struct.unpack("i", link.recv(4096)[16:20])[0]
        if code != 0:
            raise OSError(-code, os.strerror(-code))


@probe("other netlink families")
def _():
    socket.socket(16, socket.SOCK_RAW, 9)


@probe("files it was started with")
def _():
    listed = [fd for fd in os.listdir("/proc/self/fd") if int(fd) > 2]
    targets = [os.readlink("/proc/self/fd/" + fd) for fd in listed if os.path.lexists("/proc/self/fd/" + fd)]
    if all(target == "/dev/null" or target.endswith("/fd") for target in targets):
        raise Held("none")


@probe("environment of the outer process")
def _():
    if set(os.environ) <= {"PATH", "HOME", "TMPDIR", "LANG", "PWD", "LC_CTYPE"}:
        raise Held("only its own")


print(json.dumps(held))
