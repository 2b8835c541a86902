// What one rule of the inspection is: phrases, and what has to stand near them.
import type { Severity } from "../finding.js";
import type { Phrase } from "../phrase.js";

export interface InspectionRule {
  /** Family and name, for ever. */
  readonly id: string;
  readonly tier: Severity;
  /** One sentence about what such a text does. */
  readonly about: string;
  /** Any of them. */
  readonly phrases: readonly Phrase[];
  /** One of these in the same sentence or one beside it. */
  readonly near?: readonly Phrase[];
  /** One of these in the same sentence. */
  readonly with?: readonly Phrase[];
  /** None of these in the same sentence. */
  readonly unless?: readonly Phrase[];
  /** Counts where the phrase is quoted or talked about too. */
  readonly evenMentioned?: boolean;
}
