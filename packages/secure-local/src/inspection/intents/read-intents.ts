// Finds sentences that are orders to the model by what they are made of, however they are worded.
import { excerptOf, type Sign } from "../finding.js";
import type { Names } from "../phrase.js";
import type { Sentence } from "../words.js";
import { hearPieces, type Piece, type Spoken } from "./hear-pieces.js";
import { pointsOf } from "./weigh-sentence.js";

/** Hundredths of points from which a sentence is reported. */
export const REPORTED = 100;
/** And from which nothing honest was seen that comes near. */
const SERIOUS = 800;

/** The sentence of an item with the most points, if they are enough; `sentence` is its place among `spoken`. */
export function readIntents(
  spoken: readonly Spoken[],
  names: Names,
): (Sign & { readonly sentence: number }) | undefined {
  let best = 0;
  let worst: Piece | undefined;
  for (const piece of hearPieces(spoken, names)) {
    const points = pointsOfPiece(piece);
    if (points > best) [best, worst] = [points, piece];
  }
  if (worst === undefined || best < REPORTED) return undefined;
  const tier = best >= SERIOUS ? "hard" : "soft";
  const about = "It gives the model an order that has nothing to do with what it describes.";
  return { id: "intent.order", tier, about, excerpt: excerptOf(textOf(worst.words)), sentence: worst.sentence };
}

/** What is only talked about is told apart where it would matter: it takes longer than all the rest. */
function pointsOfPiece({ said, meant, less }: Piece): number {
  const points = pointsOf(said) - less;
  return points < REPORTED ? points : pointsOf(meant()) - less;
}

function textOf(words: Sentence): string {
  return words.map(({ text }) => text).join(" ");
}
