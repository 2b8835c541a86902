// Reads the file of `serve --tokens`: the people who may call over HTTP, each by the SHA-256 of a token of their own.
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { OWNER } from "../audit/call-records.js";
import { whyUnread } from "../audit/owned-files.js";
import { UsageError } from "./command-line.js";
import type { HttpServing } from "@secure-local/mcp/http";
import type { AuditSink } from "../audit/audit-event.js";
import type { KnownPeople, NamedToken, PeopleChange } from "../server/http-options.js";
import { watchFile } from "../server/follow-policy-file.js";

/** As many as are compared with each request, without the owner's. */
const MAX_TOKENS = 999;
/** Room for that many lines, and to notice that a file holds something else. */
const MAX_BYTES = 256 * 1024;
const WRITABLE_BY_OTHERS = 0o022;
/** A name as people are called in mail and on machines: it stands in the log, and in questions. */
const LINE = /^([A-Za-z0-9][A-Za-z0-9._@+-]{0,63})\s*(\(metrics\))?\s*:\s*(?:sha256:)?([0-9a-fA-F]{64})$/;
const LINE_ADVICE = "write NAME: SHA256, as in ada: and the 64 hexadecimal digits of her token's SHA-256";

/**
 * Lines `NAME: SHA256`, or `NAME (metrics): SHA256` for who reads the metrics and calls nothing; empty ones and those that begin with # are passed over. A name may stand on two lines while its token is
 * changed. `ownToken`: the owner's, which is nobody else's. `mayBeEmpty`: the last of them may leave. No message repeats a line: it may
 * hold a token. @throws UsageError
 */
export function namedTokens(file: string, ownToken?: string, mayBeEmpty = false): readonly NamedToken[] {
  const found: NamedToken[] = [];
  const people = new Map<string, { readonly name: string; readonly line: number; readonly only?: "metrics" }>();
  const own = ownToken === undefined ? [] : [[sha256Of(ownToken), OWNER] as const];
  const whose = new Map<string, string>(own);
  for (const [at, text] of readTokensFile(file).split(/\r?\n/).entries()) {
    const line = text.trim();
    if (line === "" || line.startsWith("#")) continue;
    const [, principal, metrics, digits] = LINE.exec(line) ?? [];
    const only = metrics === undefined ? {} : { only: "metrics" as const };
    if (principal === undefined || digits === undefined)
      throw new UsageError(`${file}, line ${at + 1}: this line names nobody; ${LINE_ADVICE}`);
    if (principal.toLowerCase() === OWNER)
      throw new UsageError(
        `${file}, line ${at + 1}: ${OWNER} is whoever runs serve, and has a token; use another name`,
      );
    const twin = people.get(principal.toLowerCase());
    if (twin !== undefined && twin.name !== principal)
      throw new UsageError(
        `${file}, line ${at + 1}: ${principal} and ${twin.name} (line ${twin.line}) differ in case alone, so that people could not tell them apart; give one another name`,
      );
    if (twin !== undefined && twin.only !== only.only)
      throw new UsageError(
        `${file}, line ${at + 1}: ${principal} is for the metrics alone on one line and may call by line ${twin.line}, or the other way round; use two names`,
      );
    people.set(principal.toLowerCase(), twin ?? { name: principal, line: at + 1, ...only });
    const sha256 = digits.toLowerCase();
    if (sha256 === sha256Of(""))
      throw new UsageError(
        `${file}, line ${at + 1}: this is the SHA-256 of no text at all; make a token for ${principal}`,
      );
    const other = whose.get(sha256);
    if (other !== undefined)
      throw new UsageError(
        `${file}, line ${at + 1}: ${principal} has the token of ${other === OWNER ? "the owner, who runs serve" : other}, so nobody could tell them apart; make one for each`,
      );
    whose.set(sha256, principal);
    found.push({ principal, sha256, ...only });
  }
  if (found.length === 0 && !mayBeEmpty)
    throw new UsageError(`${file} names nobody; ${LINE_ADVICE}, or leave out --tokens`);
  if (found.length > MAX_TOKENS)
    throw new UsageError(`${file} has ${found.length} tokens, and ${MAX_TOKENS} are the most; remove some`);
  return found;
}

function sha256Of(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Whoever could write to the file could let anybody in, so it has to be as the policy has to be. */
function readTokensFile(file: string): string {
  let descriptor: number | undefined;
  try {
    descriptor = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    const status = fs.fstatSync(descriptor);
    const advice = faultOf(status);
    if (advice !== undefined) throw new UsageError(`${file} cannot be the file of --tokens: ${advice}`);
    return fs.readFileSync(descriptor, "utf8");
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const why = `${whyUnread(error)}; ${code === "ENOENT" || code === "ENXIO" ? "check the path" : "see to its rights"}`;
    throw new UsageError(`the tokens of --tokens ${file} cannot be read: ${why}`, { cause: error });
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
}

function faultOf(status: fs.Stats): string | undefined {
  if (!status.isFile()) return "it is not a regular file; name one";
  if (status.size > MAX_BYTES) return `it has more than ${MAX_BYTES} bytes; it needs one line for each person`;
  if (process.platform === "win32") return undefined;
  const user = process.getuid?.();
  if (user !== undefined && status.uid !== user && status.uid !== 0)
    return `it belongs to user ${status.uid}, who could let anybody in; make it yours (chown)`;
  if ((status.mode & WRITABLE_BY_OTHERS) !== 0)
    return "others could write themselves into it; run chmod go-w on it, and see who is in it";
  return undefined;
}

// Reads the file again when it changes or the process gets SIGHUP, and ends what people have open who are gone.

interface EndedWork {
  readonly tasks: number;
  readonly questions: number;
}

interface FollowOptions {
  /** The owner's, which no line of the file may have, at the start or later. */
  readonly ownToken?: string | undefined;
  readonly serving: Pick<HttpServing, "endSessions">;
  /** End the tasks of one who is gone, and what waits for an answer of theirs. */
  readonly profiles: { endWorkOf(principal: string): Promise<EndedWork> };
  readonly audit: Pick<AuditSink, "record">;
  readonly say: (line: string) => void;
}

/** A file that cannot be used is told with `say`, recorded, and changes nothing. Returns the function that stops it all. */
export function followTokensFile(people: KnownPeople, file: string | undefined, options: FollowOptions): () => void {
  if (file === undefined) return () => undefined;
  const { say } = options;
  let refused = "";
  const read = (cause: "SIGHUP" | "changed"): void => {
    try {
      const change = people.replace(namedTokens(file, options.ownToken, true));
      const isMended = refused !== "";
      refused = "";
      if (isMended) say(`tokens: ${file} can be used again`);
      adopt(change, isMended ? "mended" : cause, options);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      // One faulty file is not told at every touch. A signal is always answered.
      if (cause === "changed" && reason === refused) return;
      refused = reason;
      void record(options, { kind: "people.rejected", detail: { reason } });
      say(reason);
      say(`tokens: keeping the people of before: ${people.names.join(", ") || "nobody but the owner"}`);
    }
  };
  const stopWatching = watchFile(file, { changed: () => read("changed"), say });
  // On Windows the signal means that the console is closing.
  if (process.platform === "win32") return stopWatching;
  const listener = (): void => read("SIGHUP");
  process.on("SIGHUP", listener);
  return () => {
    stopWatching();
    process.off("SIGHUP", listener);
  };
}

function adopt(change: PeopleChange, cause: "SIGHUP" | "changed" | "mended", options: FollowOptions): void {
  const { came, gone, changed, count } = change;
  const same = came.length + gone.length + changed.length === 0;
  if (same && cause === "changed") return;
  options.say(`tokens: ${textOf(change)}`);
  if (same) return;
  void record(options, { kind: "people.changed", detail: { came, gone, changed, count } });
  // A token that was taken back may be in the hands of somebody else, who has opened sessions under the same name.
  const over = new Set<string | undefined>([...gone, ...changed]);
  if (over.size > 0) void options.serving.endSessions((principal) => over.has(principal));
  if (gone.length > 0) void endWork(gone, options);
}

/** Whoever has their names later is somebody else. Those who kept a token of theirs are the same, and may look after their tasks. */
async function endWork(gone: readonly string[], options: FollowOptions): Promise<void> {
  const ended: Record<string, EndedWork> = {};
  // All at once: nobody has a name already while that of another is still looked after.
  const ending = gone.map((name) => [name, options.profiles.endWorkOf(name)] as const);
  await Promise.allSettled(ending.map(([, work]) => work));
  for (const [name, ends] of ending) {
    try {
      const work = await ends;
      if (work.tasks + work.questions > 0) ended[name] = work;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      options.say(`tokens: what ${name} had running may not all have ended: ${reason}; restart serve to be sure`);
      void record(options, { kind: "people.ended", outcome: "error", detail: { gone: name, reason } });
    }
  }
  if (Object.keys(ended).length === 0) return;
  await record(options, { kind: "people.ended", detail: { ended } });
}

/** Who has a token besides the owner; undefined for nobody. */
export function besidesOwner({ callers, readers }: KnownPeople): string | undefined {
  const people = callers.length === 0 ? [] : [`besides the owner, by their own tokens: ${callers.join(", ")}`];
  const metrics = readers.length === 0 ? [] : [`for the metrics alone: ${readers.join(", ")}`];
  return callers.length + readers.length === 0 ? undefined : [...people, ...metrics].join("; ");
}

function textOf({ came, gone, changed, count, readers }: PeopleChange): string {
  const some = (names: readonly string[], one: string, many: string): readonly string[] =>
    names.length === 0 ? [] : [`${names.join(", ")} ${names.length === 1 ? one : many}`];
  const parts = [
    ...some(gone, "is gone", "are gone"),
    ...some(came, "is new", "are new"),
    ...some(changed, "has other tokens", "have other tokens"),
  ];
  if (parts.length === 0) parts.push("nothing has changed");
  const left = count === 0 ? "nobody but the owner is left" : `${count} ${count === 1 ? "person" : "people"}`;
  const metrics = readers === 0 ? [] : [`${readers} for the metrics alone`];
  return [...parts, left, ...metrics].join(", ");
}

/** Who may call is decided by the file, whether or not the log can take that. */
function record({ audit }: FollowOptions, event: Parameters<AuditSink["record"]>[0]): Promise<void> {
  return audit.record(event).catch(() => undefined);
}
