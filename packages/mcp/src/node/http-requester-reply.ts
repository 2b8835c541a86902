// A reply of node:http as links read it.
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { LocalError } from "../jsonrpc/local-error.js";
import type { HttpReply } from "../transport/http-client/http-requester.js";

export class NodeReply implements HttpReply {
  readonly status: number;
  readonly #message: IncomingMessage;
  readonly #shown: string;
  #cancelled = false;
  #complete = false;

  /** `shown` is the URL as errors may show it. */
  constructor(message: IncomingMessage, shown: string) {
    this.status = message.statusCode ?? 0;
    this.#message = message;
    this.#shown = shown;
  }

  get encoding(): string | undefined {
    const encoding = this.header("content-encoding");
    return ["", "identity"].includes(encoding?.trim().toLowerCase() ?? "") ? undefined : encoding;
  }

  // Looked up in the list as it came: building Node's object of all headers costs more than the few that are asked for.
  header(name: string): string | undefined {
    const { rawHeaders } = this.#message;
    let found: string | undefined;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const each = rawHeaders[at] as string;
      if (each.length !== name.length || each.toLowerCase() !== name) continue;
      const value = rawHeaders[at + 1] as string;
      found = found === undefined ? value : `${found}, ${value}`;
    }
    return found;
  }

  text(maxBytes: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const message = this.#message;
      const chunks: Buffer[] = [];
      let bytes = 0;
      message.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= maxBytes) chunks.push(chunk);
        else {
          this.cancel();
          const what = `${this.#shown} answered with more than ${maxBytes} bytes`;
          reject(new LocalError("LIMIT", `${what}. Ask for less, or raise limits.messageBytes.`));
        }
      });
      message.on("end", () => {
        this.#complete = true;
        const whole = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
        if (isUtf8(whole)) resolve(whole.toString("utf8"));
        else reject(new LocalError("INVALID_RESPONSE", `${this.#shown} answered with something that is not UTF-8`));
      });
      this.#onCut(reject);
    });
  }

  each(take: (chunk: Uint8Array) => void | Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const message = this.#message;
      let busy = false;
      let finish: (() => void) | undefined;
      // Node tells of the end of a paused stream too: what was taken has to be dealt with first.
      const settle = (how: () => void): void => {
        if (!busy || this.#cancelled) how();
        else finish ??= how;
      };
      const fail = (error: unknown): void => {
        reject(error);
        this.cancel();
      };
      const goOn = (): void => {
        busy = false;
        if (finish === undefined) message.resume();
        else finish();
      };
      message.on("data", (chunk: Buffer) => {
        try {
          const taken = take(chunk);
          if (taken === undefined) return;
          busy = true;
          message.pause();
          taken.then(goOn, fail);
        } catch (error) {
          fail(error);
        }
      });
      message.on("end", () => {
        this.#complete = true;
        settle(resolve);
      });
      this.#onCut((error) => settle(() => reject(error)));
    });
  }

  cancel(): void {
    this.#cancelled = true;
    this.#message.destroy();
  }

  #onCut(reject: (error: LocalError) => void): void {
    const cut = (cause?: unknown): void => {
      // An error nobody looks at costs more than the rest of the reply.
      if (this.#complete) return;
      const error = this.#cancelled
        ? new LocalError("CANCELLED", `The request to ${this.#shown} was ended`)
        : new LocalError("OUTCOME_UNKNOWN", `the connection to ${this.#shown} was cut within the answer`, { cause });
      reject(error);
    };
    this.#message.on("error", cut);
    // Comes after the end too.
    this.#message.on("close", cut);
    if (this.#message.destroyed) cut();
  }
}
