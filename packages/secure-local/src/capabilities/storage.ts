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
