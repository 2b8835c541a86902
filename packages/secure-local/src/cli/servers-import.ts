// Brings the servers that clients are told of under the policy: each with what it has to read, and its secrets out of the file.
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { redactString } from "../audit/redact.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { type SecretEntry, type ServerEntry, withServer } from "../policy/edit-servers.js";
import { configFolder } from "../policy/own-places.js";
import { parsePolicy } from "../policy/parse-policy.js";
import type { Policy } from "../policy/policy.js";
import { clientEnvironment, type ConfigLocation } from "../remote/config-locations.js";
import { type ConfiguredServer, everyServer, targetFor } from "../remote/configured-servers.js";
import { learnSecret } from "../server/remember-secrets.js";
import type { Target } from "../remote/target.js";
import { PACKAGE, SERVER, clientNamed } from "./client-files.js";
import { UsageError } from "./command-line.js";
import { askInTerminal, askYesNo, complain, print, styled } from "./terminal.js";
import { writeNewFile } from "./write-new-file.js";

/** A server as it will stand in the policy. */
interface Imported {
  readonly name: string;
  /** Its name in the client's file. */
  readonly was: string;
  readonly place: ConfigLocation;
  /** The policy, or another client, has it. */
  readonly already: boolean;
  readonly entry: ServerEntry;
  readonly secrets: Readonly<Record<string, SecretEntry>>;
  /** Values that are to be kept in files of our own, by the file. */
  readonly values: ReadonlyMap<string, string>;
}

interface Into {
  readonly policy: Policy;
  readonly file: string;
  readonly yes: boolean;
  /** Nothing is printed and nobody is asked: without `yes` nothing is written. */
  readonly json: boolean;
}

/** What came under the policy. */
interface Brought {
  /** The names that all of them have in the client's file, those that the policy had among them. */
  readonly names: readonly string[];
  /** Those that are new, as `--json` shows them. */
  readonly servers: readonly {
    readonly name: string;
    readonly client: string;
    readonly launch: string;
    readonly reads: readonly string[];
    readonly secrets: readonly string[];
  }[];
  /** What stays where it is, each with the reason. */
  readonly leftOut: readonly string[];
}

/**
 * Writes the servers of a client, a file or everything on this machine into the policy. @returns undefined where a person did not
 * agree. @throws UsageError for a client nobody knows, PolicyError
 */
export async function importFrom(from: string | undefined, into: Into): Promise<Brought | undefined> {
  const leftOut: string[] = [];
  const all = await serversToImport(from, into.policy, leftOut);
  if (!into.json) for (const each of leftOut) complain(each);
  const found = all.filter(({ already }) => !already);
  const names = all.map(({ was }) => was);
  if (found.length === 0) {
    if (!into.json) print("There is no server to bring under the policy that it does not have.");
    return { names, servers: [], leftOut };
  }
  for (const each of found) {
    for (const [path, value] of each.values) learnSecret(basename(path), value);
    if (!into.json) printImported(each);
  }
  if (
    !(await agreed(
      into,
      `Write ${found.length === 1 ? "this server" : `these ${found.length} servers`} into ${into.file}?`,
    ))
  )
    return undefined;
  let text = readFileSync(into.file, "utf8");
  for (const { name, entry, secrets } of found) text = withServer(text, name, entry, secrets);
  // What cannot be read again is not written, and no secret without what names it.
  await parsePolicy(text, { file: into.file });
  for (const { values } of found) for (const [path, value] of values) keepSecret(path, value);
  writeFileSync(into.file, text);
  if (!into.json) print(`${into.file} names ${found.map(({ name }) => name).join(", ")} now.`);
  const servers = found.map(({ name, place, entry, secrets }) => ({
    name,
    client: place.client,
    launch: launchText(entry),
    reads: entry.filesystem?.readable_paths ?? [],
    secrets: Object.keys(secrets),
  }));
  return { names, servers, leftOut };
}

async function agreed({ yes, json }: Into, question: string): Promise<boolean> {
  if (yes) return true;
  if (json) return false;
  if (process.stdin.isTTY) return askInTerminal((ask) => askYesNo(ask, question, false));
  complain("Nothing is written: read what stands above, then run it again with --yes.");
  return false;
}

async function serversToImport(from: string | undefined, policy: Policy, leftOut: string[]): Promise<Imported[]> {
  const around = clientEnvironment();
  const client = from === undefined ? undefined : clientNamed(from);
  if (from !== undefined && client === undefined && !existsSync(from))
    throw new UsageError(`there is neither a client nor a file "${from}"; name one, as in servers import cursor`);
  const listed = await everyServer({ file: client === undefined ? from : undefined, around });
  const taken = new Set([...policy.servers.keys(), ...policy.plugins.load.keys()]);
  const imported: Imported[] = [];
  for (const { name, place, found, problem } of listed) {
    // What a folder's file names comes from anybody: whoever means it names the file.
    if (client !== undefined ? place.client !== client : from === undefined && place.owner !== "user") continue;
    if (found === undefined)
      leftOut.push(`${place.path}: "${cleanLine(name)}" is left out: ${cleanLine(problem ?? "")}`);
    else if (isOurs(found)) continue;
    else if (found.server.disabled)
      leftOut.push(`"${cleanLine(name)}" of ${place.client} is left out: it is disabled there`);
    else imported.push(await importedServer(found, { taken, policy, imported }));
  }
  return imported;
}

function isOurs({ server }: ConfiguredServer): boolean {
  return (
    server.name === SERVER || [server.command ?? "", ...server.args].some((each) => basename(each).startsWith(PACKAGE))
  );
}

interface Around {
  readonly taken: Set<string>;
  readonly policy: Policy;
  readonly imported: readonly Imported[];
}

async function importedServer(found: ConfiguredServer, { taken, policy, imported }: Around): Promise<Imported> {
  const { server, place } = found;
  const target = await targetFor(found, { consent: () => Promise.resolve() });
  const before = nameOfSame(found, target, { policy, imported });
  const name = before ?? freeName(server.name, taken);
  taken.add(name);
  const hosts = target.kind === "url" ? [hostOf(target.url)] : [];
  const secrets = new Secrets(name, hosts, found);
  const about = { name, was: server.name, place, already: before !== undefined };
  if (target.kind === "url") {
    const headers = secrets.outOf(target.headers, server.headers);
    const entry = { url: target.url, headers: some(headers) };
    return { ...about, entry, secrets: secrets.entries, values: secrets.values };
  }
  const { command, args, env, cwd } = target;
  const entry = {
    command: [command, ...secrets.outOfArguments(args)],
    working_directory: cwd,
    env: some(secrets.outOf(env, server.env)),
    filesystem: readable(args, cwd),
    network: fetched(command),
  };
  return { ...about, entry, secrets: secrets.entries, values: secrets.values };
}

/** The name of the very same server, which the policy has, or another client had. */
function nameOfSame(
  found: ConfiguredServer,
  target: Target,
  { policy, imported }: Pick<Around, "policy" | "imported">,
): string | undefined {
  const known = [
    ...[...policy.servers.values()].map(({ name, launch }) =>
      launch.kind === "url" ? { name, url: launch.url } : { name, command: launch.command },
    ),
    ...imported.map(({ name, entry }) => ({ name, url: entry.url, command: entry.command })),
  ];
  return known.find(({ name, ...launch }) => {
    if (target.kind === "url") return "url" in launch && launch.url === target.url;
    const args = new Secrets(name, [], found).outOfArguments(target.args);
    return "command" in launch && JSON.stringify(launch.command) === JSON.stringify([target.command, ...args]);
  })?.name;
}

function some(values: Readonly<Record<string, string>>): Readonly<Record<string, string>> | undefined {
  return Object.keys(values).length === 0 ? undefined : values;
}

/** As the policy wants names of servers, and not one that is there. */
function freeName(given: string, taken: ReadonlySet<string>): string {
  const letters = given.replace(/[^A-Za-z0-9-]+/g, "_").replace(/^[^A-Za-z]+|_+$/g, "");
  const name = (letters === "" ? "server" : letters).slice(0, 28);
  for (let count = 1; ; count++) {
    const free = count === 1 ? name : `${name}-${count}`;
    if (!taken.has(free)) return free;
  }
}

function hostOf(url: string): SecretEntry["hosts"][number] {
  const { hostname, port, protocol } = new URL(url);
  const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
  return number === 443 ? hostname : { host: hostname, ports: [number] };
}

/** Folders above which a whole package is not looked for. */
const LEVELS = 8;

/** What it was started with is what it has to read: a program with its package, a folder that it is told of. */
function readable(args: readonly string[], cwd: string | undefined): ServerEntry["filesystem"] {
  const paths = args.flatMap((arg) => {
    const path = resolve(cwd ?? "/", arg.replace(/^~(?=\/)/, homedir()));
    if (!/[/\\]/.test(arg) || arg.startsWith("-")) return [];
    const status = statSync(path, { throwIfNoEntry: false });
    if (status === undefined) return [];
    return [status.isDirectory() ? `${path}/**` : packageOf(path)];
  });
  return paths.length === 0 ? undefined : { readable_paths: [...new Set(paths)] };
}

function packageOf(file: string): string {
  let folder = dirname(file);
  for (let level = 0; level < LEVELS && folder !== homedir() && dirname(folder) !== folder; level++) {
    const modules = basename(dirname(folder)) === "node_modules" ? dirname(folder) : undefined;
    if (existsSync(join(folder, "package.json"))) return `${modules ?? folder}/**`;
    folder = dirname(folder);
  }
  return file;
}

/** Programs that fetch what they run. */
const REGISTRIES: Readonly<Record<string, readonly string[]>> = {
  npx: ["registry.npmjs.org"],
  uvx: ["pypi.org", "files.pythonhosted.org"],
};

function fetched(command: string): ServerEntry["network"] {
  const hosts = REGISTRIES[basename(command).replace(/\.(?:cmd|exe)$/i, "")];
  return hosts && { allowed_endpoints: hosts.map((host) => ({ host })) };
}

const SECRET_NAME = /token|secret|passw|api[-_]?key|auth|credential|cookie|bearer|private|(?:^|[-_])(?:key|pat|pwd)$/i;
/** A variable of a client's file that stands for one of the environment. */
const VARIABLE = /^(?:\$\{(?:env:)?([A-Za-z_]\w*)\}|\{env:([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*))$/;

/** Takes the secrets out of one server's variables, headers and arguments. */
class Secrets {
  readonly entries: Record<string, SecretEntry> = {};
  readonly values = new Map<string, string>();
  readonly #server: string;
  readonly #hosts: SecretEntry["hosts"];
  readonly #format: string;

  constructor(server: string, hosts: SecretEntry["hosts"], { format }: ConfiguredServer) {
    this.#server = server;
    this.#hosts = hosts;
    this.#format = format;
  }

  outOf(
    values: Readonly<Record<string, string>>,
    written: Readonly<Record<string, string>>,
  ): Readonly<Record<string, string>> {
    return Object.fromEntries(
      Object.entries(values).map(([key, value]) => {
        const variable =
          this.#format === "zed"
            ? undefined
            : VARIABLE.exec(written[key] ?? "")
                ?.slice(1)
                .find(Boolean);
        if (variable !== undefined) return [key, this.#named(key, `env:${variable}`)];
        return [key, value !== "" && (SECRET_NAME.test(key) || isSecret(value)) ? this.#kept(key, value) : value];
      }),
    );
  }

  outOfArguments(args: readonly string[]): string[] {
    return args.map((arg, at) => {
      const [, flag, value] = /^(--?[\w-]+=)(.+)$/s.exec(arg) ?? [];
      if (flag !== undefined && value !== undefined && (SECRET_NAME.test(flag.slice(0, -1)) || isSecret(value)))
        return flag + this.#kept(flag.replace(/^-+|=$/g, ""), value);
      const before = args[at - 1] ?? "";
      const follows = /^--?[\w-]+$/.test(before) && SECRET_NAME.test(before) && !arg.startsWith("-");
      if (follows || isSecret(arg)) return this.#kept(follows ? before.replace(/^-+/, "") : `argument-${at + 1}`, arg);
      return arg;
    });
  }

  #kept(key: string, value: string): string {
    const path = join(configFolder(), "secrets", this.#nameOf(key));
    this.values.set(path, value);
    return this.#named(key, `file:${path}`);
  }

  #named(key: string, from: string): string {
    const name = this.#nameOf(key);
    this.entries[name] = { from, hosts: this.#hosts };
    return `\${secret:${name}}`;
  }

  #nameOf(key: string): string {
    return `${this.#server}_${key}`.toLowerCase().replace(/[^a-z0-9]+/g, "_");
  }
}

/** A text of a form that only keys and tokens have. */
function isSecret(value: string): boolean {
  return redactString(value) !== value;
}

/** One that is there already is the same secret of another client, or an older one: the newest counts. */
function keepSecret(path: string, value: string): void {
  const fault = writeNewFile(path, value, true);
  if (fault !== undefined) throw new UsageError(fault);
}

function printImported({ name, place, entry, secrets }: Imported): void {
  print(`${styled("bold", name)}  ${styled("dim", `from ${place.client}`)}`);
  print(`  ${launchText(entry)}`);
  for (const path of entry.filesystem?.readable_paths ?? []) print(`  may read ${cleanLine(path)}`);
  if (entry.command !== undefined)
    print(`  may change no file; allow folders in the policy: servers.${name}.filesystem.allowed_paths`);
  for (const { host } of entry.network?.allowed_endpoints ?? []) print(`  may reach ${host}, to fetch itself`);
  for (const [secret, { from }] of Object.entries(secrets)) print(`  secret ${secret}, from ${cleanLine(from)}`);
}

/** Fit to be shown: the values of secrets that were learned are not in it. */
function launchText({ url, command = [] }: ServerEntry): string {
  return cleanLine(redactString(url ?? command.join(" ")));
}
