// Asks a person in a terminal about servers one by one: first how many things there are, then a short list of each, and the whole of it on request.
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { type ComparedOffer, differenceLines, itemWords, offeredDefinitions } from "./offered-definitions.js";
import { type Ask, styled } from "./terminal.js";

/** A first line of a description that is longer says what it says later. */
const FIRST_LINE = 100;

/** What a review has found of one server. */
export type Reviewed = Omit<ComparedOffer, "kind"> & Record<"data" | "unnamed" | "unfit", readonly string[]>;

/** Server by server, what there is to look at. */
export function overviewLines(all: readonly Reviewed[]): string[] {
  const rows = all.map(({ name, items, changes, findings }) => {
    const count = (kind: string): number => [...items.keys()].filter((item) => item.startsWith(`${kind} `)).length;
    const hard = findings.filter(({ tier }) => tier === "hard").length;
    const found = [
      ...(hard > 0 ? [counted(hard, "hard finding")] : []),
      ...(findings.length > hard ? [counted(findings.length - hard, "finding to look at", "findings to look at")] : []),
    ];
    const parts = [
      counted(count("tool"), "tool"),
      counted(count("prompt"), "prompt"),
      found.join(", ") || "no finding",
    ];
    const state =
      changes.length === 0
        ? "as it was approved"
        : counted(changes.length, "thing that is not approved", "things that are not approved");
    return [name, `${parts.join(", ")}; ${state}`] as const;
  });
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${styled("bold", name.padEnd(width))}  ${text}`);
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** What is new by its name and first words; what is not as it was approved, and how it is started, whole. */
export function shortLines(of: Reviewed): string[] {
  const { changes, items, locked } = of;
  return changes.flatMap((change) => {
    const { item, kind } = change;
    const isBack = locked?.removed.has(item) === true;
    // Whatever was trusted before deserves a look at every word.
    if (kind !== "added" || isBack || !/^(?:tool|prompt|resource|template) /.test(item))
      return differenceLines({ locked, items, changes: [change] });
    const { description } = (items.get(item) ?? {}) as { readonly description?: unknown };
    return [`  ${styled("green", "added")} ${cleanLine(item)}${firstLine(description)}`];
  });
}

function firstLine(description: unknown): string {
  if (typeof description !== "string") return "";
  const [line = ""] = description.trim().split(/[\n\r\u2028\u2029]/);
  const words = cleanLine(line);
  const text = words.length > FIRST_LINE ? `${words.slice(0, FIRST_LINE)}…` : words;
  return text === "" ? "" : `: ${text}`;
}

const ALL = "y approves all of it, not only what the short list shows; v shows all of it [y/N/v]";
const THIS_ALONE = "y approves that and nothing else of it; v shows that whole [y/N/v]";

interface Asking {
  readonly ask: Ask;
  /** Prints a line. */
  readonly show: (line: string) => void;
  readonly about: (of: Reviewed) => void;
  /** Of all that was looked at these items alone are shown, and approved; empty: all. */
  readonly only?: ReadonlySet<string>;
}

/** The names a person approves. */
export async function askEach(
  all: readonly Reviewed[],
  { ask, show, about, only = new Set() }: Asking,
): Promise<ReadonlySet<string>> {
  const approved = new Set<string>();
  const isAsked = ({ item }: Reviewed["changes"][number]): boolean => only.size === 0 || only.has(item);
  const waiting = all.filter(({ changes }) => changes.some(isAsked));
  for (const of of waiting) {
    const asked = { ...of, changes: of.changes.filter(isAsked) };
    show(`\n${styled("bold", of.name)}`);
    for (const line of shortLines(asked)) show(line);
    about(of);
    const { refused } = offeredDefinitions({ kind: "server", ...of });
    if (refused !== undefined) show(`What ${of.name} offers was refused as it stands here, on ${refused}.`);
    const named = itemWords(asked.changes.map(({ item }) => item));
    const what = only.size === 0 ? `${of.name}? ${ALL}` : `only this of ${of.name}: ${named}? ${THIS_ALONE}`;
    if (await agreesTo(asked, { ask, show, what })) approved.add(of.name);
  }
  const rest = waiting.filter(({ name }) => !approved.has(name)).map(({ name }) => name);
  const of = `${approved.size} of ${counted(waiting.length, "server")}`;
  show(`\nApproved: ${of}.${rest.length === 0 ? "" : ` Nothing of these is approved: ${rest.join(", ")}.`}`);
  return approved;
}

async function agreesTo(
  of: Reviewed,
  { ask, show, what }: Pick<Asking, "ask" | "show"> & { readonly what: string },
): Promise<boolean> {
  for (;;) {
    const answer = (await ask(`Approve ${what} `)).trim().toLowerCase();
    if (["y", "yes"].includes(answer)) return true;
    if (["", "n", "no"].includes(answer)) return false;
    if (answer !== "v") continue;
    for (const line of differenceLines(of)) show(line);
  }
}
