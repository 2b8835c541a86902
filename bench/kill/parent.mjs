// The parent that is killed: starts the server given on its command line, brings it into a state, tells its id on fd 3, stays.
import { spawn } from "node:child_process";
import { writeSync } from "node:fs";
import { RawClient } from "../measure/raw-client.mjs";
import { callLines } from "../stdio/requests.mjs";

const [mode, asksJson, ...command] = process.argv.slice(2);
const CALLS_A_ROUND = 1_000;
const IN_FLIGHT = 64;
/** More unread calls than any pipe holds answers for. */
const STALLED_CALLS = 20_000;
const [tool, given] = JSON.parse(asksJson);
const asks = { call: () => [tool, given] };

const report = (pid) => writeSync(3, `${pid}\n`);
const piped = () => new RawClient(spawn(process.execPath, command, { stdio: ["pipe", "pipe", "pipe"] }));

const MODES = {
  /** The server waits for a request. */
  async idle() {
    const client = piped();
    await client.initialize();
    report(client.pid);
  },
  /** Calls are in flight all the time. */
  async loaded() {
    const client = piped();
    await client.initialize();
    await client.pump(callLines(asks, 0, CALLS_A_ROUND), IN_FLIGHT);
    report(client.pid);
    for (;;) await client.pump(callLines(asks, 0, CALLS_A_ROUND), IN_FLIGHT);
  },
  /** The server cannot write: nobody reads its answers. */
  async stalled() {
    const client = piped();
    await client.initialize();
    client.child.stdout.pause();
    client.child.stdin.write(callLines(asks, 0, STALLED_CALLS).join(""));
    report(client.pid);
  },
  /** The server's pipes belong to the grandparent, as under npx: its input does not end when the parent dies. */
  async inherited() {
    report(spawn(process.execPath, command, { stdio: ["inherit", "inherit", "ignore"] }).pid);
  },
};

await MODES[mode]();
setInterval(() => {}, 60_000);
