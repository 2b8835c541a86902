// A stdio server as a child process: lines go in, and every line that comes out finds the exchange it belongs to.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

/** One server process. Its requests are told apart by their ids, so two clients of one process must not share any. */
export class StdioPeer {
  #child;
  #exchanges = new Map();

  constructor(command, args) {
    this.#child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#received(line));
    // A server that dies takes the shim with it, so that nobody waits for answers that cannot come.
    this.#child.on("exit", (code) => {
      if (code !== 0) process.exit(1);
    });
  }

  send(message) {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Sends a request. `deliver(text, last)` gets everything that belongs to it; the last text is its answer. */
  request(message, deliver) {
    const exchange = { id: message.id, token: message.params?._meta?.progressToken, deliver };
    this.#exchanges.set(message.id, exchange);
    this.send(message);
    return {
      abandon: () => {
        if (!this.#exchanges.delete(message.id)) return;
        this.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: message.id } });
      },
    };
  }

  close() {
    this.#child.stdin.end();
  }

  #received(line) {
    const message = JSON.parse(line);
    const answer = message.method === undefined;
    const exchange = answer ? this.#exchanges.get(message.id) : this.#owner(message);
    if (exchange === undefined) return;
    if (answer) this.#exchanges.delete(message.id);
    exchange.deliver(line, answer);
  }

  /** By subscription or progress token; what names neither belongs to the latest request still open. */
  #owner({ params = {} }) {
    const id = params._meta?.[SUBSCRIPTION];
    if (id !== undefined) return this.#exchanges.get(id);
    const open = [...this.#exchanges.values()];
    if (params.progressToken !== undefined) return open.find(({ token }) => token === params.progressToken);
    return open.at(-1);
  }
}
