// Puts a server's question to the person at the terminal: a form field by field, or a page to open.
import type { ElicitRequest, ElicitResult } from "@secure-local/mcp/client";
import { cleanLine, cleanText } from "../../guard/cleaning/clean-text.js";
import { type Ask, askYesNo } from "../ask-in-terminal.js";
import { complain } from "../terminal.js";
import { readField } from "./form-field.js";

type Form = Extract<ElicitRequest, { mode: "form" }>;
type Page = Extract<ElicitRequest, { mode: "url" }>;
type Values = NonNullable<ElicitResult["content"]>;

/** Tries at one field until the question counts as cancelled. */
const TRIES = 5;

/** Whoever goes away (end of input, interruption) has cancelled. */
export async function askForm(request: ElicitRequest, server: string, ask: Ask): Promise<ElicitResult> {
  complain(`\n${cleanLine(server)} asks: ${cleanText(request.message)}`);
  try {
    return request.mode === "url" ? await askForPage(request, ask) : await askForValues(request, ask);
  } catch (error) {
    if ((error as Error).name === "AbortError") return { action: "cancel" };
    throw error;
  }
}

/** The page is never opened for the person: its address is shown in full, and they decide. */
async function askForPage({ url }: Page, ask: Ask): Promise<ElicitResult> {
  const host = URL.canParse(url) ? new URL(url).host : "no host at all";
  complain(`It wants you to open a page at ${cleanLine(host)} yourself:\n  ${cleanLine(url)}`);
  const agreed = await askYesNo(ask, "Will you open it, and may the server know?", false);
  return { action: agreed ? "accept" : "decline" };
}

async function askForValues({ requestedSchema }: Form, ask: Ask): Promise<ElicitResult> {
  const { properties, required = [] } = requestedSchema;
  const content: Values = {};
  for (const [name, schema] of Object.entries(properties)) {
    const value = await askField({ name, schema, required: required.includes(name) }, ask);
    if (value === GIVEN_UP) return { action: "cancel" };
    if (value !== undefined) content[name] = value;
  }
  const agreed = await askYesNo(ask, "Send this answer?", true);
  return agreed ? { action: "accept", content } : { action: "decline" };
}

const GIVEN_UP = Symbol("given up");

async function askField(
  field: Parameters<typeof readField>[1],
  ask: Ask,
): Promise<Values[string] | undefined | typeof GIVEN_UP> {
  const { name, schema, required } = field;
  if (schema.description !== undefined) complain(`  ${cleanText(schema.description)}`);
  for (const [at, choice] of choicesOf(field.schema).entries()) complain(`    ${at + 1}. ${cleanLine(choice)}`);
  const usual = schema.default === undefined ? "" : ` [${cleanLine(String(schema.default))}]`;
  for (let tries = 0; tries < TRIES; tries++) {
    const text = await ask(`${cleanLine(schema.title ?? name)}${required ? "" : " (optional)"}${usual}: `);
    const read = readField(text.trim(), field);
    if ("value" in read) return read.value;
    complain(`  ${read.fault}`);
  }
  complain("  No usable answer, so the question is cancelled.");
  return GIVEN_UP;
}

function choicesOf(schema: Form["requestedSchema"]["properties"][string]): string[] {
  const source: object = schema.type === "array" ? schema.items : schema;
  const {
    enum: names,
    oneOf,
    anyOf,
  } = source as {
    readonly enum?: readonly string[];
    readonly oneOf?: readonly Titled[];
    readonly anyOf?: readonly Titled[];
  };
  const { enumNames } = schema as { readonly enumNames?: readonly string[] };
  const titled = (oneOf ?? anyOf)?.map(({ title, const: value }) => `${title} (${value})`);
  return (
    titled ?? names?.map((each, at) => (enumNames?.[at] === undefined ? each : `${enumNames[at]} (${each})`)) ?? []
  );
}

interface Titled {
  readonly const: string;
  readonly title: string;
}
