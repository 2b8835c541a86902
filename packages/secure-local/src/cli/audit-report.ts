// `mcp-secure-local audit report`: what the log says of a time as one HTML file that needs nothing else to be looked at.
//
// Nothing in it is loaded or run: no script, no link to follow, and a content security policy that says so. Every text of the
// log is written by strangers as far as this file knows, so each passes `text()`.
import { callerOf, type LogRecord, objectOf } from "../audit/call-records.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { type AuditEntry, isDenied, localTime, outcomeOf, policyNameOf, ruleText, zone } from "./audit-lines.js";

/** What `audit verify` says of one log. */
export interface VerifiedLog {
  readonly file: string;
  readonly ok: boolean;
  /** What was found, in words. */
  readonly said: string;
}

export interface ReportOptions {
  readonly logs: readonly VerifiedLog[];
  /** What of the logs was not read, in sentences. */
  readonly unread?: readonly string[];
  /** The words of the command line that say which records are meant. */
  readonly wanted: readonly string[];
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly version: string;
}

/** Newest calls, and denials, that are listed one by one: a page that a browser still shows at once. */
const MAX_LISTED = 500;
/** Distinct names in each table; what is beyond is counted. */
const MAX_NAMES = 1_000;
const SHOWN_NAMES = 30;
/** Bars of the timeline. */
const BARS = 60;
/** Characters of one text. */
const MAX_TEXT = 300;
/** Times kept for the timeline: beyond, every second one is dropped and the rest count twice. */
const MAX_TIMES = 20_000;

type Verdict = "ok" | "denied" | "failed";

interface Row {
  readonly time: unknown;
  readonly cells: readonly string[];
  readonly verdict: Verdict;
}

/** Takes entries as they are read, and keeps what the page shows of them. */
export class AuditReport {
  readonly #options: ReportOptions;
  readonly #counts: Record<Verdict, number> = { ok: 0, denied: 0, failed: 0 };
  readonly #tables = {
    clients: new Tally(),
    tools: new Tally(),
    files: new Tally(),
    hosts: new Tally(),
    other: new Tally(),
  };
  readonly #denials: Row[] = [];
  readonly #newest: Row[] = [];
  readonly #times = new Times();
  #started = 0;

  constructor(options: ReportOptions) {
    this.#options = options;
  }

  add({ record }: AuditEntry): void {
    if (record["kind"] === "sandbox.begun") this.#started += 1;
    const verdict = verdictOf(record);
    if (verdict === undefined) return;
    this.#counts[verdict] += 1;
    this.#times.add(Date.parse(String(record["time"])), verdict);
    const tool = plain(record["tool"] ?? record["kind"]);
    this.#tables.clients.add(whoOf(record) || "unknown", verdict);
    this.#tables.tools.add(tool, verdict);
    const object = objectOf(record);
    if (object !== "" && verdict !== "denied") this.#reached(object, verdict);
    const row: Row = {
      time: record["time"],
      cells: [
        localTime(record["time"]),
        whoOf(record),
        plain(policyNameOf(record)),
        tool,
        plain(object),
        outcomeOf(record),
        ruleText(record),
      ],
      verdict,
    };
    keep(this.#newest, row);
    if (verdict === "denied") keep(this.#denials, row);
  }

  /** The page. */
  html(): string {
    const { clients, tools, files, hosts, other } = this.#tables;
    const { ok, denied, failed } = this.#counts;
    const { now, wanted, version, logs, unread = [] } = this.#options;
    const head = `Written ${localTime(now)} (${zone(new Date(now))}) by mcp-secure-local ${version}`;
    const which = wanted.length === 0 ? "the whole log" : wanted.join(" ");
    return page([
      `<h1>What the AI clients did</h1><p class="dim">${text(head)}; ${text(which)}</p>`,
      ...unread.map((note) => `<p class="failed">${text(note)}</p>`),
      `<p class="sum"><b>${ok + denied + failed}</b> calls: <b class="ok">${ok}</b> done, <b class="denied">${denied}</b> denied, <b class="failed">${failed}</b> failed</p>`,
      this.#started === 0
        ? ""
        : `<p class="dim">Beside them programs were started in sandboxes ${this.#started} ${this.#started === 1 ? "time" : "times"}, which are no calls.</p>`,
      this.#chain(logs),
      `<h2>Over time</h2>${this.#times.svg()}`,
      `<div class="two">${table("By client", clients)}${table("By tool", tools)}</div>`,
      `<h2>What was reached</h2><div class="two">${table("Files and folders", files)}${table("Hosts", hosts)}${table("Queries, commands and the rest", other)}</div>`,
      `<h2>Denied</h2>${listed(this.#denials, this.#counts.denied)}`,
      `<h2>All calls</h2>${listed(this.#newest, ok + denied + failed)}`,
    ]);
  }

  #reached(object: string, verdict: Verdict): void {
    const { files, hosts, other } = this.#tables;
    if (/^https?:\/\//i.test(object) && URL.canParse(object)) hosts.add(plain(new URL(object).host), verdict);
    else if (/^(?:\/|~|[A-Za-z]:[\\/]|file:)/.test(object)) files.add(plain(object), verdict);
    else other.add(plain(object), verdict);
  }

  #chain(logs: readonly VerifiedLog[]): string {
    const lines = logs.map(
      ({ ok, file, said }) =>
        `<li class="${ok ? "ok" : "denied"}">${ok ? "verified" : "NOT VERIFIED"}: ${text(file)}: ${text(said)}</li>`,
    );
    return `<h2>The chain of the log</h2><ul>${lines.join("")}</ul>`;
  }
}

/** Who called; of what a sandbox refused, the server in it. */
function whoOf(record: LogRecord): string {
  const server = record["server"] === undefined ? "" : `server ${plain(record["server"])}`;
  return plain(callerOf(record)) || server;
}

/** Undefined for what is no call: starts and stops, of programs in their sandboxes too, questions, repairs. */
function verdictOf(record: LogRecord): Verdict | undefined {
  const { kind } = record;
  if (kind !== "call" && kind !== "denied" && kind !== "call.result" && kind !== "sandbox.refused") return undefined;
  if (isDenied(record) || kind === "denied") return "denied";
  const outcome = outcomeOf(record);
  return ["ok", "approved", "remembered", "allowed", "input_required", ""].includes(outcome) ? "ok" : "failed";
}

function keep(rows: Row[], row: Row): void {
  rows.push(row);
  if (rows.length > MAX_LISTED) rows.shift();
}

/** How often each of some names came, by verdict. */
class Tally {
  readonly #names = new Map<string, Record<Verdict, number>>();
  #beyond = 0;

  add(name: string, verdict: Verdict): void {
    const known = this.#names.get(name);
    if (known !== undefined) known[verdict] += 1;
    else if (this.#names.size < MAX_NAMES) this.#names.set(name, { ...{ ok: 0, denied: 0, failed: 0 }, [verdict]: 1 });
    else this.#beyond += 1;
  }

  rows(): string {
    const all = [...this.#names].map(([name, counts]) => ({ name, counts, sum: sumOf(counts) }));
    all.sort((a, b) => b.sum - a.sum);
    const shown = all.slice(0, SHOWN_NAMES);
    const most = shown[0]?.sum ?? 1;
    const rest = all.slice(SHOWN_NAMES).reduce((sum, each) => sum + each.sum, this.#beyond);
    const rows = shown.map(
      ({ name, counts, sum }) =>
        `<tr><td>${text(name)}</td><td class="n">${sum}</td><td class="n denied">${counts.denied || ""}</td><td>${bar(counts, most)}</td></tr>`,
    );
    if (rest > 0) rows.push(`<tr><td class="dim">others</td><td class="n">${rest}</td><td></td><td></td></tr>`);
    return rows.join("");
  }
}

function sumOf({ ok, denied, failed }: Readonly<Record<Verdict, number>>): number {
  return ok + denied + failed;
}

const VERDICTS: readonly Verdict[] = ["ok", "failed", "denied"];
const BAR_WIDTH = 120;

function bar(counts: Readonly<Record<Verdict, number>>, most: number): string {
  let x = 0;
  const parts = VERDICTS.map((verdict) => {
    const width = Math.round((counts[verdict] / most) * BAR_WIDTH);
    const part = `<rect class="${verdict}" x="${x}" width="${width}" height="10"/>`;
    x += width;
    return part;
  });
  return `<svg width="${BAR_WIDTH}" height="10">${parts.join("")}</svg>`;
}

/** When calls came, in bounded memory. */
class Times {
  #times: { at: number; verdict: Verdict }[] = [];
  #weight = 1;
  #count = 0;

  add(at: number, verdict: Verdict): void {
    if (!Number.isFinite(at)) return;
    this.#count += 1;
    if (this.#count % this.#weight === 0) this.#times.push({ at, verdict });
    if (this.#times.length <= MAX_TIMES) return;
    this.#times = this.#times.filter((_, index) => index % 2 === 0);
    this.#weight *= 2;
  }

  svg(): string {
    if (this.#times.length === 0) return "<p class='dim'>Nothing.</p>";
    const ats = this.#times.map(({ at }) => at);
    const [from, to] = ats.reduce(([low, high], at) => [Math.min(low, at), Math.max(high, at)], [Infinity, -Infinity]);
    const step = Math.max(1, (to - from) / BARS);
    const bars = Array.from({ length: BARS }, () => ({ ok: 0, denied: 0, failed: 0 }));
    for (const { at, verdict } of this.#times) bars[Math.min(BARS - 1, Math.floor((at - from) / step))]![verdict] += 1;
    const most = Math.max(...bars.map(sumOf));
    const shapes = bars.map((counts, index) => column(counts, { index, most, weight: this.#weight })).join("");
    const ends = `<text x="0" y="116">${text(localTime(from))}</text><text x="720" y="116" text-anchor="end">${text(localTime(to))}</text>`;
    return `<svg viewBox="0 0 720 120" class="time" role="img"><title>Calls over time</title>${shapes}${ends}</svg>`;
  }
}

const COLUMN = { width: 10, step: 12, height: 100 } as const;

function column(
  counts: Readonly<Record<Verdict, number>>,
  { index, most, weight }: { readonly index: number; readonly most: number; readonly weight: number },
): string {
  let y: number = COLUMN.height;
  const parts = VERDICTS.map((verdict) => {
    if (counts[verdict] === 0) return "";
    const height = Math.max(2, (counts[verdict] / most) * COLUMN.height);
    y = Math.max(0, y - height);
    const title = `<title>${counts[verdict] * weight} ${verdict}</title>`;
    return `<rect class="${verdict}" x="${index * COLUMN.step}" y="${y.toFixed(1)}" width="${COLUMN.width}" height="${height.toFixed(1)}">${title}</rect>`;
  });
  return parts.join("");
}

function table(title: string, tally: Tally): string {
  const rows = tally.rows();
  const body = rows === "" ? "<tr><td class='dim'>Nothing.</td></tr>" : rows;
  return `<table><caption>${text(title)}</caption><tr><th></th><th>calls</th><th>denied</th><th></th></tr>${body}</table>`;
}

function listed(rows: readonly Row[], count: number): string {
  if (rows.length === 0) return "<p class='dim'>Nothing.</p>";
  const heads = ["time", "client", "policy", "tool", "object", "outcome", "rule"]
    .map((name) => `<th>${name}</th>`)
    .join("");
  const body = [...rows]
    .reverse()
    .map(
      ({ cells, verdict }) => `<tr class="${verdict}">${cells.map((cell) => `<td>${text(cell)}</td>`).join("")}</tr>`,
    );
  const note = count > rows.length ? `<p class="dim">The newest ${rows.length} of ${count}.</p>` : "";
  return `${note}<table class="all"><tr>${heads}</tr>${body.join("")}</table>`;
}

function plain(value: unknown): string {
  return value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

/** A text of the log as text of the page: cut, free of what nobody sees, and no markup whatever is in it. */
export function text(given: string): string {
  const short = given.length > MAX_TEXT ? `${given.slice(0, MAX_TEXT)}…` : given;
  return cleanLine(short).replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1c2128;background:#fff}
h1{margin-bottom:0}h2{margin-top:2rem;border-bottom:1px solid #d0d7de}.dim{color:#656d76}.sum{font-size:1.2rem}
table{border-collapse:collapse;margin:.5rem 0}caption{text-align:left;font-weight:600}th{text-align:left;font-weight:500;color:#656d76}
td,th{padding:.15rem .7rem .15rem 0;vertical-align:top;overflow-wrap:anywhere}.n{text-align:right}.two{display:flex;flex-wrap:wrap;gap:3rem}
.all{font-size:13px;width:100%}tr.denied td,.denied{color:#c4292b}tr.failed td,.failed{color:#9a6700}b.ok,li.ok{color:#1a7f37}
rect.ok{fill:#2da44e}rect.denied{fill:#cf222e}rect.failed{fill:#d4a72c}.time{width:100%;max-width:720px}.time text{font-size:10px;fill:#656d76}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}h2{border-color:#30363d}tr.denied td,.denied{color:#ff7b72}tr.failed td,.failed{color:#d29922}}`;

function page(parts: readonly string[]): string {
  const policy = "default-src 'none'; style-src 'unsafe-inline'";
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">
<title>Audit report</title><style>${STYLE}</style></head><body>
${parts.join("\n")}
</body></html>
`;
}
