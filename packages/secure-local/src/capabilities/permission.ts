// How leave is asked for what a program wants to have done in the course of a call that it serves.

/** What is to be done for the call. */
export interface PermissionRequest {
  /** Who wants it, as rules name it: `plugin:weather`. */
  readonly actor: string;
  /** The tool that does the same for callers: its rate and its rules count. Absent where none does. */
  readonly tool?: string | undefined;
  readonly arguments: unknown;
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
