// The folders a client works in. They inform; they are not access control.
import type { Meta } from "../meta.js";

export interface Root {
  /** A `file://` URI. */
  uri: string;
  name?: string;
  _meta?: Meta;
}

export interface ListRootsResult {
  roots: Root[];
  _meta?: Meta;
}
