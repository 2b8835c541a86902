// Does what a plugin asks for under the policy it was granted: requests, commands, and what it keeps between its starts.
import { hash } from "node:crypto";
import type { PolicyFetch, FetchRequest, SentRequest } from "../capabilities/fetch.js";
import { FetchError, type Permission, RunError, type ServedCall } from "../capabilities/refusals.js";
import { policyEgress } from "../capabilities/policy-egress.js";
import type { Run } from "../capabilities/policy-run.js";
import type { SecretBroker } from "../capabilities/secret-broker.js";
import { type Storage, StorageError, type StoredValue } from "../capabilities/refusals.js";
import { atPlaces, placesIn } from "../capabilities/files/leads-to.js";
import { decideCommand, pathsOfCommand } from "../policy/decide-command.js";
import type { PluginGrant, Policy } from "../policy/policy.js";
import type { Rule } from "../policy/faults.js";
import { PluginError } from "./plugin-description.js";

type Json = Readonly<Record<string, unknown>>;

/** What a plugin asks for that is more than its own data. */
export type PluginAction =
  | { readonly kind: "run"; readonly command: string; readonly args: readonly string[] }
  | { readonly kind: "fetch"; readonly method: string; readonly url: string }
  | { readonly kind: "storage"; readonly does: "set" | "delete"; readonly key: string };

/** Leave to do it for one call, now; or why not, and by which rule. */
export type AskPermission = (act: PluginAction) => Promise<Permission>;

/** The call that something is asked for. */
export interface CallReference {
  /** Aborted when it has ended, in whatever way. */
  readonly signal: AbortSignal;
  readonly leave: AskPermission;
}

/** What a plugin is about to do, and for which call: what `arguments` has is all that the record says of it. */
export interface RecordedAction {
  readonly kind: "plugin.runs" | "plugin.fetches" | "plugin.keeps";
  readonly by: ServedCall;
  readonly plugin: string;
  readonly arguments: Json;
  /** What allows it, where that is a rule of a command. */
  readonly rule?: Rule;
}

interface PluginPowersOptions {
  /** The policy the plugin lives under. */
  readonly granted: Policy;
  readonly grant: PluginGrant;
  /** The program's own files, which no command sees. */
  readonly own: readonly string[];
  /** Where plugins keep what they may keep; undefined: nowhere. */
  readonly storage: string | undefined;
  readonly secrets: SecretBroker;
  /** Something was refused: what, and by which rule. */
  readonly refused: (what: string, rule: string) => void;
  /** Resolves when it is on record; nothing is done before, or when it rejects. */
  readonly records: (action: RecordedAction) => Promise<void>;
}

export class PluginPowers {
  readonly #options: PluginPowersOptions;
  #fetch: Promise<PolicyFetch> | undefined;
  #run: Promise<Run> | undefined;
  #storage: Promise<Storage> | undefined;

  constructor(options: PluginPowersOptions) {
    this.#options = options;
  }

  /** @throws PluginError for everything the plugin may know of; the signal's reason */
  async answer(asked: Json, call: CallReference): Promise<unknown> {
    try {
      if ("fetch" in asked) return await this.#fetched(readFetchAsk(asked["fetch"]), call);
      if ("run" in asked) return await this.#ran(readRunAsk(asked["run"]), call);
      if ("storage" in asked) return await this.#kept(readStorageAsk(asked["storage"]), call);
    } catch (error) {
      if (error instanceof FetchError) throw new PluginError(this.#ofGrant(error.message));
      if (error instanceof RunError || error instanceof StorageError) throw new PluginError(error.message);
      throw error;
    }
    throw new PluginError("A plugin may ask for fetch, run or storage.");
  }

  /** Advice names the plugin's own grant: what the whole policy opens is not open to it. */
  #ofGrant(advice: string): string {
    return advice.replace(
      "to network.allowed_endpoints",
      `to network.allowed_endpoints of ${this.#options.grant.name} in plugins.load`,
    );
  }

  async #fetched({ url, ...request }: FetchRequest & { readonly url: string }, call: CallReference): Promise<Json> {
    this.#fetch ??= this.#loadFetch();
    const fetch = await this.#fetch;
    const { signal } = call;
    const by = await this.#leave(call, { kind: "fetch", method: request.method ?? "GET", url });
    const sending = ({ body, ...sent }: SentRequest): Promise<void> =>
      this.#recorded({ kind: "plugin.fetches", by, arguments: { ...sent, ...toldOf(body) } }, call);
    try {
      const { status, url: from, headers, body } = await fetch(url, { ...request, signal, sending });
      return { status, url: from, headers, ...textOrBytes(body) };
    } catch (error) {
      if (error instanceof FetchError && error.rule !== undefined) this.#options.refused(placeOf(url), error.rule);
      throw error;
    }
  }

  async #ran({ command, args }: { readonly command: string; readonly args: readonly string[] }, call: CallReference) {
    this.#run ??= this.#loadRun();
    const run = await this.#run;
    const places = placesIn(pathsOfCommand(this.#options.granted, command, args));
    await this.#allowed(command, args, call);
    try {
      return await atPlaces(places, () => run(command, args, { signal: call.signal }));
    } catch (error) {
      if (error instanceof RunError && error.rule !== undefined)
        this.#options.refused(`command ${command.slice(0, 64)}`, error.rule);
      throw error;
    }
  }

  /** Has a command that the policy allows asked for and put on record. */
  async #allowed(command: string, args: readonly string[], call: CallReference): Promise<void> {
    const { granted } = this.#options;
    const { allowed, rule } = decideCommand(granted, command, args);
    // What is refused is recorded as that.
    if (!allowed) return;
    const by = await this.#leave(call, { kind: "run", command, args });
    await this.#recorded({ kind: "plugin.runs", by, arguments: { command, args }, rule }, call);
  }

  async #recorded(action: Omit<RecordedAction, "plugin">, { signal }: CallReference): Promise<void> {
    const { grant, records } = this.#options;
    try {
      await records({ ...action, plugin: grant.name });
    } catch {
      const undone = action.kind === "plugin.runs" ? "run" : action.kind === "plugin.fetches" ? "sent" : "changed";
      throw new PluginError(`The audit log is unavailable, so nothing is ${undone}.`);
    }
    signal.throwIfAborted();
  }

  async #leave({ signal, leave }: CallReference, act: PluginAction): Promise<ServedCall> {
    const given = await leave(act);
    if ("text" in given) {
      this.#options.refused(wordsOf(act), given.rule);
      throw new PluginError(given.text);
    }
    signal.throwIfAborted();
    return given;
  }

  async #kept(asked: StorageAsk, call: CallReference): Promise<unknown> {
    this.#storage ??= this.#loadStorage();
    const storage = await this.#storage;
    if (asked.do === "set" || asked.do === "delete") {
      const { do: does, key } = asked;
      const by = await this.#leave(call, { kind: "storage", does, key });
      const told = asked.do === "set" ? toldOf(JSON.stringify(asked.value)) : {};
      await this.#recorded({ kind: "plugin.keeps", by, arguments: { do: does, key, ...told } }, call);
    }
    switch (asked.do) {
      case "get":
        return await storage.get(asked.key);
      case "set":
        return await storage.set(asked.key, asked.value);
      case "delete":
        return await storage.delete(asked.key);
      case "keys":
        return await storage.keys();
    }
  }

  async #loadFetch(): Promise<PolicyFetch> {
    const { granted, secrets } = this.#options;
    const { createFetch } = await import("../capabilities/fetch.js");
    return createFetch(
      policyEgress(() => granted),
      { secrets },
    );
  }

  async #loadRun(): Promise<Run> {
    const { granted, own, refused } = this.#options;
    const { createRun } = await import("../capabilities/policy-run.js");
    return createRun(
      () => granted,
      own,
      (command, what, rule) => refused(`${command}: ${what}`, rule),
    );
  }

  async #loadStorage(): Promise<Storage> {
    const { grant, storage } = this.#options;
    if (grant.storageBytes === 0)
      throw new PluginError(`It was granted no storage: add storage_kb to ${grant.name} in plugins.load.`);
    if (storage === undefined) throw new PluginError("This server keeps nothing.");
    const { claimedStorage, StorageFolder } = await import("../capabilities/storage-folder.js");
    return new StorageFolder(claimedStorage(storage, grant), grant.storageBytes);
  }
}

function wordsOf(act: PluginAction): string {
  if (act.kind === "fetch") return placeOf(act.url);
  return act.kind === "run" ? `command ${act.command.slice(0, 64)}` : "storage";
}

/** What a record says of a text that is not in it. */
function toldOf(text: string | undefined): Json {
  if (text === undefined) return {};
  return { bytes: Buffer.byteLength(text), sha256: hash("sha256", text, "hex") };
}

/** Origin only: what follows may hold anything. */
function placeOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "a URL that is none";
}

function textOrBytes(body: Uint8Array): { readonly text: string } | { readonly base64: string } {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body) };
  } catch {
    return { base64: Buffer.from(body).toString("base64") };
  }
}

// Reads what a plugin asks for, as words of a stranger.

type StorageAsk =
  | { readonly do: "get" | "delete"; readonly key: string }
  | { readonly do: "set"; readonly key: string; readonly value: StoredValue }
  | { readonly do: "keys" };

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
const MAX_HEADERS = 64;
const HEADER_NAME = /^[!#$%&'*+.^`|~\w-]{1,100}$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]{0,8192}$/;
/** Those the host writes itself. */
const NOT_THEIRS =
  /^(?:host|connection|content-length|transfer-encoding|accept-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*)$/i;
const MAX_ARGUMENTS = 1_000;

/** @throws PluginError */
export function readFetchAsk(given: unknown): FetchRequest & { readonly url: string } {
  const { url, method = "GET", headers = {}, body, timeoutMs } = object(given, "fetch");
  const known = METHODS.find((each) => each === String(method).toUpperCase());
  if (known === undefined) throw new PluginError(`The method of a request is one of ${METHODS.join(", ")}.`);
  if (body !== undefined && body !== null && typeof body !== "string")
    throw new PluginError("The body of a request is a text.");
  const timeout = typeof timeoutMs === "number" && timeoutMs > 0 ? { timeoutMs } : {};
  return {
    url: text(url, "fetch.url"),
    method: known,
    headers: readHeaders(headers),
    ...(typeof body === "string" ? { body } : {}),
    ...timeout,
  };
}

function readHeaders(given: unknown): Record<string, string> {
  const headers = Object.entries(object(given, "fetch.headers"));
  if (headers.length > MAX_HEADERS) throw new PluginError(`A request has at most ${MAX_HEADERS} headers.`);
  const read: Record<string, string> = {};
  for (const [name, value] of headers) {
    if (!HEADER_NAME.test(name) || typeof value !== "string" || !HEADER_VALUE.test(value))
      throw new PluginError(`"${name.slice(0, 100)}" is no header, or its value no text of Latin-1.`);
    if (!NOT_THEIRS.test(name)) read[name.toLowerCase()] = value;
  }
  return read;
}

/** @throws PluginError */
function readRunAsk(given: unknown): { readonly command: string; readonly args: readonly string[] } {
  const { command, args = [] } = object(given, "run");
  if (!Array.isArray(args) || args.length > MAX_ARGUMENTS || !args.every((arg) => typeof arg === "string"))
    throw new PluginError("run.args must be a list of texts.");
  return { command: text(command, "run.command"), args };
}

/** `{"get": KEY}`, `{"set": KEY, "value": …}`, `{"delete": KEY}` or `{"keys": true}`. @throws PluginError */
function readStorageAsk(given: unknown): StorageAsk {
  const asked = object(given, "storage");
  if ("get" in asked) return { do: "get", key: text(asked["get"], "storage.get") };
  if ("delete" in asked) return { do: "delete", key: text(asked["delete"], "storage.delete") };
  if ("keys" in asked) return { do: "keys" };
  if (!("set" in asked)) throw new PluginError("storage takes get, set, delete or keys.");
  if (asked["value"] === undefined) throw new PluginError("storage.value is missing.");
  return { do: "set", key: text(asked["set"], "storage.set"), value: asked["value"] as StoredValue };
}

function object(given: unknown, place: string): Json {
  if (typeof given === "object" && given !== null && !Array.isArray(given)) return given as Json;
  throw new PluginError(`${place} must be a mapping.`);
}

function text(given: unknown, place: string): string {
  if (typeof given === "string") return given;
  throw new PluginError(`${place} must be a text.`);
}
