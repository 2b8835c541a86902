// Stands in the place of the intents while weights are fitted: what they hear is kept, what they find is the same.
import {
  parsePieces,
  type Piece,
  readIntents as judged,
  type LocatedSentence,
} from "../../packages/inspection/src/intents/read-intents.js";
import type { Names } from "../../packages/inspection/src/texts/phrase.js";

/** The pieces of each item, in the order of the inspection. */
export const heard: Piece[][] = [];

export function readIntents(spoken: readonly LocatedSentence[], names: Names): ReturnType<typeof judged> {
  heard.push(parsePieces(spoken, names));
  return judged(spoken, names);
}
