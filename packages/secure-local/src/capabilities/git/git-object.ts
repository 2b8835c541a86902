// One object of a git repository: its kind and its content.

export type ObjectKind = "commit" | "tree" | "blob" | "tag";

export interface GitObject {
  readonly kind: ObjectKind;
  readonly bytes: Uint8Array;
}

/** By the number they have in packs. */
export const KIND_NUMBERS: ReadonlyMap<number, ObjectKind> = new Map([
  [1, "commit"],
  [2, "tree"],
  [3, "blob"],
  [4, "tag"],
]);
