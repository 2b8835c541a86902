// Says what lies at a path of this machine, for those who review policies.
import { statSync } from "node:fs";
import type { PathKind } from "../policy/review-policy.js";

export function kindOfPath(path: string): PathKind {
  try {
    return statSync(path).isDirectory() ? "folder" : "file";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "nothing" : "unknown";
  }
}
