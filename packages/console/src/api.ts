// What the page and the process behind it say to each other: JSON over HTTP on this machine, and one stream of lines.

/**
 * How a call ended, as one word that every screen uses. `lost`: its server ended before it said so. `unanswered`: it was not
 * run, since the person who was asked had not answered when the time was over or its server ended.
 */
export type Outcome =
  | "running"
  | "ok"
  | "error"
  | "denied"
  | "timeout"
  | "cancelled"
  | "waiting"
  | "lost"
  | "unanswered";

/** One call: everything the audit log says of it, joined. */
export interface CallRow {
  /** Number of the row, counted from 1 since the console was started; it never changes. */
  readonly n: number;
  /** Milliseconds since 1970, when it was asked for. */
  readonly at: number;
  readonly method: string;
  /** The tool, prompt or resource. */
  readonly name: string;
  /** The server or plugin behind it; empty for the program's own tools. */
  readonly server: string;
  /** What it reached for: a path, a URL, a query, a command, in at most 200 characters. */
  readonly object: string;
  readonly client: string;
  readonly outcome: Outcome;
  /** Milliseconds it took, without what it waited for a person; absent while it runs and where it was not run. */
  readonly ms?: number | undefined;
  /** Milliseconds that it waited for a person. */
  readonly waitedMs?: number | undefined;
  readonly rule: string;
  /** Line of the rule in the policy; absent where the rule is not the file's own. */
  readonly line?: number | undefined;
  /** Whether a person was asked. */
  readonly asked: boolean;
  /** Nobody was asked, since an earlier answer was remembered: that of this question; empty where its name is not on record. */
  readonly remembered?: string | undefined;
  /** Which audit log it is in, so which process it belongs to. */
  readonly log: number;
}

/** A call with its records, as they stand in the log. */
export interface CallDetail {
  readonly row: CallRow;
  readonly file: string;
  /** Each record in its order: JSON texts, already redacted and with hidden characters escaped. */
  readonly records: readonly string[];
  /** Why it ended as it did, where that is not well: what the log has of it. */
  readonly reason: string;
  /** What it was answered with; empty where the policy does not have results recorded (`audit.results`). */
  readonly result: string;
  /** What happened when, from the first record on. `took` is known for what has an end. */
  readonly steps: readonly CallPart[];
  /** Each hop of the request: the client's to us, and ours to the server behind it where the call took that way. */
  readonly hops: readonly Hop[];
  /** The line of the policy as it is now that says what decided, and its text; absent where none does any more. */
  readonly lineNow?: number | undefined;
  readonly policyLine?: string | undefined;
  /** What differs from the last call of this tool that a person approved; absent when there is none. */
  readonly difference?: readonly DifferentArgument[] | undefined;
  /** Whether the log left out something of either, so that more may differ. */
  readonly isPartly?: boolean;
}

/** What happened to a call at a time, in milliseconds since its begin. */
export interface CallPart {
  readonly label: string;
  readonly ms: number;
  readonly took?: number | undefined;
  /** The remembered answer that allowed it: when it was given, where, and to which call; absent where that is not on record. */
  readonly answer?:
    | { readonly at?: number | undefined; readonly by: string; readonly n?: number | undefined }
    | undefined;
}

/** One hop of a request; empty where the log does not say. */
export interface Hop {
  readonly from: string;
  readonly to: string;
  readonly revision: string;
  readonly transport: string;
  readonly ids: string;
  /** When it was sent, as the log has it. */
  readonly sent: string;
  readonly ms?: number | undefined;
}

export interface DifferentArgument {
  readonly name: string;
  readonly before: string | undefined;
  readonly now: string | undefined;
}

/** A call that waits for a person. */
export interface WaitingCall {
  readonly id: string;
  /** The whole question, as it is shown in a terminal. */
  readonly text: string;
  /** SHA-256 of `text`: an answer to another text is none. */
  readonly digest: string;
  /** How long a remembered consent would last, in words; absent where none is. */
  readonly remember?: string | undefined;
  /** Milliseconds since 1970 when it is refused without an answer. */
  readonly until: number;
}

/** A question that is over. */
export interface SettledCall {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The answer that counted; absent where there was none. */
  readonly answer?: Answer | undefined;
  /** Where it was given: here or in another page of the console, or by `approve` in a terminal. */
  readonly by?: "terminal" | "console" | undefined;
  /** Why there was none. */
  readonly reason?: string | undefined;
  /** Nobody refused it: its server was gone. */
  readonly isNotRun?: boolean | undefined;
  /** What was called, and what it reached for; absent where the console did not see it begin. */
  readonly about?: string | undefined;
  /** The row of its call; absent where the console did not see it begin. */
  readonly n?: number | undefined;
}

export type Answer = "approve" | "remember" | "deny";

/** An answer that lets the same call pass without another question. */
export interface RememberedAnswers {
  readonly answers: readonly RememberedAnswer[];
  /** The ids of processes that run and did not say what they remember. */
  readonly unanswered: readonly number[];
}

export interface RememberedAnswer {
  /** The question that was answered. */
  readonly id: string;
  readonly tool: string;
  /** The arguments, as they were shown; cut where they are long. */
  readonly about: string;
  readonly client: string;
  readonly principal: string;
  /** The plugin that asked; empty where it was the client. */
  readonly actor: string;
  readonly profile: string;
  readonly by: "client" | "terminal" | "console";
  /** Milliseconds since 1970 when it was given, and when it ends; absent: with its session. */
  readonly at: number;
  readonly until?: number | undefined;
  /** Calls that it has let pass, and when the last one was, in milliseconds since 1970. */
  readonly used: number;
  readonly lastUsed?: number | undefined;
  /** It was given under another policy than the one in force, and counts for nothing while that is. */
  readonly isVoid: boolean;
  /** The row of the call that was asked about; absent where the console does not have it. */
  readonly n?: number | undefined;
}

/** A process of `mcp-secure-local` that serves now, or did and vanished. */
export interface RunningServer {
  readonly pid: number;
  readonly version: string;
  readonly transport: "stdio" | "http";
  readonly url?: string | undefined;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** `profile`: the one that it serves alone; empty where it serves the whole policy, absent from what an older version says. */
  readonly policy: { readonly file?: string | undefined; readonly hash: string; readonly profile?: string };
  readonly auditFile: string;
  /** Why no signed checkpoint of it can be written; absent while they can, and where none are wanted. */
  readonly checkpointFault?: string | undefined;
  /** The number of that log in `CallRow.log`; absent while the console has not found it. */
  readonly log?: number | undefined;
  readonly tools: readonly string[];
  readonly plugins: readonly RunningPlugin[];
  /** The servers of its policy; absent from what an older version says. */
  readonly servers?: readonly PolicyServer[];
  /** Who has called; absent from what an older version says. */
  readonly clients?: readonly RunningClient[];
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
  /** `gone`: it ended without saying so. */
  readonly state: "running" | "gone";
}

/** A client of a running process, by its own words and by its token. */
export interface RunningClient {
  readonly name: string;
  /** Who the token says it is; empty where there is no token. */
  readonly principal: string;
  readonly revision: string;
  /** The profile of the policy that it is served by; empty: the whole one. Absent from what an older version says. */
  readonly profile?: string;
  /** Milliseconds since 1970 of its first request and of the last one. */
  readonly since: number;
  readonly last: number;
  readonly requests: number;
  /** What its token allows, and when it ends, in milliseconds since 1970; absent where nothing says so. */
  readonly scopes?: readonly string[] | undefined;
  readonly expiresAt?: number | undefined;
  /** What it has used of its limits in the last minute. */
  readonly limits: readonly ClientLimit[];
}

/** A limit of so many calls in any minute. */
export interface ClientLimit {
  readonly name: string;
  readonly used: number;
  readonly limit: number;
  /** What sets it. This and the times are absent from what an older version says. */
  readonly rule?: string | undefined;
  /** Milliseconds until the first place is free again, and until all are. */
  readonly firstMs?: number | undefined;
  readonly allMs?: number | undefined;
}

/** A process with what it uses; those that belong to one of our servers stand below it. */
export interface UsedResources {
  /** The process of ours that it is or was started by. */
  readonly of: number;
  readonly pid: number;
  /** The server of the policy it runs for, or the program's name. */
  readonly what: string;
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
}

export interface PolicyServer {
  readonly name: string;
  /** `idle`, `stopped`, `starting`, `ready`, `degraded`, `broken`, `withheld`, `needs login` or `disabled`. */
  readonly state: string;
  /** Milliseconds since 1970 since when it is idle or stopped; absent where it has not run yet. */
  readonly since?: number | undefined;
  readonly tools: number;
  readonly cause: string;
  /** How it failed, as the end of a sentence; absent where it did not. */
  readonly brief?: string | undefined;
  readonly remedy: string;
  /** Whether a person logs in to it. */
  readonly hasLogin?: boolean;
  /** When a person refused all that is withheld of it, as an ISO 8601 date: nothing of it waits for them. */
  readonly refused?: string | undefined;
}

/** What an examination of a server found: those of `doctor` that need attention. */
export interface ServerTest {
  readonly server: string;
  readonly revisions: readonly string[];
  readonly startMs: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly findings: readonly {
    readonly verdict: string;
    readonly id: string;
    readonly title: string;
    readonly detail: string;
    readonly advice: string;
  }[];
}

export interface RunningPlugin {
  readonly name: string;
  readonly state: string;
  readonly version?: string | undefined;
  readonly tools: number;
  readonly starts: number;
  readonly note: string;
  readonly output: string;
  readonly wall?: string | undefined;
  readonly findings: readonly {
    readonly tier: string;
    readonly id: string;
    readonly about: string;
    readonly item: string;
    readonly at: string;
    readonly excerpt: string;
  }[];
  readonly changes: readonly { readonly item: string; readonly kind: string; readonly lines: readonly string[] }[];
  readonly withheld: Readonly<Record<string, string>>;
  /** When a person refused all that is withheld, as an ISO 8601 date: nothing of it waits for them. */
  readonly refused?: string | undefined;
}

/** What a plugin or a server of a policy offers now, beside what a person approved of it. */
export interface OfferedDefinitions {
  readonly kind: "plugin" | "server";
  readonly name: string;
  /** Whether it is as it was approved. */
  readonly approved: boolean;
  /** SHA-256 of all of it, and of what was approved before: an approval of anything else is none. */
  readonly digest: string;
  /** When a person refused exactly this, as an ISO 8601 date; absent where nobody did. */
  readonly refused?: string;
  readonly findings: readonly DefinitionFinding[];
  readonly changes: readonly { readonly item: string; readonly kind: string; readonly lines: readonly string[] }[];
  /** What is not offered, and why. */
  readonly withheld: Readonly<Record<string, string>>;
  readonly items: readonly OfferedItem[];
}

export interface DefinitionFinding {
  readonly tier: string;
  readonly id: string;
  /** `server`, `tool`, `prompt`, `resource` or `template`. */
  readonly kind: string;
  readonly item: string;
  readonly at: string;
  readonly about: string;
  readonly excerpt: string;
}

/** The files of a plugin that differ. `hidden`: what of that is not told, in words; who approves it approves something unseen. */
export interface ChangedFiles {
  readonly told: readonly ChangedFile[];
  readonly hidden: readonly string[];
}

/** A file of a plugin that was added, changed or removed. */
export interface ChangedFile {
  readonly path: string;
  readonly kind: "added" | "changed" | "removed";
  /** Whether it may be run now, where that changed. */
  readonly runs?: boolean;
  /** Those that differ and some around; absent where `unshown` says why. `more` of the difference come after them. */
  readonly lines?: readonly ChangedLine[];
  readonly more?: number;
  readonly unshown?: string;
}

/** `about`: no line of the file but words on what stands there. `more` characters of the line are not told. */
export interface ChangedLine {
  readonly kind: "same" | "gone" | "new" | "about";
  readonly text: string;
  readonly more?: number;
}

/** What was compared, and when, in milliseconds since 1970. */
export interface ComparedDefinitions {
  readonly at: number;
  readonly all: readonly ShownDefinitions[];
}

/** A tool, prompt, resource, how it is started, or what it says of itself. */
export interface OfferedItem {
  readonly item: string;
  readonly kind: "added" | "changed" | "removed" | "same";
  /** SHA-256 of it and of what was approved before; absent where it is the same. A refusal of it is of exactly that. */
  readonly digest?: string;
  /** When a person refused exactly this, as an ISO 8601 date. */
  readonly refused?: string;
  /** Of how a plugin is started, where its content changed: its files that are not as they were approved. */
  readonly files?: ChangedFiles | undefined;
  /** It was approved once, was gone, and is offered again. */
  readonly isBack?: boolean;
  /** Its texts by their places, each a JSON Pointer: as approved, and as it is offered now. */
  readonly places: readonly {
    readonly at: string;
    readonly before?: string | undefined;
    readonly now?: string | undefined;
  }[];
}

/** The same with its policy; `fault` says why one could not be looked at. */
export type ShownDefinitions =
  | (OfferedDefinitions & { readonly policy: string })
  | (Pick<OfferedDefinitions, "kind" | "name"> & { readonly policy: string; readonly fault: string });

/** Counts over a time, of the same rows that every list shows. */
export interface Totals {
  readonly from: number;
  readonly to: number;
  readonly calls: number;
  readonly failed: number;
  readonly denied: number;
  readonly asked: number;
  /** Those of the last minute of the time. */
  readonly lastMinute: number;
  /** Milliseconds; absent while nothing was run. */
  readonly p50?: number | undefined;
  readonly p99?: number | undefined;
  /** Milliseconds that half of the calls which a person was asked about waited at most; in no other time. */
  readonly waited?: number | undefined;
  /** Equal parts of the time, oldest first. */
  readonly buckets: readonly Bucket[];
  readonly byClient: readonly Count[];
  readonly byName: readonly Count[];
  readonly byRule: readonly Count[];
  /** Records of the time that are of no call, by their kind; and the busiest clients and tools over its parts. Where they were asked for. */
  readonly events?: Readonly<Record<string, number>> | undefined;
  readonly lanes?: { readonly client: readonly Lane[]; readonly name: readonly Lane[] } | undefined;
}

/** One client or tool over a time, by the parts of it. */
export interface Lane {
  readonly name: string;
  readonly parts: readonly { readonly ok: number; readonly failed: number; readonly denied: number }[];
}

export interface Bucket {
  readonly at: number;
  readonly ok: number;
  readonly failed: number;
  readonly denied: number;
  /** Milliseconds; absent while nothing was run. */
  readonly p50?: number | undefined;
  readonly p99?: number | undefined;
}

export interface Count {
  readonly name: string;
  readonly calls: number;
  /** Milliseconds that 99 of 100 of them took at most; where it was asked for, and some were run. */
  readonly p99?: number | undefined;
  readonly failed: number;
  readonly denied: number;
  /** Milliseconds since 1970 of the last one. */
  readonly last: number;
}

/**
 * What calls are looked for. Texts are compared without regard to case. `text`: every word and every phrase in quotes is
 * looked for, what begins with a minus is left out, and `path:` names a folder.
 */
export interface CallFilter {
  readonly text?: string | undefined;
  readonly name?: string | undefined;
  readonly client?: string | undefined;
  /** `refused`: denied or failed; `failed`: did not do what was asked for. */
  readonly outcome?: Outcome | "refused" | "failed" | undefined;
  /** Those a person was asked about. */
  readonly asked?: boolean | undefined;
  /** Those that the remembered answer to this question let pass. */
  readonly remembered?: string | undefined;
  readonly rule?: string | undefined;
  readonly line?: number | undefined;
  readonly log?: number | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Milliseconds that it took at least, without what it waited for a person. */
  readonly slower?: number | undefined;
  /** A folder that a path it named is under, and one that a path it named is not under. */
  readonly under?: string | undefined;
  readonly outside?: string | undefined;
}

/** A filter as it was understood: what a call has, each of them, and what it has not. */
export interface SoughtWords {
  readonly with: readonly string[];
  readonly without: readonly string[];
  readonly under: readonly string[];
  readonly outside: readonly string[];
}

/** What was looked through for a filter. */
export interface LookedThrough {
  /** Calls of the time that was asked for, and those of them that fit. */
  readonly calls: number;
  readonly found: number;
  /** All calls that the console has, and since when it has all of every log, in milliseconds since 1970; absent where there is none. */
  readonly kept: number;
  readonly since?: number | undefined;
  readonly words: SoughtWords;
}

/** A line of the stream. `cursor` names the place to go on from. */
export type StreamLine =
  /** `policy`: the file that the page Policy shows; absent where that is the built-in one. */
  | { readonly kind: "hello"; readonly version: string; readonly started: number; readonly policy?: string | undefined }
  | { readonly kind: "logs"; readonly logs: readonly LogState[]; readonly verified?: VerifiedLogs | undefined }
  /** `anew`: what was told before is not what these go on from. */
  | { readonly kind: "calls"; readonly cursor: number; readonly rows: readonly CallRow[]; readonly anew?: boolean }
  | { readonly kind: "waiting"; readonly calls: readonly WaitingCall[]; readonly settled: readonly SettledCall[] }
  | { readonly kind: "servers"; readonly servers: readonly RunningServer[] }
  | { readonly kind: "totals"; readonly totals: Totals }
  | { readonly kind: "beat"; readonly now: number };

export interface LogState {
  readonly file: string;
  readonly records: number;
  /** Why it cannot be read. */
  readonly fault?: string | undefined;
  /** What is no longer as the console itself has read it. */
  readonly changed?: string | undefined;
  /** When the first record that this console has was made, in milliseconds since 1970, where there were others before it. */
  readonly begins?: number | undefined;
  /** Records that were archived, by folder; `log` is what they are read with there. */
  readonly archived?: readonly { readonly records: number; readonly folder: string; readonly log: string }[];
}

/** What a check of all logs found. */
export interface VerifiedLogs {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly found: readonly Verification[];
}

/** What a check of one log found; the chain is drawn from it. */
export interface Verification {
  readonly file: string;
  readonly ok: boolean;
  readonly records: number;
  readonly files: number;
  readonly checkpoints?: number | undefined;
  /** Which of the records they signed, counted from 1, the newest of them. */
  readonly signed?: readonly number[] | undefined;
  readonly badFile?: string | undefined;
  readonly firstBadLine?: number | undefined;
  /** Records that there are or were, as far as this console knows; where it is not all of `records`. */
  readonly total?: number | undefined;
  readonly reason?: string | undefined;
  readonly notes: readonly string[];
  /** The command that shows more. */
  readonly command: string;
}

export interface PolicyState {
  /** Absent: the built-in policy. */
  readonly file?: string | undefined;
  readonly hash: string;
  /** SHA-256 of the text, to be given back when it is saved. */
  readonly digest: string;
  readonly text: string;
  /** Names of its profiles. */
  readonly profiles: readonly string[];
  /** Calls that each line decided, by its number from 1: under this policy, or under another with the same rule. */
  readonly decided: Readonly<Record<number, { readonly allowed: number; readonly denied: number }>>;
  /** Since when all calls are counted; absent where there is none. */
  readonly since?: number | undefined;
  /** When the text was saved here, while the file is still that: then it can be undone. */
  readonly saved?: { readonly at: number } | undefined;
  readonly fault?: string | undefined;
}

export interface Explanation {
  readonly verdict: string;
  readonly steps: readonly {
    readonly about: string;
    readonly allowed: boolean;
    readonly reason: string;
    readonly rule: string;
    readonly line?: number | undefined;
  }[];
  readonly approval?: string | undefined;
}

/** What a changed policy would have decided otherwise. */
export interface Trial {
  /** Faults of the text, each with its place; empty when it can be used. */
  readonly faults: string;
  /** Calls that were tried, rate limits counted; and those that no policy can be asked about. */
  readonly calls: number;
  readonly untried: number;
  /** Older calls that this console has and that were not tried; and when the oldest that was tried was made. */
  readonly older: number;
  readonly since?: number | undefined;
  readonly changed: readonly {
    readonly row: CallRow;
    readonly before: string;
    readonly now: string;
    readonly rule: string;
  }[];
}

/** A kind of thing that a policy lets be reached, and what of it is denied. */
export interface ReachedKind {
  readonly kind: string;
  readonly reached: readonly string[];
  readonly denied: readonly string[];
}

/** A line of a log, with the call that this console read there. */
export interface LogRecordShown {
  readonly text: string;
  readonly call?: CallRow | undefined;
}

/** A record that is of no call: a start, a policy that was taken up, an answer that was taken back. */
export interface EventShown {
  /** Milliseconds since 1970; 0 where the record does not say. */
  readonly at: number;
  /** What it was about; empty where the record does not say. */
  readonly object: string;
  readonly text: string;
}

/** Every refusal: what happened, and what to do. */
export interface ApiFault {
  readonly error: string;
  readonly advice: string;
}
