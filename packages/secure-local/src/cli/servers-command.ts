// `mcp-secure-local servers`: other MCP servers behind this policy: added, looked at, approved, tried and taken away.
import { existsSync } from "node:fs";
import type { OfferedDefinitions } from "@secure-local/console/api";
import type { Offer } from "@secure-local/mcp/gateway";
import { readAtOnce } from "../audit/owned-files.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import type { Finding } from "@secure-local/inspection/finding";
import type { Change, Items } from "@secure-local/inspection/drift";
import { grantedPolicy } from "../policy/granted-policy.js";
import type { Policy, ServerGrant } from "../policy/policy.js";
import { serverReach } from "../server/server-reach.js";
import { APPROVED, filled, filledArguments, type Logins, openServer, PARENT, REACH } from "../server/open-server.js";
import { type LockedPlugin, type PluginLock, relocked, serverLockFile, writeLock } from "../server/plugin-lock.js";
import {
  approvedServers,
  offerInspection,
  reviewServer,
  serverItems,
  serverPeers,
  withoutSecrets,
} from "../server/server-reviews.js";
import { withheldText } from "../server/server-health.js";
import {
  dataNamed,
  isAsApproved,
  launchDigest,
  serverLaunch,
  takeLaunch,
  unpinnedOf,
} from "../server/server-launch.js";
import { type CommandLine, inUse, nearest, UsageError } from "./command-line.js";
import { editedPolicy } from "./edit-policy.js";
import {
  approvedAlone,
  approvesShown,
  asApproved,
  checkYes,
  definitionLines,
  differenceLines,
  digestOf,
  hardItems,
  isHeldBack,
  itemWords,
  offeredDefinitions,
  tellUnusedDigest,
  unfitItems,
} from "./offered-definitions.js";
import { type ServerState, serverStates, unnamedItems } from "./server-state.js";
import { namedServer, policyOf, restartOne, showLog, statesOf, stopOne, testServer } from "./servers-at-work.js";
import { whyNot } from "./why-not.js";
import { lateAudit } from "./open-audit.js";
import { clientTokensFile, pluginFolders, programVersion } from "./settings.js";
import {
  askInTerminal,
  clearProgress,
  complain,
  complainJson,
  ExitCode,
  print,
  printJson,
  showProgress,
  styled,
  tell,
} from "./terminal.js";
import { writeInPlace } from "./write-new-file.js";

type Action = (line: CommandLine) => Promise<number>;

const ACTIONS: Readonly<Record<string, Action>> = {
  list: listServers,
  show: showServer,
  add: addServer,
  import: importServers,
  review: reviewServers,
  remove: removeServer,
  test: testServer,
  login: logIn,
  logout: logOut,
  restart: restartOne,
  stop: stopOne,
  logs: showLog,
  run: runServer,
};

export async function serversCommand(line: CommandLine): Promise<number> {
  const [action = "list", ...words] = line.words;
  if (!Object.hasOwn(ACTIONS, action)) {
    const known = Object.keys(ACTIONS);
    throw new UsageError(`servers needs one of ${known.join(", ")}${nearest(action, known)}`);
  }
  if (action !== "add" && line.env.length + line.headers.length > 0)
    throw new UsageError(
      `servers ${action} takes no --env and no --header: what a server is given stands in its entry, as servers add writes it`,
    );
  return await ACTIONS[action]!({ ...line, words });
}

async function listServers(line: CommandLine): Promise<number> {
  if (line.words.length > 0)
    throw new UsageError(
      `servers list takes no "${line.words[0]}": it shows every server; one alone: servers show NAME`,
    );
  const { policy, file } = await policyOf(line);
  const approved = approvedServers(policy);
  const running = await statesOf(file);
  const listed = (await serverStates(policy, approved)).map((server) => ({
    ...server,
    running: running.flatMap(({ pid, servers }) =>
      servers
        .filter(({ name }) => name === server.name)
        .map(({ state, cause, remedy, note }) => ({
          pid,
          state,
          cause,
          remedy,
          ...(note === undefined ? {} : { note }),
        })),
    ),
  }));
  if (line.json) printJson(listed);
  else if (listed.length === 0)
    print(`The policy names no server; add one: mcp-secure-local servers add${inUse(line)} NAME -- COMMAND`);
  else for (const server of listed) printListed(server, line);
  return listed.every(isWell) ? ExitCode.Ok : ExitCode.Failed;
}

/** One without its secret does not start, and of one with something withheld not all is offered. */
function isWell({ state, note, withheld }: ServerState): boolean {
  return (state === "approved" && note === undefined && withheld === undefined) || state === "disabled";
}

function printListed(
  { name, state, tools, tokens, launch, note, withheld = {}, running = [] }: ServerState,
  line: CommandLine,
): void {
  const color = state === "approved" ? "green" : state === "disabled" ? "dim" : "yellow";
  const counted = state === "approved" ? `  ${tools} ${tools === 1 ? "tool" : "tools"}, about ${tokens} tokens` : "";
  print(`${styled("bold", name)}  ${styled(color, state)}${counted}`);
  print(styled("dim", `  ${cleanLine(typeof launch === "string" ? launch : launch.join(" "))}`));
  if (note !== undefined) print(`  ${cleanLine(note)}`);
  for (const each of running) {
    print(`  ${each.state} in process ${each.pid}${each.cause === "" ? "" : `: ${cleanLine(each.cause)}`}`);
    if (each.note !== undefined) print(`    ${cleanLine(each.note)}`);
    const command = each.remedy.startsWith("mcp-secure-local ") ? inUse(line) : "";
    if (each.remedy !== "") print(`    what to do: ${each.remedy}${command}`);
  }
  // What runs says what it withholds, and what to do.
  const reasons = running.length === 0 ? Object.values(withheld) : [];
  if (state === "approved" && reasons.length > 0)
    print(
      `  ${cleanLine(withheldText(reasons))}\n    what to do: mcp-secure-local servers review ${name}${inUse(line)}`,
    );
  if (state === "not approved" || state === "launch changed")
    print(`  look at what it offers, and approve it: mcp-secure-local servers review ${name}${inUse(line)}`);
}

async function showServer(line: CommandLine): Promise<number> {
  const { policy } = await policyOf(line);
  const grant = namedServer(policy, line.words, "show");
  const approved = approvedServers(policy).get(grant.name)?.approved ?? new Map<string, unknown>();
  if (line.json) {
    printJson(withoutSecrets(Object.fromEntries(approved)));
    return ExitCode.Ok;
  }
  for (const each of await serverStates(policy, approvedServers(policy)))
    if (each.name === grant.name) printListed(each, line);
  for (const each of definitionLines(approved)) print(each);
  return ExitCode.Ok;
}

/** What a server offers now beside what was approved of it. */
interface Looked {
  readonly name: string;
  readonly changes: readonly Change[];
  readonly findings: readonly Finding[];
  readonly withheld: ReadonlyMap<string, string>;
  readonly items: Items;
  /** As `dataNamed` has it. */
  readonly data: readonly string[];
  /** As `unnamedItems` has it. */
  readonly unnamed: readonly string[];
  /** What is withheld still once it is approved. */
  readonly afterwards: ReadonlyMap<string, string>;
  /** What of that no finding is about, each with its reason. */
  readonly unfit: readonly string[];
  /** What was approved; undefined where it never was. */
  readonly locked: LockedPlugin | undefined;
}

async function reviewServers(line: CommandLine): Promise<number> {
  checkYes(line, "servers review");
  return reviewed(line);
}

/** Starts each once, shows what is not as it was approved, and writes down what a person approves of what was shown. */
async function reviewed(line: CommandLine, given?: Review): Promise<number> {
  const review = given ?? (await lookAtAll(line));
  if (line.json) return reviewAsJson(line, review);
  const changed = review.looked.filter(({ changes }) => changes.length > 0);
  const { looked, failed, only } = review;
  const { askEach, overviewLines } = await import("./review-in-terminal.js");
  if (looked.length > 1) for (const each of overviewLines(looked)) print(each);
  const asks = process.stdin.isTTY && line.digest === undefined && !line.full;
  // The terminal shows each that changed before it asks about it; of the others, what stays withheld.
  const isShown = (each: Looked): boolean =>
    !asks || changed.length === 0 || (each.changes.length === 0 && isHeldBack(each));
  for (const each of looked.filter(isShown)) showLooked(each);
  if (changed.length === 0) tellUnusedDigest(line);
  if (changed.length === 0) return failed || staysWithheld(review) ? ExitCode.Failed : ExitCode.Ok;
  if (asks) {
    const agreed = await askInTerminal((ask) => askEach(looked, { ask, show: print, about: showFindings, only }));
    if (agreed.size === 0) return ExitCode.Failed;
    return finished(review, agreed);
  }
  if (!(await approvesShown(line, "servers review", looked.map(offeredOf)))) return ExitCode.Failed;
  return finished(review);
}

/** `agreed`: the servers that a person said yes to. Default: all that were looked at. */
function finished(review: Review, agreed?: ReadonlySet<string>): number {
  const { looked, only, failed } = review;
  const isAgreed = ({ name }: Looked): boolean => agreed?.has(name) ?? true;
  writeApproved({ ...review, looked: looked.filter(isAgreed) });
  print(`${serverLockFile(review.file)} is written: a running server takes it in a moment.`);
  const waits = looked.flatMap((each) => {
    const { name, changes } = isAgreed(each) ? asApproved(each, only) : each;
    return changes.map(({ item }) => `${name} ${item}`);
  });
  if (only.size > 0 && waits.length > 0) complain(`Not approved yet: ${itemWords(waits)}.`);
  const approved = looked.filter((each) => isAgreed(each) || each.changes.length === 0);
  return staysWithheld({ looked: approved }) || failed || waits.length > 0 ? ExitCode.Failed : ExitCode.Ok;
}

/** Whether anything of what was looked at stays withheld though it was approved; says what, and what a person can do. */
function staysWithheld({ looked }: Pick<Review, "looked">): boolean {
  const hard = hardItems({ looked });
  if (hard.length > 0)
    complain(
      `Withheld all the same, for the hard findings above: ${itemWords(hard)}. If you know better, name the finding under accept in the server's entry.`,
    );
  return looked.some(isHeldBack);
}

/** Nothing is approved by it but what a digest names. */
function reviewAsJson({ yes, digest }: CommandLine, review: Review): number {
  const written = yes && digest !== undefined && digestOf(review.looked.map(offeredOf)) === digest;
  if (written) writeApproved(review);
  const { only, failed } = review;
  const approved = (each: Looked): Looked => asApproved({ ...each, withheld: each.afterwards }, only);
  const looked = written ? review.looked.map(approved) : review.looked;
  printJson(withoutSecrets(looked.map(offeredOf)));
  const waits = looked.some(({ changes }) => changes.length > 0);
  return failed || waits || looked.some(isHeldBack) ? ExitCode.Failed : ExitCode.Ok;
}

function offeredOf(looked: Looked): OfferedDefinitions {
  return offeredDefinitions({ kind: "server", ...looked });
}

function writeApproved({ looked, policy, file, only }: Review): void {
  // Others may have approved something since these were looked at.
  const after = new Map(approvedServers(policy));
  for (const { name, changes, items } of looked)
    if (changes.some(({ item }) => only.size === 0 || only.has(item)))
      after.set(name, relocked(after.get(name), items, only));
  writeLock(serverLockFile(file), after);
}

interface Review {
  readonly looked: readonly Looked[];
  readonly failed: boolean;
  /** What is approved of them; empty: all that was shown. */
  readonly only: ReadonlySet<string>;
  readonly policy: Policy;
  /** The policy's. */
  readonly file: string;
}

/** Says of each that cannot be started why. */
async function lookAtAll(line: CommandLine): Promise<Review> {
  const { policy, file } = await policyOf(line);
  const wanted = line.words.length === 0 ? [...policy.servers.values()] : [namedServer(policy, line.words, "review")];
  const before = approvedServers(policy);
  const started: Started[] = [];
  let failed = false;
  for (const grant of wanted.filter(({ enabled }) => enabled)) {
    showProgress(`starting ${grant.name}`);
    try {
      started.push(await look(policy, grant, line));
    } catch (error) {
      failed = true;
      clearProgress();
      const message = `${grant.name} cannot be looked at: ${whyNot(error, grant)}`;
      if (line.json) complainJson({ error: { code: "UNREACHABLE", message, server: grant.name } });
      else complain(message);
    }
    clearProgress();
  }
  const only = new Set(line.only);
  const looked = await judged(started, { before, policy, inspected: await offerInspection(), only });
  return { looked, failed, only: approvedAlone(line, looked), policy, file };
}

/** What a server said of itself when it was started. */
interface Started {
  readonly grant: ServerGrant;
  readonly offer: Offer;
  readonly launch: unknown;
  readonly items: Items;
}

interface Beside {
  readonly before: PluginLock;
  readonly policy: Policy;
  readonly inspected: Awaited<ReturnType<typeof offerInspection>>;
  /** What a person wants to approve; empty: all. */
  readonly only: ReadonlySet<string>;
}

/** Each beside the others: those that were started as they are now, the rest as they were approved. */
async function judged(
  started: readonly Started[],
  { before, policy, inspected, only }: Beside,
): Promise<readonly Looked[]> {
  const beside = new Map<string, Items>();
  for (const [name, { approved }] of before) if (policy.servers.get(name)?.enabled === true) beside.set(name, approved);
  for (const { grant, items } of started) beside.set(grant.name, items);
  const looked = started.map(async ({ grant, offer, launch, items }): Promise<Looked> => {
    const { name } = grant;
    const found = inspected(name, offer, serverPeers(beside, name));
    const given = { locked: before.get(name), launch, found };
    const { changes, findings, withheld } = reviewServer(grant, offer, given);
    const unnamed = await unnamedItems(policy, name, items);
    const approved = { ...given, locked: relocked(given.locked, items, only) };
    const afterwards = reviewServer(grant, offer, approved).withheld;
    const after = { afterwards, unfit: unfitItems({ withheld: afterwards, findings }) };
    return {
      name,
      changes,
      findings,
      withheld,
      items,
      data: dataNamed(grant),
      unnamed,
      ...after,
      locked: given.locked,
    };
  });
  return Promise.all(looked);
}

/** Starts it, and reads what it offers. What its login asks for goes into the log of `line`; without it nobody logs in. */
export async function look(policy: Policy, grant: ServerGrant, line?: CommandLine): Promise<Started> {
  const { EVERYTHING_ASKABLE, readOffer } = await import("@secure-local/mcp/gateway");
  const identity = { name: "mcp-secure-local", version: programVersion() };
  const { askable } = await import("../server/server-questions.js");
  // It lists what it lists to those whom it may ask; here all is declined.
  const options = askable(grant, { ...EVERYTHING_ASKABLE, clientInfo: identity, validateOutput: "off" });
  await pin(grant);
  // What is looked at is what is approved: another program that takes its place meanwhile is not started.
  const launch = serverLaunch(grant);
  const audit = line && lateAudit(line, policy, complain);
  const given = { policy, program: process.argv[1] ?? "", launch, logins: pluginFolders().logins };
  try {
    const client = await openServer(grant, { ...given, record: audit?.record }, options);
    try {
      const offer: Offer = await readOffer(client);
      const approved = approvedServers(policy).get(grant.name)?.approved.get("launch");
      const shown = isAsApproved(grant, approved, launch) ? approved : launch;
      return { grant, offer, launch: shown, items: serverItems(offer, shown) };
    } finally {
      await client.close();
    }
  } finally {
    await audit?.close();
  }
}

/** Has a package that would be fetched at each start fetched once, and kept; again where what was kept is gone or was changed. */
async function pin({ name, launch }: ServerGrant): Promise<void> {
  const { isIntact, pinnedPackage, pinPackage, wantedPackage } = await import("../server/pinned-package.js");
  const wanted = launch.kind === "command" ? wantedPackage(launch.command) : undefined;
  const kept = wanted && pinnedPackage(wanted);
  if (wanted === undefined || (kept !== undefined && isIntact(wanted, kept))) return;
  showProgress(`fetching ${wanted.spec} for ${name}`);
  // Without it the start would ask the same registry again, for a minute, and say less.
  const { name: found, version, integrity } = await pinPackage(wanted);
  showProgress(`starting ${name}`);
  complain(`${name}: ${found}@${version} is kept from now on (${integrity}); none of its scripts was run`);
}

function showLooked({ name, changes, items, locked, ...more }: Looked): void {
  print(`${styled("bold", name)}${changes.length === 0 ? `  ${styled("green", "as it was approved")}` : ""}`);
  for (const each of differenceLines({ locked, items, changes })) print(each);
  showFindings({ items, ...more });
}

type About = Pick<Looked, "findings" | "items" | "data" | "unnamed" | "unfit">;

function showFindings({ findings, items, data, unnamed, unfit }: About): void {
  for (const what of unfit) print(`  ${styled("red", "withheld")}  ${cleanLine(what)}`);
  for (const what of [...unpinnedOf(items.get("launch")), ...data])
    print(`  ${styled("yellow", "not pinned")}  ${cleanLine(what)}: it can change without being approved again`);
  for (const what of unnamed) print(`  ${styled("yellow", "not named")}  ${cleanLine(what)}`);
  for (const { tier, id, kind, item, at, about, excerpt } of findings) {
    const word = tier === "hard" ? styled("red", "hard") : styled("yellow", "look");
    print(
      `  ${word}  ${id}  ${cleanLine(`${kind} ${item} ${at}`)}: ${about}\n    ${styled("dim", cleanLine(excerpt))}`,
    );
  }
}

/** `NAME -- COMMAND…` or `NAME URL`: writes the entry, starts it once and asks for approval. */
async function addServer(line: CommandLine): Promise<number> {
  const { policy, file } = await policyOf(line);
  const { after } = line;
  if (line.yes)
    throw new UsageError(
      "servers add takes no --yes: what a server offers is shown before it is approved; the review that follows says how",
    );
  const [name, url, ...more] = after === undefined ? line.words : line.words.slice(0, -after.length || undefined);
  const usage = "servers add needs a name and a command or URL, as in servers add notes -- npx -y NAME";
  if (name === undefined || more.length > 0 || (after === undefined) === (url === undefined))
    throw new UsageError(usage);
  if (policy.servers.has(name))
    throw new UsageError(
      `${file} has a server ${name} already; remove it first: mcp-secure-local servers remove ${name}${inUse(line)}`,
    );
  const { withServer } = await import("../policy/edit-servers.js");
  const { addedServer, keepSecret, printGranted, tellLeftData } = await import("./servers-import.js");
  const added = addedServer(name, after ?? url ?? "", { ...line, policy });
  const text = await editedPolicy(file, (before) => withServer(before, name, added.entry, added.secrets));
  for (const [path, value] of added.values) keepSecret(path, value);
  writeInPlace(file, text);
  if (!line.json) {
    print(`${file} names the server ${name} now, and allows ${name}__*.`);
    printGranted(added);
  }
  const shown = { ...line, words: [name], after: undefined };
  const review = await lookAtAll(shown);
  if (!line.json) tellLeftData(name, added.entry);
  if (review.failed && !line.json)
    complain(
      `Its entry stays in ${file}, and nothing of it is offered. Mend it there, then: mcp-secure-local servers review ${name}${inUse(line)}`,
    );
  return reviewed(shown, review);
}

/** Every server that the clients on this machine have, or those of one client or file. */
async function importServers(line: CommandLine): Promise<number> {
  const { policy, file } = await policyOf(line);
  const { importFrom } = await import("./servers-import.js");
  const [from, ...more] = line.words;
  if (more.length > 0) throw new UsageError("servers import takes one client or file, as in servers import cursor");
  const { yes, json } = line;
  const brought = await importFrom(from, { policy, file, yes, json });
  if (json && (brought === undefined || brought.names.length === 0)) {
    printJson({
      policy: file,
      written: brought !== undefined,
      servers: [],
      leftOut: brought?.leftOut ?? [],
      review: [],
    });
    return brought === undefined ? ExitCode.Failed : ExitCode.Ok;
  }
  if (brought === undefined) return ExitCode.Failed;
  if (brought.names.length === 0) return ExitCode.Ok;
  // What was agreed to is what the policy says of them, and nothing of what they offer.
  const all = { ...line, words: [], after: undefined, yes: false };
  if (!json) return reviewed(all);
  const { looked, failed } = await lookAtAll(all);
  const { servers, leftOut } = brought;
  printJson({ policy: file, written: true, servers, leftOut, review: withoutSecrets(looked.map(offeredOf)) });
  // As `servers review --json`: nothing is approved by it.
  return failed || looked.some(({ changes }) => changes.length > 0) ? ExitCode.Failed : ExitCode.Ok;
}

async function removeServer(line: CommandLine): Promise<number> {
  const { policy, file } = await policyOf(line);
  const { name } = namedServer(policy, line.words, "remove");
  const { profilesWith, withoutServer } = await import("../policy/edit-servers.js");
  const profiles = profilesWith(readAtOnce(file), name);
  writeInPlace(file, await editedPolicy(file, (text) => withoutServer(text, name)));
  const approved = new Map(approvedServers(policy));
  if (approved.delete(name)) writeLock(serverLockFile(file), approved);
  const secrets = secretsOf(policy, name);
  const kept =
    secrets.length === 0
      ? ""
      : `\nIts secrets stay until you delete them, in the section secrets and where they are kept: ${secrets.map((secret) => placeOfSecret(policy, secret)).join(", ")}`;
  const also =
    profiles.length === 0
      ? ""
      : ` It is taken out of ${profiles.length === 1 ? "the profile" : "the profiles"} ${profiles.join(", ")} too.`;
  tell(line, { removed: name, file, secrets, profiles }, `${file} no longer names the server ${name}.${also}${kept}`);
  return ExitCode.Ok;
}

function placeOfSecret({ secrets }: Policy, name: string): string {
  const from = secrets.get(name)?.from;
  if (from === undefined) return name;
  return `${name} (${from.kind === "file" ? from.path : `the variable ${from.name}`})`;
}

/** Secrets that no other server of the policy uses, each with the file it is in. */
function secretsOf({ servers, secrets }: Policy, name: string): string[] {
  const used = ({ launch, env, headers }: ServerGrant): string =>
    [...(launch.kind === "url" ? [] : launch.command), ...env.values(), ...headers.values()].join("\n");
  const mine = [...servers.values()].filter((each) => each.name === name).map(used);
  const others = [...servers.values()].filter((each) => each.name !== name).map(used);
  const names = (texts: readonly string[]): string[] =>
    texts.flatMap((text) => [...text.matchAll(/\$\{secret:([^}]+)\}/g)].map(([, secret]) => secret ?? ""));
  const elsewhere = new Set(names(others));
  return names(mine).filter((secret) => !elsewhere.has(secret) && secrets.has(secret));
}

/** Has a person authorize this program at a remote server; what its tokens are is kept for their owner alone. */
async function logIn(line: CommandLine): Promise<number> {
  const { policy } = await policyOf(line);
  const grant = await loginOf(policy, line, "login");
  const show = (url: string): void => complain(`Open this page to log in, if your browser has not: ${cleanLine(url)}`);
  const { personAuthorizer } = await import("@secure-local/mcp-tools/target");
  const logins: Logins = (url, fetch, secret) =>
    Promise.resolve(personAuthorizer(url, { tokensFile: clientTokensFile(), show, fetch, secret }));
  const options = { clientInfo: { name: "mcp-secure-local", version: programVersion() } };
  const { record, close } = lateAudit(line, policy, complain);
  try {
    const given = { policy, program: process.argv[1] ?? "", logins, record };
    await (await openServer(grant, given, options)).close();
  } finally {
    await close();
  }
  print(
    `${grant.name} is logged in; look at what it offers, and approve it: mcp-secure-local servers review ${grant.name}${inUse(line)}`,
  );
  return ExitCode.Ok;
}

async function logOut(line: CommandLine): Promise<number> {
  const { policy } = await policyOf(line);
  const { name, launch } = await loginOf(policy, line, "logout");
  const tokens = clientTokensFile();
  if (launch.kind === "url" && existsSync(tokens)) {
    const { tokenFile } = await import("@secure-local/mcp/auth/client/node");
    await tokenFile(tokens).exclusively(launch.url, (held) => held.write(undefined));
  }
  print(`${name} is logged out: its tokens are deleted here. The server itself may know them until they end.`);
  return ExitCode.Ok;
}

async function loginOf(policy: Policy, line: CommandLine, action: string): Promise<ServerGrant> {
  const grant = namedServer(policy, line.words, action);
  if (grant.login !== undefined) return grant;
  throw new UsageError(`servers.${grant.name} has no login; write login: oauth beside its url`);
}

/** Starts a server behind its wall; what it reads and writes passes as it is. */
async function runServer(line: CommandLine): Promise<number> {
  const { policy } = await policyOf(line);
  const grant = namedServer(policy, line.words, "run");
  const { launch, network, filesystem } = grant;
  if (launch.kind === "url")
    throw new UsageError(
      `${grant.name} is at ${launch.url}: there is nothing to start; to look at it: mcp-secure-local servers test ${grant.name}${inUse(line)}`,
    );
  const { executableOf, runErrand } = await import("./sandbox-command.js");
  const [program = ""] = launch.command;
  const { args, copies, launch: taken, program: kept = program } = takeLaunch(grant, pluginFolders().programs);
  const approved = process.env[APPROVED];
  const digest = launchDigest(taken);
  if (approved !== undefined && digest !== approved)
    throw new UsageError(
      `${grant.name} is not started: it is not as it was approved (launch was changed); look at it: mcp-secure-local servers review ${grant.name}${inUse(line)}`,
    );
  const reach = process.env[REACH];
  if (reach !== undefined && reach !== serverReach(policy, grant))
    throw new UsageError(`${grant.name} is not started: the policy was changed while it began; make the call again`);
  return runErrand(line, {
    executable: executableOf(kept),
    copies,
    args: filledArguments(policy, grant, args),
    env: filled(policy, grant, grant.env),
    folder: grant.workingDirectory ?? "/",
    // Two entries with one command line are two servers, with grants and secrets of their own.
    owner: ["server", grant.name, ...launch.command],
    policy: grantedPolicy(policy, { network, filesystem }),
    auditBy: policy,
    launch: digest,
    parent: Number(process.env[PARENT] ?? process.ppid),
    // With a parent of ours it serves a call or a review, and no person has typed it.
    ...(process.env[PARENT] === undefined
      ? { shown: process.stdout.isTTY ? ["stdout", "stderr"] : ["stderr"] }
      : { server: { name: grant.name, rule: grant.rule.text, line: grant.rule.line } }),
  });
}
