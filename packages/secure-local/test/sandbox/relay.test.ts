// The relay inside a sandbox: what passes it comes out as it went in, and ends as it ended.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findWall } from "../../src/sandbox/find-wall.js";
import { startWalled } from "../../src/sandbox/start-walled.js";
import { hasWall, LIMITS } from "./walls.js";

const folder = mkdtempSync(join(tmpdir(), "relay-test-"));
const socket = join(folder, "out.sock");
let opened = 0;
/** Says back what it hears, and `end` once it has heard all. */
const server: Server = createServer({ allowHalfOpen: true }, (stream) => {
  opened += 1;
  stream.on("error", () => undefined);
  stream.on("end", () => stream.end("end")).pipe(stream, { end: false });
});

const CLIENT = `
const { connect } = require("node:net");
const { hostname, port } = new URL(process.env.HTTP_PROXY);
const one = (size) => new Promise((resolve) => {
  const sent = Buffer.alloc(size, 7 + size % 200);
  const got = [];
  const stream = connect({ port, host: hostname, allowHalfOpen: true }, () => stream.end(sent));
  stream.on("data", (bytes) => got.push(bytes)).on("error", (error) => resolve(error.code));
  stream.on("end", () => { const all = Buffer.concat(got); resolve(all.equals(Buffer.concat([sent, Buffer.from("end")])) ? "same" : all.length + " bytes"); });
});
(async () => {
  const sizes = [0, 1, 100, 65_536, 65_537, 3_000_000, 8_000_000, ...Array.from({ length: 40 }, (_, index) => index * 1_009)];
  const all = await Promise.all(sizes.map(one));
  console.log(JSON.stringify([...new Set(all)]), all.length);
})();`;

async function run(executable: string, args: readonly string[], egress = socket): Promise<unknown[]> {
  const wall = await findWall({ mode: "required" });
  const reach = [{ path: process.execPath, access: "read" }] as const;
  const child = startWalled(wall, { executable, args, reach, egress, limits: LIMITS }, ["ignore", "pipe", "pipe"]);
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", (more) => (text += more));
  const [code, signal] = (await once(child, "close")) as unknown[];
  return [code, signal, text];
}

describe.skipIf(!hasWall())("the relay", () => {
  beforeAll(async () => {
    if (!server.listening) await once(server.listen(socket), "listening");
  });
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  test("passes on what is said both ways, to the end, on many connections", async () => {
    opened = 0;
    expect(await run(process.execPath, ["--no-warnings", "-e", CLIENT])).toEqual([0, null, '["same"] 47\n']);
    expect(opened).toBe(47);
  });

  test("stands before the command begins, and leaves it its own end", async () => {
    const script = "exec 2>/dev/null; (exec 3<>/dev/tcp/127.0.0.1/3128) && echo there; exit 7";
    expect(await run("/bin/bash", ["-c", script])).toEqual([7, null, "there\n"]);
  });

  test("closes what cannot be led out, and stays", async () => {
    const dead = join(folder, "dead.sock");
    writeFileSync(dead, "");
    const script = "for i in 1 2 3; do exec 3<>/dev/tcp/127.0.0.1/3128; cat <&3; done 2>/dev/null; echo over";
    const [, , text] = await run("/bin/bash", ["-c", script], dead);
    expect(text).toBe("over\n");
  });
});
