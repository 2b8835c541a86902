// T43: what other people's servers say of themselves is not taken for an attack. Names and versions stand here; the texts are fetched, and kept
// outside of the repository. What a person agrees with is listed by package and rule, with the reason.
import { readFileSync } from "node:fs";
import { realOfferings, realServers } from "../support/real-descriptions.mjs";

export const goal = { id: "T43", title: "Real definitions are not taken for attacks", atLeast: 0 };

/** Packages whose definitions are judged; fewer say nothing. */
const PACKAGES = 60;
const FALSE_WARNINGS = 0.03;
/** A goal may take four minutes. Where nothing was fetched yet that is not enough: the next run goes on from there. */
const FETCHED_WITHIN_MS = 150_000;
const { agreed } = JSON.parse(readFileSync(new URL("../data/agreed-findings.json", import.meta.url), "utf8"));

export async function run(report, parts) {
  const rows = await realOfferings(realServers(), { withinMs: FETCHED_WITHIN_MS });
  const had = rows.filter(({ offering }) => offering !== undefined);
  const packages = new Set(had.map(({ package: name }) => name)).size;
  for (const { name, version, missing } of rows)
    if (missing !== undefined) console.log(`skipped: ${name}@${version}: ${missing}`);
  if (packages < PACKAGES) {
    const what = `definitions of ${PACKAGES} real packages can be fetched (node scorecard/fetch-descriptions.mjs)`;
    console.log(`skipped: T43: definitions of ${packages} packages are there, of ${PACKAGES} are needed`);
    report.demand(what, process.env.CI === undefined || process.env.CI === "", `${packages}`);
    return;
  }
  const judged = had.flatMap((row) => judgedItems(parts, row));
  const seen = new Set();
  const items = judged.filter(({ key }) => !seen.has(key) && seen.add(key) !== undefined);
  const hard = items.filter(({ tier }) => tier === "hard");
  const soft = items.filter(({ tier }) => tier === "soft");
  for (const item of hard) report.sideEffect(`withheld: ${item.name}: ${item.said}`);
  for (const item of soft) console.log(`       warned: ${item.name}: ${item.said}`);
  const share = soft.length / items.length;
  report.demand(
    `no definition of ${PACKAGES} real packages is withheld but those a person agrees with`,
    hard.length === 0,
    `${hard.length} of ${items.length} definitions of ${packages} packages`,
  );
  report.demand(
    `at most ${100 * FALSE_WARNINGS} % of them are warned of, beside those a person agrees with`,
    share <= FALSE_WARNINGS,
    `${soft.length}, ${(100 * share).toFixed(1)} %`,
  );
}

/** Each thing a server offers, with the tier of what was found in it and nobody agreed with. */
function judgedItems({ inspectOffering }, { package: name, offering }) {
  const { instructions, tools, prompts, resources, resourceTemplates } = offering;
  const findings = inspectOffering({ server: name, ...offering }).filter((one) => !isAgreed(name, one));
  const all = [
    ...(instructions === undefined ? [] : [["server", name, instructions]]),
    ...tools.map((tool) => ["tool", tool.name, tool]),
    ...prompts.map((prompt) => ["prompt", prompt.name, prompt]),
    ...resources.map((resource) => ["resource", resource.uri, resource]),
    ...resourceTemplates.map((template) => ["template", template.uriTemplate, template]),
  ];
  return all.map(([kind, item, value]) => {
    const own = findings.filter((one) => one.kind === kind && one.item === item);
    const tier = own.some((one) => one.tier === "hard") ? "hard" : own.length > 0 ? "soft" : undefined;
    const said = own.map((one) => `${item}: ${one.id}: ${one.excerpt}`).join("; ");
    return { name, tier, said, key: JSON.stringify([name, kind, value]) };
  });
}

function isAgreed(name, { id, item }) {
  return agreed.some((one) => one.package === name && (one.id ?? id) === id && (one.item ?? item) === item);
}
