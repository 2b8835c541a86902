// Learns the values of the secrets a policy names, so that no answer and no record ever holds one.
import { readFileSync, statSync } from "node:fs";
import { rememberSecret, spellingsOf } from "../audit/secret-shapes.js";
import type { Policy, SecretPolicy } from "../policy/policy.js";

/** A key or a token; a file of any other size is something else. */
const MAX_BYTES = 64 * 1024;

/** A value that cannot be read now is learnt when the policy is loaded again; who uses it has to say that it is missing. */
export function rememberSecrets({ secrets }: Policy, say: (line: string) => void): void {
  for (const { name, from } of secrets.values()) {
    const value = valueOf(from);
    if (value === undefined) continue;
    // Of a connection string the part that opens the door is a secret alone as well.
    const learnt = [value, ...passwordIn(value)].map((each) => rememberSecret(name, each));
    if (!learnt[0])
      say(`secrets.${name}: the value is too short to be recognised in texts, so it is not taken out of them`);
  }
}

/** Has a value known before it is used. Returns how it may be spelt; nothing for one that cannot be kept out of texts. */
export function learnSecret(name: string, value: string): readonly string[] {
  return rememberSecret(name, value) ? [...spellingsOf(value)] : [];
}

function valueOf(from: SecretPolicy["from"]): string | undefined {
  if (from.kind === "env") return process.env[from.name];
  try {
    const { size } = statSync(from.path);
    return size > MAX_BYTES ? undefined : readFileSync(from.path, "utf8");
  } catch {
    return undefined;
  }
}

function passwordIn(value: string): string[] {
  try {
    const { password } = new URL(value.trim());
    return password === "" ? [] : [decodeURIComponent(password)];
  } catch {
    return [];
  }
}
