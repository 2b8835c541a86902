// Starts servers once as they would stand in the policy, before anything of theirs is written for good or taken from its place.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { makeFolder, readAtOnce } from "../audit/owned-files.js";
import { withServer } from "../policy/edit-servers.js";
import { loadPolicy } from "../policy/load-policy.js";
import { stateFolder } from "../policy/own-places.js";
import { approvedServers } from "../server/server-reviews.js";
import { look } from "./servers-command.js";
import { whyNot } from "./why-not.js";
import type { BroughtServer, ImportInto } from "./servers-import.js";
import { clearProgress, ExitCode, showProgress } from "./terminal.js";

/** Why each that does not come up does not, by its name. A remote one that asks for a login can be reached. */
export async function tryOut(all: readonly BroughtServer[], into: ImportInto): Promise<ReadonlyMap<string, string>> {
  const approved = approvedServers(into.policy);
  const tried = all.filter(({ name }) => !approved.has(name));
  const failed = new Map<string, string>();
  if (tried.length === 0) return failed;
  const draft = `${into.file}.${process.pid}.trial`;
  makeFolder(stateFolder());
  const secrets = mkdtempSync(join(stateFolder(), "trial-"));
  const clean = (): void => {
    rmSync(draft, { force: true });
    rmSync(secrets, { recursive: true, force: true });
  };
  const stop = (): void => process.exit(ExitCode.Interrupted);
  // However this ends, as by a reader that went away: no secret stays in two places.
  process.once("exit", clean);
  for (const signal of STOPS) process.once(signal, stop);
  try {
    writeFileSync(draft, trialText(all, into.file, secrets), { mode: 0o600, flag: "wx" });
    const policy = await loadPolicy(draft);
    for (const name of new Set(tried.map((each) => each.name))) {
      const grant = policy.servers.get(name);
      if (grant === undefined) continue;
      showProgress(`starting ${name}`);
      try {
        await look(policy, grant);
      } catch (error) {
        const { place } = tried.find((each) => each.name === name)!;
        if (!asksForLogin(error)) failed.set(name, whyNot(error, grant, place.path));
      } finally {
        clearProgress();
      }
    }
    return failed;
  } finally {
    for (const signal of STOPS) process.off(signal, stop);
    process.off("exit", clean);
    clean();
  }
}

const STOPS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

function asksForLogin(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && /^(?:UNAUTHORIZED|FORBIDDEN|AUTH_\w+)$/.test(code);
}

/** The policy as it would be, with the values of secrets in a folder that is gone when the trial is over. */
function trialText(all: readonly BroughtServer[], file: string, folder: string): string {
  let text = readAtOnce(file);
  for (const { name, already, entry, secrets, values } of all) {
    if (already) continue;
    for (const [path, value] of values) writeFileSync(join(folder, basename(path)), value, { mode: 0o600 });
    const here = Object.entries(secrets).map(([secret, { from, hosts }]) => {
      const kept = values.has(from.replace(/^file:/, ""));
      return [secret, { from: kept ? `file:${join(folder, basename(from))}` : from, hosts }] as const;
    });
    text = withServer(text, name, entry, Object.fromEntries(here));
  }
  return text;
}
