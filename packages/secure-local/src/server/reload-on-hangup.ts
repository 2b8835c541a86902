// Reads the policy file again when the process gets SIGHUP.
import { loadPolicy } from "../policy/load-policy.js";
import type { SecureServer } from "./secure-server.js";

/**
 * A file that cannot be used is told with `say`, recorded, and changes nothing. Signals that come while the file is read
 * lead to one more reading. Returns the function that stops listening.
 */
export function reloadOnHangup(
  secure: SecureServer,
  file: string | undefined,
  say: (line: string) => void,
): () => void {
  let reading = false;
  let again = false;
  const read = async (): Promise<void> => {
    if (file === undefined) return say("SIGHUP: the built-in policy is in force, there is no file to read again");
    again = reading;
    if (reading) return;
    reading = true;
    try {
      secure.reload(await loadPolicy(file));
      say(`SIGHUP: ${file} is in force`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      secure.reloadFailed(reason);
      say(`${reason}\nSIGHUP: the policy before stays in force`);
    }
    reading = false;
    if (again) void read();
  };
  // On Windows the signal means that the console is closing.
  if (process.platform === "win32") return () => undefined;
  const listener = (): void => void read();
  process.on("SIGHUP", listener);
  return () => void process.off("SIGHUP", listener);
}
