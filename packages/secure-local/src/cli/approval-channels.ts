// Where a running server meets its person: questions go to whoever runs `approve` or `console`, or to this very terminal,
// and a control socket tells whoever asks how the server is.
import type { ControlledServer, ControlSocket } from "../control/control-socket.js";
import type { PersonsAnswer, SettledQuestion } from "../control/control-client.js";
import type { ApprovalChannel, ApprovalReply } from "../guard/approvals/approvals.js";
import { controlFolder } from "./settings.js";

/** Milliseconds after the start: the first calls are not to wait for it, and nobody looks at a server that lives shorter. */
const CONTROL_DELAY_MS = 200;

/** The control socket of one server, opened soon after its start, or with the first question before that. */
export class ControlDoor {
  readonly #say: (line: string) => void;
  readonly #about: Promise<ControlledServer>;
  #tellAbout!: (about: ControlledServer) => void;
  #timer: NodeJS.Timeout | undefined;
  #socket: Promise<ControlSocket | undefined> | undefined;

  /** @param say tells the operator that a call waits, and why nobody can be asked. */
  constructor(say: (line: string) => void) {
    this.#say = say;
    this.#about = new Promise((resolve) => (this.#tellAbout = resolve));
  }

  /** Puts questions to whoever watches at the socket. Where there can be none, they are not put. */
  readonly channel: ApprovalChannel = {
    ask: async (question, signal) => {
      const socket = await this.#opened();
      if (socket !== undefined) return socket.questions.ask(question, signal);
      // What stood in the way may be gone when the next one is asked.
      this.#socket = undefined;
      return { answer: undefined, reason: "the question could not be put to a terminal" };
    },
  };

  /** From now on there is a server to tell of. */
  open(about: ControlledServer): void {
    this.#tellAbout(about);
    this.#timer = setTimeout(() => void this.#opened(), CONTROL_DELAY_MS).unref();
  }

  /** Resolves when the socket is gone. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await (await this.#socket)?.close();
  }

  #opened(): Promise<ControlSocket | undefined> {
    return (this.#socket ??= this.#open());
  }

  async #open(): Promise<ControlSocket | undefined> {
    const about = await this.#about;
    const { ControlSocket } = await import("../control/control-socket.js");
    return ControlSocket.open(controlFolder(), about, this.#say);
  }
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
      const answer = (given: PersonsAnswer): Promise<SettledQuestion> => {
        reply = { answer: given };
        return Promise.resolve({ answer: given, counted: true });
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
