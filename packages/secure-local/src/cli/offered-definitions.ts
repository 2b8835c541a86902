// What a plugin or a server offers now beside what was approved of it: every item whole and place by place, with a digest of it all.
import { createHash } from "node:crypto";
import type {
  ChangedFile,
  ChangedFiles,
  ChangedLine,
  OfferedDefinitions,
  OfferedItem,
} from "@secure-local/console/api";
import { canonicalJson, type Change, type Items } from "@secure-local/inspection/drift";
import type { Finding } from "@secure-local/inspection/finding";
import { replaceKnown } from "../audit/secret-shapes.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { lookAlikes, quoted, shownMember, unquoted } from "../guard/approvals/shown-call.js";
import { changesOf, type LockedPlugin, relocked } from "../server/plugin-lock.js";
import { CHANGED } from "../server/server-health.js";
import { isMissing } from "../server/server-reviews.js";
import { type CommandLine, inUse, UsageError } from "./command-line.js";
import { refusedAt } from "./refused-definitions.js";
import { agreesInTerminal, complain, styled } from "./terminal.js";

/** Deeper parts of a definition are one place: a person reads no tree of more levels. */
const MAX_DEPTH = 24;

/** One plugin or server, compared. */
export interface ComparedOffer {
  readonly kind: OfferedDefinitions["kind"];
  readonly name: string;
  /** What was approved; undefined where it never was. */
  readonly locked: LockedPlugin | undefined;
  /** What is offered, and `launch`. */
  readonly items: Items;
  readonly changes: readonly Change[];
  readonly findings: readonly Finding[];
  readonly withheld: ReadonlyMap<string, string>;
  /** Files of its program that are not as they were approved, where its content changed. */
  readonly files?: ChangedFiles | undefined;
}

export function offeredDefinitions(of: ComparedOffer): OfferedDefinitions {
  const { kind, name, locked, items, changes, findings, withheld } = of;
  const shown = {
    kind,
    name,
    findings,
    changes,
    withheld: Object.fromEntries(withheld),
    items: [...new Set([...changes.map(({ item }) => item), ...items.keys()])].map((item) => offeredItem(item, of)),
  };
  // Of the definitions themselves: texts of theirs are cut before they are shown.
  const whole = { ...shown, items: Object.fromEntries(items), before: Object.fromEntries(locked?.approved ?? []) };
  const digest = createHash("sha256").update(canonicalJson(whole)).digest("hex");
  const approved = locked !== undefined && changes.length === 0;
  const refused = approved ? undefined : (refusedAt(digest) ?? allRefusedAt(shown.items));
  return { ...shown, digest, approved, ...(refused === undefined ? {} : { refused }) };
}

/** When the last of all that differs was refused, where each was by itself. */
function allRefusedAt(items: readonly OfferedItem[]): string | undefined {
  const dates = items.filter(({ kind }) => kind !== "same").map(({ refused }) => refused);
  return dates.every((date) => date !== undefined) ? dates.sort().at(-1) : undefined;
}

/** The same offer once it is approved, or `only` these items of it. */
export function asApproved<Offer extends Pick<ComparedOffer, "locked" | "items" | "changes" | "withheld">>(
  offer: Offer,
  only: ReadonlySet<string>,
): Offer {
  const { items, withheld } = offer;
  const locked = relocked(offer.locked, items, only);
  const changes = changesOf(locked, items, items.get("launch"));
  // A change of the whole stands against all of it.
  const isWhole = changes.some(({ item }) => WHOLE.has(item));
  const stays = ([item, reason]: readonly [string, string]): boolean =>
    isWhole || changes.some((change) => change.item === item) || !reason.includes("not as it was approved");
  return { ...offer, locked, changes, withheld: new Map([...withheld].filter(stays)) };
}

const WHOLE: ReadonlySet<string> = new Set(["launch", "plugin", "server"]);

/** What is to be approved of offers alone; empty: all. @throws UsageError for what is not among the changes, or among those of several */
export function approvedAlone(
  { only }: Pick<CommandLine, "only">,
  offers: readonly Pick<ComparedOffer, "name" | "changes">[],
): ReadonlySet<string> {
  for (const wanted of only) {
    const owners = offers.filter(({ changes }) => changes.some(({ item }) => item === wanted)).map(({ name }) => name);
    const option = `--only ${JSON.stringify(wanted)}`;
    if (owners.length > 1)
      throw new UsageError(
        `${option}: ${owners.join(" and ")} have that, and an approval is of one; name it, as in ${owners[0]} ${option}`,
      );
    const waiting = itemWords(new Set(offers.flatMap(({ changes }) => changes.map(({ item }) => item))));
    if (owners.length === 0)
      throw new UsageError(
        `${option}: that waits for no approval; name what does, or leave the option out: ${waiting || "nothing does"}`,
      );
  }
  return new Set(only);
}

/** Items in a line of ours: one whose name looks like several is quoted. */
export function itemWords(items: Iterable<string>): string {
  return cleanLine([...items].map((item) => (/[,;"]/.test(item) ? JSON.stringify(item) : item)).join(", "));
}

/** What no approval opens. */
export function hardItems({
  looked,
}: {
  readonly looked: readonly Pick<ComparedOffer, "name" | "findings">[];
}): readonly string[] {
  const hard = looked.flatMap(({ name, findings }) =>
    // What it says of itself is found in no thing of its own.
    findings.filter(isHardFinding).map(({ kind, item }) => (kind === "server" ? `${name} itself` : `${name} ${item}`)),
  );
  return [...new Set(hard)];
}

/** Whether something of it is offered to nobody, whatever is approved. */
export function isHeldBack({
  findings,
  unfit,
}: Pick<ComparedOffer, "findings"> & Record<"unfit", readonly string[]>): boolean {
  return unfit.length > 0 || findings.some(isHardFinding);
}

function isHardFinding({ tier }: Finding): boolean {
  return tier === "hard";
}

/** What is withheld though it was approved, and no finding is about it, each with its reason. */
export function unfitItems({ withheld, findings }: Pick<ComparedOffer, "withheld" | "findings">): readonly string[] {
  const hard = new Set(findings.filter(isHardFinding).map(({ kind, item }) => `${kind} ${item}`));
  return [...withheld].flatMap(([item, reason]) =>
    hard.has(item) || reason.startsWith(CHANGED) || isMissing(reason) ? [] : [`${item}: ${reason}`],
  );
}

/** Commands that show what is offered, and approve it. */
type ApprovingCommand = "servers review" | "plugins lock";

/** Of all that was looked at; of one, what `--json` says of it. */
export function digestOf(offers: readonly OfferedDefinitions[]): string {
  const digests = offers.map(({ digest }) => digest);
  return digests.length === 1 ? (digests[0] ?? "") : createHash("sha256").update(digests.join("\n")).digest("hex");
}

/** `--yes` says nothing without the digest of what was shown. */
export function checkYes({ yes, digest }: CommandLine, command: ApprovingCommand): void {
  if (!yes || digest !== undefined) return;
  throw new UsageError(
    `${command} --yes approves what a digest names: run it without --yes first, which shows all there is and ends with the digest, as in ${command} notes --yes --digest 1f0c…`,
  );
}

/** Says what becomes of a digest where nothing waits for an approval: it may be of what somebody else has approved meanwhile. */
export function tellUnusedDigest({ digest }: Pick<CommandLine, "digest">): void {
  if (digest !== undefined)
    complain(`Nothing waits for your approval, so the digest ${cleanLine(digest)} approved nothing now.`);
}

/** The policy may have been written before: this is about the approval alone. */
const NOT_APPROVED = "Nothing is approved, so nothing of it is offered.";

/** For a shell, which reads nothing in it. */
function quotedWord(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Whether what stands above is approved: by its digest, or by a person in a terminal. Elsewhere the digest is told. */
export async function approvesShown(
  line: CommandLine,
  command: ApprovingCommand,
  offers: readonly OfferedDefinitions[],
): Promise<boolean> {
  const { yes, digest, words, only } = line;
  const shown = digestOf(offers);
  if (digest !== undefined && digest !== shown) {
    complain(
      `What ${words[0] === undefined ? "they offer" : `${words[0]} offers`} is not what this digest was shown of. Nothing is approved.`,
    );
    return false;
  }
  for (const { name, refused } of offers)
    if (refused !== undefined) complain(`What ${name} offers was refused as it stands here, on ${refused}.`);
  const unseen = offers.filter(({ items }) => items.some(({ files }) => (files?.hidden.length ?? 0) > 0));
  for (const { name } of unseen)
    complain(`Not all that changed in ${name} is shown: an approval counts for that, too.`);
  if (yes) return true;
  const alone = only.length === 0 ? "" : `, and of it only ${itemWords(only)}`;
  const question = `Approve what stands above${unseen.length === 0 ? "" : ", and what is not shown"}${alone}?`;
  if (process.stdin.isTTY) return agreesInTerminal(question, false, NOT_APPROVED);
  const which = [command, ...words, "--yes --digest", shown, ...only.map((item) => `--only ${quotedWord(item)}`)];
  complain(
    `Nothing is approved. To approve exactly what stands above${alone}: mcp-secure-local ${which.join(" ")}${inUse(line)}`,
  );
  return false;
}

function offeredItem(item: string, { kind: of, name, locked, items, changes, files }: ComparedOffer): OfferedItem {
  const kind = changes.find((change) => change.item === item)?.kind ?? "same";
  const isBack = kind === "added" && locked?.removed.has(item) === true;
  const before = placesOf(isBack ? locked.removed.get(item) : locked?.approved.get(item));
  const now = placesOf(items.get(item));
  const places = [...new Set([...now.keys(), ...before.keys()])].map((at) => ({
    at,
    before: textOf(before.get(at)),
    now: textOf(now.get(at)),
  }));
  const shown: OfferedItem = { item, kind, places, ...(isBack ? { isBack } : {}) };
  if (kind === "same") return shown;
  const whole = { of, name, item, before: locked?.approved.get(item) ?? null, now: items.get(item) ?? null };
  const digest = createHash("sha256").update(canonicalJson(whole)).digest("hex");
  const refused = refusedAt(digest);
  const changed = item === "launch" && files !== undefined ? { files } : {};
  return { ...shown, digest, ...changed, ...(refused === undefined ? {} : { refused }) };
}

/**
 * What differs from what was approved, for a terminal: every place of it whole, and what stood there before. A person approves what
 * these lines hold, so nothing of it is left out or cut; of the files of a program the lines say what is.
 */
export function differenceLines({
  locked,
  items,
  changes,
  files,
}: Pick<ComparedOffer, "locked" | "items" | "changes" | "files">): string[] {
  return changes.flatMap(({ item, kind }) => {
    const isBack = kind === "added" && locked?.removed.has(item) === true;
    const before = kind === "changed" ? locked?.approved.get(item) : undefined;
    const note = isBack ? " (it was approved once, was removed, and is back)" : "";
    return [
      `  ${styled(COLORS[kind], kind)} ${replaceKnown(quoted(item).slice(1, -1))}${note}`,
      ...(kind === "removed" ? [] : memberLines(items.get(item), before)),
      ...(item === "launch" && files !== undefined ? filesLines(files) : []),
    ];
  });
}

/** What is ours stands at the margin, what is a stranger's behind a bar. */
function filesLines({ told, hidden }: ChangedFiles): string[] {
  return [
    ...(told.length === 0 ? [] : ["    Its files that are not as they were approved:"]),
    ...told.flatMap(fileLines),
    ...(told.length + hidden.length === 0 ? ["    No file of it differs: what changed is a folder."] : []),
    ...(hidden.length === 0
      ? []
      : [styled("yellow", `    Not all that changed is shown. Missing: ${hidden.join("; ")}.`)]),
  ];
}

function fileLines({ path, kind, runs, lines = [], more = 0, unshown }: ChangedFile): string[] {
  const name = path === "" ? "the program" : replaceKnown(quoted(path));
  const may = runs === undefined ? "" : runs ? ", may be run" : ", may not be run any more";
  const warned = lookAlikes([path, ...lines.flatMap((line) => (line.kind === "new" ? line.text : []))].join("\n"));
  return [
    `    ${styled(COLORS[kind], kind)} ${name}${may}${unshown === undefined ? "" : `: ${unshown}`}`,
    ...warned.map((line) => `    ${line}`),
    ...lines.map(lineOfFile),
    ...(more === 0
      ? []
      : [`      … the difference of this file is longer: ${more} more ${more === 1 ? "line" : "lines"}`]),
  ];
}

const SIGNS = { same: " ", gone: "-", new: "+" } as const;

function lineOfFile({ kind, text, more }: ChangedLine): string {
  if (kind === "about") return styled("dim", `      … ${text}`);
  const line = `      | ${SIGNS[kind]} ${replaceKnown(unquoted(text))}`;
  const cut = more === undefined ? "" : `\n      … and ${more} more characters of this line`;
  return (kind === "same" ? line : styled(kind === "new" ? "green" : "red", line)) + cut;
}

/** Every item whole, for a terminal. */
export function definitionLines(items: Items): string[] {
  return [...items].flatMap(([item, content]) => [
    `  ${replaceKnown(quoted(item).slice(1, -1))}`,
    ...memberLines(content, undefined),
  ]);
}

const COLORS = { added: "green", changed: "yellow", removed: "red" } as const;

/** The places of an item; where there is one from before, those alone at which both differ. */
function memberLines(now: unknown, before: unknown): string[] {
  const [there, gone] = [placesOf(now), placesOf(before)];
  const isNew = before === undefined;
  const lines: string[] = [];
  const add = (at: string, value: unknown, about: string): void =>
    void lines.push(...replaceKnown(shownMember(at, value, about)).split("\n"));
  for (const at of new Set([...there.keys(), ...gone.keys()])) {
    const differs = isNew || JSON.stringify(there.get(at)) !== JSON.stringify(gone.get(at));
    if (differs && gone.has(at)) add(at, gone.get(at), " was");
    if (differs && there.has(at)) add(at, there.get(at), isNew ? "" : " is");
    else if (differs) lines.push(`  ${replaceKnown(quoted(at))} is gone`);
  }
  return lines.map((line) => `  ${line}`);
}

/** What a value holds by the JSON Pointers of its places. */
function placesOf(value: unknown): ReadonlyMap<string, unknown> {
  const places = new Map<string, unknown>();
  if (value !== undefined) collect(value, { at: "", depth: 0, places });
  return places;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" || value === undefined ? value : canonicalJson(value);
}

interface Branch {
  readonly at: string;
  readonly depth: number;
  readonly places: Map<string, unknown>;
}

function collect(value: unknown, { at, depth, places }: Branch): void {
  const members = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (members.length === 0 || depth >= MAX_DEPTH) return void places.set(at, value);
  for (const [name, member] of members) {
    const step = name.replaceAll("~", "~0").replaceAll("/", "~1");
    if (member !== undefined) collect(member, { at: `${at}/${step}`, depth: depth + 1, places });
  }
}
