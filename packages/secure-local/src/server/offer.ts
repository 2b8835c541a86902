// Keeps what a server has registered equal to what the policy in force allows.
import type { Registration, Server } from "@secure-local/mcp/server";
import type { SubjectKind } from "../guard/subject.js";
import type { Flow } from "../guard/taints.js";
import { type Decision, decide } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";
import { type SharedPowers, toolDefinition } from "../tools/tool-definition.js";
import { type AnyPrompt, type AnyTool, type Catalogue, has } from "./catalogue.js";
import { cleanListing } from "./clean-listing.js";
import { type FlowSubject, flowOf } from "./flow-of.js";
import { objection } from "./objection.js";
import { unmetNeed } from "./unmet-need.js";
import { type Consent, withConsent } from "./with-consent.js";

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

export interface OfferOptions {
  readonly powers: SharedPowers;
  readonly catalogue: Catalogue;
  /** Asked before each call of a tool is run. */
  readonly consent: Consent;
  /** Takes something away once no call needs it that was admitted before. */
  readonly withdraw: (take: () => void) => void;
}

/** Handlers look up their tool or prompt when they run, so only a changed listing needs a new registration. */
export class Offer {
  readonly #server: Server;
  readonly #powers: SharedPowers;
  readonly #consent: Consent;
  readonly #withdraw: (take: () => void) => void;
  readonly #offered = new Map<string, Offered>();
  /** No longer on offer, and still there for calls that were admitted before. */
  readonly #leaving = new Map<string, Registration>();
  #catalogue: Catalogue;

  constructor(server: Server, given: OfferOptions) {
    this.#server = server;
    this.#powers = given.powers;
    this.#catalogue = given.catalogue;
    this.#consent = given.consent;
    this.#withdraw = given.withdraw;
  }

  /** Whether there is such a thing, allowed or not. */
  exists(kind: SubjectKind, name: string): boolean {
    return has(this.#catalogue, kind, name);
  }

  /** What else stands against something whose name the policy allows. */
  objection(policy: Policy, subject: { readonly kind: SubjectKind; readonly name: string }): Decision | undefined {
    return objection(policy, this.#catalogue, subject);
  }

  /** What goes through something under a policy. */
  flow(policy: Policy, subject: FlowSubject): Flow {
    return flowOf(policy, this.#catalogue, subject);
  }

  /** Whether what a tool answers was written by strangers. */
  speaksForStrangers(tool: string): boolean {
    return this.#catalogue.tools.get(tool)?.annotations.openWorldHint === true;
  }

  /** The tools on offer. */
  tools(): AnyTool[] {
    return [...this.#catalogue.tools.values()].filter(({ name }) => this.#offered.has(`tool ${name}`));
  }

  /** Registers what became allowed and removes what no longer is; the server announces what changed. */
  update(policy: Policy, catalogue: Catalogue): void {
    this.#catalogue = catalogue;
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
      const register = (): Registration => this.#server.resource(uri, resource);
      yield { key: `resource ${uri}`, listing: resource, allowed, register };
    }
    for (const [uri, template] of templates) {
      const { allowed } = decide(policy, { kind: "resource", uri });
      const register = (): Registration => this.#server.resourceTemplate(uri, template.definition);
      yield { key: `template ${uri}`, listing: template.definition, allowed, register };
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
    return this.#server.tool(name, withConsent(tool, definition, this.#consent));
  }

  #registerPrompt(name: string, prompt: AnyPrompt): Registration {
    return this.#server.prompt(name, {
      ...prompt,
      run: (args, context) => (this.#catalogue.prompts.get(name) ?? prompt).run(args, context),
    });
  }
}
