// Keeps the values of secrets away from a program that uses them: it gets placeholders, and only requests to a secret's own
// hosts have them replaced.
import { randomBytes } from "node:crypto";
import { open } from "node:fs/promises";
import { READ_AT_ONCE } from "../audit/owned-files.js";
import type { SecretPolicy } from "../policy/policy.js";
import { type EgressEndpoint, type EgressTarget, parseTarget } from "./egress-target.js";
import { FilterCache, SecretExchange, type SecretMember } from "./secret-exchange.js";

/**
 * Has a value kept out of every text from now on. Returns how it may look in one; nothing when it is too short to be told from
 * other text, and then it is not sent anywhere.
 */
export type LearnSecret = (name: string, value: string) => readonly string[];

interface SecretBrokerOptions {
  readonly learn: LearnSecret;
  /** Where values of `env:NAME` are looked up; `process.env` when absent. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Asked at each request: why no value is sent now. Default: it is. */
  readonly unusable?: () => string | undefined;
}

/** Two secrets would have the same variable. */
export class SecretError extends Error {
  override readonly name = "SecretError";
}

/** Begins the variable that holds a placeholder. */
const VARIABLE = "SECRET_";
const PLACEHOLDER_BYTES = 20;
/** A value that was replaced may still be in an answer; more replacements within one run are somebody's mistake. */
const KEPT_VALUES = 8;
/** What is written alike in every charset, and found again in an answer. */
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const UNSENDABLE = /[^\t\r\n\x20-\x7e]/;

interface Held {
  readonly policy: SecretPolicy;
  readonly placeholder: string;
  /** Spellings by value, the latest last. */
  readonly values: Map<string, readonly string[]>;
}

export class SecretBroker {
  readonly #held: readonly Held[];
  readonly #learn: LearnSecret;
  readonly #filters = new FilterCache();
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #unusable: () => string | undefined;

  /** Placeholders are random and this broker's own: those of another mean nothing to it. */
  constructor(
    secrets: Iterable<SecretPolicy>,
    { learn, environment = process.env, unusable = () => undefined }: SecretBrokerOptions,
  ) {
    this.#held = [...secrets].map((policy) => ({ policy, placeholder: newPlaceholder(), values: new Map() }));
    this.#learn = learn;
    this.#environment = environment;
    this.#unusable = unusable;
  }

  /** By name. */
  placeholders(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#held.map(({ policy, placeholder }) => [policy.name, placeholder]));
  }

  /** As variables: `SECRET_` and the name in capitals, with `_` for `-`. @throws SecretError */
  variables(): Readonly<Record<string, string>> {
    const variables: Record<string, string> = {};
    for (const { policy, placeholder } of this.#held) {
      const variable = VARIABLE + policy.name.toUpperCase().replaceAll("-", "_");
      if (variable in variables)
        throw new SecretError(`Two of its secrets would be the variable ${variable}; rename "${policy.name}".`);
      variables[variable] = placeholder;
    }
    return variables;
  }

  /** Whether a secret may be sent to this endpoint. */
  owns({ host, port }: Pick<EgressEndpoint, "host" | "port">): boolean {
    return this.#held.some(({ policy }) => policy.hosts.find(host, port) !== undefined);
  }

  /** The target by https, when it was asked for in plain text and secrets are sent there; unless it is on this machine. */
  secured(target: EgressTarget): EgressTarget | undefined {
    if (target.scheme === "https" || isLoopback(target)) return undefined;
    const url = new URL(target.url);
    url.protocol = "https:";
    const secured = parseTarget(url.href);
    return this.owns(secured) ? secured : undefined;
  }

  /** What may happen in one request to this endpoint; undefined when no secret belongs there. Reads the values. */
  async at(endpoint: EgressEndpoint): Promise<SecretExchange | undefined> {
    const { host, port } = endpoint;
    const there = this.#held.filter(({ policy }) => policy.hosts.find(host, port) !== undefined);
    if (there.length === 0) return undefined;
    return new SecretExchange(await Promise.all(there.map((held) => this.#member(held, endpoint))), this.#filters);
  }

  async #member(held: Held, endpoint: EgressEndpoint): Promise<SecretMember> {
    const { policy, placeholder, values } = held;
    const { name, header, query, body } = policy;
    const text = await secretValue(policy.from, this.#environment);
    if (text !== undefined && !values.has(text)) {
      values.set(text, this.#learn(name, text));
      const [oldest] = values.keys();
      if (values.size > KEPT_VALUES && oldest !== undefined) values.delete(oldest);
    }
    const problem =
      this.#unusable() ?? problemOf(text, { endpoint, from: policy.from, known: values.get(text ?? "")?.length ?? 0 });
    const value = problem === undefined ? { text: text ?? "" } : { problem };
    return { name, placeholder, header, query, body, value, spellings: [...values.values()].flat() };
  }
}

interface Circumstances {
  readonly endpoint: EgressEndpoint;
  readonly from: SecretPolicy["from"];
  /** Spellings by which it is found. */
  readonly known: number;
}

function problemOf(text: string | undefined, { endpoint, from, known }: Circumstances): string | undefined {
  if (text === undefined)
    return `it has no value; the policy takes it from ${from.kind === "env" ? `the variable ${from.name}` : "a file"}`;
  if (known === 0) return "it is too short to be kept out of texts, or there are too many to keep";
  if (UNSENDABLE.test(text)) return "its value has characters outside ASCII, or none that anybody sees";
  if (endpoint.scheme === "http" && !isLoopback(endpoint)) return "it only goes over https";
  return undefined;
}

function isLoopback({ host }: EgressEndpoint): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function newPlaceholder(): string {
  return `placeholder_${randomBytes(PLACEHOLDER_BYTES).toString("hex")}`;
}

// Reads the value of a secret from where the policy says it is.

/** A key or a token; a file of any other size is something else. */
const MAX_BYTES = 64 * 1024;

/** Without the white space around it, which files end with. Undefined where there is none. */
async function secretValue(
  from: SecretPolicy["from"],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const value = from.kind === "env" ? environment[from.name] : await textOf(from.path);
  return value?.trim() || undefined;
}

async function textOf(path: string): Promise<string | undefined> {
  const file = await open(path, READ_AT_ONCE).catch(() => undefined);
  try {
    const stats = await file?.stat();
    return stats?.isFile() && stats.size <= MAX_BYTES ? await file?.readFile("utf8") : undefined;
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}
