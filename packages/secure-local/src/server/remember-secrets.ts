// Learns the values of the secrets a policy names, so that no answer and no record ever holds one.
import { followSecretFile } from "../audit/secret-files.js";
import { rememberSecret } from "../audit/secret-shapes.js";
import { spellingsOf } from "../audit/secret-spellings.js";
import type { Policy } from "../policy/policy.js";

/** A file is looked at again before anything leaves. A value that cannot be read is not known; who uses it has to say that it is missing. */
export function rememberSecrets({ secrets }: Policy, say: (line: string) => void): void {
  for (const { name, from } of secrets.values()) {
    const learn = (value: string): void => {
      // Of a connection string the part that opens the door is a secret alone as well.
      const learnt = [value, ...passwordIn(value)].map((each) => rememberSecret(name, each));
      if (!learnt[0])
        say(`secrets.${name}: the value is too short to be recognised in texts, so it is not taken out of them`);
    };
    const value = from.kind === "env" ? process.env[from.name] : undefined;
    if (from.kind === "file") followSecretFile(name, from.path, learn);
    else if (value !== undefined) learn(value);
  }
}

/** Has a value known before it is used. Returns how it may be spelt; nothing for one that cannot be kept out of texts. */
export function learnSecret(name: string, value: string): readonly string[] {
  return rememberSecret(name, value) ? [...spellingsOf(value)] : [];
}

function passwordIn(value: string): string[] {
  try {
    const { password } = new URL(value.trim());
    return password === "" ? [] : [decodeURIComponent(password)];
  } catch {
    return [];
  }
}
