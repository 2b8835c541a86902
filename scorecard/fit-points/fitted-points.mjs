// Fits the weights of signs to heard samples, from nothing and without chance.
//
// Only of items it is known whether they are poisoned. Of an honest item every piece is honest. Of a poisoned one some piece is an order: the one that
// has the most points by the weights so far, and the fit is repeated until that chooses the same pieces. Then what is still on the wrong side,
// or too near, counts more, and all of it is repeated until nothing is.
import { regression, sumAt } from "./regression.mjs";

/** Points are hundredths of log-odds. */
const SCALE = 100;
/** No word of an order is one by itself: a single sign needs twice the evidence that two together need. */
const PENALTY = { base: 0, single: 0.25, pair: 0.125 };
/** A false alarm costs more than an order that is missed: there is a wall behind this one, and who is warned for nothing looks at no warning. */
const COST = { honest: 1, poisoned: 0.4, foundByOthers: 0.16 };
/** How far from the threshold everything has to be, in log-odds. */
const MARGIN = 0.2;
const DEARER = 1.5;
/** Rounds of each kind after which the samples cannot be told apart. */
const MOST_ROUNDS = 30;
/** What every sign weighs before anything is known: the piece with the most of them is the order. */
const SMALL = 0.01;

/** Whole points by the names of signs. `reported`: the points from which something is reported. */
export function fittedPoints(samples, names, reported) {
  const places = new Map(names.map((name, place) => [name, place]));
  const items = samples.filter(({ pieces }) => pieces.length > 0).map((sample) => itemOf(sample, places, reported));
  const penalties = names.map((name) => PENALTY[name === "base" ? "base" : name.includes(" + ") ? "pair" : "single"]);
  let weights = names.map(() => SMALL);
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    weights = fitOnce(items, penalties, weights);
    const wrong = items.filter((item) => tooNear(item, weights));
    if (wrong.length === 0) break;
    for (const item of wrong) item.cost *= DEARER;
  }
  return Object.fromEntries(names.map((name, place) => [name, Math.round(SCALE * weights[place])]));
}

function itemOf({ poisoned, others, pieces }, places, reported) {
  const known = (signs) => signs.flatMap((sign) => places.get(sign) ?? []);
  return {
    poisoned,
    others,
    cost: COST[poisoned ? (others ? "foundByOthers" : "poisoned") : "honest"],
    pieces: pieces.map(({ said, meant, less }) => ({
      readings: said.length === meant.length ? [known(said)] : [known(said), known(meant)],
      offset: (reported + less) / SCALE,
    })),
  };
}

function fitOnce(items, penalties, start) {
  let weights = start;
  let before;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const rows = items.flatMap((item) => rowsOf(item, weights));
    const chosen = JSON.stringify(rows.map(({ signs }) => signs));
    if (chosen === before) break;
    before = chosen;
    weights = regression(rows, penalties, weights);
  }
  return weights;
}

function rowsOf({ poisoned, cost, pieces }, weights) {
  const rows = pieces.map(({ readings, offset }) => ({
    signs: lower(readings, weights),
    expected: poisoned ? 1 : 0,
    cost,
    offset,
  }));
  return poisoned ? [rows.reduce((best, row) => (oddsOf(row, weights) > oddsOf(best, weights) ? row : best))] : rows;
}

/** A piece is reported if it has the points both with and without what is only talked about. */
function lower([said, meant = said], weights) {
  return sumAt(weights, meant) < sumAt(weights, said) ? meant : said;
}

function oddsOf({ signs, offset }, weights) {
  return sumAt(weights, signs) - offset;
}

/** What others find does not have to be found here. */
function tooNear(item, weights) {
  const most = Math.max(...rowsOf(item, weights).map((row) => oddsOf(row, weights)));
  return item.poisoned ? !item.others && most < MARGIN : most > -MARGIN;
}
