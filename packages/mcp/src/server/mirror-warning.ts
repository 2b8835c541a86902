// Warns of arguments mirrored in headers (`x-mcp-header`) that make clients drop the tool, or show a secret to the network.
import { mirroredParams } from "../era/stateless/mirrored-params.js";
import type { Tool } from "../protocol/tool.js";

/** Words in the names of what no proxy between client and server should read. */
const SENSITIVE: ReadonlySet<string> = new Set([
  "apikey",
  "auth",
  "authorization",
  "credential",
  "key",
  "passcode",
  "passphrase",
  "passwd",
  "password",
  "pin",
  "pwd",
  "secret",
  "ssn",
  "token",
]);

/** A sentence for the operator; undefined when nothing is wrong. */
export function mirrorWarning({ name, inputSchema }: Tool): string | undefined {
  const mirrored = mirroredParams(inputSchema);
  const tool = `Tool ${JSON.stringify(name)}`;
  if (typeof mirrored === "string") return `${tool}: ${mirrored}: clients over HTTP drop the tool`;
  const exposed = mirrored.filter(({ header, path }) => isSensitive(header) || isSensitive(path.at(-1) ?? ""));
  if (exposed.length === 0) return undefined;
  const names = exposed.map(({ path }) => path.join(".")).join(", ");
  return `${tool}: x-mcp-header shows ${names} to everything between client and server: leave it out for secrets`;
}

/** Names are read word by word, so that `keyword` and `tokenizer` mean nothing. */
function isSensitive(name: string): boolean {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);
  return words.some((word) => SENSITIVE.has(word) || SENSITIVE.has(word.replace(/s$/, "")));
}
