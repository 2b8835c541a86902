// Where servers that wait for a person's consent are found.
import { join } from "node:path";
import { stateFolder } from "../policy/own-places.js";

/** No tool may reach it: it lies in the program's own folder. */
export function approvalsFolder(environment: Readonly<Record<string, string | undefined>> = process.env): string {
  return join(stateFolder(environment), "approvals");
}
