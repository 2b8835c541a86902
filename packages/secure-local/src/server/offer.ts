// Keeps what a server has registered equal to what the policy in force allows.
import type { Registration, Server } from "@secure-local/mcp/server";
import type { SubjectKind } from "../guard/subject.js";
import { decide } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";
import { toolDefinition } from "../tools/tool-definition.js";
import type { ToolPowers } from "../tools/tool.js";
import { type AnyPrompt, type AnyTool, type Catalogue, has } from "./catalogue.js";

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

/** Handlers look up their tool or prompt when they run, so only a changed listing needs a new registration. */
export class Offer {
  readonly #server: Server;
  readonly #powers: Omit<ToolPowers, "signal">;
  readonly #offered = new Map<string, Offered>();
  #catalogue: Catalogue;

  constructor(server: Server, powers: Omit<ToolPowers, "signal">, catalogue: Catalogue) {
    this.#server = server;
    this.#powers = powers;
    this.#catalogue = catalogue;
  }

  /** Whether there is such a thing, allowed or not. */
  exists(kind: SubjectKind, name: string): boolean {
    return has(this.#catalogue, kind, name);
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
      registration.remove();
    }
    for (const item of items) this.#offer(item);
  }

  *#items(policy: Policy, { tools, prompts, resources }: Catalogue): Iterable<Item> {
    for (const [name, tool] of tools) {
      const { allowed } = decide(policy, { kind: "tool", name });
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
  }

  #offer({ key, listing, register }: Item): void {
    const before = this.#offered.get(key);
    // Functions are no part of what clients see, and JSON leaves them out.
    const text = JSON.stringify(listing);
    if (before?.listing === text) return;
    before?.registration.remove();
    this.#offered.set(key, { listing: text, registration: register() });
  }

  #registerTool(tool: AnyTool): Registration {
    const { name } = tool;
    const latest: AnyTool = {
      ...tool,
      run: (args, powers) => (this.#catalogue.tools.get(name) ?? tool).run(args, powers),
    };
    return this.#server.tool(name, toolDefinition(latest, this.#powers));
  }

  #registerPrompt(name: string, prompt: AnyPrompt): Registration {
    return this.#server.prompt(name, {
      ...prompt,
      run: (args, context) => (this.#catalogue.prompts.get(name) ?? prompt).run(args, context),
    });
  }
}
