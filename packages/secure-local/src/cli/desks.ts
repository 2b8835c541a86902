// Where the commands put questions about calls: to whoever runs `approve`, or to the person at this very terminal.
import type { Desk, Reply } from "../guard/approvals/terminal-desk.js";
import { approvalsFolder } from "./approvals-folder.js";

/** For servers. It is loaded with the first question: most servers never ask one. */
export function approveDesk(say: (line: string) => void): Desk {
  let desk: Promise<Desk> | undefined;
  const load = async (): Promise<Desk> => {
    const { TerminalDesk } = await import("../guard/approvals/terminal-desk.js");
    return new TerminalDesk(approvalsFolder(), say);
  };
  return { ask: async (question, signal) => (await (desk ??= load())).ask(question, signal) };
}

/** For a command that a person has typed; undefined where nobody sits. */
export function ownTerminalDesk(): Desk | undefined {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  return {
    async ask({ id, text, remember, timeoutMs }, signal): Promise<Reply> {
      const { createInterface } = await import("node:readline/promises");
      const { answerOne } = await import("./approve-command.js");
      // Not on stdout, which has the answer of the tool.
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      let reply: Reply = { answer: undefined, reason: "the terminal was closed" };
      const answer = (given: "approve" | "remember" | "deny"): void => void (reply = { answer: given });
      const left = new Promise<void>((resolve) => lines.on("close", resolve));
      const waiting = { id, text, remember, secondsLeft: timeoutMs / 1_000, gone: signal, answer };
      await Promise.race([left, answerOne(waiting, (prompt, gone) => lines.question(prompt, { signal: gone }))]);
      lines.close();
      return reply;
    },
  };
}
