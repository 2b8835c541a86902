// Stands in the place of the intents while weights are fitted: what they hear is kept, what they find is the same.
import {
  hearPieces,
  type Piece,
  readIntents as judged,
  type Spoken,
} from "../../packages/secure-local/src/inspection/intents/read-intents.js";
import type { Names } from "../../packages/secure-local/src/inspection/phrase.js";

/** The pieces of each item, in the order of the inspection. */
export const heard: Piece[][] = [];

export function readIntents(spoken: readonly Spoken[], names: Names): ReturnType<typeof judged> {
  heard.push(hearPieces(spoken, names));
  return judged(spoken, names);
}
