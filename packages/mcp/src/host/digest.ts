// One value's fingerprint against attackers: SHA-256 over its JSON.

/** SHA-256 of the value's JSON in hexadecimal digits. Members count in the order they are in. */
export async function digestOf(value: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
