// Which of the ten tasks are done: by the logs, the files and the running servers where those tell, else by the answer that was given.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { LISTED_IN_ALL, TAMPERED } from "./history.mjs";
import { COPIES, LET_THROUGH } from "./keeper.mjs";
import { allRecords, COMMAND, remembered } from "./stage-folder.mjs";
import { CHANGED, isMended, SLOW_QUERY } from "./world.mjs";

/** @returns of each task its number, whether it is done, and what is there or lacks */
export function checkTasks(stage) {
  const answers = remembered(stage, "answers", {});
  const looked = { stage, facts: remembered(stage, "facts", {}), records: allRecords(stage) };
  return CHECKS.map((check, index) => {
    const lacks = check({ ...looked, answer: answers[index + 1] ?? "" });
    return {
      number: index + 1,
      done: lacks.length === 0,
      what: lacks.length === 0 ? "as it should be" : lacks.join("; "),
    };
  });
}

/** In the order of the tasks; each gives what lacks. */
const CHECKS = [
  ({ answer }) =>
    lacksWords(answer, {
      "the file of a denied path": /customers|private/i,
      "the tool that no line allows": /run_command|default deny|not (?:named|allowed|listed)/i,
      "the rate limit": /rate|5 a minute/i,
      "the write where all is read-only": /read[_ -]?only/i,
    }),
  ({ records }) => waiting(records),
  ({ answer, facts }) => [
    ...lacksWords(answer, {
      "that none was read": /\b(?:no|none|not|nothing)\b/i,
      "the customers' file": /customers/i,
    }),
    ...(facts.back ? lacksWords(answer, { "the other file that was tried": /hosts/i }) : []),
  ],
  ({ answer, stage }) => [
    ...refused(stage),
    ...lacksWords(answer, { "the definition": /publish/i, "the word": new RegExp(CHANGED.to, "i") }),
  ],
  ({ answer, stage }) => [
    ...lacksWords(answer, { "the server": /calendar/i, "the file at fault": /events\.json/i }),
    ...started(stage),
  ],
  ({ answer }) =>
    lacksWords(answer, {
      "the client": /claude-code/i,
      "the limit of calculate": /\b30\b/,
      "the limit of read_file": /\b20\b/,
    }),
  ({ answer, facts, records, stage }) => [
    ...lacksWords(answer, {
      "the changed record": new RegExp(String.raw`\b${facts.tampered}\b`),
      "what it says now": new RegExp(TAMPERED.to.replace("+", String.raw`\+`)),
    }),
    ...signed(answer, { records, stage }),
  ],
  ({ answer, stage, facts, records }) => [
    ...lacksWords(answer, { "the number of calls": new RegExp(String.raw`\b${LISTED_IN_ALL}\b`) }),
    ...asBefore(stage, facts, records),
  ],
  ({ answer }) =>
    lacksWords(answer, {
      "the call": new RegExp(`${SLOW_QUERY}|${SLOW_QUERY.split(" ").at(-1)}`, "i"),
      "the step": /sent to|in the server|the server (?:itself|tickets)|upstream|its answer/i,
    }),
  ({ answer, records }) => [
    ...lacksWords(answer, {
      "the call": /today\.md|write_file/i,
      "how often": new RegExp(`\\b(?:${LET_THROUGH}|three)\\b`, "i"),
    }),
    ...(records.some(({ kind }) => kind === "approval.taken_back") ? [] : ["the answer is still remembered"]),
  ],
];

function lacksWords(answer, wanted) {
  if (answer === "") return ["no answer was given"];
  return Object.entries(wanted).flatMap(([what, pattern]) =>
    pattern.test(answer) ? [] : [`the answer lacks ${what}`],
  );
}

/** What became of each of the two calls; one that was put again counts by its last answer of a person. */
function waiting(records) {
  const asked = (host) =>
    records.filter(({ kind, arguments: args }) => kind === "approval.asked" && args?.content?.includes(`@${host}`));
  const answered = (host, kind) =>
    asked(host).some(({ call }) =>
      records.some((each) => each.call === call && each.kind === kind && !/in time/.test(each.detail?.reason ?? "")),
    );
  const lacks = [];
  if (!answered(COPIES.right, "approval.given")) lacks.push(`the call that copies to ${COPIES.right} is not approved`);
  if (!answered(COPIES.wrong, "approval.denied")) lacks.push(`the call that copies to ${COPIES.wrong} is not refused`);
  if (answered(COPIES.wrong, "approval.given")) lacks.push(`the call that copies to ${COPIES.wrong} was approved`);
  return lacks;
}

function refused(stage) {
  const wiki = ask(stage, ["servers", "review", "wiki"]).find(({ name }) => name === "wiki");
  const item = wiki?.items.find((each) => each.item === CHANGED.item);
  if (item === undefined) return [`what the wiki offers cannot be seen`];
  if (item.kind === "same") return [`the changed definition is approved`];
  return (item.refused ?? wiki.refused) === undefined ? [`the changed definition is not refused`] : [];
}

function started(stage) {
  if (!isMended(stage)) return ["its file is not mended"];
  const calendar = ask(stage, ["servers", "list"]).find(({ name }) => name === "calendar");
  const states = (calendar?.running ?? []).map(({ state }) => state);
  if (states.length === 0) return ["nothing runs: the stage is down"];
  if (states.includes("broken") || states.includes("stopped")) return ["the calendar is not started"];
  return [];
}

/** The last signed record of the log of the busiest client, which grows while it is looked at: any that was signed counts. */
function signed(answer, { stage }) {
  const text = readFileSync(stage.at("elsewhere/checkpoints.jsonl"), "utf8");
  const numbers = [...text.matchAll(/"log":"audit\.log","seq":(\d+)/g)].map(([, seq]) => seq);
  const named = new Set(answer.replace(/(\d)[,'](?=\d{3})/g, "$1").match(/\d+/g));
  return numbers.some((each) => Number(each) > 20 && named.has(each))
    ? []
    : ["the answer lacks the last signed record"];
}

function asBefore(stage, facts, records) {
  if (readFileSync(stage.policy, "utf8") !== facts.policy) return ["the policy is not as it was"];
  const loaded = records.filter(({ kind }) => kind === "policy.loaded");
  return loaded.length >= 2 ? [] : ["no changed policy was in force"];
}

/** What a command of the product prints as JSON. */
function ask({ env, home, policy }, words) {
  const { stdout } = spawnSync(process.execPath, [COMMAND, ...words, "--json", "--policy", policy], {
    env,
    cwd: home,
    encoding: "utf8",
  });
  return stdout.trim() === "" ? [] : JSON.parse(stdout);
}
