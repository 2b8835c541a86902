// Brings the servers' questions to the person, one at a time and with the name of who asks.
import type { Elicit, ElicitRequest } from "../client/question-handlers.js";
import type { ElicitResult } from "../protocol/features/elicitation.js";
import type { Implementation } from "../protocol/implementation.js";
import { decided, DECISION_TIMEOUT_MS } from "./decision.js";

export interface HostQuestion {
  /** Name of the server in this host. */
  readonly server: string;
  /** Who it says it is. */
  readonly implementation: Implementation;
  readonly request: ElicitRequest;
  /**
   * For questions of mode `url`: the host that would be visited, in ASCII, so that look-alikes show. Show the whole URL, open
   * it only when the person agrees, and never fetch it before.
   */
  readonly host: string | undefined;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** Answers a question to the person. Nothing is opened or filled in by the host itself. */
export type HostElicit = (question: HostQuestion) => ElicitResult | Promise<ElicitResult>;

export interface QuestionDeskOptions {
  readonly elicit: HostElicit;
  readonly timeoutMs?: number | undefined;
  readonly warn: (server: string, text: string) => void;
}

/** Questions of one server that wait for the person; further ones are cancelled, so that nobody is worn down. */
const MOST_WAITING = 4;

export class QuestionDesk {
  readonly #options: QuestionDeskOptions;
  readonly #waiting = new Map<string, number>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: QuestionDeskOptions) {
    this.#options = options;
  }

  /** What answers one server. */
  for(server: string): Elicit {
    return async (request, { signal, server: implementation }) => {
      const host = request.mode === "url" ? safeHost(request.url) : undefined;
      if (request.mode === "url" && host === undefined) {
        this.#options.warn(server, "It asked to open an address that is not https: the question was declined");
        return { action: "decline" };
      }
      const waiting = this.#waiting.get(server) ?? 0;
      if (waiting >= MOST_WAITING) return { action: "cancel" };
      this.#waiting.set(server, waiting + 1);
      try {
        return await this.#inTurn({ server, implementation, request, host }, signal);
      } finally {
        const left = (this.#waiting.get(server) ?? 1) - 1;
        if (left > 0) this.#waiting.set(server, left);
        else this.#waiting.delete(server);
      }
    };
  }

  #inTurn(question: Omit<HostQuestion, "signal">, signal: AbortSignal): Promise<ElicitResult> {
    const answer = this.#turn.then(() => this.#ask(question, signal));
    this.#turn = answer;
    return answer;
  }

  async #ask(question: Omit<HostQuestion, "signal">, signal: AbortSignal): Promise<ElicitResult> {
    const { elicit, timeoutMs = DECISION_TIMEOUT_MS, warn } = this.#options;
    const decision = await decided((asking) => elicit({ ...question, signal: asking }), { timeoutMs, signal });
    if ("value" in decision) return decision.value;
    warn(question.server, `Its question was cancelled: ${decision.missing}`);
    return { action: "cancel" };
  }
}

/** The host of an https URL, or of an http URL of this machine; undefined for all others. */
function safeHost(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, host, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return undefined;
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return protocol === "https:" || (protocol === "http:" && local) ? host : undefined;
}
