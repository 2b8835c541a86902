// Talks to both servers over a socket: exits 0 only when each answers rightly in both eras and ends when it is told to.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { get } from "node:http";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { checkBothEras } from "../test/both-eras.mjs";

for (const file of ["server.mjs", "fetch-server.mjs"]) {
  const child = spawn(process.execPath, [fileURLToPath(new URL(file, import.meta.url)), "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [url] = await once(createInterface({ input: child.stdout }), "line");
    await checkBothEras(url);
    // A page that points its own name at this machine still says its own name.
    const [rebound] = await once(get(url, { headers: { host: "evil.example" } }), "response");
    assert.equal(rebound.statusCode, 403);
    rebound.resume();
  } finally {
    child.kill("SIGTERM");
  }
  const [code] = await once(child, "exit");
  assert.equal(code, 0);
}
console.log("http-node: both servers answered in both eras");
