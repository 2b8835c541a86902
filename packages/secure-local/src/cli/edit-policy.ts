// The one way in which commands change a policy: what could not be loaded afterwards is never written.
import { readAtOnce } from "../audit/owned-files.js";
import { PolicyError } from "../policy/faults.js";
import { parsePolicy } from "../policy/parse-policy.js";
import { UsageError } from "./command-line.js";

/** The text of a policy as `edit` leaves it. @throws UsageError where it would not load, with the lines of what is wrong */
export async function editedPolicy(file: string, edit: (text: string) => string): Promise<string> {
  try {
    const text = edit(readAtOnce(file));
    await parsePolicy(text, { file });
    return text;
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    throw new UsageError(
      `${file} would not load after this, so it is left as it is; mend what its lines would say then, and run this again:\n${error.message}`,
    );
  }
}
