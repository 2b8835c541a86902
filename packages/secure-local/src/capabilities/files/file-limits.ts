// How much one file operation may take.

/** Bytes read at once: more than a model can use, and a call's memory stays small. */
export const MAX_READ_BYTES: number = 8 * 1024 * 1024;
/** Bytes written at once; arguments of a call cannot be much longer. */
export const MAX_WRITE_BYTES: number = 8 * 1024 * 1024;
/** Entries of one listing. */
export const MAX_ENTRIES = 10_000;
/** Entries looked at by one walk through a tree. */
export const MAX_WALK_ENTRIES = 100_000;
/** Folders one inside the other that a walk enters. */
export const MAX_DEPTH = 64;
/** Files and folders watched at the same time, in the whole process: each costs the system a watch. */
export const MAX_WATCHES = 256;
/** Changes within this time are told once. */
export const WATCH_PAUSE_MS = 100;
