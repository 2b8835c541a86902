// What `serve` has beside the whole policy: each profile at a path of its own, and a socket in the state folder for `attach`.
import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import type { HttpServing } from "@secure-local/mcp/http";
import type { Server } from "@secure-local/mcp/server";
import { makeFolder } from "../audit/owned-files.js";
import type { Rule } from "../policy/faults.js";
import { NameMatcher } from "../policy/host-matcher.js";
import type { Policy } from "../policy/policy.js";
import { profiledPolicy } from "../policy/read-names.js";
import type { FollowsPolicy } from "../server/follow-policy-file.js";
import type { SecureServer } from "../server/secure-server.js";
import { controlFolder } from "./settings.js";

/** The server of the whole policy and those of its profiles, all of them following one file. */
export class ProfileServers implements FollowsPolicy {
  readonly #whole: SecureServer;
  readonly #profiles = new Map<string, SecureServer>();
  readonly #started = new Set<SecureServer>();
  readonly #say: (line: string) => void;

  /** `make`: a server for a part of the policy; nothing of it is started before somebody asks it something. */
  constructor(whole: SecureServer, make: (policy: Policy) => SecureServer, say: (line: string) => void) {
    this.#whole = whole;
    this.#say = say;
    const { policy } = whole;
    // One that is narrowed already has no further parts.
    if (policy.profile !== undefined) return;
    for (const name of policy.profiles.keys()) {
      const secure = make(profiledPolicy(policy, name));
      secure.whenAsked(() => {
        if (this.#started.has(secure)) return;
        secure.start();
        this.#started.add(secure);
      });
      this.#profiles.set(name, secure);
    }
  }

  /** Their names. */
  get names(): readonly string[] {
    return [...this.#profiles.keys()];
  }

  /** By path. */
  get servers(): Readonly<Record<string, Server>> {
    return Object.fromEntries([...this.#profiles].map(([name, { server }]) => [`/mcp/${name}`, server]));
  }

  get policy(): Policy {
    return this.#whole.policy;
  }

  reload(policy: Policy): void {
    this.#whole.reload(policy);
    if (policy.profile !== undefined) return;
    for (const [name, secure] of this.#profiles) this.#reloadProfile(name, secure, policy);
    const fresh = [...policy.profiles.keys()].filter((name) => !this.#profiles.has(name));
    if (fresh.length > 0) this.#say(`profiles.${fresh.join(", profiles.")}: served after the next start of serve`);
  }

  #reloadProfile(name: string, secure: SecureServer, policy: Policy): void {
    const wasGone = secure.policy.profile?.gone === true;
    const isGone = !policy.profiles.has(name);
    secure.reload(isGone ? nothingOf(policy, secure.policy) : profiledPolicy(policy, name));
    if (isGone && !wasGone)
      this.#say(`profiles.${name}: not in the policy any more; /mcp/${name} refuses everything until it is back`);
  }

  reloadFailed(reason: string): void {
    this.#whole.reloadFailed(reason);
    for (const secure of this.#started) secure.reloadFailed(reason);
  }

  /** Ends what somebody began at any of them who may not call any more, and says how much there was. */
  async endWorkOf(principal: string): Promise<{ readonly tasks: number; readonly questions: number }> {
    const ended = await Promise.all(this.#all.map((secure) => secure.endWorkOf(principal)));
    return {
      tasks: ended.reduce((sum, { tasks }) => sum + tasks, 0),
      questions: ended.reduce((sum, { questions }) => sum + questions, 0),
    };
  }

  /** As a `SecureServer` has them, of the whole policy and of every profile: whoever names a server means it wherever it runs. */
  async restartServer(name: string): Promise<boolean> {
    return (await Promise.all(this.#all.map((secure) => secure.restartServer(name)))).some(Boolean);
  }

  async stopServer(name: string): Promise<boolean> {
    return (await Promise.all(this.#all.map((secure) => secure.stopServer(name)))).some(Boolean);
  }

  /** Of the whole policy and of every profile. */
  clients(): ReturnType<SecureServer["clients"]> {
    return this.#all.flatMap((secure) => secure.clients()).sort((a, b) => b.last - a.last);
  }

  /** Each of a profile is remembered by that one's server. */
  get consents(): SecureServer["consents"] {
    const of = async <T>(each: (consents: SecureServer["consents"]) => Promise<T[]>): Promise<T[]> =>
      (await Promise.all(this.#all.map(({ consents }) => each(consents)))).flat();
    return {
      remembered: () => of((consents) => consents.remembered()),
      takeBack: (id, by) => of((consents) => consents.takeBack(id, by)),
    };
  }

  get #all(): readonly SecureServer[] {
    return [this.#whole, ...this.#profiles.values()];
  }

  /** Resolves when every process that was started for a profile is gone. */
  async stop(): Promise<void> {
    await Promise.all([...this.#started].map((secure) => secure.stop()));
  }
}

/** Its line is another one's by now. */
const NOT_THERE: Rule = Object.freeze({ text: "built-in rule: a profile that is gone allows nothing" });

/** What a profile that the policy has no more still allows. */
function nothingOf(policy: Policy, { profile }: Policy): Policy {
  const none = new NameMatcher([]);
  return {
    ...policy,
    profile: profile && { ...profile, rule: NOT_THERE, gone: true, servers: [], allowedTools: none },
    servers: new Map(),
    tools: { ...policy.tools, allowed: none },
    prompts: { ...policy.prompts, allowed: none },
    resources: { ...policy.resources, allowed: none },
  };
}

// The socket at which `attach` finds the server that runs with a policy: its owner's alone, so that it asks for no token.

/** Header by which `attach` says which of the clients it is: a random text that nobody else knows. */
export const ATTACHED = "mcp-secure-local-attached";

/** Header by which `attach` says that its client was told nothing yet, by whatever server. */
export const ATTACHED_ANEW = "mcp-secure-local-attached-anew";

/** Digits of the name: nobody has so many policies that two of them are named alike. */
const NAME_DIGITS = 16;

/** The socket of the server that serves this policy, or one profile of it, whether it runs or not. */
export function attachSocket(policy: string | undefined, profile?: string): string {
  const named = JSON.stringify([policy === undefined ? "built-in" : resolve(policy), profile ?? ""]);
  const name = createHash("sha256").update(named).digest("hex").slice(0, NAME_DIGITS);
  return join(controlFolder(), `${name}.attach`);
}

/** The URL of a server behind a socket. */
export function socketUrl(socket: string, path = "/mcp"): string {
  return `http+unix://${encodeURIComponent(socket)}${path}`;
}

/** Why `attach` is not to be had here, and what to do instead; undefined where it is. */
export function whyNoAttach(): string | undefined {
  if (process.platform !== "win32") return undefined;
  return "attach is not to be had on Windows, where there is no socket that only you can open; let the client start this program itself: mcp-secure-local install CLIENT";
}

/**
 * Listens for `attach`. Nobody needs it to serve: where there can be no socket, `say` is told why, and undefined is returned.
 * Windows has no folder that only its owner's programs can listen in, so there it is silently left out.
 */
export async function openAttach(
  listen: () => Promise<HttpServing>,
  say: (line: string) => void,
): Promise<HttpServing | undefined> {
  if (process.platform === "win32") return undefined;
  try {
    makeFolder(controlFolder());
    return await listen();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const { code } = (error as { readonly cause?: NodeJS.ErrnoException }).cause ?? {};
    // Several servers of one policy are in order: clients that share one share the first.
    if (code === "EADDRINUSE") say("attach reaches the server of this policy that was started first, and not this one");
    else say(`attach does not reach this server: ${why}`);
    return undefined;
  }
}
