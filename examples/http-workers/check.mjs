// Runs talk.mjs with the flag that lets Node load modules into a context of their own.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const flags = ["--experimental-vm-modules", "--no-warnings"];
const { status } = spawnSync(process.execPath, [...flags, fileURLToPath(new URL("talk.mjs", import.meta.url))], {
  stdio: "inherit",
});
process.exitCode = status ?? 1;
