// Runs a development tool of this workspace as a child process and gives back what it printed.
import { spawn } from "node:child_process";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root folder: every command runs there. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const path = [join(root, "node_modules", ".bin"), dirname(process.execPath), process.env.PATH ?? ""].join(delimiter);

/**
 * Runs `command` to its end. With `inherit` its output goes straight to the terminal, otherwise it is collected.
 * Resolves to `{ code, output, seconds }`; a command that cannot be started has code 127 and says why in `output`.
 */
export function run(command, args, { inherit = false, cwd = root, env = {} } = {}) {
  const started = performance.now();
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, PATH: path, ...env },
    stdio: ["ignore", inherit ? "inherit" : "pipe", inherit ? "inherit" : "pipe"],
  });
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text) => (output += text));
  child.stderr?.setEncoding("utf8").on("data", (text) => (output += text));
  return new Promise((resolve) => {
    const end = (code) => resolve({ code, output, seconds: (performance.now() - started) / 1000 });
    child.on("error", (error) => {
      output += `${command}: ${error.message}, run \`npm install\` first\n`;
      end(127);
    });
    child.on("close", (code) => end(code ?? 1));
  });
}
