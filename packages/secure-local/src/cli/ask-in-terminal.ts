// Asks a person questions, one line at a time.
import { UsageError } from "./command-line.js";

/** Asks one question and resolves to the line that is answered. */
export type Ask = (question: string) => Promise<string>;

/** Runs a conversation in the terminal. @throws UsageError when the person goes away */
export async function askInTerminal<T>(conversation: (ask: Ask) => Promise<T>): Promise<T> {
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const gone = new AbortController();
  lines.on("close", () => gone.abort());
  try {
    return await conversation((question) => lines.question(question, { signal: gone.signal }));
  } catch (error) {
    if (gone.signal.aborted) throw new UsageError("no answer, so nothing was written");
    throw error;
  } finally {
    lines.close();
  }
}

/** Asks until the answer is yes, no or empty. */
export async function askYesNo(ask: Ask, question: string, usual: boolean): Promise<boolean> {
  for (;;) {
    const answer = (await ask(`${question} [${usual ? "Y/n" : "y/N"}] `)).trim().toLowerCase();
    if (answer === "") return usual;
    if (["y", "yes"].includes(answer)) return true;
    if (["n", "no"].includes(answer)) return false;
  }
}
