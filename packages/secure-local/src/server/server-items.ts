// Takes what a mounted server offers apart into the items that are inspected and approved one by one, and puts it together again.
import { createHash } from "node:crypto";
import { accessSync, constants, readFileSync, realpathSync, statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import type { Offer } from "@secure-local/mcp/gateway";
import type { Items } from "../inspection/drift.js";
import type { Offering, RawItem } from "../inspection/finding.js";
import type { ServerGrant } from "../policy/policy.js";

/** Kinds of items whose lists a server has, and the key that names each. */
const LISTS = [
  ["tool", "tools", "name"],
  ["prompt", "prompts", "name"],
  ["resource", "resources", "uri"],
  ["template", "resourceTemplates", "uriTemplate"],
] as const;

/** A file of this length is a program; a longer argument is data that changes. */
const MAX_HASHED_BYTES = 256 * 1024 * 1024;

/** All that a person approves of a server: each item whole, what it says of itself, and how it is started. */
export function serverItems(offer: Offer, launch: unknown): Items {
  const items = new Map<string, unknown>([
    ["launch", launch],
    ["server", { capabilities: offer.capabilities, instructions: offer.instructions }],
  ]);
  for (const [kind, member, key] of LISTS) {
    for (const item of offer[member]) items.set(`${kind} ${String((item as unknown as RawItem)[key])}`, item);
  }
  return items;
}

/** What was approved, as it is offered: nothing has to be started for it. */
export function approvedOffer(approved: Items): Offer {
  const { capabilities = {}, instructions } = (approved.get("server") ?? {}) as Partial<Offer>;
  const listed = (kind: string): unknown[] =>
    [...approved].flatMap(([name, item]) => (name.startsWith(`${kind} `) ? [item] : []));
  return {
    tools: listed("tool") as Offer["tools"],
    prompts: listed("prompt") as Offer["prompts"],
    resources: listed("resource") as Offer["resources"],
    resourceTemplates: listed("template") as Offer["resourceTemplates"],
    capabilities,
    instructions,
    hints: { ttlMs: 0, cacheScope: "private" },
  };
}

/** As an inspection reads it. */
export function serverOffering(server: string, offer: Offer): Offering {
  const raw = (items: readonly object[]): readonly RawItem[] => items as readonly RawItem[];
  return {
    server,
    instructions: offer.instructions,
    tools: raw(offer.tools),
    prompts: raw(offer.prompts),
    resources: raw(offer.resources),
    resourceTemplates: raw(offer.resourceTemplates),
  };
}

/**
 * How a server is started, as it is approved: a program by its bytes, with the bytes of the arguments that are files; a remote
 * one by its address. Values of variables and headers are left out: they may be secrets.
 */
export function serverLaunch({ launch, env, headers }: ServerGrant): unknown {
  if (launch.kind === "url") return { url: launch.url, headers: [...headers.keys()].sort() };
  const [program = "", ...args] = launch.command;
  const executable = programFile(program);
  return {
    command: launch.command,
    executable: executable === undefined ? undefined : { path: executable, sha256: hashOf(executable) },
    files: Object.fromEntries(args.flatMap((arg) => fileHash(arg))),
    env: [...env.keys()].sort(),
  };
}

/** A path, or the first of that name in the folders of PATH; undefined where there is none. */
function programFile(program: string): string | undefined {
  const folders = program.includes("/")
    ? []
    : (process.env["PATH"] ?? "").split(delimiter).filter((each) => each !== "");
  const places = program.includes("/") ? [resolve(program)] : folders.map((folder) => join(folder, program));
  return places.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
}

function fileHash(argument: string): [string, string][] {
  if (!/[/\\.]/.test(argument)) return [];
  try {
    return statSync(argument).isFile() ? [[argument, hashOf(argument)]] : [];
  } catch {
    return [];
  }
}

/** Hashes of files that are as they were: a runtime has a hundred megabytes, and is looked at before each start. */
const HASHES = new Map<string, { readonly as: string; readonly hash: string }>();
/** Files of all servers of a policy; more are hashed again. */
const MOST_HASHES = 1_024;

function hashOf(path: string): string {
  const real = realpathSync(path);
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(real, { bigint: true });
  if (size > MAX_HASHED_BYTES) return "too long to be hashed";
  const as = [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  const known = HASHES.get(real);
  if (known?.as === as) return known.hash;
  const hash = createHash("sha256").update(readFileSync(real)).digest("hex");
  if (HASHES.size >= MOST_HASHES) HASHES.clear();
  HASHES.set(real, { as, hash });
  return hash;
}
