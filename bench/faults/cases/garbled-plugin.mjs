// F18: a plugin that answers with garbage, halves, wrong, repeated and late ids: nobody gets what is another's.
import { arena } from "../arena.mjs";
import { startProduct } from "../stdio-client.mjs";

const TIMEOUT_S = 1;
const LATE_MS = 1_200;
const PERSISTENT = `
import { createInterface } from "node:readline";
const say = (text) => process.stdout.write(text);
const answer = (id, content) => JSON.stringify({ id, content }) + "\\n";
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, arguments: { text, how } = {} } = JSON.parse(line);
  if (text === undefined) return;
  const whole = answer(id, text);
  if (how === "garbage") say("not json\\n[1,2]\\nnull\\n{\\"id\\":\\n" + whole);
  else if (how === "halves") { say(whole.slice(0, 7)); setTimeout(() => say(whole.slice(7)), 20); }
  else if (how === "wrong ids") say(answer(id + 1, "another's") + answer(-1, "nobody's") + answer("x", "text") + JSON.stringify({ id: {}, content: "o" }) + "\\n" + whole);
  else if (how === "twice") say(whole + answer(id, text + " once more"));
  else if (how === "late") setTimeout(() => say(whole), ${LATE_MS});
  else if (how === "never whole") say("{\\"id\\":" + id + ",\\"content\\":\\"half" + "\\n");
});
`;
const MANIFEST = `name: garbles
version: "1.0"
run: [node, main.mjs]
persistent: true
tools:
  - name: say
    description: Answers in a way
    input: { type: object, properties: { text: { type: string }, how: { type: string } } }
`;
/** How it answers, and whether the caller gets the answer. */
const WAYS = { garbage: true, halves: true, "wrong ids": true, twice: true, late: false, "never whole": false };

export async function run({ full }) {
  const rounds = full ? 40 : 8;
  const place = arena({ tools: ["garbles_*"], load: ["garbles"], timeout: TIMEOUT_S });
  place.writePlugin("garbles", { "manifest.yaml": MANIFEST, "main.mjs": PERSISTENT });
  const client = startProduct(place);
  try {
    await client.initialize();
    await client.listed(["garbles_say"]);
    const rows = [];
    for (const [how, answered] of Object.entries(WAYS))
      rows.push(await oneWay(client, how, answered, answered ? rounds : Math.min(rounds, 10)));
    rows.push(await mixed(client, rounds));
    return rows;
  } finally {
    await client.stop();
    place.remove();
  }
}

/** "wrong ids" answers for the next call too, so calls go one after the other where an honest answer is asked for. */
async function oneWay(client, how, answered, rounds) {
  const outcomes = [];
  if (answered) {
    for (let n = 0; n < rounds; n += 1) outcomes.push(await one(client, `${how} ${n}`, how));
  } else {
    outcomes.push(...(await Promise.all(Array.from({ length: rounds }, (_, n) => one(client, `${how} ${n}`, how)))));
  }
  const crossed = outcomes.filter(({ ok, own }) => ok && !own).length;
  const got = outcomes.filter(({ ok }) => ok).length;
  const longest = Math.max(...outcomes.map(({ ms }) => ms));
  return {
    what: `answers with ${how}, ${rounds} calls`,
    measured: `${got} answered, ${crossed} crossed, longest ${longest.toFixed(0)} ms`,
    limit: answered ? "all answered, 0 crossed" : `error at ${TIMEOUT_S} s, 0 crossed`,
    passed: crossed === 0 && (answered ? got === rounds : got === 0 && longest < TIMEOUT_S * 1_000 + 200),
  };
}

/** All that do not answer for others, at once. */
async function mixed(client, rounds) {
  const ways = Object.keys(WAYS).filter((how) => how !== "wrong ids");
  const calls = Array.from({ length: Math.min(rounds * ways.length, 50) }, (_, n) =>
    one(client, `mixed ${n}`, ways[n % ways.length]),
  );
  const outcomes = await Promise.all(calls);
  const crossed = outcomes.filter(({ ok, own }) => ok && !own).length;
  const silent = outcomes.filter((outcome) => outcome.silent).length;
  return {
    what: `${outcomes.length} calls at once, in all those ways`,
    measured: `${outcomes.filter(({ ok }) => ok).length} answered, ${crossed} crossed, ${silent} without an end`,
    limit: "0 crossed, 0 without an end",
    passed: crossed === 0 && silent === 0,
  };
}

async function one(client, text, how) {
  const outcome = await client.call("garbles_say", { text, how });
  return { ...outcome, own: outcome.text.includes(text) };
}
