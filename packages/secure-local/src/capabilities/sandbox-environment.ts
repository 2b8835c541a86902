// Makes the surroundings of a sandboxed program out of the policy it lives under: files, limits, and its way out.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readlinkSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { grantOfHome } from "../policy/own-places.js";
import type { NetworkPolicy, Policy } from "../policy/policy.js";
import { KEPT_HOME, type Reach, type Wall, type WalledCommand, WallError } from "../sandbox/wall.js";
import { EgressProxy, type EgressProxyOptions } from "./egress-proxy.js";
import { namesOfPlace } from "./files/leads-to.js";
import { MOUNTS } from "./files/mounted-names.js";
import type { OwnFiles } from "./files/own-files.js";
import { policyEgress } from "./policy-egress.js";
import { readOnlyReach, RefusalTally, sandboxReach, type TellRefusals } from "./sandbox-reach.js";
import type { SecretBroker } from "./secret-broker.js";
import { makeFolder } from "../audit/owned-files.js";

/** Close it when the program has ended. */
export interface SandboxEnvironment {
  readonly reach: NonNullable<WalledCommand["reach"]>;
  readonly limits: WalledCommand["limits"];
  readonly egress: string | undefined;
  close(): Promise<void>;
}

interface SurroundOptions {
  readonly own: OwnFiles;
  readonly wall: Wall;
  /** Who it is, where homes are kept (`sandbox.homes`): see `persistentHome`. Without it its home vanishes. */
  readonly owner?: readonly string[];
  /** Hears of every connection that was refused. */
  readonly refused?: EgressProxyOptions["refused"];
  /** Is told, now and then, of what was refused in the folders that are seen. */
  readonly refusedFiles?: TellRefusals;
  /** Puts values in place of the program's placeholders. */
  readonly secrets?: SecretBroker;
}

/**
 * All that `policy` allows, as it is now: what a plugin or a command was granted (`grantedPolicy`). Without a wall nothing is
 * proxied, since nothing else would keep a program from its own connections. @throws WallError for what cannot be walled in
 */
export async function sandboxEnvironment(
  policy: Policy,
  { own, wall, owner, refused, refusedFiles, secrets }: SurroundOptions,
): Promise<SandboxEnvironment> {
  const { readOnlyPaths: _paths, homes, git: _git, ...limits } = policy.sandbox;
  const refusals = refusedFiles && new RefusalTally(refusedFiles);
  const reach: Reach[] = [];
  try {
    if (wall.name !== "none") {
      reach.push(...(await readOnlyReach(policy, wall.name)));
      reach.push(...(await sandboxReach({ policy, own, wall: wall.name, refusals })));
      if (homes !== undefined && owner !== undefined) reach.push(await persistentHome(policy, homes, owner));
    }
  } catch (error) {
    for (const { held } of reach) held?.close();
    refusals?.close();
    throw error;
  }
  const proxied = wall.name !== "none" && reachesOut(policy.network);
  const options = { decide: policyEgress(() => policy), secrets, ...(refused === undefined ? {} : { refused }) };
  const proxy = proxied ? await EgressProxy.open(options) : undefined;
  // Elsewhere than on Linux a sandbox has no loopback of its own.
  const door = proxy !== undefined && wall.name === "sandbox-exec" ? await LoopbackProxy.open(proxy.socket) : undefined;
  const close = async (): Promise<void> => {
    for (const { held } of reach) held?.close();
    refusals?.close();
    await Promise.all([door?.close(), proxy?.close()]);
  };
  return { reach, limits, egress: door?.url ?? proxy?.socket, close };
}

/** Whether any host or address is allowed. */
function reachesOut({ offline, allowedEndpoints, allowedRanges }: NetworkPolicy): boolean {
  return offline === undefined && allowedEndpoints.rules.length + allowedRanges.rules.length > 0;
}

// Gives a command or plugin a home folder of its own that outlives it: for caches of packages, mostly.

/** Most of its name that is readable; the rest of the folder's name keeps apart what looks the same. */
const READABLE = 40;
const DIGEST = 12;

/**
 * The home of `owner`, made when it is not there; written inside, where it is `HOME`, and seen by nobody else's sandbox. What a link
 * or a mount leads to by now is judged before it is made, and what was opened once more: that very folder is what is mounted.
 * @param owner Names that are equal share a home. @throws WallError where it cannot be made, or nothing would be judged in what is granted
 */
export async function persistentHome(policy: Policy, homes: string, owner: readonly string[]): Promise<Reach> {
  const folder = join(homes, folderName(owner));
  refuseGranted(policy, folder);
  try {
    makeFolder(folder);
    const held = heldFolder(await realpath(folder));
    try {
      refuseGranted(policy, held.path);
      return { ...held, at: KEPT_HOME, access: "write" };
    } catch (error) {
      held.held.close();
      throw error;
    }
  } catch (error) {
    if (error instanceof WallError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    throw new WallError(`"${folder}" cannot be made (${code}); change sandbox.homes in the policy.`);
  }
}

/** @throws WallError for a home that is a part of what is granted, or holds one, by any name: nothing is judged in a home */
function refuseGranted(policy: Policy, folder: string): void {
  const found = grantOfHome(policy, folder, namesOfPlace);
  const place = found?.line === undefined ? "" : ` (line ${found.line} of the policy)`;
  const granted = found && `${found.text}${place}`;
  const mounted = MOUNTS.holdsOne(folder) ? "something is mounted in it" : undefined;
  const why = granted === undefined ? mounted : `it leads into what is granted by ${granted}`;
  if (why === undefined) return;
  const advice = "Nothing is judged in a home; put sandbox.homes elsewhere.";
  throw new WallError(`"${folder}" is no home to be kept: ${why}. ${advice}`, granted ?? "sandbox.homes");
}

/** By the name that the system has for what was opened. */
function heldFolder(path: string): { readonly path: string; readonly held: NonNullable<Reach["held"]> } {
  const fd = openSync(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0));
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true });
    const named = process.platform === "linux" ? readlinkSync(`/proc/self/fd/${fd}`) : path;
    return { path: named, held: { dev, ino, close: onlyOnce(() => closeSync(fd)) } };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function onlyOnce(work: () => void): () => void {
  let done = false;
  return () => {
    if (!done) work();
    done = true;
  };
}

function folderName(owner: readonly string[]): string {
  const readable = owner
    .join(" ")
    .replace(/[^A-Za-z0-9.@-]+/g, "_")
    .slice(0, READABLE);
  const digest = createHash("sha256").update(JSON.stringify(owner)).digest("hex").slice(0, DIGEST);
  return `${readable.replace(/^\.+/, "")}-${digest}`;
}

// Offers the way out of a sandbox on loopback, for walls that have no network of their own: whoever comes has to know a token.

const USER = "sandbox";
/** As many as the proxy behind it serves. */
const MAX_CONNECTIONS = 128;
/** A request's head is there after this long, and no longer than this. */
const HEAD_MS = 10_000;
const MAX_HEAD_BYTES = 16_384;
const HEAD_END = "\r\n\r\n";
const UNKNOWN =
  'HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="sandbox"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

export class LoopbackProxy {
  /** With the token in it: for the environment of the program, and nobody else. */
  readonly url: string;
  readonly #server: Server;
  readonly #open: Set<Socket>;

  private constructor(server: Server, open: Set<Socket>, url: string) {
    this.#server = server;
    this.#open = open;
    this.url = url;
  }

  /** @param proxy Socket of the proxy that decides */
  static async open(proxy: string): Promise<LoopbackProxy> {
    const token = randomBytes(32).toString("base64url");
    const wanted = Buffer.from(`Basic ${Buffer.from(`${USER}:${token}`).toString("base64")}`);
    const open = new Set<Socket>();
    const server = createServer({ allowHalfOpen: true }, (inside) => {
      keep(open, inside);
      void admit(inside, wanted).then((head) => {
        if (head === undefined) return;
        const outside = keep(open, connect({ path: proxy, allowHalfOpen: true }));
        outside.once("close", () => inside.destroy());
        inside.once("close", () => outside.destroy());
        outside.write(head);
        inside.pipe(outside).pipe(inside);
      });
    });
    server.maxConnections = MAX_CONNECTIONS;
    await once(server.listen(0, "127.0.0.1"), "listening");
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    return new LoopbackProxy(server, open, `http://${USER}:${token}@127.0.0.1:${port}`);
  }

  /** Cuts every connection. */
  async close(): Promise<void> {
    for (const stream of this.#open) stream.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function keep(open: Set<Socket>, stream: Socket): Socket {
  open.add(stream);
  return stream.on("error", () => stream.destroy()).once("close", () => open.delete(stream));
}

/** Everything that came up to the end of the first head, when that knows the token; the connection is closed otherwise. */
function admit(inside: Socket, wanted: Buffer): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    let got: Buffer = Buffer.alloc(0);
    const timer = setTimeout(() => settle(false), HEAD_MS);
    const settle = (known: boolean): void => {
      clearTimeout(timer);
      inside.off("data", more).off("close", gone).off("end", gone).pause();
      if (!known) inside.end(UNKNOWN, () => inside.destroy());
      resolve(known ? got : undefined);
    };
    const gone = (): void => settle(false);
    const more = (chunk: Buffer): void => {
      got = Buffer.concat([got, chunk]);
      const end = got.indexOf(HEAD_END);
      if (end >= 0) settle(knows(got.toString("latin1", 0, end), wanted));
      else if (got.length > MAX_HEAD_BYTES) settle(false);
    };
    inside.on("data", more).once("close", gone).once("end", gone);
  });
}

/** Exactly one header of that name: two would let two readers read different ones. */
function knows(head: string, wanted: Buffer): boolean {
  const given = head
    .split("\r\n")
    .slice(1)
    .flatMap((line) => /^proxy-authorization:(.*)$/i.exec(line)?.[1] ?? []);
  const one = Buffer.from(given.length === 1 ? (given[0] ?? "").trim() : "", "latin1");
  return one.length === wanted.length && timingSafeEqual(one, wanted);
}
