// Does what a plugin asks for under the policy it was granted: requests, commands, and what it keeps between its starts.
import { join } from "node:path";
import type { PolicyFetch } from "../capabilities/fetch.js";
import { FetchError } from "../capabilities/fetch-error.js";
import { policyEgress } from "../capabilities/policy-egress.js";
import type { ActedFor, Leave } from "../capabilities/leave.js";
import type { PolicyRequest } from "../capabilities/redirect.js";
import type { Run } from "../capabilities/run.js";
import { RunError } from "../capabilities/run-error.js";
import type { SecretBroker } from "../capabilities/secret-broker.js";
import { type Storage, StorageError } from "../capabilities/storage.js";
import { decideCommand } from "../policy/decide-command.js";
import type { Policy } from "../policy/policy.js";
import type { PluginGrant } from "../policy/plugins-policy.js";
import type { Rule } from "../policy/rule.js";
import { PluginError } from "./plugin-error.js";
import { readFetchAsk, readRunAsk, readStorageAsk, type StorageAsk } from "./read-ask.js";

type Json = Readonly<Record<string, unknown>>;

/** What a plugin asks for that is more than its own data. */
export type PluginAct =
  | { readonly kind: "run"; readonly command: string; readonly args: readonly string[] }
  | { readonly kind: "fetch"; readonly method: string; readonly url: string };

/** Leave to do it for one call, now; or why not, and by which rule. */
export type AskLeave = (act: PluginAct) => Promise<Leave>;

/** The call that something is asked for. */
export interface ForCall {
  /** Aborted when it has ended, in whatever way. */
  readonly signal: AbortSignal;
  readonly leave: AskLeave;
}

/** A command a plugin is about to run, the rule that allows it, and for which call. */
export interface StartedCommand {
  readonly by: ActedFor;
  readonly plugin: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly rule: Rule;
}

export interface PluginPowersOptions {
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
  /** Resolves when it is on record; nothing is run before, or when it rejects. */
  readonly runs: (started: StartedCommand) => Promise<void>;
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
  async answer(asked: Json, call: ForCall): Promise<unknown> {
    try {
      if ("fetch" in asked) return await this.#fetched(readFetchAsk(asked["fetch"]), call);
      if ("run" in asked) return await this.#ran(readRunAsk(asked["run"]), call);
      if ("storage" in asked) return await this.#kept(readStorageAsk(asked["storage"]));
    } catch (error) {
      if (error instanceof FetchError || error instanceof RunError || error instanceof StorageError)
        throw new PluginError(error.message);
      throw error;
    }
    throw new PluginError("A plugin may ask for fetch, run or storage.");
  }

  async #fetched({ url, ...request }: PolicyRequest & { readonly url: string }, call: ForCall): Promise<Json> {
    this.#fetch ??= this.#loadFetch();
    const fetch = await this.#fetch;
    const { signal } = call;
    await this.#leave(call, { kind: "fetch", method: request.method ?? "GET", url });
    try {
      const { status, url: from, headers, body } = await fetch(url, { ...request, signal });
      return { status, url: from, headers, ...textOrBytes(body) };
    } catch (error) {
      if (error instanceof FetchError && error.rule !== undefined) this.#options.refused(placeOf(url), error.rule);
      throw error;
    }
  }

  async #ran({ command, args }: { readonly command: string; readonly args: readonly string[] }, call: ForCall) {
    this.#run ??= this.#loadRun();
    const run = await this.#run;
    await this.#allowed(command, args, call);
    try {
      return await run(command, args, { signal: call.signal });
    } catch (error) {
      if (error instanceof RunError && error.rule !== undefined)
        this.#options.refused(`command ${command.slice(0, 64)}`, error.rule);
      throw error;
    }
  }

  /** Has a command that the policy allows asked for and put on record. */
  async #allowed(command: string, args: readonly string[], call: ForCall): Promise<void> {
    const { granted, grant, runs } = this.#options;
    const { allowed, rule } = decideCommand(granted, command, args);
    // What is refused is recorded as that.
    if (!allowed) return;
    const by = await this.#leave(call, { kind: "run", command, args });
    try {
      await runs({ by, plugin: grant.name, command, args, rule });
    } catch {
      throw new PluginError("The audit log is unavailable, so nothing is run.");
    }
    call.signal.throwIfAborted();
  }

  async #leave({ signal, leave }: ForCall, act: PluginAct): Promise<ActedFor> {
    const given = await leave(act);
    if ("text" in given) {
      this.#options.refused(act.kind === "run" ? `command ${act.command.slice(0, 64)}` : placeOf(act.url), given.rule);
      throw new PluginError(given.text);
    }
    signal.throwIfAborted();
    return given;
  }

  async #kept(asked: StorageAsk): Promise<unknown> {
    this.#storage ??= this.#loadStorage();
    const storage = await this.#storage;
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
    const { granted, own } = this.#options;
    const { createRun } = await import("../capabilities/policy-run.js");
    return createRun(() => granted, own);
  }

  async #loadStorage(): Promise<Storage> {
    const { grant, storage } = this.#options;
    if (grant.storageBytes === 0)
      throw new PluginError(`It was granted no storage: add storage_kb to ${grant.name} in plugins.load.`);
    if (storage === undefined) throw new PluginError("This server keeps nothing.");
    const { StorageFolder } = await import("../capabilities/storage-folder.js");
    return new StorageFolder(join(storage, folderName(grant.name)), grant.storageBytes);
  }
}

/** Some file systems do not tell capitals from small letters. */
function folderName(plugin: string): string {
  return plugin.replace(/[A-Z]/g, (letter) => `+${letter.toLowerCase()}`);
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
