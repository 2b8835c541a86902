// Does long work in parts, so that nobody waits long for another one's answer, and gives up what costs more than it may.

/** Work that stops now and then, and says each time how many characters it has looked at since the last time. */
export type Work<T> = Generator<number, T, void>;

/** Characters that are looked at before others have their turn: some 10 ms, 25 ms of what takes longest. */
const A_TURN = 196_608;

/**
 * Characters of one answer that are looked at, each as often as it is read in another way. 4 MiB of Base64 take 75 million, of
 * texts that people write fewer; more than twice as many are nobody's honest answer.
 */
export const MOST_LOOKED_AT = 256_000_000;

/** What is cleaned while everybody waits, such as a message on the way: some 50 ms. 64 KiB of Base64 take 1.2 million. */
export const MOST_AT_ONCE = 1_500_000;

/** Thrown where looking for secrets takes more than it may: what was not looked through is not passed on. */
export class TooMuchWorkError extends Error {
  readonly most: number;

  constructor(most: number) {
    super(`To look for secrets in it would take more than ${most} characters read, the most that is done for one.`);
    this.name = "TooMuchWorkError";
    this.most = most;
  }
}

/** Does all of it now. @throws TooMuchWorkError */
export function atOnce<T>(work: Work<T>, most: number = Number.POSITIVE_INFINITY): T {
  let done = 0;
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    done += step.value;
    if (done > most) throw new TooMuchWorkError(most);
  }
}

/** Does it now where it is little, else in turns with whatever else there is to do. @throws TooMuchWorkError, also by its promise */
export function inTurns<T>(work: Work<T>, most: number): T | Promise<T> {
  const tally = { done: 0, most };
  const result = oneTurn(work, tally);
  return result === undefined ? later(work, tally) : result.value;
}

interface Tally {
  done: number;
  readonly most: number;
}

async function later<T>(work: Work<T>, tally: Tally): Promise<T> {
  for (;;) {
    await turn();
    const result = oneTurn(work, tally);
    if (result !== undefined) return result.value;
  }
}

/** Undefined where there is more to do. */
function oneTurn<T>(work: Work<T>, tally: Tally): { readonly value: T } | undefined {
  const end = tally.done + A_TURN;
  while (tally.done < end) {
    const step = work.next();
    if (step.done === true) return { value: step.value };
    tally.done += step.value;
    if (tally.done > tally.most) throw new TooMuchWorkError(tally.most);
  }
  return undefined;
}

/** Who waits for a turn. However many there are, one has its own between two looks at what else came in. */
const waiting: (() => void)[] = [];

function turn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(next);
  });
}

function next(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(next);
}
