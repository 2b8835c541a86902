// The server an author writes, with all there is: JSON Schema in place, resource templates and tasks.
import { schemaAdvice } from "../schema/json-schema/advice.js";
import { compileJsonSchema } from "../schema/json-schema/compile.js";
import { UriTemplate } from "../protocol/uri-template.js";
import type { JsonSchema } from "../schema/schema.js";
import { isStandardSchema } from "../schema/standard-schema.js";
import { zodExport } from "../schema/zod-json.js";
import { addTool, coreOf, LeanServer, reservedWarning, type ServerOptions, warn, webWarning } from "./lean-server.js";
import type { Registration } from "./registry.js";
import { type ResourceTemplateDefinition, templateEntry, type VariablesOf } from "./resources.js";
import { ServerTasks } from "./tasks/server-tasks.js";
import type { AnyInput, SchemaReader, ToolDefinition } from "./tools.js";

const SCHEMAS: SchemaReader = {
  compile: (schema) => compileJsonSchema(schema, { fallbackToDraft07: true }),
  published: zodExport,
  advice: (schema) => (isStandardSchema(schema) ? undefined : schemaAdvice(schema as JsonSchema)),
};

/** A server for every revision of the protocol. Give it to `serveStdio`, `serve` or `connectInMemory`. */
export class Server extends LeanServer {
  /** Throws BAD_SERVER for a member that does not exist and for icons no client should show, RangeError for a limit that is not a positive integer. */
  constructor(options: ServerOptions) {
    super(options);
    const core = coreOf(this);
    core.serveTasks(new ServerTasks(core, options.tasks?.store));
  }

  /**
   * Registers a tool. Throws BAD_TOOL (its `cause` is the schema's own error) or DUPLICATE, saying what to change. Arguments mirrored in
   * headers that make clients drop the tool, or that are named like secrets, are reported.
   */
  override tool<const I extends AnyInput | undefined = undefined, const O extends AnyInput | undefined = undefined>(
    name: string,
    definition: ToolDefinition<I, O>,
  ): Registration<ToolDefinition<I, O>> {
    return addTool<ToolDefinition<I, O>>(coreOf(this), SCHEMAS, name, definition);
  }

  /** Registers a family of resources under an RFC 6570 template. Throws BAD_RESOURCE, DUPLICATE or the template's error. */
  resourceTemplate<const U extends string>(
    uriTemplate: U,
    definition: ResourceTemplateDefinition<VariablesOf<U>>,
  ): Registration<ResourceTemplateDefinition<VariablesOf<U>>> {
    const core = coreOf(this);
    return core.templates.add<ResourceTemplateDefinition<VariablesOf<U>>>(uriTemplate, definition, (now) => {
      const entry = templateEntry(uriTemplate, (text) => new UriTemplate(text), now);
      const what = `The template ${uriTemplate}`;
      warn(core, reservedWarning(what, now._meta) ?? webWarning(what, uriTemplate));
      return entry;
    });
  }
}
