// The folder of an egress proxy's socket, and an end for those whose process was killed before it could remove them.
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PREFIX = "mcp-egress-";
const SOCKET = "egress.sock";
/** A proxy listens within milliseconds of making its folder; a folder that is younger may be about to. */
const YOUNG_MS = 60_000;
/** Folders looked at by one process: what more there are the next ones find. */
const MOST_SWEPT = 200;

let sweeping: Promise<void> | undefined;

/** A new folder that only this user may use, and the path of the socket in it. The first of a process looks for stale ones meanwhile. */
export async function makeEgressFolder(): Promise<{ readonly folder: string; readonly socket: string }> {
  // Nobody waits for it: a folder that stays another time does no harm.
  sweeping ??= removeStaleFolders().catch(() => undefined);
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  return { folder, socket: join(folder, SOCKET) };
}

/** Removes this user's folders of proxies in `parent` at whose socket nobody listens any more. */
export async function removeStaleFolders(parent: string = tmpdir(), now: number = Date.now()): Promise<void> {
  const names = (await readdir(parent)).filter((name) => name.startsWith(PREFIX));
  for (const name of names.slice(0, MOST_SWEPT)) {
    const folder = join(parent, name);
    const stats = await lstat(folder).catch(() => undefined);
    const own = stats?.isDirectory() === true && stats.uid === process.getuid?.();
    if (!own || now - stats.mtimeMs < YOUNG_MS || (await isServed(join(folder, SOCKET)))) continue;
    await rm(folder, { recursive: true, force: true });
  }
}

/** Whatever else than an absent or deaf socket counts as served: in doubt a folder stays. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (served: boolean): void => {
      socket.destroy();
      resolve(served);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", ({ code }: NodeJS.ErrnoException) => settle(code !== "ECONNREFUSED" && code !== "ENOENT"));
  });
}
