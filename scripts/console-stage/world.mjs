// The world of the stage as it was before today: folders, policies, three servers that were approved, and what became of two since.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { approveServers } from "../lib/approve-servers.mjs";
import { plainTool, writeStandInServer } from "../lib/stand-in-server.mjs";
import { COMMAND } from "./stage-folder.mjs";

/** The word that one description of the wiki changed, and the item. */
export const CHANGED = { item: "tool publish", from: "team", to: "world" };

const EVENTS = '[\n  { "day": "Monday", "what": "review" },\n  { "day": "Friday", "what": "release" }\n]\n';

/** Milliseconds of the one slow search: far from all others, and soon over. */
const SLOW_MS = 4_000;
export const SLOW_QUERY = "refund 2283";

const WIKI_TOOLS = [
  plainTool("find", "Finds pages of the wiki by their words."),
  plainTool("read", "Reads a page of the wiki, with its headings and its links."),
  plainTool("publish", "Publishes a draft, so that it can be seen by the team from now on."),
  plainTool("rename", "Renames a page of the wiki and keeps its links."),
];

/** Everything but the logs, and the servers are not approved yet: the logs begin with the oldest day. */
export function buildWorld(stage) {
  const { at, home, policy, teamPolicy } = stage;
  for (const name of ["notes", "shared", "work/private", "work/scripts", "work/status", "team/files", "elsewhere"])
    mkdirSync(at(name), { recursive: true });
  for (let day = 1; day <= 9; day += 1) writeFileSync(at(`notes/day-${day}.md`), `# Day ${day}\n- write\n- ship\n`);
  writeFileSync(at("shared/handbook.md"), "# Handbook\nAsk first.\n");
  writeFileSync(at("work/private/customers.csv"), "name,town\nMuster,Bern\n");
  for (const [from, to] of [
    ["policy.yaml", policy],
    ["team-policy.yaml", teamPolicy],
  ]) {
    const text = readFileSync(join(import.meta.dirname, from), "utf8");
    writeFileSync(to, text.replaceAll("HOME", home), { mode: 0o600 });
  }
  writeServers(stage);
}

/** As they are now. */
export function approveThem({ home, env, policy }) {
  const { code, stderr } = approveServers(COMMAND, policy, { cwd: home, env });
  if (code !== 0) throw new Error(`the servers of the stage could not be approved: ${stderr}`);
}

function writeServers({ at, broken }) {
  for (const name of ["wiki", "tickets", "calendar"]) mkdirSync(at(name));
  const wikiTools = at("wiki/tools.json");
  // Read from a file beside it: the program stays the one that was approved.
  writeFileSync(wikiTools, JSON.stringify(WIKI_TOOLS));
  writeStandInServer(at("wiki/wiki.mjs"), {
    name: "wiki",
    tools: `JSON.parse(readFileSync(${JSON.stringify(wikiTools)}, "utf8"))`,
    does: `return said("Two pages: Plan, Release");`,
  });
  writeStandInServer(at("tickets/tickets.mjs"), {
    name: "tickets",
    tools: JSON.stringify([plainTool("search", "Searches the tickets."), plainTool("count", "Counts the tickets.")]),
    does: `if (params.arguments?.query === ${JSON.stringify(SLOW_QUERY)}) await new Promise((resolve) => setTimeout(resolve, ${SLOW_MS}));
    return said("3 tickets");`,
  });
  writeFileSync(broken, EVENTS);
  writeStandInServer(at("calendar/calendar.mjs"), {
    name: "calendar",
    begins: `let events;
try {
  events = JSON.parse(readFileSync(${JSON.stringify(broken)}, "utf8"));
} catch (error) {
  console.error(${JSON.stringify(`calendar: cannot read ${broken}: `)} + error.message);
  process.exit(1);
}`,
    tools: JSON.stringify([plainTool("today", "Says what is on today.")]),
    does: `return said(events.length + " events");`,
  });
}

/** Since they were approved, one server says one word otherwise, and another one's data is damaged. */
export function spoilServers({ at, broken }) {
  const file = at("wiki/tools.json");
  writeFileSync(file, readFileSync(file, "utf8").replace(`by the ${CHANGED.from} from`, `by the ${CHANGED.to} from`));
  writeFileSync(broken, EVENTS.replace('"review" },', '"review" '));
}

/** As somebody does it who is told which file is damaged. */
export function mendFile({ broken }) {
  writeFileSync(broken, EVENTS);
}

export function isMended({ broken }) {
  return readFileSync(broken, "utf8") === EVENTS;
}
