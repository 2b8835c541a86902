// Runs a program that listens at a port of the system's choice without saying so.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const SAY_PORT = fileURLToPath(new URL("servers/say-port.mjs", import.meta.url));

export interface ListeningProgram {
  readonly origin: string;
  close(): Promise<void>;
}

/** Starts `node args`; resolves when it listens. */
export async function listeningProgram(
  args: readonly string[],
  env: Record<string, string>,
): Promise<ListeningProgram> {
  const child = spawn(process.execPath, ["--import", SAY_PORT, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const port = await portOf(child);
  const close = async (): Promise<void> => {
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  };
  return { origin: `http://127.0.0.1:${port}`, close };
}

// Reads on for as long as it runs: a program that cannot log ends.
function portOf({ stderr }: ChildProcess): Promise<number> {
  let said = "";
  return new Promise((resolve, reject) => {
    stderr?.on("data", (chunk: Buffer) => {
      said = `${said}${String(chunk)}`.slice(-1_000);
      const port = /port=(\d+)\n/.exec(said)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
    stderr?.on("end", () => reject(new Error(`The server does not listen: ${said}`)));
  });
}
