// All of a policy that a server of it is started by, and held by while it runs, as one text: where that is another one, it is another server.
import { createHash } from "node:crypto";
import { canonicalJson } from "@secure-local/inspection/drift";
import { grantedPolicy, plainTerms, secretFiles } from "../policy/granted-policy.js";
import type { Policy, ServerGrant } from "../policy/policy.js";
import { secretsOf } from "../policy/read-servers.js";
import { startedFiles } from "../policy/started-files.js";

type Part = (policy: Policy, grant: ServerGrant) => unknown;

/** It is asked of the policy in force at each request, or is about nobody's server. */
const ASKED_LATER: Part = () => undefined;

/** Every section of a policy, so that a new one cannot be forgotten: what of it is in a server's sandbox, keeper, proxy and connections. */
const PARTS: Readonly<Record<keyof Policy, Part>> = {
  // A login goes where the section itself allows, beside what the entry does.
  network: (policy, grant) => [
    grantedPolicy(policy, grant).network,
    grant.launch.kind === "url" ? policy.network : undefined,
  ],
  filesystem: (policy, grant) => grantedPolicy(policy, grant).filesystem,
  sandbox: ({ sandbox }) => sandbox,
  servers: (_policy, grant) => grant,
  secrets: ({ secrets }, grant) => [
    secretsOf(grant).map((name) => secrets.get(name)),
    seesFiles(grant) ? secretFiles(secrets) : undefined,
  ],
  // What else the policy starts is written by none that it starts.
  started: (policy, grant) => (writesFiles(grant) ? startedFiles(policy) : undefined),
  commands: ASKED_LATER,
  plugins: ASKED_LATER,
  // The program's own files are seen by nobody.
  audit: ({ audit }, grant) => (seesFiles(grant) ? [audit.logFile, audit.checkpoints?.file] : undefined),
  file: ({ file }) => file,
  version: ASKED_LATER,
  hash: ASKED_LATER,
  revision: ASKED_LATER,
  presets: ASKED_LATER,
  tools: ASKED_LATER,
  resources: ASKED_LATER,
  prompts: ASKED_LATER,
  approvals: ASKED_LATER,
  databases: ASKED_LATER,
  profiles: ASKED_LATER,
  profile: ASKED_LATER,
  menu: ASKED_LATER,
  output: ASKED_LATER,
  whole: ASKED_LATER,
  lines: ASKED_LATER,
};

function seesFiles({ filesystem: { allowed, readable } }: ServerGrant): boolean {
  return allowed.rules.length + readable.rules.length > 0;
}

function writesFiles({ filesystem: { allowed } }: ServerGrant): boolean {
  return allowed.rules.length > 0;
}

/** A profile narrows who is shown what, and nothing of how a server is held: all of its parts give the same text. */
export function serverReach(policy: Policy, grant: ServerGrant): string {
  const whole = policy.whole ?? policy;
  const parts = Object.entries(PARTS).map(([section, part]) => [section, part(whole, grant)]);
  return createHash("sha256")
    .update(canonicalJson(plainTerms(Object.fromEntries(parts))))
    .digest("hex");
}

/** A changed entry is another server: it is judged, mounted and started anew. */
export function sameGrant(now: ServerGrant | undefined, before: ServerGrant): boolean {
  return now !== undefined && canonicalJson(plainTerms(now)) === canonicalJson(plainTerms(before));
}
