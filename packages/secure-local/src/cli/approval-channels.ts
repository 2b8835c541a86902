// Where a running server meets its person: questions go to whoever runs `approve` or `console`, or to this very terminal,
// and a control socket tells the console how the server is.
import type { ApprovalChannel, ApprovalReply } from "../guard/approvals/terminal-channel.js";
import type { PersonsAnswer } from "../guard/approvals/terminal-message.js";
import type { ControlledServer } from "../control/control-socket.js";
import { approvalsFolder } from "./approvals-folder.js";
import { controlFolder } from "./settings.js";

/** Milliseconds after the start: the first calls are not to wait for it, and nobody looks at a server that lives shorter. */
const CONTROL_DELAY_MS = 200;

/** Opens the control socket of a server soon. @returns what closes it, and resolves when it is gone */
export function openControl(about: ControlledServer, say: (line: string) => void): () => Promise<void> {
  const open = async (): Promise<{ close(): Promise<void> } | undefined> => {
    const { ControlSocket } = await import("../control/control-socket.js");
    return ControlSocket.open(controlFolder(), about, say);
  };
  let opening: ReturnType<typeof open> | undefined;
  const timer = setTimeout(() => (opening = open()), CONTROL_DELAY_MS).unref();
  return async () => {
    clearTimeout(timer);
    await (await opening)?.close();
  };
}

/** For servers. It is loaded with the first question: most servers never ask one. */
export function approveChannel(say: (line: string) => void): ApprovalChannel {
  let channel: Promise<ApprovalChannel> | undefined;
  const load = async (): Promise<ApprovalChannel> => {
    const { TerminalChannel } = await import("../guard/approvals/terminal-channel.js");
    return new TerminalChannel(approvalsFolder(), say);
  };
  return { ask: async (question, signal) => (await (channel ??= load())).ask(question, signal) };
}

/** For a command that a person has typed; undefined where nobody sits. */
export function ownTerminalChannel(): ApprovalChannel | undefined {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  return {
    async ask({ id, text, remember, timeoutMs }, signal): Promise<ApprovalReply> {
      const { createInterface } = await import("node:readline/promises");
      const { answerOne } = await import("./approve-command.js");
      // Not on stdout, which has the answer of the tool.
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      let reply: ApprovalReply = { answer: undefined, reason: "the terminal was closed" };
      const answer = (given: PersonsAnswer): boolean => {
        reply = { answer: given };
        return true;
      };
      const left = new Promise<void>((resolve) => lines.on("close", resolve));
      const until = Date.now() + timeoutMs;
      const waiting = { id, text, remember, secondsLeft: timeoutMs / 1_000, until, gone: signal, answer };
      await Promise.race([left, answerOne(waiting, (prompt, gone) => lines.question(prompt, { signal: gone }))]);
      lines.close();
      return reply;
    },
  };
}
