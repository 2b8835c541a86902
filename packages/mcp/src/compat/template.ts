// Resource templates and completable schemas as the SDKs write them.
import { UriTemplate as CoreTemplate } from "../protocol/uri-template.js";
import type { Resource } from "../protocol/features/resources.js";
import type { CompletionReturn } from "../server/completer.js";
import type { Extra } from "./extra.js";

/** Values of a template's variables. */
export type Variables = Record<string, string | string[]>;

/** Completes one variable, or one argument of a prompt. */
export type CompleteCallback = (
  value: string,
  context?: { readonly arguments?: Readonly<Record<string, string>> },
) => CompletionReturn | Promise<CompletionReturn>;

/** Lists the resources of a template. */
export type ListResourcesCallback = (extra: Extra) => { resources: Resource[] } | Promise<{ resources: Resource[] }>;

/** An RFC 6570 template under the names of the SDKs. */
export class UriTemplate {
  readonly #template: CoreTemplate;

  constructor(template: string) {
    this.#template = new CoreTemplate(template);
  }

  get variableNames(): string[] {
    return [...this.#template.variables];
  }

  expand(variables: Variables): string {
    return this.#template.expand(variables);
  }

  match(uri: string): Variables | null {
    const found = this.#template.match(uri);
    return found === undefined ? null : found;
  }

  toString(): string {
    return this.#template.text;
  }
}

/** A family of resources, and perhaps those it has now. */
export class ResourceTemplate {
  readonly uriTemplate: UriTemplate;
  readonly listCallback: ListResourcesCallback | undefined;
  readonly #complete: Readonly<Record<string, CompleteCallback>>;

  constructor(
    template: string | UriTemplate,
    callbacks: {
      readonly list: ListResourcesCallback | undefined;
      readonly complete?: Readonly<Record<string, CompleteCallback>>;
    },
  ) {
    this.uriTemplate = typeof template === "string" ? new UriTemplate(template) : template;
    this.listCallback = callbacks.list;
    this.#complete = callbacks.complete ?? {};
  }

  completeCallback(variable: string): CompleteCallback | undefined {
    return this.#complete[variable];
  }

  /** All that complete a variable, by its name. */
  get completers(): Readonly<Record<string, CompleteCallback>> {
    return this.#complete;
  }
}

const completers = new WeakMap<object, CompleteCallback>();

/** Gives a schema of a prompt's argument a function that completes it. */
export function completable<S extends object>(schema: S, complete: CompleteCallback): S {
  completers.set(schema, complete);
  return schema;
}

/** Whether `completable` was given this schema. */
export function isCompletable(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && completers.has(schema);
}

/** The function of a schema, also where `.optional()` was put around it. */
export function completerOf(schema: object): CompleteCallback | undefined {
  const own = completers.get(schema);
  if (own !== undefined) return own;
  const { _def, _zod } = schema as { _def?: { innerType?: object }; _zod?: { def?: { innerType?: object } } };
  const inner = _zod?.def?.innerType ?? _def?.innerType;
  return inner === undefined ? undefined : completerOf(inner);
}
