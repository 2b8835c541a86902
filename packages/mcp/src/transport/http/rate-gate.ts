// Counts requests by who sends them and holds back whoever sends too many: a token bucket each, in a bounded table.
import type { HttpExchange, HttpRequestHead } from "./exchange.js";
import { type RateLimits, withLimits, DEFAULT_RATE } from "./http-limits.js";

/** How many requests of one sender are served, and who counts as one where nobody is known. */
export interface RateOptions extends Partial<RateLimits> {
  /**
   * The address of a sender nobody knows by name. Default: that of the connection, which behind a proxy is the proxy's,
   * and which runtimes that speak fetch do not tell: senders without one share one bucket.
   */
  readonly address?: (request: HttpRequestHead) => string | undefined;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** Known senders are counted by principal wherever they are, unknown and refused ones by address. */
export class RateGate {
  readonly #limits: RateLimits;
  readonly #address: RateOptions["address"];
  /** The ones heard last come last. */
  readonly #buckets = new Map<string, Bucket>();
  /** Whoever was heard last: its bucket is the last one already, and most requests come from the one before. */
  #last: string | undefined;

  /** Throws RangeError for a limit that is not a positive integer. */
  constructor({ address, ...limits }: RateOptions) {
    this.#limits = withLimits(DEFAULT_RATE, limits);
    this.#address = address;
  }

  /** Counts a request. Returns 0 when it may pass, otherwise the seconds after which the next one may. */
  take(exchange: HttpExchange): number {
    const bucket = this.#bucketOf(this.#sender(exchange));
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / this.#limits.perSecond);
    bucket.tokens--;
    return 0;
  }

  #sender(exchange: HttpExchange): string {
    const { principal } = exchange;
    if (principal !== undefined) return `principal ${principal}`;
    const address = this.#address === undefined ? exchange.address : this.#address(exchange);
    return address === undefined ? "" : networkOf(address);
  }

  #bucketOf(sender: string): Bucket {
    const { perSecond, burst, callers } = this.#limits;
    const now = performance.now();
    const bucket = this.#buckets.get(sender) ?? { tokens: burst, at: now };
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
    bucket.at = now;
    if (sender === this.#last) return bucket;
    this.#last = sender;
    this.#buckets.delete(sender);
    this.#buckets.set(sender, bucket);
    if (this.#buckets.size > callers) this.#buckets.delete(this.#buckets.keys().next().value as string);
    return bucket;
  }
}

/** One customer has a whole IPv6 network of 64 bits, and so as many addresses as it likes. */
function networkOf(address: string): string {
  const bare = address.replace(/^::ffff:(?=\d+\.)/i, "");
  if (!bare.includes(":")) return bare;
  const [left = [], right] = bare.split("::").map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = right === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  return [...left, ...Array<string>(zeros).fill("0"), ...(right ?? [])].slice(0, 4).join(":");
}
