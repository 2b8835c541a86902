// Logistic regression with a penalty on each weight, by Newton's steps: the same rows give the same weights.
const MOST_STEPS = 100;
const NEAR = 1e-9;

/**
 * The weights from which the rows `{ signs, expected, cost, offset }` are told apart best. A row has the sum of the weights at its places `signs`, less
 * `offset`, as its log-odds; `expected` is 1 or 0. Starts from `weights`, which changes the way to the result and not the result.
 */
export function regression(rows, penalties, weights) {
  let found = weights;
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const change = solved(...slopes(rows, penalties, found));
    found = found.map((weight, index) => weight - change[index]);
    if (change.every((each) => Math.abs(each) < NEAR)) return found;
  }
  throw new Error(`no weights were found in ${MOST_STEPS} steps: raise the penalties`);
}

/** First and second derivatives of the loss; of the second, which is symmetric, the lower half. */
function slopes(rows, penalties, weights) {
  const first = weights.map((weight, index) => penalties[index] * weight);
  const second = penalties.map((penalty, index) => [...Array(index).fill(0), penalty]);
  for (const { signs, expected, cost, offset } of rows) {
    const odds = 1 / (1 + Math.exp(offset - sumAt(weights, signs)));
    for (const one of signs) {
      first[one] += cost * (odds - expected);
      for (const other of signs) if (other <= one) second[one][other] += cost * odds * (1 - odds);
    }
  }
  return [first, second];
}

/** Solves `second` times x = `first` by Cholesky's decomposition, which overwrites both. */
function solved(first, second) {
  for (const [row, entries] of second.entries()) {
    for (let column = 0; column <= row; column += 1) {
      let rest = entries[column];
      for (let k = 0; k < column; k += 1) rest -= entries[k] * second[column][k];
      entries[column] = column === row ? Math.sqrt(rest) : rest / second[column][column];
    }
    for (let k = 0; k < row; k += 1) first[row] -= entries[k] * first[k];
    first[row] /= entries[row];
  }
  for (let row = second.length - 1; row >= 0; row -= 1) {
    for (let k = row + 1; k < second.length; k += 1) first[row] -= second[k][row] * first[k];
    first[row] /= second[row][row];
  }
  return first;
}

export function sumAt(weights, places) {
  return places.reduce((sum, place) => sum + weights[place], 0);
}
