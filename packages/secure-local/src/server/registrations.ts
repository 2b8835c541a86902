// Keeps what a server has registered equal to what the policy in force allows.
import {
  type Context,
  type JsonSchema,
  type Registration,
  result,
  type Server,
  type ToolDefinition,
  type Unlisted,
} from "@secure-local/mcp/server";
import type { SubjectKind } from "../guard/compiled-policy.js";
import type { Flow } from "../guard/taints.js";
import { decide, type Decision, deniedElsewhere } from "../policy/decide.js";
import type { NetworkPolicy, PluginGrant, Policy, ServerGrant } from "../policy/policy.js";
import { type SharedPowers, toolDefinition, type ToolNeed } from "../tools/tool.js";
import {
  type AnyPrompt,
  type AnyTool,
  type Catalogue,
  familyOf,
  has,
  lackingRule,
  unmetNeed,
  withheldReason,
} from "./catalogue.js";
import { cleanValue } from "../guard/cleaning/clean-result.js";
import { cleanText } from "../guard/cleaning/clean-text.js";
import { SERVER_INFO_URI } from "../resources/file-resources.js";
import { isFileUri, pathOfUri, uriOfPath } from "../capabilities/files/plain-path.js";
import { atPlaces, leadsTo, placesIn } from "../capabilities/files/leads-to.js";
import { MOST_PATHS, pathsOfCall } from "../policy/decide-command.js";
import { gitAddress, isGitUri } from "../capabilities/git/git-folder.js";
import type { Rule } from "../policy/faults.js";
import type { AuditEvent } from "../audit/audit-event.js";
import type { PluginReview } from "./plugin-reviews.js";
import type { AskedWithin, NotApproved } from "../guard/approvals/approvals.js";
import { RULE_META } from "../guard/conclusion.js";
import { AskedReads } from "./asked-reads.js";

/** One registration and the listing it was made with. */
interface Offered {
  readonly listing: string;
  readonly registration: Registration;
}

/** What may be registered: its key, what clients see of it, and how. */
interface Item {
  readonly key: string;
  readonly listing: object;
  readonly allowed: boolean;
  register(): Registration;
}

interface OfferOptions {
  readonly powers: SharedPowers;
  readonly catalogue: Catalogue;
  /** Asked before each call of a tool is run, and before each resource and prompt is read. */
  readonly consent: Consent;
  /** Whether a person would be asked, where nobody can be. */
  readonly wouldAsk: (call: AskedWithin) => boolean;
  /** Takes something away once no call needs it that was admitted before. */
  readonly withdraw: (take: () => void) => void;
}

/** Handlers look up their tool or prompt when they run, so only a changed listing needs a new registration. */
export class Registrations {
  readonly #server: Server;
  readonly #powers: SharedPowers;
  readonly #consent: Consent;
  readonly #withdraw: (take: () => void) => void;
  readonly #reads: AskedReads;
  readonly #offered = new Map<string, Offered>();
  /** No longer on offer, and still there for calls that were admitted before. */
  readonly #leaving = new Map<string, Registration>();
  readonly #unlisted = new Set<string>();
  #catalogue: Catalogue;
  /** The policy in force; undefined before there is one. */
  #policy: Policy | undefined;
  /** Whether calls are judged by where their paths lead, from the first policy on that has approvals. */
  #judging = false;

  constructor(server: Server, given: OfferOptions) {
    this.#server = server;
    this.#powers = given.powers;
    this.#catalogue = given.catalogue;
    this.#consent = given.consent;
    this.#withdraw = given.withdraw;
    this.#reads = new AskedReads({
      ...given,
      policy: () => this.#policy,
      judging: () => this.#judging,
      denial: linkedDenial,
    });
  }

  /** Whether there is such a thing, allowed or not. */
  exists(kind: SubjectKind, name: string): boolean {
    return has(this.#catalogue, kind, name);
  }

  /** Whether a URI, or a template, is one of ours. */
  claims(uri: string): boolean {
    const { resources, templates } = this.#catalogue;
    return resources.has(uri) || templates.has(uri) || familyOf(this.#catalogue, uri) !== undefined;
  }

  /** What else stands against something whose name the policy allows. */
  objection(policy: Policy, subject: { readonly kind: SubjectKind; readonly name: string }): Decision | undefined {
    return objection(policy, this.#catalogue, subject);
  }

  /** The plugin behind something. */
  pluginOf(kind: SubjectKind, name: string): string | undefined {
    return this.#catalogue.owners.get(`${kind} ${name}`);
  }

  /** What goes through something under a policy. */
  flow(policy: Policy, subject: FlowSubject): Flow {
    return flowOf(policy, this.#catalogue, subject);
  }

  /** Whether what a tool answers was written by strangers. */
  speaksForStrangers(tool: string): boolean {
    if (this.#catalogue.mountedOn("tool", tool) !== undefined) return true;
    return this.#catalogue.tools.get(tool)?.annotations.openWorldHint === true;
  }

  /** The tools on offer. */
  tools(): AnyTool[] {
    return [...this.#catalogue.tools.values()].filter(({ name }) => this.#offered.has(`tool ${name}`));
  }

  /** Whether lists leave out a template: the policy allows single URIs of it, or beginnings of some, and not all there are. */
  readonly unlisted: Unlisted = (kind, uri) => kind === "template" && this.#unlisted.has(uri);

  /** Registers what became allowed and removes what no longer is; the server announces what changed. */
  update(policy: Policy, catalogue: Catalogue): void {
    this.#catalogue = catalogue;
    this.#policy = policy;
    this.#judging ||= policy.approvals.length > 0;
    const items = [...this.#items(policy, catalogue)].filter(({ allowed }) => allowed);
    const wanted = new Set(items.map(({ key }) => key));
    for (const [key, { registration }] of this.#offered) {
      if (wanted.has(key)) continue;
      this.#offered.delete(key);
      this.#leaving.set(key, registration);
      this.#withdraw(() => this.#take(key, registration));
    }
    for (const item of items) this.#offer(item);
  }

  *#items(policy: Policy, catalogue: Catalogue): Iterable<Item> {
    const { tools, prompts, resources, templates } = catalogue;
    for (const [name, tool] of tools) {
      const allowed = decide(policy, { kind: "tool", name }).allowed && unmetNeed(policy, tool.needs) === undefined;
      yield { key: `tool ${name}`, listing: tool, allowed, register: () => this.#registerTool(tool) };
    }
    for (const [name, prompt] of prompts) {
      const { allowed } = decide(policy, { kind: "prompt", name });
      yield { key: `prompt ${name}`, listing: prompt, allowed, register: () => this.#registerPrompt(name, prompt) };
    }
    for (const [uri, resource] of resources) {
      const { allowed } = decide(policy, { kind: "resource", uri });
      const register = (): Registration => this.#server.resource(uri, this.#reads.resource(uri, resource));
      yield { key: `resource ${uri}`, listing: resource, allowed, register };
    }
    for (const [uri, template] of templates) {
      const isListed = decide(policy, { kind: "resource", uri }).allowed;
      const register = (): Registration => {
        if (isListed) this.#unlisted.delete(uri);
        else this.#unlisted.add(uri);
        return this.#server.resourceTemplate(uri, this.#reads.template(template.definition));
      };
      const allowed = isListed || allowsSome(policy, uri);
      yield { key: `template ${uri}`, listing: { ...template.definition, isListed }, allowed, register };
    }
  }

  #offer({ key, listing, register }: Item): void {
    const before = this.#offered.get(key);
    // Functions are no part of what clients see, and JSON leaves them out.
    const text = JSON.stringify(listing);
    if (before?.listing === text) return;
    before?.registration.remove();
    const leaving = this.#leaving.get(key);
    if (leaving !== undefined) this.#take(key, leaving);
    this.#offered.set(key, { listing: text, registration: register() });
  }

  /** Removing twice does nothing. */
  #take(key: string, registration: Registration): void {
    if (this.#leaving.get(key) === registration) this.#leaving.delete(key);
    registration.remove();
  }

  #registerTool(tool: AnyTool): Registration {
    const { name } = tool;
    const latest: AnyTool = {
      ...tool,
      run: (args, powers) => (this.#catalogue.tools.get(name) ?? tool).run(args, powers),
    };
    const definition = cleanListing(toolDefinition(latest, this.#powers));
    return this.#server.tool(
      name,
      withConsent(tool, definition, {
        consent: this.#consent,
        judgedBy: () => (this.#judging ? this.#policy : undefined),
      }),
    );
  }

  #registerPrompt(name: string, prompt: AnyPrompt): Registration {
    const run: AnyPrompt["run"] = (args, context) => (this.#catalogue.prompts.get(name) ?? prompt).run(args, context);
    return this.#server.prompt(name, this.#reads.prompt(name, { ...prompt, run }));
  }
}

/** Whether the policy allows URIs of a template's scheme: each is judged when it is asked for. */
function allowsSome({ resources }: Policy, template: string): boolean {
  const scheme = template.slice(0, template.indexOf(":") + 1).toLowerCase();
  return resources.allowed.rules.some(({ pattern }) => pattern.toLowerCase().startsWith(scheme));
}

// Cleans what a list shows of a tool: its title, its description and its schemas are read by models like any answer.

type Definition = ToolDefinition<JsonSchema, JsonSchema | undefined>;

/** Bytes of one description or schema: no honest one is longer, and it is read with every question. */
const LIMITS = { textBytes: 32_768, resultBytes: 262_144 };

/** The same texts stay the same. */
function cleanListing(definition: Definition): Definition {
  const { title, description, input, output } = definition;
  return {
    ...definition,
    ...(title === undefined ? {} : { title: cleanText(title, LIMITS) }),
    ...(description === undefined ? {} : { description: cleanText(description, LIMITS) }),
    ...(input === undefined ? {} : { input: cleanValue(input, LIMITS) }),
    ...(output === undefined ? {} : { output: cleanValue(output, LIMITS) }),
  };
}

// Says what goes through a tool, prompt or resource under a policy: whether it reads private data, brings in strangers' texts, sends out.

const NOTHING: Flow = Object.freeze({ untrusted: false, private: false, sends: false });
const READS_PRIVATE: ReadonlySet<ToolNeed> = new Set(["readable-files", "databases", "fillable-databases", "commands"]);

export interface FlowSubject {
  readonly kind: SubjectKind;
  readonly name: string;
  /** Arguments of the call, where they are known. */
  readonly arguments?: unknown;
}

/** Pure. What is not known counts as what could be worst. */
export function flowOf(policy: Policy, catalogue: Catalogue, subject: FlowSubject): Flow {
  const owner = catalogue.owners.get(`${subject.kind} ${subject.name}`);
  if (owner !== undefined) return pluginFlow(policy, policy.plugins.load.get(owner));
  const server = catalogue.mountedOn(subject.kind, subject.name);
  if (server !== undefined) return serverFlow(policy, policy.servers.get(server));
  if (subject.kind === "prompt") return promptFlow(subject.name);
  if (subject.kind === "resource") return subject.name === SERVER_INFO_URI ? NOTHING : { ...NOTHING, private: true };
  return toolFlow(policy, catalogue, subject);
}

/** A log holds what strangers made it write. */
function promptFlow(name: string): Flow {
  return name === "analyze_logs" ? { untrusted: true, private: true, sends: false } : NOTHING;
}

/** Whatever it says of itself: its texts are a stranger's, and it reads and sends what it was granted. */
function pluginFlow(policy: Policy, grant: Pick<PluginGrant, "filesystem" | "network" | "commands"> | undefined): Flow {
  const walled = policy.sandbox.mode !== "none";
  if (grant === undefined || !walled) return { untrusted: true, private: true, sends: true };
  const { allowed, readable } = grant.filesystem;
  const sends = reaches(grant.network) || grant.commands.some((name) => commandSends(policy, name));
  const reads = allowed.rules.length + readable.rules.length > 0 || grant.commands.length > 0;
  return { untrusted: true, private: reads, sends };
}

/** A remote server is sent whatever its tools are called with, and says what it likes. */
function serverFlow(policy: Policy, grant: ServerGrant | undefined): Flow {
  if (grant === undefined || grant.launch.kind === "url") return { untrusted: true, private: true, sends: true };
  return pluginFlow(policy, { ...grant, commands: [] });
}

function toolFlow(policy: Policy, { tools }: Catalogue, { name, arguments: args }: FlowSubject): Flow {
  const tool = tools.get(name);
  if (tool === undefined) return NOTHING;
  const needs = tool.needs ?? [];
  const reads = needs.some((need) => READS_PRIVATE.has(need));
  if (needs.includes("commands")) {
    const sends = commandSends(policy, commandIn(args));
    return { untrusted: sends, private: reads, sends };
  }
  const sends = needs.includes("network") || needs.includes("search-service");
  return { untrusted: sends || tool.annotations.openWorldHint, private: reads, sends };
}

function commandIn(args: unknown): string | undefined {
  const command =
    typeof args === "object" && args !== null ? (args as Readonly<Record<string, unknown>>)["command"] : undefined;
  return typeof command === "string" ? command : undefined;
}

/** Without a name: whether any command may. */
function commandSends(policy: Policy, name: string | undefined): boolean {
  if (policy.sandbox.mode === "none") return true;
  const allowed = [...policy.commands.allowed.values()];
  const named = allowed.filter((command) => command.name === name);
  return (named.length > 0 ? named : allowed).some(({ network }) => reaches(network));
}

function reaches({ offline, allowedEndpoints, allowedRanges }: NetworkPolicy): boolean {
  return offline === undefined && allowedEndpoints.rules.length + allowedRanges.rules.length > 0;
}

// What stands against a tool or resource that exists and whose name the policy allows.

/** The operator sees why, and what to do, with `plugins list`. */
const QUARANTINE: Rule = Object.freeze({ text: "quarantine of plugins" });

/** A refusal, or undefined when nothing does: a tool has nothing to work on, a file is out of reach. */
export function objection(
  policy: Policy,
  catalogue: Catalogue,
  { kind, name }: { readonly kind: SubjectKind; readonly name: string },
): Decision | undefined {
  const withheld = withheldReason(catalogue, kind, name);
  if (withheld !== undefined)
    return { allowed: false, rule: QUARANTINE, reason: `The ${kind} ${name} is withheld: ${withheld}.`, withheld };
  if (kind === "resource") return linkedDenial(policy, name) ?? familyOf(catalogue, name)?.objection?.(policy, name);
  const needs = kind === "tool" ? catalogue.tools.get(name)?.needs : undefined;
  const reason = unmetNeed(policy, needs);
  return reason === undefined ? undefined : { allowed: false, rule: lackingRule(policy, needs), reason };
}

const UNTOLD: Rule = Object.freeze({ text: "built-in rule: denials hold for what a URI leads to" });

/** A file or repository is denied by each of its names, whatever links the URI goes by. */
function linkedDenial(policy: Policy, uri: string): Decision | undefined {
  const scheme = isFileUri(uri) ? "file:" : isGitUri(uri) ? "git:" : undefined;
  if (scheme === undefined || uri.includes("{")) return undefined;
  const patterns = policy.resources.denied.rules.map(({ pattern }) => pattern);
  const folders = patterns.filter((pattern) => pattern.startsWith(`${scheme}//`)).flatMap(folderOf);
  if (folders.length === 0) return undefined;
  let names: readonly string[] | undefined;
  try {
    names = leadsTo(scheme === "git:" ? gitAddress(uri).repository : pathOfUri(uri), folders)?.names;
  } catch {
    // Whoever reads it says what is wrong with it.
    return undefined;
  }
  if (names === undefined)
    return { allowed: false, rule: UNTOLD, reason: `What the resource "${uri}" leads to cannot be told.` };
  const rest = /[?#].*$/s.exec(uri)?.[0] ?? "";
  const others = names.map((name) => uriOfPath(name).replace(/^file:/, scheme) + rest);
  return deniedElsewhere(policy, uri, others);
}

/** The folder that a denied URI, or the beginning of one, stands in, and the thing itself. */
function folderOf(pattern: string): string[] {
  const path = pattern.replace(/^\w+:\/\/(?:localhost)?/, "").replace(/[?#].*$/s, "");
  try {
    const whole = decodeURIComponent(path.replace(/\*$/, ""));
    const folder = whole.slice(0, whole.lastIndexOf("/")) || "/";
    return path.endsWith("*") ? [folder] : [whole, folder];
  } catch {
    return [path];
  }
}

// Tells the audit log and the operator what of each plugin is withheld, once for each different answer.

export class Quarantines {
  readonly #told = new Map<string, string>();

  /** The records of what is withheld now and was not told yet, and lines for the operator. */
  news(reviews: readonly PluginReview[]): { readonly events: AuditEvent[]; readonly lines: readonly string[] } {
    const fresh = reviews.filter((review) => {
      const text = JSON.stringify(recordOf(review).detail);
      if (this.#told.get(review.plugin) === text) return false;
      this.#told.set(review.plugin, text);
      return review.withheld.size > 0 || review.findings.length > 0;
    });
    return { events: fresh.map(recordOf), lines: fresh.flatMap(linesOf) };
  }
}

/** One line a plugin. */
function linesOf({ plugin, withheld }: PluginReview): string[] {
  const [first, ...more] = withheld;
  if (first === undefined) return [];
  const rest = more.length === 0 ? "" : `; and ${more.length} more, see mcp-secure-local plugins list`;
  return [`plugin ${plugin}: ${first[0]} is withheld: ${first[1]}${rest}`];
}

function recordOf({ plugin, withheld, findings, changes }: PluginReview): AuditEvent {
  return {
    kind: "plugins.quarantined",
    tool: plugin,
    outcome: withheld.size > 0 ? "denied" : "reported",
    detail: {
      withheld: Object.fromEntries(withheld),
      findings: findings.map(({ id, tier, kind, item, at, excerpt }) => ({
        id,
        tier,
        item: `${kind} ${item}`,
        at,
        excerpt,
      })),
      changes,
    },
  };
}

// Puts the question for a person's consent right before the handler of a tool.

/** Undefined when the call may run. */
type Consent = (call: AskedWithin) => Promise<NotApproved | undefined> | undefined;

/**
 * The definition with a handler that asks first. Here the arguments are checked and complete, and the question works in
 * every era: the handler is what is parked.
 */
function withConsent(
  { name, annotations }: AnyTool,
  definition: Definition,
  { consent, judgedBy }: { readonly consent: Consent; readonly judgedBy: () => Policy | undefined },
): Definition {
  const destructive = annotations.destructiveHint && !annotations.readOnlyHint;
  const run = definition.run;
  const open = openArguments(definition.input);
  return {
    ...definition,
    run(args: unknown, ctx: Context) {
      const policy = judgedBy();
      const paths = policy === undefined ? [] : pathsOfCall(policy, { tool: name, arguments: args });
      if (paths === undefined) return refusedResult(TOO_MANY_PATHS);
      const places = paths.length === 0 ? undefined : placesIn(paths);
      const asked = consent({ ctx, tool: name, destructive, arguments: args, open });
      const go = (): ReturnType<typeof run> =>
        places === undefined ? run(args, ctx) : atPlaces(places, () => run(args, ctx));
      if (asked === undefined) return go();
      return asked.then((refused) => (refused === undefined ? go() : refusedResult(refused)));
    },
  };
}

/** What is opened is compared with what rules saw: all of it, or nothing. */
const TOO_MANY_PATHS: NotApproved = Object.freeze({
  text: `Denied. A call may name at most ${MOST_PATHS} paths where the policy has approvals. Make several calls of it.`,
  rule: `built-in rule: at most ${MOST_PATHS} paths in a call that rules of approvals are compared with`,
});

/** Those that may be left out and have no default on paper: the tool finds them when it runs. */
export function openArguments(input: JsonSchema | undefined): ReadonlySet<string> {
  const { properties = {}, required = [] } = (input ?? {}) as {
    readonly properties?: Readonly<Record<string, unknown>>;
    readonly required?: readonly string[];
  };
  const isOpen = ([name, schema]: [string, unknown]): boolean =>
    !required.includes(name) && !(typeof schema === "object" && schema !== null && "default" in schema);
  return new Set(
    Object.entries(properties)
      .filter(isOpen)
      .map(([name]) => name),
  );
}

/** What the caller of a tool is told that nobody consented to. */
export function refusedResult({ text, rule }: NotApproved): ReturnType<typeof result> {
  return result({ content: [text], isError: true, _meta: { [RULE_META]: rule } });
}
