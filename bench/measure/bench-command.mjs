// What the benches that compare servers have in common as commands: their options, their progress, how they end.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { besideSection } from "./earlier.mjs";
import { judge } from "./judge.mjs";

/**
 * Reads the command line of a bench: `full` and `quick` are its settings, `measures` what it can measure by workload,
 * `results` where a full run's report goes, `more` its own options, found in `values`. Undefined, and a word on stderr, when it is wrong.
 */
export function readOptions(argv, { usage, full, quick, measures, results, more }) {
  try {
    const { values } = parseArgs({
      args: argv,
      options: {
        quick: { type: "boolean" },
        servers: { type: "string" },
        workloads: { type: "string" },
        repetitions: { type: "string" },
        "no-gate": { type: "boolean" },
        out: { type: "string" },
        beside: { type: "string" },
        ...more,
      },
    });
    const settings = structuredClone(values.quick ? quick : full);
    if (values.repetitions !== undefined) settings.repetitions = settings.starts = positive(values.repetitions);
    const workloads = values.workloads?.split(",") ?? Object.keys(measures);
    const unknown = workloads.find((workload) => !Object.hasOwn(measures, workload));
    if (unknown !== undefined) throw new Error(`no workload ${unknown}: there are ${Object.keys(measures).join(", ")}`);
    const partial = values.quick || values.servers !== undefined || values.workloads !== undefined;
    return {
      values,
      settings,
      servers: values.servers?.split(","),
      workloads,
      gate: !values["no-gate"],
      partial,
      out: values.out ?? (partial ? undefined : results),
    };
  } catch (error) {
    process.stderr.write(`${error.message}\n${usage}`);
    return undefined;
  }
}

function positive(text) {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--repetitions wants a whole number from 1 on, not ${text}`);
  return value;
}

/** Prints the report and what failed or was missed. Returns the exit code. */
export function conclude(figures, servers, { settings, gate, partial, out, targets, report, values, workloads }) {
  const verdicts = judge(targets, figures).filter(({ verdict }) => !partial || verdict !== "not measured");
  const ref = values.beside;
  const beside = ref === undefined ? "" : `\n${besideSection(figures, servers, { ref, workloads })}`;
  const text = report(figures, { servers, settings, verdicts }) + beside;
  process.stdout.write(text);
  if (out !== undefined) writeFileSync(out, text);
  const failures = figures.failures();
  for (const [workload, server, reason] of failures) process.stderr.write(`FAILED ${workload} ${server}: ${reason}\n`);
  const missed = verdicts.filter(({ verdict }) => verdict !== "pass");
  for (const { what, verdict } of missed) process.stderr.write(`${verdict}: ${what}\n`);
  if (failures.length > 0) return 1;
  return gate && missed.length > 0 ? 1 : 0;
}

/** One line that replaces itself, for a person who waits. */
export function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}
