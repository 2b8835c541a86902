// The wall on Linux: bubblewrap, with a system call filter of our own and limits set from inside.
import { Buffer } from "node:buffer";
import { existsSync, lstatSync, readlinkSync } from "node:fs";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import { FirstPrograms, RELAY_PORT, type WallShells } from "./first-program.js";
import {
  BASE_ENVIRONMENT,
  certificateEnvironment,
  type Feed,
  type Handed,
  HANDED_FOLDER,
  homeEnvironment,
  type Judge,
  KEPT_HOME,
  KeptBytes,
  type Launch,
  proxyEnvironment,
  type Reach,
  socksEnvironment,
  type Wall,
  type WalledCommand,
} from "./wall.js";
import { type Processor, seccompFilter } from "./seccomp-filter.js";

/** Where the programs are that make the wall. */
export interface WallPrograms extends WallShells {
  readonly bwrap: string;
}

/** First file descriptor behind stdin, stdout and stderr. */
const FIRST_FEED = 3;
const MIB = 1024 * 1024;
/** /tmp may hold this many files of the longest length. */
const SCRATCH_FILES = 4;
const WORKING_DIRECTORY = "/tmp/work";
/** Who a program is inside when it is root outside: some refuse to run as root. */
const PLAIN_ID = 1_000;

export class Bubblewrap implements Wall {
  readonly name = "bubblewrap";
  readonly #bwrap: string;
  readonly #first: FirstPrograms;
  readonly #root: LinuxRoot = linuxRoot();
  /** What is the same for every command; by whether it may use the network, and whether there is a keeper. */
  readonly #filters = new Map<string, KeptBytes>();
  readonly #processor: Processor;
  readonly #who: readonly Handed[] = who();
  readonly #fetch: Handed = { path: FETCH_PATH, bytes: KeptBytes.of(Buffer.from(fetchProgram())) };
  readonly #namespaces: readonly string[] = namespaces();

  constructor(programs: WallPrograms, processor: Processor) {
    this.#bwrap = programs.bwrap;
    this.#first = new FirstPrograms(programs, processor);
    this.#processor = processor;
  }

  launch(given: WalledCommand): Launch {
    const reach = needed(given.reach ?? []);
    const command = { ...given, reach };
    const { egress, limits } = command;
    const feeds: Feed[] = ["gate"];
    const feed = (bytes: Feed): string => String(FIRST_FEED + feeds.push(bytes) - 1);
    const judged = withApart(reach);
    const keeper = judged.length > 0 || command.keeper === true;
    const all = feed(this.#filter(egress !== undefined, keeper));
    const args = [...this.#namespaces, "--seccomp", all, ...this.#files(command, feed), ...environment(command)];
    // Values of the environment would stand in the list of processes, for every user of this machine.
    const list = feed(Buffer.from(`${args.join("\0")}\0`));
    const first = this.#first.words({
      limits,
      egress,
      keeper,
      kept: judged.map(({ path, at = path }) => at),
      command: [command.executable, ...command.args],
    });
    return {
      file: this.#bwrap,
      args: ["--args", list, "--", ...first],
      env: {},
      feeds,
      held: reach.filter(({ held }) => held !== undefined),
      judged,
    };
  }

  #filter(unixSockets: boolean, keeper: boolean): KeptBytes {
    const key = `${unixSockets} ${keeper}`;
    const filter = this.#filters.get(key) ?? KeptBytes.of(seccompFilter(this.#processor, { unixSockets, keeper }));
    this.#filters.set(key, filter);
    return filter;
  }

  #files(
    { limits, handed = [], reach = [], egress, workingDirectory }: WalledCommand,
    feed: (bytes: Feed) => string,
  ): string[] {
    const scratch = String(limits.fileMb * SCRATCH_FILES * MIB);
    return [
      ...this.#root.mounts,
      ...["--proc", "/proc", ...this.#root.covers],
      ...["--dev", "/dev", "--size", scratch, "--tmpfs", "/dev/shm"],
      ...["--size", scratch, "--tmpfs", "/tmp", "--dir", WORKING_DIRECTORY],
      // Copied into the root folder, which is made read-only below: cheaper than a mount each.
      ...[...this.#who, ...(egress === undefined ? [] : [this.#fetch])].flatMap(({ path, bytes }) => [
        "--perms",
        "0444",
        "--file",
        feed(bytes),
        path,
      ]),
      ...handed.flatMap(({ path, bytes, executable }) => [
        ...["--perms", executable === true ? "0555" : "0444"],
        ...["--ro-bind-data", feed(bytes), path],
      ]),
      ...[...reach].sort(byPath).flatMap(bind),
      ...(egress === undefined ? [] : ["--ro-bind", egress, egress]),
      // What is not mounted lies in memory without a limit of its own.
      ...["--remount-ro", "/dev", "--remount-ro", "/"],
      ...["--chdir", workingDirectory ?? WORKING_DIRECTORY],
    ];
  }
}

function namespaces(): string[] {
  const { uid, gid } = identity();
  return [
    ...["--unshare-user", "--disable-userns", "--unshare-all", "--uid", String(uid), "--gid", String(gid)],
    ...["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--hostname", "sandbox"],
    // Bubblewrap's own first process would stay outside of the limits and of the keeper's filter, open to be written by the command.
    "--as-pid-1",
  ];
}

function identity(): { readonly uid: number; readonly gid: number } {
  return { uid: process.getuid?.() || PLAIN_ID, gid: process.getgid?.() || PLAIN_ID };
}

/** The few files of /etc by which programs find out who and where they are. */
function who(): Handed[] {
  const { uid, gid } = identity();
  const file = (path: string, text: string): Handed => ({ path, bytes: KeptBytes.of(Buffer.from(text)) });
  return [
    file("/etc/passwd", `sandbox:x:${uid}:${gid}::/tmp:/bin/sh\n`),
    file("/etc/group", `sandbox:x:${gid}:\n`),
    file("/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"),
    file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
  ];
}

function environment({ env, egress, keeper, reach = [] }: WalledCommand): string[] {
  const home = reach.some(({ at }) => at === KEPT_HOME) ? homeEnvironment(KEPT_HOME) : {};
  const certificates = egress === undefined ? {} : certificateEnvironment();
  const place = `127.0.0.1:${RELAY_PORT}`;
  const node = { NODE_OPTIONS: [env?.["NODE_OPTIONS"], `--require=${FETCH_PATH}`].filter(Boolean).join(" ") };
  const proxy = egress === undefined ? {} : { ...proxyEnvironment(place), ...socksEnvironment(place), ...node };
  // The first program has no use for the language, and takes it out of the command's environment.
  const plain =
    egress !== undefined || keeper === true || reach.some(({ judge }) => judge) ? { PERL_SKIP_LOCALE_INIT: "1" } : {};
  // Its hooks could not be copied: nobody makes any.
  const git = reach.some(({ takeGitConfig }) => takeGitConfig) ? { GIT_TEMPLATE_DIR: "" } : {};
  return Object.entries({ ...BASE_ENVIRONMENT, ...plain, ...git, ...home, ...certificates, ...env, ...proxy }).flatMap(
    ([name, value]) => ["--setenv", name, value],
  );
}

/** Without the spare ones that would be mounted over a link in another. */
function needed(reach: readonly Reach[]): readonly Reach[] {
  const holds = ({ path, at = path }: Reach, place: string): boolean => place.startsWith(`${at === "/" ? "" : at}/`);
  return reach.filter(
    ({ path, at = path, spare }) => spare !== true || !reach.some((other) => other.spare !== true && holds(other, at)),
  );
}

/** What is judged, with what is seen apart in it: nobody else is asked about that. */
function withApart(reach: readonly Reach[]): readonly Reach[] {
  const judged = reach.filter(({ judge }) => judge !== undefined);
  const inJudged = ({ path, at = path }: Reach): boolean =>
    judged.some(({ path: above, at: seen = above }) => at.startsWith(`${seen}/`));
  const apart = reach.filter((each) => each.apart === true && each.judge === undefined && inJudged(each));
  return [...judged, ...apart.map((each): Reach => ({ ...each, access: "read", judge: readsOnly }))];
}

function readsOnly(_path: string, asked: Parameters<Judge>[1]): boolean {
  return asked === "read" || asked === "list";
}

/** A folder before what lies in it; what covers comes last, wherever it lies. */
function byPath(a: Reach, b: Reach): number {
  const covers = Number(a.access === "hidden") - Number(b.access === "hidden");
  return covers || ((a.at ?? a.path) < (b.at ?? b.path) ? -1 : 1);
}

function bind({ path, at = path, access }: Reach): string[] {
  switch (access) {
    case "read":
      return ["--ro-bind", path, at];
    case "write":
      return ["--bind", path, at];
    case "hidden":
      return at.endsWith("/")
        ? ["--perms", "0000", "--tmpfs", at.slice(0, -1), "--remount-ro", at.slice(0, -1)]
        : ["--ro-bind", "/dev/null", at];
  }
}

// Finds out which parts of a Linux system a program behind the wall needs to run at all.

/** What of this machine every sandbox sees, as arguments of bubblewrap. */
interface LinuxRoot {
  /** System folders and the few files of /etc, all read-only. */
  readonly mounts: readonly string[];
  /** Covers what of /proc tells of, or acts on, the whole machine. To be mounted after /proc. */
  readonly covers: readonly string[];
}

const FOLDERS = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const WHOLE = ["/usr", "/nix/store", "/gnu/store"];
/** Dynamic linking, certificates, time zone. Nothing that says who uses this machine, and no private keys. */
const FILES = [
  "/etc/ld.so.cache",
  "/etc/alternatives",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/ca-certificates",
  "/etc/pki/tls/certs",
  "/etc/pki/ca-trust/extracted",
  "/etc/crypto-policies",
  "/etc/localtime",
];
/** What root outside may write, or read, without any capability. Each costs a start a third of a millisecond. */
const COVERED = ["/proc/sysrq-trigger", "/proc/keys", "/proc/timer_list"];

function linuxRoot(): LinuxRoot {
  const mounts = WHOLE.filter(existsSync).flatMap((path) => ["--ro-bind", path, path]);
  for (const path of FOLDERS) {
    if (!existsSync(path)) continue;
    if (lstatSync(path).isSymbolicLink()) mounts.push("--symlink", readlinkSync(path), path);
    else mounts.push("--ro-bind", path, path);
  }
  for (const path of FILES) mounts.push("--ro-bind-try", path, path);
  // Without this, root's sandboxes could write core_pattern: the kernel asks for the user there, not for a capability.
  const covers = ["--ro-bind", "/proc/sys", "/proc/sys"];
  for (const path of COVERED) if (existsSync(path)) covers.push("--ro-bind", "/dev/null", path);
  return { mounts, covers };
}

// Has the `fetch` of a Node that knows no proxy go through the one of its sandbox; its text is loaded first by each Node inside.

/** Where it is found inside. */
const FETCH_PATH: string = `${HANDED_FOLDER}/fetch.cjs`;

/** The program. */
function fetchProgram(): string {
  return `"use strict";\n(${throughProxy.toString()})();\n`;
}

/** What of the parts behind `fetch` is used here. */
interface Dispatcher {
  dispatch(options: DispatchOptions, handler: object): boolean;
}

interface DispatchOptions {
  readonly origin: string | URL;
  readonly path: string;
  readonly headers?: object | null;
}

type Connected = (error: Error | null, socket: TLSSocket | null) => void;

interface Endpoint {
  readonly hostname: string;
  readonly port?: string;
  readonly servername?: string | null;
}

/** Uses nothing from around it, and does nothing where Node heeds the variables by itself or the program has a way of its own. */
function throughProxy(): void {
  const proxy = process.env["HTTPS_PROXY"];
  const knows = process.allowedNodeEnvironmentFlags.has("--use-env-proxy");
  if (proxy === undefined || knows || typeof process.getBuiltinModule !== "function") return;
  const { hostname: host, port } = new URL(proxy);

  const tunnel = ({ hostname, port: to, servername }: Endpoint, done: Connected): void => {
    const http = process.getBuiltinModule("node:http");
    const tls = process.getBuiltinModule("node:tls");
    const path = `${hostname}:${to === undefined || to === "" ? "443" : to}`;
    const request = http.request({ host, port, method: "CONNECT", path, headers: { host: path } });
    request.once("error", (error) => done(error, null));
    request.once("connect", ({ statusCode }, socket) => {
      if (statusCode !== 200) {
        socket.destroy();
        return done(new Error(`The proxy of the sandbox answered ${statusCode} for ${path}`), null);
      }
      const options: ConnectionOptions = { socket, servername: servername ?? hostname, ALPNProtocols: ["http/1.1"] };
      const secure = tls.connect(options);
      secure.once("error", (error) => done(error, null));
      secure.once("secureConnect", () => done(null, secure));
    });
    request.end();
  };

  const place = Symbol.for("undici.globalDispatcher.1");
  const prepare = (): void => {
    const plain = Reflect.get(globalThis, place) as Dispatcher;
    // One that the program has put there goes its own way.
    if (plain.constructor.name !== "Agent") return;
    const Agent = plain.constructor as new (options: object) => Dispatcher;
    const secure = new Agent({ connect: tunnel });
    const dispatch = secure.dispatch.bind(secure);
    secure.dispatch = (options, handler) => {
      const { protocol, origin, host: authority } = new URL(options.origin);
      if (protocol === "https:") return dispatch(options, handler);
      const headers = { ...options.headers, host: authority };
      return plain.dispatch(
        { ...options, headers, origin: `http://${host}:${port}`, path: origin + options.path },
        handler,
      );
    };
    Reflect.set(globalThis, place, secure);
  };

  const original = globalThis.fetch;
  let ready: Promise<void> | undefined;
  // What stands behind it is there once it was called: before that, no start pays for it.
  const fetch: typeof original = async (input, init) => {
    ready ??= original("data:,").then(prepare);
    await ready;
    return original(input, init);
  };
  Object.defineProperty(globalThis, "fetch", { value: fetch, writable: true, configurable: true, enumerable: true });
}
