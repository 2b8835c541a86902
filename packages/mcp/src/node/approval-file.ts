// Remembers in a file which launches of servers were approved, so that nobody is asked twice for the same one.
import { randomUUID } from "node:crypto";
import { open, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { LocalError } from "../jsonrpc/local-error.js";
import { makeFolder } from "./make-folder.js";

export interface ApprovalFile {
  get(name: string): Promise<string | undefined>;
  set(name: string, digest: string): Promise<void>;
}

/** A SHA-256 in hexadecimal digits: nothing else is an approval. */
const DIGEST = /^[0-9a-f]{64}$/;
const OTHERS_WRITE = 0o022;
/** Files of Windows have no such modes; there the user's profile folder keeps others out. */
const HAS_MODES = process.platform !== "win32";

/**
 * Approvals in a file that only its owner reads and writes (mode 0600), as `approvals` of a host. Made when something is approved.
 * Rejects with `APPROVALS` when the file cannot be read, or is none of ours: then nothing counts as approved.
 */
export function approvalFile(path: string): ApprovalFile {
  let last: Promise<unknown> = Promise.resolve();
  return {
    get: async (name) => (await approvalsIn(path)).get(name),
    set(name, digest) {
      const written = last.then(async () => {
        const approvals = await approvalsIn(path);
        await write(path, Object.fromEntries(approvals.set(name, digest)));
      });
      last = written.catch(() => undefined);
      return written;
    },
  };
}

async function approvalsIn(path: string): Promise<Map<string, string>> {
  let text;
  try {
    text = await readOwn(path);
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return new Map();
    throw broken(path, error);
  }
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return new Map(entries.filter((entry): entry is [string, string] => isDigest(entry[1])));
  } catch (error) {
    throw broken(path, error);
  }
}

// What others can write approves whatever they like.
async function readOwn(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { mode, uid } = await file.stat();
    if (process.getuid !== undefined && uid !== process.getuid()) throw new Error("it belongs to somebody else");
    if (HAS_MODES && (mode & OTHERS_WRITE) !== 0) throw new Error("others can write it (chmod 600)");
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

function isDigest(value: unknown): boolean {
  return typeof value === "string" && DIGEST.test(value);
}

// Beside it and then in its place: whoever reads it sees the old or the new one, never half of one.
async function write(path: string, approvals: object): Promise<void> {
  const beside = `${path}.${randomUUID()}.new`;
  try {
    await makeFolder(dirname(path));
    await writeFile(beside, `${JSON.stringify(approvals, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw broken(path, error);
  }
}

function broken(path: string, cause: unknown): LocalError {
  const text = `The approvals in ${path} cannot be used: ${(cause as Error).message}. Mend the file, or delete it to be asked again.`;
  return new LocalError("APPROVALS", text, { cause });
}
