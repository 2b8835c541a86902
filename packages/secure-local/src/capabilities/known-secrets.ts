// Takes the values of the policy's secrets out of a text before a tool shows a part of it: half a value is recognised by nobody.
import { inTurns, MOST_LOOKED_AT, replacingKnown, TooMuchWorkError } from "../audit/secret-shapes.js";

/** To be called on the whole text, before windows, lines and cuts. A text that takes too long to be looked through is withheld. */
export async function beforeItIsCut(text: string, most: number = MOST_LOOKED_AT): Promise<string> {
  try {
    return await inTurns(replacingKnown(text), most);
  } catch (error) {
    if (error instanceof TooMuchWorkError) return `[withheld: ${error.message}]`;
    throw error;
  }
}
