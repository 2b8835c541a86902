// How much one look into a git repository may take.

/** Bytes of one object, unpacked: what a file tool reads at once. */
export const MAX_OBJECT_BYTES: number = 8 * 1024 * 1024;
/** Bytes read and unpacked for one request: enough for a long chain of deltas, and the memory of a call stays small. */
export const MAX_WORK_BYTES: number = 64 * 1024 * 1024;
/** Deltas upon one object. git makes 50, and 250 when asked to be thorough. */
export const MAX_DELTAS = 256;
/** Packs looked into; git repacks by itself at 50. */
export const MAX_PACKS = 256;
/** Symbolic refs that lead to one another, as in git. */
export const MAX_REF_STEPS = 5;
/** Bytes of one loose ref. */
export const MAX_REF_BYTES = 4_096;
/** Refs that are listed. */
export const MAX_REFS = 10_000;
/** Tags around one commit: a tag may name a tag. */
export const MAX_TAGS = 8;
