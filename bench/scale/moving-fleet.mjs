// Processes under a balancer that can be killed, held, and cut off from each other and from Redis.
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from "node:fs";
import { connect as dial, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { children, newPrefix, pick, startMember } from "./fleet.mjs";

/** Passes connections on to a port until it is cut. */
export class Cable {
  #sockets = new Set();
  #cut = false;
  target = 0;

  async open() {
    this.server = createServer((near) => {
      if (this.#cut || this.target === 0) return void near.destroy();
      const far = dial(this.target, "127.0.0.1");
      for (const [one, other] of [
        [near, far],
        [far, near],
      ]) {
        this.#sockets.add(one);
        one.setNoDelay(true);
        one.on("error", () => undefined);
        one.on("close", () => {
          this.#sockets.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    });
    await once(this.server.listen(0, "127.0.0.1"), "listening");
    this.server.unref();
    this.port = this.server.address().port;
    return this;
  }

  cut() {
    this.#cut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend() {
    this.#cut = false;
  }

  close() {
    this.cut();
    this.server.close();
  }
}

/** Tries to start a process. */
const START_TRIALS = 30;
/** Milliseconds after which a process that was asked to end is ended. */
const LATE_MS = 10_000;
/** So many milliseconds the clocks of processes may be off, either way. */
const CLOCKS_MS = 45_000;

/** Bytes read at once of what tools wrote down. */
const CHUNK_BYTES = 64 * 1024;

function effectIn(line) {
  const space = line.indexOf(" ");
  return { id: line.slice(0, space), at: Number(line.slice(space + 1)) };
}

export class MovingFleet {
  members = [];
  #prefix = newPrefix();
  #folder = mkdtempSync(join(tmpdir(), "history-"));
  #started = 0;
  #reading;
  #read = 0;
  #rest = "";
  #redis;
  #options;

  /** `cables`: whether its connections can be cut; `rate`, `plant`, `clocks`: see member.mjs. */
  constructor(redis, { count, rate, plant, cables = false, clocks = false }) {
    this.#redis = redis;
    this.count = count;
    this.#options = { rate, plant, cables, clocks };
    this.file = join(this.#folder, "effects");
    writeFileSync(this.file, "");
    this.#reading = openSync(this.file, "r");
  }

  async start() {
    while (this.members.length < this.count) await this.add();
  }

  /** One more process. On a crowded machine Redis may not answer one in time that has just begun: then it is another one. */
  async add() {
    for (let trial = 1; ; trial++) {
      try {
        return await this.#start();
      } catch (error) {
        if (trial === START_TRIALS) throw error;
      }
    }
  }

  async #start() {
    const { rate, plant, cables, clocks } = this.#options;
    const node = `m${this.#started++}`;
    const env = { EFFECTS: this.file, ...(plant === undefined ? {} : { PLANT: plant }) };
    if (clocks) env.CLOCK_MS = String(randomInt(2 * CLOCKS_MS) - CLOCKS_MS);
    const limited = rate === undefined ? "" : JSON.stringify(rate);
    if (!cables)
      return void this.members.push(await startMember(this.#redis.url, this.#prefix, node, { limited, env }));
    const [relay, store] = [await new Cable().open(), await new Cable().open()];
    store.target = Number(new URL(this.#redis.url).port);
    env.RELAY_VIA = String(relay.port);
    const url = `redis://127.0.0.1:${store.port}`;
    const heard = ({ relay: port }) => {
      if (port !== undefined) relay.target = port;
    };
    const member = await startMember(url, this.#prefix, node, { limited, env, heard });
    this.members.push({ ...member, relay, store });
  }

  /** One that a balancer sends to. */
  any() {
    return pick(this.members);
  }

  /** Ends one at once; the balancer knows it at the same moment. */
  async kill(member, signal = "SIGKILL") {
    this.members = this.members.filter((each) => each !== member);
    const gone = member.child.exitCode === null ? once(member.child, "exit") : undefined;
    // What connects it to the bench would keep it alive.
    if (member.child.connected) member.child.disconnect();
    member.child.kill(signal);
    const late = setTimeout(() => member.child.kill("SIGKILL"), LATE_MS);
    await gone;
    clearTimeout(late);
    children.delete(member.child);
    member.relay?.close();
    member.store?.close();
  }

  /** What tools wrote down, in the order of writing. */
  effects() {
    return readFileSync(this.file, "utf8").split("\n").filter(Boolean).map(effectIn);
  }

  /** What was written down since the last time; the last line may not be whole yet. */
  newEffects() {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const found = [];
    for (;;) {
      const length = readSync(this.#reading, chunk, 0, CHUNK_BYTES, this.#read);
      if (length === 0) return found;
      this.#read += length;
      const lines = (this.#rest + chunk.toString("utf8", 0, length)).split("\n");
      this.#rest = lines.pop();
      found.push(...lines.map(effectIn));
    }
  }

  async stop() {
    for (const member of [...this.members]) await this.kill(member);
    closeSync(this.#reading);
    rmSync(this.#folder, { recursive: true });
  }
}
