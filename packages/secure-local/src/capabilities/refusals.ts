// What tools need of `fetch`, `run` and `storage` without loading them: their errors, what is stored, and how leave is asked for.
/** Why there is no result. */
export type RunFailure =
  /** A rule refuses it. */
  | "denied"
  /** The executable is missing, or not the one the policy knows. */
  | "executable"
  /** There is no wall to run it behind. */
  | "no-wall"
  /** Too many run already. */
  | "busy"
  | "cancelled";

/** `message` is a sentence fit for the model and the user. */
export class RunError extends Error {
  override readonly name = "RunError";
  readonly code: RunFailure;
  /** The rule behind a refusal, for the audit record. */
  readonly rule: string | undefined;

  constructor(code: RunFailure, message: string, rule?: string) {
    super(message);
    this.code = code;
    this.rule = rule;
  }
}

// The error of a request that was refused or failed: what happened and to whom, never an address.

/** Why a request has no answer. */
export type FetchFailure =
  | "bad-url"
  | "denied"
  | "unresolvable"
  | "not-public"
  | "connect"
  | "redirect"
  | "too-large"
  | "encoding"
  | "timeout"
  | "cancelled"
  | "broken";

/** `message` is a sentence fit for the model and the user; it names hosts that the caller named, and classes of addresses. */
export class FetchError extends Error {
  readonly code: FetchFailure;
  /** The rule that refused, and its line, for the audit record; undefined when nothing was refused. */
  readonly rule: string | undefined;

  constructor(code: FetchFailure, message: string, rule?: string) {
    super(message);
    this.name = "FetchError";
    this.code = code;
    this.rule = rule;
  }
}

// How leave is asked for what a program wants to have done in the course of a call that it serves.

/** What is to be done for the call. */
export interface PermissionRequest {
  /** Who wants it, as rules name it: `plugin:weather`. */
  readonly actor: string;
  /** The tool that does the same for callers: its rate and its rules count. Absent where none does. */
  readonly tool?: string | undefined;
  readonly arguments: unknown;
  /** False: it is of the plugin's own keep, and nobody is asked; only for which call it is has to be known. */
  readonly asks?: boolean;
}

/** The call that something was done for, as the log names it. */
export interface ServedCall {
  readonly id?: string | number | undefined;
  readonly connection?: number | undefined;
  readonly principal?: string | undefined;
  readonly policy?: string | undefined;
}

/** That it may be done now, once; or why not, and by which rule. */
export type Permission = ServedCall | { readonly text: string; readonly rule: string };

// What a program may keep between its starts: values by key, bounded, of nobody else.

/** Anything JSON has. */
export type StoredValue =
  | null
  | boolean
  | number
  | string
  | readonly StoredValue[]
  | { readonly [key: string]: StoredValue };

export interface Storage {
  /** Undefined where nothing is kept under the key. */
  get(key: string): Promise<StoredValue | undefined>;
  /** Resolves when it is safe on disk. @throws StorageError when there is no room */
  set(key: string, value: StoredValue): Promise<void>;
  /** Resolves with whether there was something. */
  delete(key: string): Promise<boolean>;
  /** In order. */
  keys(): Promise<readonly string[]>;
}

/** `message` is a sentence for whoever wrote the program. */
export class StorageError extends Error {
  override readonly name = "StorageError";
}
