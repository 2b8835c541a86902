// The soak's client over stdio: one process, one connection, many calls at a time.
import { setTimeout as delay } from "node:timers/promises";
import { startProduct } from "../faults/stdio-client.mjs";
import { CANCEL_MS } from "./calls.mjs";

export class StdioLane {
  name = "stdio";
  #client;

  static async start(place, options) {
    const lane = new StdioLane();
    lane.#client = startProduct(place, options);
    await lane.#client.initialize();
    await lane.#client.listed(["steady_shout", "brittle_crash"]);
    return lane;
  }

  get pid() {
    return this.#client.pid;
  }

  get complaints() {
    return this.#client.stderr;
  }

  get hasEnded() {
    return this.#client.hasEnded;
  }

  call([name, given]) {
    return this.#client.call(name, given);
  }

  /** A call that is given up: nothing answers it. */
  async cancelled([name, given], n) {
    const id = `cancelled-${n}`;
    const call = this.#client.call(name, given, { id, patienceMs: CANCEL_MS + 100 });
    await delay(CANCEL_MS);
    this.#client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    const { silent } = await call;
    return { ok: silent };
  }

  /** Something that is not a call of a tool. */
  async other() {
    await this.#client.request("tools/list", {});
    await this.#client.request("resources/read", { uri: "server://info" });
  }

  stop() {
    return this.#client.stop();
  }
}
