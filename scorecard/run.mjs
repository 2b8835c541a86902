// `npm run scorecard [-- t05 t13] [--no-write]`: runs every security goal's cases against the product's own parts, one
// process a goal, prints what came of it and writes SCORECARD.md. Exit code 1 when a goal is missed. `--prove` takes each
// defence that the goals name out of a copy, and exits with 1 when a goal does not notice; `--only WORDS` tries those whose
// names have these words; verdicts are kept until what they depend on changes, `--fresh` asks for them anew. `--lanes N` runs
// so many goals at a time. `--steps a,b` takes these steps of the goals alone, `--first` ends each goal with its first bypass,
// `--outcome FILE` writes down what came of it. `--quick` runs the goals that take seconds, as CI does.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { bundleProduct } from "./product/bundle-product.mjs";
import { goalsOf } from "./report/goals.mjs";
import { prove } from "./report/prove.mjs";
import { runGoal } from "./report/run-goal.mjs";
import { scorecard } from "./report/scorecard.mjs";
import { kindsLine, line, misses } from "./report/verdict.mjs";
import { absentCorpora } from "./support/corpora.mjs";

const TARGET = new URL("../SCORECARD.md", import.meta.url);
/** Each takes at most some seconds on two quiet cores. */
const QUICK = [
  "t04",
  "t06",
  "t07",
  "t15",
  "t19",
  "t22",
  "t26",
  "t28",
  "t30",
  "t31",
  "t32",
  "t34",
  "t35",
  "t37",
  "t39",
  "t41",
  "t45",
];
const USAGE = `npm run scorecard -- [goal ...] [--quick | --no-write | --steps NAMES | --first | --outcome FILE]
npm run scorecard -- [goal ...] --prove [--only WORDS] [--fresh]
        --lanes N  so many goals at a time
`;

async function main(argv) {
  const options = readOptions(argv);
  if (options === undefined) return 2;
  const { values, positionals } = options;
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const goals = goalsOf(positionals.length === 0 && values.quick ? QUICK : positionals);
  if (goals.length === 0) {
    process.stderr.write(USAGE);
    return 2;
  }
  const { only: words, lanes, fresh } = values;
  if (values.prove) return (await prove(goals, { words, lanes: Number(lanes), fresh })) === 0 ? 0 : 1;
  const product = await bundleProduct();
  const outcomes = await runAll(goals, Number(lanes), async (goal) => {
    const outcome = await runGoal(goal, product, values);
    console.log(line(outcome));
    return outcome;
  });
  for (const name of absentCorpora()) console.log(`skipped: ../shared/corpora/${name} is absent`);
  if (positionals.length === 0 && !values["no-write"] && !values.quick && !values.first && values.steps === undefined)
    writeFileSync(TARGET, scorecard(outcomes, absentCorpora()));
  if (values.outcome !== undefined) writeFileSync(values.outcome, JSON.stringify(outcomes));
  const missed = outcomes.filter((outcome) => misses(outcome).length > 0);
  const seconds = outcomes.reduce((sum, outcome) => sum + outcome.seconds, 0);
  console.log(kindsLine(outcomes));
  console.log(`${outcomes.length} goals in ${seconds.toFixed(0)} s, ${missed.length} missed`);
  return missed.length === 0 ? 0 : 1;
}

/** What `run` says of each goal, in their order; so many are run at a time. */
async function runAll(goals, lanes, run) {
  const outcomes = [];
  const queue = goals.entries();
  const lane = async () => {
    for (const [place, goal] of queue) outcomes[place] = await run(goal);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return outcomes;
}

function readOptions(argv) {
  const flag = { type: "boolean", default: false };
  const text = { type: "string" };
  try {
    const flags = { "no-write": flag, prove: flag, fresh: flag, first: flag, quick: flag, help: flag };
    const texts = { steps: text, only: text, outcome: text, lanes: { ...text, default: "1" } };
    const options = parseArgs({ args: argv, options: { ...flags, ...texts }, allowPositionals: true });
    if (!/^[1-9]$/.test(options.values.lanes)) throw new Error("--lanes takes a number from 1 to 9");
    return options;
  } catch (error) {
    process.stderr.write(`${error.message}\n${USAGE}`);
    return undefined;
  }
}

process.exitCode = await main(process.argv.slice(2));
