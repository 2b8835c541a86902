// Asks before a server of a folder's configuration is started or reached (shows all it would do, remembers the answer),
// and `mcp-secure-local trust`.
import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { escapeUnseen } from "@secure-local/inspection/escape-unseen";
import { clientEnvironment } from "@secure-local/mcp-tools/config-locations";
import { type ConfiguredServer, findServer } from "@secure-local/mcp-tools/configured-servers";
import { LocalError } from "@secure-local/mcp/client/node";
import { expandServer } from "@secure-local/mcp/host";
import { makeFolder } from "../../audit/owned-files.js";
import { isSecretKey } from "../../audit/secret-shapes.js";
import { stateFolder } from "../../policy/own-places.js";
import { fromVscode, vscodeSandboxFault } from "../../policy/vscode-sandbox.js";
import { type CommandLine, UsageError } from "../command-line.js";
import { askYesNo, complain, complainJson, ExitCode, tell } from "../terminal.js";
import { isInteractive, questioner } from "./questioner.js";

/**
 * Digest of what this program itself was allowed to start, for the copy of itself that puts a server into its sandbox: that
 * one reads the file again, and starts nothing else. Never passed on to the server.
 */
export const TRUSTED = "MCP_SECURE_LOCAL_SANDBOX_TRUSTED";

const STORE = "trusted-servers.json";
/** More than anybody agrees to; the oldest are forgotten first. */
const MOST_KEPT = 1_000;
/** What that many take, several times over. */
const MOST_BYTES = 4 * 1024 * 1024;
/** Some screens full: what is longer hides in its own length. */
const MOST_SHOWN = 16_384;
const OWNER_ONLY = 0o600;
const WRITABLE_BY_OTHERS = 0o022;

/** What a person is shown, and what the answer is bound to. */
export interface UntrustedServer {
  readonly found: ConfiguredServer;
  /** SHA-256 of all the file says of the server, of where it stands, and of what its sandbox and variables lead to. */
  readonly digest: string;
  /** Everything, whole, in lines fit for a terminal. */
  readonly text: string;
  /** What is not below the file's folder and its sandbox could write to. */
  readonly wide: readonly string[];
}

/** Who answers: a person at the terminal, if one is there. */
export interface TrustPrompt {
  readonly isThere: () => boolean;
  readonly agrees: () => Promise<boolean>;
}

const TERMINAL: TrustPrompt = {
  isThere: isInteractive,
  agrees: () =>
    questioner((ask) => askYesNo(ask, "Do you allow exactly this, now and later?", false)).catch((error: unknown) => {
      // Whoever goes away has not agreed.
      if ((error as Error).name === "AbortError") return false;
      throw error;
    }),
};

/** Asks in a terminal, once for each content; anywhere else refuses with the command that allows it. */
export async function askForTrust(found: ConfiguredServer, asked: TrustPrompt = TERMINAL): Promise<void> {
  const strange = await untrustedServer(found);
  const { digest, text, wide } = strange;
  if (digest === process.env[TRUSTED] || trusted(digest)) return;
  // Whoever names a file that no client reads by itself has said which one; they see what it does.
  if (found.place.owner === "named" && wide.length === 0) return complain(text);
  if (!asked.isThere()) throw new LocalError("USAGE", `${text}\n\nNothing was started. ${howToAllow(strange)}`);
  complain(text);
  if (!(await asked.agrees())) throw new LocalError("USAGE", "nothing was started: you did not allow it");
  remember(strange);
}

/** Whether a server was allowed before; nobody is asked. */
export async function isTrusted(found: ConfiguredServer): Promise<boolean> {
  return found.place.owner === "user" || trusted((await untrustedServer(found)).digest);
}

/** For `trust`: `true` once it is allowed. With a digest nobody is asked, and another one is refused. */
export async function allow(
  found: ConfiguredServer,
  { digest, json = false }: { readonly digest?: string | undefined; readonly json?: boolean },
  asked: TrustPrompt = TERMINAL,
): Promise<boolean> {
  const strange = await untrustedServer(found);
  if (json) complainJson({ shown: strange.text });
  else complain(strange.text);
  if (digest !== undefined && digest !== strange.digest)
    throw new LocalError("USAGE", `that is not what ${digest} was given for: read it again. ${howToAllow(strange)}`);
  if (digest === undefined && !asked.isThere())
    throw new LocalError("USAGE", `nobody can be asked here. ${howToAllow(strange)}`);
  if (digest === undefined && !(await asked.agrees())) return false;
  remember(strange);
  return true;
}

function howToAllow({ found: { place, server }, digest }: UntrustedServer): string {
  const words = [server.name, digest, "--config", place.path].map(shellWord);
  return `To allow exactly this: mcp-secure-local trust ${words.join(" ")}`;
}

export async function untrustedServer(found: ConfiguredServer): Promise<UntrustedServer> {
  const { place, format, server, workspace, envFile } = found;
  const grants = sandboxGrants(found);
  const facts = [2, place.path, server.name, format, server.raw, workspace, envFile?.text, grants];
  const digest = createHash("sha256").update(JSON.stringify(facts)).digest("hex");
  const text = await textOf(found, grants, digest);
  if (text.length > MOST_SHOWN)
    throw new LocalError(
      "USAGE",
      `${place.path} says more of "${server.name}" than a person can read, so nothing was started; give its command after -- if you mean it`,
    );
  return { found, digest, text, wide: grants?.outside ?? [] };
}

async function textOf(found: ConfiguredServer, grants: Grants | undefined, digest: string): Promise<string> {
  const { place, server, workspace, envFile } = found;
  const { command, args, url, headers, env, cwd } = server;
  const { variables, inputs } = await takenFrom(found);
  const values = (record: Readonly<Record<string, string>>, mark: string): string[] =>
    Object.entries(record).map(([name, value]) => `${name}${mark}${hidesValue(name, value) ? "…" : value}`);
  const taken = variables.map((name) => (process.env[name] === undefined ? `${name} (not set)` : name));
  const rows: [string, readonly string[]][] = [
    ["starts", command === undefined ? [] : [[command, ...args].map(shellWord).join(" ")]],
    ["reaches", url === undefined ? [] : [url]],
    ["in", command === undefined ? [] : [cwd ?? workspace]],
    ["sets", values(env, "=")],
    ["sends", values(headers, ": ")],
    ["gets of your variables", taken],
    ["asks for", inputs],
    [
      "variables of",
      envFile === undefined ? [] : [`${envFile.path}: ${Object.keys(parseEnv(envFile.text)).join(", ")}`],
    ],
    ["sandbox", command === undefined ? [] : (grants?.lines ?? ["none: it can do all that you can"])],
    ["digest", [digest]],
  ];
  const whose = place.owner === "folder" ? "a folder's file, which may come from anybody" : "the file you named";
  const lines = rows.flatMap(([title, texts]) =>
    texts.map((text, at) => `  ${(at === 0 ? title : "").padEnd(22)}  ${oneLine(text)}`),
  );
  return [oneLine(`${place.path} (${whose}) has the server "${server.name}". It`), ...lines].join("\n");
}

/** Which variables of the environment the file would get, and what else it asks for: by the very code that fills them in. */
async function takenFrom({ server, format }: ConfiguredServer): Promise<{ variables: string[]; inputs: string[] }> {
  const variables = new Set<string>();
  const env = new Proxy<Record<string, string | undefined>>(
    {},
    {
      getOwnPropertyDescriptor(_target, name) {
        variables.add(String(name));
        return undefined;
      },
    },
  );
  const inputs: string[] = [];
  const input = (id: string): Promise<undefined> => {
    inputs.push(id);
    return Promise.resolve(undefined);
  };
  await expandServer(server, format, { env, userHome: "", workspaceFolder: "", input });
  return { variables: [...variables], inputs };
}

/** A value that stands in the file itself and may be a secret of its owner; what decides about code is always shown. */
function hidesValue(name: string, value: string): boolean {
  return isSecretKey(name) && !value.includes("$") && !value.includes("{");
}

interface Grants {
  readonly lines: readonly string[];
  /** Folders outside of the file's own that could be written to. */
  readonly outside: readonly string[];
}

/** What the file's own sandbox block allows, with what links lead to; undefined without a sandbox. */
function sandboxGrants({ server, format, workspace }: ConfiguredServer): Grants | undefined {
  const { sandboxEnabled, sandbox } = server.raw;
  if (format !== "servers" || sandboxEnabled !== true) return undefined;
  if (vscodeSandboxFault(sandbox, server.name, workspace) !== undefined)
    return { lines: ["its block makes no sense"], outside: [] };
  const { policy } = fromVscode(sandbox ?? {}, workspace);
  const { filesystem, network } = policy as {
    readonly filesystem: { readonly allowed_paths: readonly string[] };
    readonly network: { readonly allowed_endpoints: readonly { readonly host: string }[] };
  };
  const written = filesystem.allowed_paths.map((pattern) => ({ pattern, real: realRoot(pattern) }));
  const inside = realRoot(`${workspace}/**`);
  const outside = written.filter(({ pattern, real }) => !isWithin(pattern, workspace) || !isWithin(real, inside));
  const lines = [
    `reads ${workspace} and the system`,
    ...written.map((grant) => {
      const leads = grant.pattern.startsWith(grant.real) ? "" : `, which is ${grant.real}`;
      return `WRITES ${grant.pattern}${leads}${outside.includes(grant) ? " (NOT in its folder)" : ""}`;
    }),
    ...network.allowed_endpoints.map(({ host }) => `reaches ${host}`),
  ];
  return { lines, outside: outside.map(({ pattern }) => pattern) };
}

/** The folder a pattern begins with, where it really is. */
function realRoot(pattern: string): string {
  const [plain = ""] = pattern.split(/[*?[{]/, 1);
  const parts = plain.split("/");
  for (let length = parts.length; length > 1; length -= 1) {
    const path = parts.slice(0, length).join("/") || "/";
    try {
      return [fs.realpathSync(path), ...parts.slice(length)].join("/").replace(/\/+$/, "");
    } catch {
      // What does not exist yet is where its folder is.
    }
  }
  return plain;
}

function isWithin(path: string, folder: string): boolean {
  return !/(?:^|\/)\.\.(?:\/|$)/.test(path) && `${path}/`.startsWith(`${folder.replace(/\/+$/, "")}/`);
}

function oneLine(text: string): string {
  return escapeUnseen(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** As one word of a command that people copy, whatever is in it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${oneLine(word).replaceAll("'", "'\\''")}'`;
}

interface Kept {
  readonly digest: string;
  /** For people: which server, and since when. */
  readonly server: string;
  readonly file: string;
  readonly at: string;
}

function trusted(digest: string): boolean {
  return keptAnswers().some((kept) => kept.digest === digest);
}

/** None when the file is not one that only this user can have written. */
function keptAnswers(): readonly Kept[] {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  let descriptor: number;
  try {
    // Windows has no such flags, and "or" takes them for 0.
    descriptor = fs.openSync(join(stateFolder(), STORE), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return [];
  }
  try {
    const status = fs.fstatSync(descriptor);
    const others = process.platform !== "win32" && (status.mode & WRITABLE_BY_OTHERS) !== 0;
    const foreign = process.getuid !== undefined && status.uid !== process.getuid();
    if (!status.isFile() || others || foreign || status.size > MOST_BYTES) return [];
    const value = JSON.parse(fs.readFileSync(descriptor, "utf8")) as { readonly trusted?: unknown };
    const { trusted: list } = value;
    return Array.isArray(list)
      ? list.filter((each: Partial<Kept>): each is Kept => typeof each?.digest === "string")
      : [];
  } catch {
    return [];
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Written to a file of another name that takes the place of the old one, so that it is whole whatever happens. */
function remember({ found: { place, server }, digest }: UntrustedServer): void {
  const file = join(stateFolder(), STORE);
  const answer: Kept = { digest, server: server.name, file: place.path, at: new Date().toISOString() };
  const all = [...keptAnswers().filter((kept) => kept.digest !== digest), answer].slice(-MOST_KEPT);
  const draft = `${file}.${randomBytes(8).toString("hex")}`;
  try {
    makeFolder(dirname(file));
    fs.writeFileSync(draft, `${escapeUnseen(JSON.stringify({ version: 1, trusted: all }, null, 2))}\n`, {
      mode: OWNER_ONLY,
      flag: "wx",
    });
    fs.renameSync(draft, file);
  } catch (error) {
    fs.rmSync(draft, { force: true });
    throw new LocalError(
      "USAGE",
      `the answer cannot be kept in ${file} (${(error as Error).message}); make its folder writable, then answer again`,
    );
  }
}

// `mcp-secure-local trust NAME [DIGEST]`: allows a server of a folder's configuration, after showing all it would do.

export async function trustCommand(line: CommandLine): Promise<number> {
  const [name, digest, ...rest] = line.words;
  if (name === undefined || rest.length > 0)
    throw new UsageError("trust needs the name of a server, as in trust NAME, or trust NAME DIGEST --config FILE");
  const found = await findServer(name, { file: line.config, around: clientEnvironment() });
  const { path, owner } = found.place;
  if (owner === "user") {
    tell(
      line,
      { name, file: path, own: true },
      `"${name}" stands in ${path}, which is your own: nothing has to be allowed.`,
    );
    return ExitCode.Ok;
  }
  const allowed = await allow(found, { digest, json: line.json });
  if (!allowed) return ExitCode.Failed;
  tell(line, { name, file: path, allowed }, `Allowed, until ${path} says something else of it.`);
  return ExitCode.Ok;
}
