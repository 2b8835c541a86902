// Keeps account of what one validation may cost, so that no schema and no value can hold the process.

/** Steps of one validation. A step is a subschema applied or a member visited: 100,000 take a few milliseconds. */
export const MAX_STEPS = 100_000;
/** Levels of schema entered at once through references: two stack frames each stay far below the smallest stack. */
export const MAX_LEVELS = 1_500;
/** Subschemas below the root of one schema: the largest tool schemas seen in the wild hold a few hundred. */
export const MAX_SUBSCHEMAS = 2_000;
/** Subschemas inside one another, references not followed: people write fewer than ten. */
export const MAX_SCHEMA_DEPTH = 32;
/** Length of one schema as JSON text, in characters: 256 KiB hold ten times the largest tool schema seen in the wild. */
export const MAX_SCHEMA_LENGTH = 262_144;
/** Nesting of plain JSON inside a schema: 32 subschemas through maps and lists, and what `const` or `default` add. */
export const MAX_JSON_DEPTH = 128;

/** Thrown inside a validation that has used up its budget, and caught where the validation began. */
export const tooExpensive: Error = new Error("the value is too expensive to check against this schema");

/** The account of the validation that runs now. Validations are synchronous, so one is enough. */
export const run = { steps: 0, levels: 0 };

/** Opens a fresh account. */
export function openBudget(): void {
  run.steps = MAX_STEPS;
  run.levels = 0;
}

/** Takes `steps` off the account; throws `tooExpensive` when it is empty. */
export function charge(steps: number): void {
  if ((run.steps -= steps) < 0) throw tooExpensive;
}
