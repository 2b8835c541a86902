// Reads the file of `serve --tokens` again when it changes or the process gets SIGHUP, and ends what people have open who are gone.
import type { HttpServing } from "@secure-local/mcp/http";
import type { AuditSink } from "../audit/audit-event.js";
import type { KnownPeople, PeopleChange } from "../server/known-people.js";
import { watchFile } from "../server/watch-file.js";
import { namedTokens } from "./named-tokens.js";

interface FollowOptions {
  /** The owner's, which no line of the file may have, at the start or later. */
  readonly ownToken?: string | undefined;
  readonly serving: Pick<HttpServing, "endSessions">;
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
      const change = people.replace(namedTokens(file, options.ownToken));
      refused = "";
      adopt(change, cause, options);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      // One faulty file is not told at every touch. A signal is always answered.
      if (cause === "changed" && reason === refused) return;
      refused = reason;
      void record(options, { kind: "people.rejected", detail: { reason } });
      say(`${reason}\ntokens: keeping the people of before: ${people.names.join(", ")}`);
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

function adopt(change: PeopleChange, cause: "SIGHUP" | "changed", options: FollowOptions): void {
  const { came, gone, changed, count } = change;
  const same = came.length + gone.length + changed.length === 0;
  if (same && cause === "changed") return;
  options.say(`tokens: ${textOf(change)}`);
  if (same) return;
  void record(options, { kind: "people.changed", detail: { came, gone, changed, count } });
  // A token that was taken back may be in the hands of somebody else, who has opened sessions under the same name.
  const over = new Set<string | undefined>([...gone, ...changed]);
  if (over.size > 0) void options.serving.endSessions((principal) => over.has(principal));
}

function textOf({ came, gone, changed, count }: PeopleChange): string {
  const some = (names: readonly string[], one: string, many: string): readonly string[] =>
    names.length === 0 ? [] : [`${names.join(", ")} ${names.length === 1 ? one : many}`];
  const parts = [
    ...some(gone, "is gone", "are gone"),
    ...some(came, "is new", "are new"),
    ...some(changed, "has other tokens", "have other tokens"),
  ];
  if (parts.length === 0) parts.push("nothing has changed");
  return [...parts, `${count} ${count === 1 ? "person" : "people"}`].join(", ");
}

/** Who may call is decided by the file, whether or not the log can take that. */
function record({ audit }: FollowOptions, event: Parameters<AuditSink["record"]>[0]): Promise<void> {
  return audit.record(event).catch(() => undefined);
}
