// Follows the files that the values of secrets come from: what is known of them is looked up each time something is about to leave.
import * as fs from "node:fs";

/** A key or a token; a file of any other size is something else. */
const MAX_BYTES = 64 * 1024;
/** Times of files are no finer than this everywhere: one that was changed so lately may change again and look the same. */
const SETTLED_MS = 2_000;

interface FollowedFile {
  readonly path: string;
  readonly learn: (value: string) => void;
  /** Which file it was, and when it was changed last; undefined until it was read at rest. */
  state: string | undefined;
  /** What was learnt last. */
  text: string | undefined;
}

/** By the secret's name and the path. */
const followed = new Map<string, FollowedFile>();
let lookedInThisTurn = false;
/** Whether any secret comes from a file: where none does, nobody has to look. */
export let followsFiles = false;

/** Has `learn` told of the value now, if there is one, and of each that the file has later, before anything leaves that could hold it. */
export function followSecretFile(name: string, path: string, learn: (value: string) => void): void {
  const file: FollowedFile = { path, learn, state: undefined, text: undefined };
  followed.set(`${name}\0${path}`, file);
  followsFiles = true;
  renew(file);
}

/** To be called before a result is cleaned or recorded: one look at each file. */
export function renewSecrets(): void {
  for (const file of followed.values()) renew(file);
}

/** For the many texts of one result: nothing can have come from elsewhere before this turn of the program ends. */
export function renewSecretsOnce(): void {
  if (lookedInThisTurn) return;
  lookedInThisTurn = true;
  queueMicrotask(() => {
    lookedInThisTurn = false;
  });
  renewSecrets();
}

/** What cannot be read has no value to learn: whoever is to send it is refused, and the values before it stay known. */
function renew(file: FollowedFile): void {
  try {
    const stats = fs.statSync(file.path, { bigint: true, throwIfNoEntry: false });
    if (stats !== undefined && stateOf(stats) === file.state) return;
    file.state = undefined;
    if (stats === undefined || !isValue(stats)) return;
    const { text, state } = read(file.path);
    if (text !== undefined && text !== file.text) file.learn(text);
    file.text = text ?? file.text;
    file.state = state;
  } catch {
    file.state = undefined;
  }
}

function read(path: string): { readonly text: string | undefined; readonly state: string | undefined } {
  // It may have become a pipe meanwhile, which nobody writes to.
  const fd = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    const before = fs.fstatSync(fd, { bigint: true });
    if (!isValue(before)) return { text: undefined, state: undefined };
    const text = fs.readFileSync(fd, "utf8");
    const after = stateOf(fs.fstatSync(fd, { bigint: true }));
    const changed = Number((before.ctimeNs > before.mtimeNs ? before.ctimeNs : before.mtimeNs) / 1_000_000n);
    const atRest = after === stateOf(before) && Date.now() - changed > SETTLED_MS;
    return { text, state: atRest ? after : undefined };
  } finally {
    fs.closeSync(fd);
  }
}

function isValue(stats: fs.BigIntStats): boolean {
  return stats.isFile() && stats.size <= MAX_BYTES;
}

function stateOf({ dev, ino, size, mtimeNs, ctimeNs }: fs.BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}
