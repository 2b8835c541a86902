// Checks of the tools a server lists, and of how it refuses calls.
import { Server } from "@secure-local/mcp/server";
import {
  type Check,
  fail,
  note,
  OK,
  type Outcome,
  shown,
  skipped,
  specification,
  unless,
  warn,
} from "../examination.js";
import type { Message } from "../../remote/text-link.js";
import { answerText, codeOf, isMessage, resultOf, type Session, STATELESS } from "../session.js";

const INVALID_PARAMS = -32602;
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;
/** What is wrong with a schema for our engine alone: others take it. */
const OURS: ReadonlySet<unknown> = new Set([
  "unsafe-pattern",
  "schema-too-large",
  "unsupported-dialect",
  "network-reference",
]);
/** Shorter ones cannot say when to use the tool. */
const SHORTEST_DESCRIPTION = 10;

export const TOOL_CHECKS: readonly Check[] = [
  {
    id: "tools-undeclared",
    title: "serves no tools it does not declare",
    tier: "breaks the letter",
    page: specification("server/tools#capabilities"),
    must: 39,
    needs: ["session"],
    advice: "Declare the capability tools, or answer tools/list with -32601.",
    async run({ session }) {
      if ("tools" in session.capabilities) return OK;
      const answer = await session.ask("tools/list");
      return resultOf(answer) === undefined
        ? OK
        : warn("tools/list is served, but tools is not declared: no client asks");
    },
  },
  {
    id: "tools-list",
    title: "lists the tools it declares",
    tier: "breaks clients",
    page: specification("server/tools#listing-tools"),
    must: 39,
    needs: ["tools"],
    advice: "Answer tools/list with { tools: [...] }.",
    run: ({ session }) => served(session, "tools"),
  },
  {
    id: "tool-names",
    title: "gives tools names that clients take",
    tier: "breaks clients",
    page: specification("server/tools#tool-names"),
    needs: ["tools"],
    advice: "Use 1 to 128 of A-Z a-z 0-9 _ - . and each name once.",
    run: (exam) => judged(exam.session, nameFaults),
  },
  {
    id: "tool-descriptions",
    title: "describes its tools",
    tier: "note",
    page: specification("server/tools#tool"),
    needs: ["tools"],
    advice: "The description is what a model decides by: say what the tool does, when to use it, what it returns.",
    run: (exam) => onTools(exam.session, descriptionFaults, "note"),
  },
  {
    id: "tool-input-schema",
    title: "gives each tool an input schema that is valid JSON Schema of an object",
    tier: "breaks clients",
    page: specification("server/tools#tool"),
    must: 7,
    needs: ["tools"],
    advice: 'Use { "type": "object", "additionalProperties": false } for a tool without parameters; never null.',
    run: (exam) => judged(exam.session, (tool) => schemaFaults(tool, "inputSchema")),
  },
  {
    id: "tool-output-schema",
    title: "gives output schemas that are valid JSON Schema",
    tier: "breaks clients",
    page: specification("server/tools#output-schema"),
    must: 7,
    needs: ["tools"],
    advice: "Fix the schema or leave it out: clients refuse results that do not fit.",
    run: (exam) => judged(exam.session, (tool) => schemaFaults(tool, "outputSchema")),
  },
  {
    id: "tool-parameter-descriptions",
    title: "describes the parameters of its tools",
    tier: "note",
    page: specification("server/tools#tool"),
    needs: ["tools"],
    advice: "Give each property a description with an example, its range and its format.",
    run: (exam) => onTools(exam.session, parameterFaults, "note"),
  },
  {
    id: "tool-required",
    title: "requires only parameters that exist",
    tier: "breaks the letter",
    page: specification("server/tools#tool"),
    needs: ["tools"],
    advice: "Each name in required has to be a property, or no call can be valid.",
    run: (exam) => onTools(exam.session, requiredFaults, "warn"),
  },
  {
    id: "tool-annotations",
    title: "annotates tools without contradictions",
    tier: "breaks clients",
    page: specification("schema#toolannotations"),
    needs: ["tools"],
    advice: "Hints are booleans; a tool that only reads cannot be destructive.",
    run: (exam) => judged(exam.session, annotationFaults),
  },
  {
    id: "tool-headers",
    title: "marks only texts, integers and booleans of its schema for headers",
    tier: "breaks the letter",
    page: specification("server/tools", STATELESS),
    must: 22,
    needs: ["tools"],
    advice: "x-mcp-header belongs to direct properties of type string, integer or boolean; clients drop other tools.",
    run: (exam) => onTools(exam.session, headerFaults, "warn"),
  },
  {
    id: "unknown-tool",
    title: "answers a call of an unknown tool with -32602",
    tier: "breaks the letter",
    page: specification("server/tools#error-handling"),
    needs: ["tools"],
    advice: "Answer with error -32602; a result says that there is such a tool.",
    async run({ session }) {
      const answer = await session.ask("tools/call", { name: "doctor_no_such_tool", arguments: {} });
      if (codeOf(answer) === INVALID_PARAMS) return OK;
      if (resultOf(answer)?.["isError"] === true) return note("it was answered with an isError result");
      return codeOf(answer) === undefined
        ? warn(`it was answered with ${answerText(answer)}`)
        : note(`it was answered with ${answerText(answer)}`);
    },
  },
  {
    id: "tool-arguments",
    title: "validates the arguments of calls",
    tier: "breaks the letter",
    page: specification("server/tools#security-considerations"),
    needs: ["tools"],
    advice: "Check arguments against the schema first: an isError result or error -32602 says what is wrong.",
    run: ({ session }) => callWithout(session),
  },
  {
    id: "call-without-name",
    title: "answers a call without a name with -32602",
    tier: "breaks the letter",
    page: specification("server/tools#error-handling"),
    needs: ["tools"],
    advice: "Check params before looking for the tool.",
    async run({ session }) {
      const answer = await session.ask("tools/call", { arguments: {} });
      if (answer === undefined) return warn("it was never answered");
      return codeOf(answer) === INVALID_PARAMS ? OK : note(`it was answered with ${answerText(answer)}`);
    },
  },
];

/** Whether a declared list is served. */
export async function served(session: Session, name: "tools" | "resources" | "prompts"): Promise<Outcome> {
  const { failed, silent, pages } = await session.list(name);
  if (silent) return fail("the list was never answered");
  if (failed !== undefined) return fail(`the list was answered with ${answerText(failed)}`);
  return pages.every((page) => Array.isArray(page[name])) ? OK : fail(`the result has no array ${name}`);
}

async function onTools(
  session: Session,
  faults: (tool: Message, tools: readonly Message[]) => readonly string[],
  verdict: "note" | "warn",
): Promise<Outcome> {
  const { items } = await session.list("tools");
  return unless(
    items.flatMap((tool) => faults(tool, items).map((fault) => `${shown(tool["name"])} ${fault}`)),
    verdict,
  );
}

/** Faults of each tool that are not all equally grave: the gravest are told, or the next ones where there are none. */
async function judged(
  session: Session,
  faults: (tool: Message, tools: readonly Message[]) => readonly Outcome[],
): Promise<Outcome> {
  const { items } = await session.list("tools");
  const found = items.flatMap((tool) =>
    faults(tool, items).map(({ verdict, detail }) => ({ verdict, detail: `${shown(tool["name"])} ${detail}` })),
  );
  for (const verdict of ["fail", "warn", "note"] as const) {
    const grave = found.filter((each) => each.verdict === verdict);
    if (grave.length > 0)
      return unless(
        grave.map(({ detail }) => detail),
        verdict,
      );
  }
  return OK;
}

function nameFaults({ name }: Message, tools: readonly Message[]): Outcome[] {
  if (typeof name !== "string" || name === "") return [fail("is no name")];
  if (tools.filter((each) => each["name"] === name).length > 1) return [fail("is there more than once")];
  return NAME.test(name) ? [] : [warn("is no name that all clients take")];
}

function descriptionFaults({ description }: Message): string[] {
  if (typeof description !== "string" || description.trim() === "") return ["has no description"];
  return description.trim().length < SHORTEST_DESCRIPTION ? [`has the description "${description}"`] : [];
}

function schemaFaults(tool: Message, key: "inputSchema" | "outputSchema"): Outcome[] {
  const schema = tool[key];
  if (schema === undefined) return key === "inputSchema" ? [fail("has no inputSchema")] : [];
  if (!isMessage(schema)) return [fail(`has an ${key} that is no object`)];
  if (key === "inputSchema" && schema["type"] !== "object")
    return [fail('has an inputSchema without "type": "object"')];
  try {
    // Registering a tool with it is what proves that it can be used.
    const probe = new Server({ name: "doctor", version: "1", report: () => undefined });
    probe.tool("probe", {
      description: "A probe",
      [key === "inputSchema" ? "input" : "output"]: schema,
      run: () => "",
    });
    return [];
  } catch (error) {
    // What is wrong with the schema alone; around it stands that the probe cannot be registered.
    const { cause } = error as Error;
    const fault = cause instanceof Error ? cause : (error as Error);
    const [why = ""] = fault.message.split("\n");
    if (OURS.has((fault as { code?: unknown }).code))
      return [note(`has an ${key} that this program does not judge: ${why}`)];
    return [fail(`has an ${key} that cannot be used: ${why}`)];
  }
}

function parameterFaults({ inputSchema }: Message): string[] {
  const bare = Object.entries(propertiesOf(inputSchema)).filter(
    ([, schema]) => !(isMessage(schema) && (typeof schema["description"] === "string" || "$ref" in schema)),
  );
  return bare.length === 0 ? [] : [`does not describe ${bare.map(([name]) => name).join(", ")}`];
}

function requiredFaults({ inputSchema }: Message): string[] {
  const required = isMessage(inputSchema) ? (inputSchema["required"] ?? []) : [];
  if (!Array.isArray(required)) return ["has a required that is no array"];
  const closed =
    isMessage(inputSchema) &&
    inputSchema["additionalProperties"] === false &&
    inputSchema["patternProperties"] === undefined;
  const missing = required.filter((name) => !Object.hasOwn(propertiesOf(inputSchema), shown(name)));
  return closed && missing.length > 0 ? [`requires ${missing.join(", ")}, which it does not allow`] : [];
}

function annotationFaults({ annotations }: Message): Outcome[] {
  if (annotations === undefined) return [];
  if (!isMessage(annotations)) return [fail("has annotations that are no object")];
  const hints = Object.entries(annotations).filter(([name]) => name.endsWith("Hint"));
  const odd = hints
    .filter(([, value]) => typeof value !== "boolean")
    .map(([name]) => fail(`has a ${name} that is no boolean`));
  const torn = annotations["readOnlyHint"] === true && annotations["destructiveHint"] === true;
  return torn ? [...odd, note("says that it only reads and that it destroys")] : odd;
}

function headerFaults({ inputSchema }: Message): string[] {
  return Object.entries(propertiesOf(inputSchema)).flatMap(([name, schema]) => {
    if (!isMessage(schema)) return [];
    const marked = "x-mcp-header" in schema;
    if (marked && !["string", "integer", "boolean"].includes(shown(schema["type"])))
      return [`marks ${name} (${shown(schema["type"])})`];
    return Object.values(propertiesOf(schema)).some((inner) => isMessage(inner) && "x-mcp-header" in inner)
      ? [`marks a property inside ${name}`]
      : [];
  });
}

/** Only a tool that says it only reads is called, and only without what it requires. */
async function callWithout(session: Session): Promise<Outcome> {
  const { items } = await session.list("tools");
  const tool = items.find(({ annotations, inputSchema }) => {
    const required = isMessage(inputSchema) ? inputSchema["required"] : undefined;
    return (
      isMessage(annotations) && annotations["readOnlyHint"] === true && Array.isArray(required) && required.length > 0
    );
  });
  if (tool === undefined) return skipped("no tool that only reads requires a parameter, and others are not called");
  const answer = await session.ask("tools/call", { name: tool["name"], arguments: {} });
  if (answer === undefined) return warn(`${shown(tool["name"])} called without its parameters never answered`);
  const refused = codeOf(answer) === INVALID_PARAMS || resultOf(answer)?.["isError"] === true;
  return refused
    ? OK
    : warn(`${shown(tool["name"])} called without its parameters was answered with ${answerText(answer)}`);
}

function propertiesOf(schema: unknown): Message {
  const properties = isMessage(schema) ? schema["properties"] : undefined;
  return isMessage(properties) ? properties : {};
}
