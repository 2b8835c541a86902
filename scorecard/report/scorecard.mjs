// Writes SCORECARD.md: the same text from the same sources, whenever and wherever it is made.
import { kindsLine, kindsOf, misses } from "./verdict.mjs";

/** Threats of the model without a goal of their own here, and where each is held. */
const ELSEWHERE = [
  ["T01", "Cross-site requests and rebinding to a local listener", tested("http/front-door.test.ts")],
  ["T02", "Request smuggling, malformed HTTP", tested("http/wire.test.ts", "http/malformed.test.ts")],
  ["T03", "Headers that say something else than the body", tested("http/mirrored-headers.test.ts")],
  ["T17", "Who may call over HTTP", tested("auth")],
  ["T18", "Confused deputy, tokens passed on", "nothing here passes a caller's request on to another server"],
  ["T20", "Sessions and handles of others", tested("http/sessions.test.ts", "http/principals.test.ts")],
  [
    "T21",
    "Forged states and cursors",
    tested("server/seal.test.ts", "server/parking.test.ts", "server/handles.test.ts"),
  ],
  ["T32", "Listeners nobody knows of", "no command looks for them yet"],
];

/** The table, what each goal asks beyond it, and what was missing. */
export function scorecard(outcomes, absent) {
  const rows = outcomes.map(row);
  const sum = (pick) => outcomes.reduce((total, outcome) => total + (pick(outcome) ?? 0), 0);
  const totals = [
    "",
    "**all**",
    sum(({ cases }) => cases),
    sum(({ bypasses }) => bypasses?.count),
    sum(({ benign }) => benign),
    sum(({ falseRefusals }) => falseRefusals?.count),
    sum(({ sideEffects }) => sideEffects?.count),
    "",
    outcomes.every((outcome) => misses(outcome).length === 0) ? "met" : "**missed**",
  ];
  const elsewhere = ELSEWHERE.filter(([id]) => outcomes.every((outcome) => outcome.id !== id));
  const corpora =
    absent.length === 0
      ? "All open case lists of `../shared/corpora` were there."
      : `Absent, so their cases are missing here: ${absent.map((name) => `\`../shared/corpora/${name}\``).join(", ")}.`;
  return `${[
    "# Scorecard",
    "Written by `npm run scorecard`; do not edit. Every case runs against the product's own parts, bundled as they ship. A bypass is an\nattack that was not refused as it has to be; an honest use that is refused is a false refusal; canaries (files outside, listening\nsockets, processes) count side effects. Times are at the 99th percentile, without\nthose in which other programs had the processor.",
    corpora,
    `${kindsLine(outcomes)}.`,
    table([HEAD, HEAD.map((_, index) => (index > 1 && index < 7 ? "---:" : "---")), ...rows, totals.map(String)]),
    "## What each goal asks beyond that",
    outcomes.map(details).filter(Boolean).join("\n\n"),
    "## Not scored here",
    elsewhere.map(([id, title, where]) => `- ${id} ${title}: ${where}.`).join("\n"),
  ].join("\n\n")}\n`;
}

function tested(...files) {
  return `tests of the library, ${files.map((file) => `\`packages/mcp/test/${file}\``).join(", ")}`;
}

const HEAD = [
  "Goal",
  "Threat",
  "Cases",
  "Bypasses",
  "Honest uses",
  "Refused",
  "Side effects",
  "Refused within",
  "Verdict",
];

function row(outcome) {
  const { id, title, cases, bypasses, benign, falseRefusals, sideEffects, refusal } = outcome;
  const verdict = misses(outcome).length === 0 ? "met" : "**missed**";
  if (cases === undefined) return [id, title, "", "", "", "", "", "", verdict];
  const within = refusal.p99 <= refusal.limitMs ? `${refusal.limitMs} ms` : `**over** ${refusal.limitMs} ms`;
  const counts = [cases, bypasses.count, benign, falseRefusals.count, sideEffects.count];
  return [id, title, ...counts.map(String), within, verdict];
}

function table(rows) {
  return rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function details(outcome) {
  const { id, title, demands, crashed } = outcome;
  const kinds = kindsOf(outcome);
  const names = (outcome.kinds ?? []).map(({ name }) => name).join("; ");
  const lines = kinds === "" ? [] : [`- ${kinds}: ${names}`];
  const held = (demands ?? []).map(({ text, held }) => `- ${held ? "" : "**not held:** "}${text}`);
  lines.push(...held);
  if (crashed !== undefined) lines.push(`- **${crashed}**`);
  return lines.length === 0 ? "" : `**${id} ${title}**\n\n${lines.join("\n")}`;
}
