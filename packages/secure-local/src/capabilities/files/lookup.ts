// What a way of finding files has to offer: the very thing behind a path, reached without following any link unseen.
import type { Stats } from "node:fs";

/** A folder everything is looked up from. */
export interface RootFolder {
  /** As the policy writes it. */
  readonly written: string;
  /** Free of links. */
  readonly real: string;
  /** A path under which this process reaches the folder. */
  readonly at: string;
  close(): void;
}

/** What was found. Valid until it is closed. */
export interface Found {
  /** Where it really is, free of links. */
  readonly path: string;
  readonly stats: Stats;
  /** A path under which this process reaches the very thing (where the system has no such path, its own). */
  readonly at: string;
  /** Throws `changed` unless the file open under this number is what was found. */
  confirm(fd: number): void;
  /** Whether it is still where it was found. */
  isCurrent(): boolean;
  close(): void;
}

/** A link on the way: the folder it stands in, what it says, and the names behind it. */
export interface LinkOnTheWay {
  readonly folder: string;
  readonly target: string;
  readonly rest: readonly string[];
}

/** Both methods reject with the system's own errors. */
export interface Lookup {
  /** Follows the links of `written`, as they are now. */
  openRoot(written: string): Promise<RootFolder>;
  /** What `names` lead to from a root. */
  find(root: RootFolder, names: readonly string[]): Promise<Found | LinkOnTheWay>;
}

export function isLink(what: Found | LinkOnTheWay): what is LinkOnTheWay {
  return "target" in what;
}
