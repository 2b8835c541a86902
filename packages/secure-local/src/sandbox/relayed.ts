// Puts the relay in front of a command that may use the network.
import { realpathSync } from "node:fs";
import { RELAY_PATH, relayProgram } from "./relay.js";
import type { Reach, WalledCommand } from "./wall.js";

/** Where a company's own authority is made known to programs; seen inside when it lies with the system's certificates. */
const CERTIFICATES = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE"];
const CERTIFICATE_FOLDERS = /^\/(?:etc\/ssl\/certs|etc\/pki|usr\/share)\//;

/** The command as it is where it has no network. */
export function relayed(command: WalledCommand): WalledCommand {
  const { egress, executable, args, reach = [], handed = [] } = command;
  if (egress === undefined) return command;
  const node = nodeReach();
  return {
    ...command,
    executable: node.path,
    env: { ...certificates(), ...command.env },
    args: [RELAY_PATH, egress, executable, ...args],
    reach: [...reach, node],
    handed: [...handed, { path: RELAY_PATH, bytes: relayProgram() }],
  };
}

/** The very Node this program runs on, wherever it was installed. */
export function nodeReach(): Reach {
  return { path: realpathSync(process.execPath), access: "read" };
}

function certificates(): Record<string, string> {
  const set = CERTIFICATES.map((name) => [name, process.env[name] ?? ""] as const);
  return Object.fromEntries(set.filter(([, path]) => CERTIFICATE_FOLDERS.test(path) && !path.includes("/..")));
}
