// The client's side of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677).
import { Buffer } from "node:buffer";
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

const derive = promisify(pbkdf2);
/** PostgreSQL asks for 4,096; a server that asks for many more only wants our time. */
const MAX_ITERATIONS = 1_000_000;
const PLAIN = "SCRAM-SHA-256";
const BOUND = "SCRAM-SHA-256-PLUS";

export class Scram {
  /** What is chosen of the mechanisms offered; undefined when none is known. */
  readonly mechanism: string | undefined;
  readonly #password: string;
  readonly #nonce: string = randomBytes(18).toString("base64");
  /** What is said about the connection, and what binds the exchange to it. */
  readonly #head: string;
  readonly #binding: Buffer;
  #signature: Buffer | undefined;
  #proven = false;

  /** `endPoint` is what the connection can be bound to: it is, if the server offers that. */
  constructor(password: string, endPoint?: Buffer, offered: readonly string[] = [PLAIN]) {
    const bound = endPoint !== undefined && offered.includes(BOUND);
    this.mechanism = bound ? BOUND : offered.includes(PLAIN) ? PLAIN : undefined;
    // "y": a server that would have offered it finds that somebody took its offer away.
    this.#head = bound ? "p=tls-server-end-point,," : endPoint === undefined ? "n,," : "y,,";
    this.#binding = bound ? endPoint : Buffer.alloc(0);
    this.#password = password.normalize("NFKC");
  }

  /** Whether it is bound to the connection. */
  get isBound(): boolean {
    return this.mechanism === BOUND;
  }

  /** Whether the server has shown that it knows the password. */
  get isProven(): boolean {
    return this.#proven;
  }

  first(): string {
    return `${this.#head}${this.#bare()}`;
  }

  /** @throws Error when the server's message is no answer to ours */
  async final(serverFirst: string): Promise<string> {
    const { r: nonce = "", s: salt = "", i = "" } = fieldsOf(serverFirst);
    const iterations = Number(i);
    const fits = nonce.startsWith(this.#nonce) && nonce.length > this.#nonce.length && salt !== "";
    if (!fits || !Number.isInteger(iterations) || iterations < 1 || iterations > MAX_ITERATIONS)
      throw new Error("the server's part of the authentication is not valid");
    const salted = await derive(this.#password, Buffer.from(salt, "base64"), iterations, 32, "sha256");
    const clientKey = hmac(salted, "Client Key");
    const binding = Buffer.concat([Buffer.from(this.#head), this.#binding]).toString("base64");
    const proofless = `c=${binding},r=${nonce}`;
    const message = `${this.#bare()},${serverFirst},${proofless}`;
    const signature = hmac(createHash("sha256").update(clientKey).digest(), message);
    const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] as number)));
    this.#signature = hmac(hmac(salted, "Server Key"), message);
    return `${proofless},p=${proof.toString("base64")}`;
  }

  /** @throws Error when the server does not know the password either */
  check(serverFinal: string): void {
    const shown = Buffer.from(fieldsOf(serverFinal)["v"] ?? "", "base64");
    const wanted = this.#signature;
    if (wanted === undefined || shown.length !== wanted.length || !timingSafeEqual(shown, wanted))
      throw new Error("the server could not prove that it knows the password");
    this.#proven = true;
  }

  /** The name is the one of the start-up message. */
  #bare(): string {
    return `n=,r=${this.#nonce}`;
  }
}

function fieldsOf(message: string): Readonly<Record<string, string>> {
  return Object.fromEntries(message.split(",").map((field) => [field.slice(0, 1), field.slice(2)]));
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
