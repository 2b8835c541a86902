// Keeps what a server has registered equal to what the policy in force allows.
import { type Context, type Registration, result, type Server, type ToolResult } from "@secure-local/mcp/server";
import type { SubjectKind } from "../guard/subject.js";
import { decide } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";
import type { ToolAnswer, ToolPowers } from "../tools/tool.js";
import { type AnyPrompt, type AnyTool, type Catalogue, has, type Powers } from "./catalogue.js";

/** One registration and the listing it was made with. */
interface Offered {
  readonly listing: string;
  readonly registration: Registration;
}

/** Handlers look up their tool or prompt when they run, so only a changed listing needs a new registration. */
export class Offer {
  readonly #server: Server;
  readonly #offered = new Map<string, Offered>();
  #catalogue: Catalogue;

  constructor(server: Server, policy: Policy, catalogue: Catalogue) {
    this.#server = server;
    this.#catalogue = catalogue;
    this.update(policy, catalogue);
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
    const wanted = new Set<string>();
    const offer = (key: string, allowed: boolean, listing: object, register: () => Registration): void => {
      if (!allowed) return;
      wanted.add(key);
      this.#offer(key, JSON.stringify(listing), register);
    };
    for (const [name, tool] of catalogue.tools) {
      const { allowed } = decide(policy, { kind: "tool", name });
      offer(`tool ${name}`, allowed, { ...tool }, () => this.#registerTool(tool));
    }
    for (const [name, prompt] of catalogue.prompts) {
      const { allowed } = decide(policy, { kind: "prompt", name });
      offer(`prompt ${name}`, allowed, { ...prompt }, () => this.#registerPrompt(name, prompt));
    }
    for (const [uri, resource] of catalogue.resources) {
      const { allowed } = decide(policy, { kind: "resource", uri });
      offer(`resource ${uri}`, allowed, { ...resource }, () => this.#server.resource(uri, resource));
    }
    for (const [key, { registration }] of this.#offered) {
      if (wanted.has(key)) continue;
      this.#offered.delete(key);
      registration.remove();
    }
  }

  #offer(key: string, listing: string, register: () => Registration): void {
    const before = this.#offered.get(key);
    if (before?.listing === listing) return;
    before?.registration.remove();
    this.#offered.set(key, { listing, registration: register() });
  }

  #registerTool(tool: AnyTool): Registration {
    const { name, title, description, input, annotations } = tool;
    const run = (args: unknown, context: Context): ToolResult | Promise<ToolResult> => {
      const { tools, powers } = this.#catalogue;
      const answer = (tools.get(name) ?? tool).run(args as never, new CallPowers(powers, context));
      return answer instanceof Promise ? answer.then(toResult) : toResult(answer);
    };
    return this.#server.tool(name, { title, description, input, annotations, run });
  }

  #registerPrompt(name: string, prompt: AnyPrompt): Registration {
    return this.#server.prompt(name, {
      ...prompt,
      run: (args, context) => (this.#catalogue.prompts.get(name) ?? prompt).run(args, context),
    });
  }
}

/** The powers of one call. Its signal is made only when the tool looks at it. */
class CallPowers implements ToolPowers {
  readonly fetch: ToolPowers["fetch"];
  readonly clock: ToolPowers["clock"];
  readonly #context: Context;

  constructor({ fetch, clock }: Powers, context: Context) {
    this.fetch = fetch;
    this.clock = clock;
    this.#context = context;
  }

  get signal(): AbortSignal {
    return this.#context.signal;
  }
}

function toResult(answer: ToolAnswer): ToolResult {
  if (typeof answer === "string") return result({ content: [answer], isError: false });
  return result({ content: [answer.failed], isError: true });
}
