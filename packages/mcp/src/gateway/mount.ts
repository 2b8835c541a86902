// One mounted server: what it offers, under the names it has outside, and the way its calls take.
import type { Client } from "../client/client.js";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import { isJsonObject, isThenable, type JsonObject } from "../jsonrpc/message.js";
import type { Prompt } from "../protocol/features/prompts.js";
import type { Resource, ResourceTemplate } from "../protocol/features/resources.js";
import type { Tool } from "../protocol/features/tools.js";
import { UriTemplate } from "../protocol/uri-template.js";
import { mirroredParams } from "../era/stateless/headers.js";
import type { Schema } from "../schema/schema.js";
import type { Completer } from "../server/context.js";
import { Context } from "../server/context.js";
import type { ServerCore } from "../server/core.js";
import type { ArgumentDefinitions, PromptEntry } from "../server/prompts.js";
import type { Registration, Registry, Restricted } from "../server/registry.js";
import type { ResourceDefinition, ResourceEntry, TemplateEntry } from "../server/resources.js";
import { TaskCall } from "../server/tasks/task-run.js";
import type { ToolEntry } from "../server/tools.js";
import type { Connections } from "./connections.js";
import { type Offering, type Uris, exposedName } from "./uris.js";
import { type Lease, type Offer, soundOffer, tasksOf } from "./offer.js";
import type { MaybePromise } from "../endpoint/call.js";
import type { InputRequired } from "../server/interactive.js";
import { failure, type Relayed, ToolResult } from "../server/content.js";
import { saidNo, type RelayFailure, wronglyAsked } from "./told.js";
import { type Admit, Relay, type RelayedItem, type RelayedRequest, type RelayedWords, type ToolCall } from "./relay.js";

/** Whoever subscribes waits for a server that says nothing no longer than this, which is far more than one that works needs. */
const WATCH_BEGINS_MS = 5_000;

/** Sessions over which watching had not begun when their server forgot them: all that are open may be forgotten at once. */
const MOST_LOST = 3;

function isForgotten(error: unknown): boolean {
  return error instanceof LocalError && error.code === "SESSION_EXPIRED";
}

/** A call of a tool that is about to be relayed. */
export interface RelayedCall {
  /** The tool as it is listed, under its name outside. */
  readonly tool: Tool;
  readonly arguments: JsonObject;
  readonly context: Context;
}

/** Undefined lets the call go on. */
export type BeforeCall = (call: RelayedCall) => MaybePromise<ToolResult | undefined>;

/** A resource or prompt that is about to be asked for. */
export interface RelayedRead {
  readonly kind: "resource" | "prompt";
  /** Its URI or name, as it is called outside. */
  readonly name: string;
  /** Of a prompt; a resource has none. */
  readonly arguments: Readonly<Record<string, string>>;
  readonly context: Context;
}

/** A sentence refuses the request; undefined lets it go on. */
export type BeforeRead = (read: RelayedRead) => MaybePromise<string | undefined>;

/** What a mount is made of. */
export interface MountParts {
  readonly name: string;
  readonly prefix: string;
  readonly core: ServerCore;
  readonly connections: Connections;
  readonly uris: Pick<Uris<Offering>, "expose" | "exposeAll" | "own">;
  readonly timeoutMs: number;
  readonly known?: Offer | undefined;
  /** Whether structured content is held against the output schema of its tool. */
  readonly checkOutput?: boolean | undefined;
  readonly before?: BeforeCall | undefined;
  readonly beforeRead?: BeforeRead | undefined;
  readonly admit?: Admit | undefined;
  readonly words?: RelayedWords | undefined;
  readonly relayed?: ((request: RelayedRequest) => void) | undefined;
  /** Called before the first tool that may run as a task is registered. */
  enableTasks(): void;
  warn(text: string): void;
}

/** Arguments are the upstream's to judge: no schema of a stranger is compiled to relay a call. */
const ANYTHING: Schema = { json: true, validate: (value) => ({ ok: true, value }) };

/** A tool as its server knows it. */
type OwnTool = Pick<ToolCall, "name" | "promise" | "mirrored"> & { readonly directed: boolean };

/** Something registered, and the text it was made from. */
interface Shown {
  readonly text: string;
  readonly registration: Pick<Registration, "remove">;
}

export class Mount {
  readonly name: string;
  readonly #parts: MountParts;
  readonly #relay: Relay;
  readonly #shown = new Map<string, Shown>();
  readonly #templates = new Map<string, UriTemplate>();
  #offer: Offer | undefined;
  #known: Offer | undefined;

  constructor(parts: MountParts) {
    this.#known = parts.known && soundOffer(parts.known);
    this.name = parts.name;
    this.#parts = parts;
    this.#relay = new Relay({
      name: parts.name,
      connections: parts.connections,
      timeoutMs: parts.timeoutMs,
      // What is asked about before a call must hold for that one call: a state that is kept nowhere could come twice.
      rounds: parts.before === undefined && parts.beforeRead === undefined,
      admit: parts.admit,
      // Whoever runs this is told what no caller is.
      words: { failed: (failure) => this.#warnOf(failure), ...parts.words },
      relayed: parts.relayed,
      identity: parts.core.identity,
      unseen: () => parts.core.middleware.length === 0 && parts.words?.answer === undefined,
      warn: parts.warn,
      expose: (answer) => parts.uris.exposeAll(this, answer),
    });
  }

  get offer(): Offer | undefined {
    return this.#offer;
  }

  #warnOf({ server, error }: RelayFailure): undefined {
    this.#parts.warn(`${server}: ${error.message}`);
  }

  /** All it may be asked for, shown or not: the names of URIs are worked out from it. */
  get known(): Offer | undefined {
    return this.#known ?? this.#offer;
  }

  /** Offers this once `refresh` is called: the names of URIs depend on what all mounts offer. */
  prepare(offer: Offer): void {
    this.#offer = soundOffer(offer, (fault) => this.#parts.warn(`${this.name}: ${fault}`));
  }

  /** Shows what is offered under the names it has now. What did not change stays as it is. */
  refresh(): void {
    const offer = this.#offer;
    if (offer === undefined) return;
    const { core } = this.#parts;
    const kept = new Set<string>();
    this.#templates.clear();
    const put = <Entry extends Restricted>(registry: Registry<Entry>, key: string, made: Made<Entry>): void => {
      const id = `${made.kind}\n${key}`;
      if (kept.has(id))
        return this.#parts.warn(`${this.name} offers the ${made.kind} ${key} twice: the second is left out`);
      kept.add(id);
      const text = JSON.stringify(made.item);
      const known = this.#shown.get(id);
      if (known?.text === text) return;
      known?.registration.remove();
      const registration = this.#add(registry, key, made);
      if (registration === undefined) this.#shown.delete(id);
      else this.#shown.set(id, { text, registration });
    };
    for (const tool of offer.tools) {
      const made = this.#tool(tool, offer);
      put(core.tools, made.item.name, made);
    }
    for (const prompt of offer.prompts) {
      const made = this.#prompt(prompt, offer);
      put(core.prompts, made.item.name, made);
    }
    for (const resource of offer.resources) {
      const made = this.#resource(resource);
      put(core.resources, made.item.uri, made);
    }
    for (const template of offer.resourceTemplates) {
      const made = this.#template(template, offer);
      if (made !== undefined) put(core.templates, made.item.uriTemplate, made);
    }
    for (const [id, { registration }] of this.#shown) {
      if (kept.has(id)) continue;
      registration.remove();
      this.#shown.delete(id);
    }
  }

  /** Whether something in its lists is called so outside. */
  has(kind: "tool" | "prompt", name: string): boolean {
    return this.#shown.has(`${kind}\n${name}`);
  }

  /** A resource of this server that is in no list. */
  unlisted(uri: string): ResourceDefinition {
    return this.#definition(uri);
  }

  /** Takes everything away again. */
  async remove(): Promise<void> {
    this.#offer = undefined;
    this.#known = undefined;
    for (const { registration } of this.#shown.values()) registration.remove();
    this.#shown.clear();
    await this.#parts.connections.close();
  }

  /** Two servers must never share a name: who came second is not shown, and nobody's calls go elsewhere. */
  #add<Entry extends Restricted>(
    registry: Registry<Entry>,
    key: string,
    { kind, entry }: Made<Entry>,
  ): Pick<Registration, "remove"> | undefined {
    try {
      return registry.add(key, {}, entry);
    } catch (error) {
      if (!(error instanceof LocalError)) throw error;
      this.#parts.warn(`The ${kind} ${key} of ${this.name} is left out: ${error.message}`);
      return undefined;
    }
  }

  #tool(tool: Tool, offer: Offer): Made<ToolEntry> & { readonly item: Tool } {
    const name = exposedName(this.#parts.prefix, tool.name);
    const tasks = tasksOf(offer);
    const asTask = tasks === "directed" || (tasks === "requested" && supportsTasks(tool));
    if (asTask) this.#parts.enableTasks();
    const params = headersOf(tool);
    const item = shownTool(tool, { name, directed: tasks === "directed", params });
    const { outputSchema } = tool;
    const promise = this.#parts.checkOutput === true ? { tool, mirrored: undefined, outputSchema } : undefined;
    const mirrored = typeof params === "string" || params.length === 0 ? undefined : params;
    const own = { name: tool.name, promise, mirrored, directed: tasks === "directed" };
    const mustBe = tasks === "requested" && tool.execution?.taskSupport === "required";
    return {
      kind: "tool",
      item,
      entry: () => ({
        tool: item,
        input: ANYTHING,
        output: undefined,
        replaySafe: false,
        task: asTask ? "optional" : undefined,
        run: (args, context) => {
          const call = { tool: item, arguments: args as JsonObject, context };
          return this.#call(call, own, mustBe);
        },
      }),
    };
  }

  // No async function: it would be kept while the call waits.
  #call(call: RelayedCall, own: OwnTool, mustBeTask: boolean): MaybePromise<Relayed | InputRequired | ToolResult> {
    const given = this.#parts.before?.(call);
    const goOn = (answer: ToolResult | undefined): MaybePromise<Relayed | InputRequired | ToolResult> =>
      answer === undefined ? this.#sent(call, own, mustBeTask) : this.#answered(answer);
    return isThenable(given) ? Promise.resolve(given).then(goOn) : goOn(given);
  }

  #sent(call: RelayedCall, own: OwnTool, mustBeTask: boolean): Promise<Relayed | InputRequired | ToolResult> {
    const task = Context.callOf(call.context);
    const asTask = mustBeTask || task instanceof TaskCall;
    // The server decides what becomes a task. Starting it may take longer than that is waited for.
    if (task instanceof TaskCall && own.directed) task.undecided = true;
    const { tool, arguments: args, context } = call;
    const { name, promise, mirrored } = own;
    return this.#relay.callTool({ tool, arguments: args, context, name, promise, mirrored }, asTask);
  }

  /** Nothing was sent: what `before` gave is the call's answer, if it is one. */
  #answered(answer: ToolResult): ToolResult {
    if (answer instanceof ToolResult) return answer;
    const error = wronglyAsked(
      this.name,
      `before returns result({ ... }), or undefined to go on, and gave ${String(answer)}`,
    );
    this.#parts.warn(error.message);
    return failure(`${this.name}: ${error.brief}`);
  }

  #prompt(prompt: Prompt, { capabilities }: Offer): Made<PromptEntry> & { readonly item: Prompt } {
    const item = { ...prompt, name: exposedName(this.#parts.prefix, prompt.name) };
    const completes = capabilities.completions !== undefined;
    return {
      kind: "prompt",
      item,
      entry: () => {
        const args: Record<string, ArgumentDefinitions[string]> = {};
        for (const { name } of prompt.arguments ?? []) {
          const complete = this.#completer({ type: "ref/prompt", name: prompt.name }, name, item.name);
          args[name] = completes ? { complete } : {};
        }
        return {
          prompt: item,
          arguments: args,
          run: async (given, context) => {
            await this.#mayRead({ kind: "prompt", name: item.name, arguments: given, context });
            return this.#relay.prompt(given, context, { shown: item.name, own: prompt.name });
          },
        };
      },
    };
  }

  #resource(resource: Resource): Made<ResourceEntry> & { readonly item: Resource } {
    const uri = this.#parts.uris.expose(this, resource.uri);
    const item = uri === resource.uri ? resource : { ...resource, uri };
    return { kind: "resource", item, entry: () => ({ resource: item, definition: this.#definition(resource.uri) }) };
  }

  #template(
    template: ResourceTemplate,
    { capabilities }: Offer,
  ): (Made<TemplateEntry> & { readonly item: ResourceTemplate }) | undefined {
    const { uris, warn } = this.#parts;
    const text = uris.expose(this, template.uriTemplate);
    let parsed: UriTemplate;
    try {
      parsed = new UriTemplate(text);
    } catch (error) {
      warn(`The template ${template.uriTemplate} of ${this.name} is left out: ${(error as Error).message}`);
      return undefined;
    }
    this.#templates.set(text, parsed);
    const item = text === template.uriTemplate ? template : { ...template, uriTemplate: text };
    const ref = { type: "ref/resource", uri: template.uriTemplate } as const;
    return {
      kind: "template",
      item,
      entry: () => ({
        template: item,
        uriTemplate: parsed,
        definition: {
          read: (uri, _variables, context) => this.#read(context, { shown: uri, own: uris.own(this, uri) }),
          watch: (uri, changed) => this.#watch(uris.own(this, uri), changed),
          ...(capabilities.completions === undefined
            ? {}
            : {
                complete: Object.fromEntries(parsed.variables.map((name) => [name, this.#completer(ref, name, text)])),
              }),
        },
      }),
    };
  }

  async #read(
    context: Context,
    names: { readonly shown: string; readonly own: string },
  ): Promise<Relayed | InputRequired> {
    await this.#mayRead({ kind: "resource", name: names.shown, arguments: {}, context });
    return this.#relay.read(context, names);
  }

  async #mayRead(read: RelayedRead): Promise<void> {
    const given: unknown = await this.#parts.beforeRead?.(read);
    const refused = this.#refusal("beforeRead", given);
    if (refused !== undefined) throw new RpcError(ErrorCode.InvalidParams, refused);
  }

  /** Told to the owner here, since these are asked before anything is relayed. */
  #refusal(asked: string, given: unknown): string | undefined {
    try {
      return saidNo(this.name, asked, given);
    } catch (error) {
      const { message, brief } = error as LocalError;
      this.#parts.warn(message);
      return `${this.name}: ${brief}`;
    }
  }

  #definition(own: string): ResourceDefinition {
    return {
      read: (context) => this.#read(context, { shown: this.#parts.uris.expose(this, own), own }),
      watch: (_uri, changed) => this.#watch(own, changed),
    };
  }

  #completer(
    ref:
      | { readonly type: "ref/prompt"; readonly name: string }
      | { readonly type: "ref/resource"; readonly uri: string },
    name: string,
    shown: string,
  ): Exclude<Completer, readonly string[]> {
    const item: RelayedItem =
      ref.type === "ref/prompt"
        ? { kind: "prompt", name: ref.name, shown }
        : { kind: "template", name: ref.uri, shown };
    return (value, request) => this.#relay.complete({ ref, item }, { name, value }, request);
  }

  /** However many watch it outside, the upstream knows of one. Begun when the upstream says so: what changes after that is told. */
  #watch(own: string, changed: () => void): Promise<() => void> {
    const stop = new AbortController();
    return new Promise((resolve) => {
      const late = setTimeout(() => begun(), WATCH_BEGINS_MS);
      const begun = (): void => {
        clearTimeout(late);
        resolve(() => stop.abort());
      };
      void this.#watched(own, { changed, begun, signal: stop.signal })
        .catch((error: unknown) =>
          this.#parts.warn(`Watching ${own} of ${this.name} failed: ${(error as Error).message}`),
        )
        .finally(begun);
    });
  }

  /** Where the server forgets its session meanwhile it is watched over another connection: whatever was watched may have changed. */
  async #watched(own: string, parts: WatchParts): Promise<void> {
    for (let lost = 0, begun = false; ; begun = false) {
      const begins = (): void => {
        begun = true;
        parts.begun();
      };
      try {
        return await this.#watchedOnce(own, { ...parts, begun: begins });
      } catch (error) {
        lost = begun ? 1 : lost + 1;
        if (!isForgotten(error) || parts.signal.aborted || lost > MOST_LOST) throw error;
        if (begun) parts.changed();
      }
    }
  }

  async #watchedOnce(own: string, parts: WatchParts): Promise<void> {
    const { admit, connections, uris } = this.#parts;
    const refuse = (): void => {
      const refused =
        admit && saidNo(this.name, "admit", admit({ kind: "resource", name: own, shown: uris.expose(this, own) }));
      if (refused !== undefined) throw new LocalError("REFUSED", refused);
    };
    refuse();
    const lease: Lease = await connections.leaseOwn();
    try {
      refuse();
      await watchOne(lease.client, own, parts);
    } finally {
      lease.release();
    }
  }
}

/** One thing on its way into a registry: as it is listed, and how its entry is made. */
interface Made<Entry> {
  readonly kind: "tool" | "prompt" | "resource" | "template";
  readonly item: object;
  entry(): Entry;
}

interface WatchParts {
  readonly changed: () => void;
  /** Called when the upstream tells of changes. */
  readonly begun: () => void;
  readonly signal: AbortSignal;
}

async function watchOne(client: Client, own: string, { changed, begun, signal }: WatchParts): Promise<void> {
  if (signal.aborted) return;
  const subscription = client.subscribe({ resources: [own] });
  signal.addEventListener("abort", () => void subscription.close(), { once: true });
  await subscription.ready;
  begun();
  for await (const change of subscription) if (change.kind === "resource") changed();
}

function supportsTasks({ execution }: Tool): boolean {
  return execution?.taskSupport === "optional" || execution?.taskSupport === "required";
}

/** The arguments that headers repeat, or what is wrong with them. Nearly no tool has any: then its schema is not walked. */
function headersOf({ inputSchema }: Tool): ReturnType<typeof mirroredParams> {
  return JSON.stringify(inputSchema).includes("x-mcp-header") ? mirroredParams(inputSchema) : [];
}

/** How a tool is shown: under its name outside, and with which headers. */
interface Shape {
  readonly name: string;
  readonly directed: boolean;
  readonly params: ReturnType<typeof mirroredParams>;
}

/** The tool as it came, under its name outside. */
function shownTool(tool: Tool, { name, directed, params }: Shape): Tool {
  const cut = tool.title === undefined && !name.endsWith(tool.name);
  return {
    ...tool,
    name,
    ...(cut ? { title: tool.name } : {}),
    // Clients drop a tool whose headers make no sense; without them it can be called like any other.
    ...(typeof params === "string" ? { inputSchema: withoutHeaders(tool.inputSchema) as Tool["inputSchema"] } : {}),
    // Where the server itself decides what becomes a task, an older client has to be told that it may ask for one.
    ...(directed ? { execution: { taskSupport: "optional" as const } } : {}),
  };
}

function withoutHeaders(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutHeaders);
  if (!isJsonObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([keyword]) => keyword !== "x-mcp-header");
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, withoutHeaders(value)]));
}
