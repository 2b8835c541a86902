// Starts the product as a client does, calls the plugin's tool, says so, and does nothing more.
import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { StdioClient } from "./stdio-client.mjs";

const [product, policy] = process.argv.slice(2);
const client = new StdioClient(
  spawn(process.execPath, [product, "--policy", policy], { stdio: ["pipe", "pipe", "pipe"] }),
);
await client.initialize();
await client.listed(["stays_ping"]);
const { ok, text } = await client.call("stays_ping");
if (!ok) throw new Error(text);
process.stdout.write("ready\n");
for (;;) await delay(60_000);
