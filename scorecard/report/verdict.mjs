// Says which goals were missed and why.

/** Share of honest uses that may be refused. */
const FALSE_REFUSALS = 0.01;

/** Everything a goal falls short of, in words; empty when it is met. */
export function misses(outcome) {
  if (outcome.crashed !== undefined) return [outcome.crashed];
  const { bypasses, falseRefusals, sideEffects, broken, benign, refusal, cases, atLeast, demands } = outcome;
  const list = [
    ...broken.names.map((name) => `broken case: ${name}`),
    ...bypasses.names.map((name) => `bypass: ${name}`),
    ...(falseRefusals.count > benign * FALSE_REFUSALS ? falseRefusals.names.map((name) => `refused: ${name}`) : []),
    ...sideEffects.names.map((name) => `side effect: ${name}`),
    ...demands
      .filter(({ held }) => !held)
      .map(({ text, measured }) => `not held: ${text}${measured === undefined ? "" : ` (${measured})`}`),
  ];
  for (const { name, cases: count } of outcome.kinds ?? []) if (count === 0) list.push(`no case of the kind: ${name}`);
  if (outcome.unnamed > 0) list.push(`no kind is named for ${outcome.unnamed} cases`);
  if (cases < atLeast) list.push(`only ${cases} cases, not ${atLeast}`);
  if (refusal.p99 > refusal.limitMs) list.push(`refusals take ${refusal.p99.toFixed(1)} ms at p99`);
  return list;
}

/** One outcome for the terminal, with the times and figures that differ from run to run. */
export function line(outcome) {
  const missed = misses(outcome);
  const head = `${missed.length === 0 ? "ok  " : "MISS"} ${outcome.id.padEnd(7)} ${outcome.title}`;
  if (outcome.crashed !== undefined && outcome.cases === undefined)
    return `${head}\n       ${missed.join("\n       ")}`;
  const { cases, benign, bypasses, falseRefusals, sideEffects, refusal, demands, seconds } = outcome;
  const counts = `${cases} cases, ${bypasses.count} bypasses; ${benign} honest uses, ${falseRefusals.count} refused; ${sideEffects.count} side effects`;
  const times = `refused in ${refusal.p50.toFixed(2)} ms (p50), ${refusal.p99.toFixed(2)} (p99), ${refusal.worst.toFixed(1)} (worst); ${seconds.toFixed(1)} s`;
  const figures = demands.filter(({ measured }) => measured !== undefined).map((one) => `${one.text}: ${one.measured}`);
  const kinds = kindsOf(outcome);
  return [head, counts, times, ...(kinds === "" ? [] : [kinds]), ...figures, ...missed].join("\n       ");
}

/** How many kinds of attack there are in all, and how many came from readers and attackers. */
export function kindsLine(outcomes) {
  const { all, own, readers, attackers } = counted(outcomes.flatMap((outcome) => outcome.kinds ?? []));
  return `${all} named kinds of attack: ${readers} found by readers, ${attackers} by attackers, ${own} our own`;
}

/** The kinds of one goal in words; empty where it tries no attack. */
export function kindsOf({ kinds = [] }) {
  const { all, readers, attackers } = counted(kinds);
  if (all === 0) return "";
  return `${all} ${all === 1 ? "kind" : "kinds"} of attack, ${readers} found by readers and ${attackers} by attackers`;
}

function counted(kinds) {
  const from = (who) => kinds.filter(({ found }) => found === who).length;
  return { all: kinds.length, own: from("own"), readers: from("reader"), attackers: from("attack") };
}
