// Pieces of the schemas that file tools share.

/** A path as an argument. Everything else about it is judged when it is used. */
export function pathSchema(what: string): {
  readonly type: "string";
  readonly minLength: 1;
  readonly description: string;
} {
  return {
    type: "string",
    minLength: 1,
    description: `${what}: absolute, inside an allowed folder (e.g., '/home/me/project/notes.txt')`,
  };
}

export const PATH_OUT = { type: "string", description: "Absolute path, links resolved" } as const;
export const BYTES_OUT = { type: "integer", minimum: 0, description: "Size in bytes" } as const;
