// `mcp-secure-local inspect TARGET`: looks at what a server is, speaks and offers, and shows it.

import { cleanLine, cleanText } from "../../guard/cleaning/clean-text.js";
import type { Finding, Offering } from "@secure-local/inspection/finding";
import { inspectOffering } from "@secure-local/inspection/inspect";
import type { CommandLine } from "../command-line.js";
import { ExitCode, print, printJson, styled } from "../terminal.js";
import { changeableBy, inOptions } from "../failure.js";
import { isOwn } from "./find-target.js";
import { type Connected, withClient, withOwnClient } from "./with-client.js";
import type {
  Client,
  Implementation,
  Prompt,
  Resource,
  ResourceTemplate,
  ServerCapabilities,
  Tool,
} from "@secure-local/mcp/client";
import { LocalError, RpcError } from "@secure-local/mcp/client/node";
import { type Target, targetText } from "@secure-local/mcp-tools/target";

/** The keys of `inspect --json`. */
export interface Inspection {
  readonly target: string;
  readonly transport: string;
  readonly era: string;
  readonly revision: string;
  /** Revisions the server says it speaks; empty where it does not say. */
  readonly offered: readonly string[];
  readonly server: Implementation;
  readonly capabilities: ServerCapabilities;
  readonly instructions?: string;
  readonly tools: readonly Tool[];
  readonly resources: readonly Resource[];
  readonly resourceTemplates: readonly ResourceTemplate[];
  readonly prompts: readonly Prompt[];
  /** Lists that are declared and could not be had, and why. Absent when all could. */
  readonly failed?: Readonly<Record<string, string>>;
}

/** Errors after which nothing else will be answered. */
const GONE: ReadonlySet<string> = new Set(["CANCELLED", "UNAUTHORIZED", "FORBIDDEN"]);
const METHOD_NOT_FOUND = -32601;

/** A list that was not declared, or that could not be had, is empty; rejects only where the server is gone. */
export async function inspection(client: Client, target: Target): Promise<Inspection> {
  const { capabilities, transport, era, revision, offered, server, instructions } = client;
  const { tools, resources, prompts } = capabilities;
  const failed: Record<string, string> = {};
  const listed = async <T>(name: string, declared: unknown, list: () => Promise<T[]>): Promise<T[]> => {
    if (declared === undefined) return [];
    try {
      return await list();
    } catch (error) {
      if (!(error instanceof RpcError) && !(error instanceof LocalError && !GONE.has(error.code))) throw error;
      failed[name] = error.message;
      return [];
    }
  };
  const lists = {
    tools: await listed("tools", tools, () => client.tools().all()),
    resources: await listed("resources", resources, () => client.resources().all()),
    resourceTemplates: await listed("resourceTemplates", resources, () => templates(client)),
    prompts: await listed("prompts", prompts, () => client.prompts().all()),
  };
  return {
    target: targetText(target),
    transport,
    era,
    revision,
    offered,
    server,
    capabilities,
    ...(instructions === undefined ? {} : { instructions }),
    ...lists,
    ...(Object.keys(failed).length === 0 ? {} : { failed }),
  };
}

/** Many servers with resources have no method for templates. */
async function templates(client: Client): Promise<ResourceTemplate[]> {
  try {
    return await client.resourceTemplates().all();
  } catch (error) {
    if (error instanceof RpcError && error.code === METHOD_NOT_FOUND) return [];
    throw error;
  }
}

const USAGE = { usage: "inspect needs one target, as in inspect TARGET", least: 0, most: 0 };

export function inspectCommand(line: CommandLine): Promise<number> {
  const show = async ({ client, target }: Connected): Promise<number> => {
    const found = await inspection(client, target);
    const findings = inspectOffering(offeringOf(found));
    if (line.json) printJson({ ...found, findings });
    else print(`${text(found)}${await failedText(found)}${findingsText(findings)}`);
    return found.failed === undefined ? ExitCode.Ok : ExitCode.Failed;
  };
  return isOwn(line, 0) ? withOwnClient(line, () => true, show) : withClient(line, USAGE, show);
}

function offeringOf({ server, instructions, tools, prompts, resources, resourceTemplates }: Inspection): Offering {
  const plain = (items: readonly object[]): Offering["tools"] => items.map((item) => ({ ...item }));
  return {
    ...{ server: server.name, instructions, tools: plain(tools), prompts: plain(prompts) },
    ...{ resources: plain(resources), resourceTemplates: plain(resourceTemplates) },
  };
}

/** What could not be listed, and why; empty when all could. */
async function failedText({ failed = {} }: Inspection): Promise<string> {
  const by = await changeableBy(["inspect"]);
  const lines = Object.entries(failed).map(
    ([list, reason]) => `  ${styled("red", list)}  ${cleanLine(inOptions(reason, by))}`,
  );
  return lines.length === 0
    ? ""
    : `\n\n${styled("bold", "Could not be listed")} (${lines.length})\n${lines.join("\n")}`;
}

/** Empty without any: nothing to say about what is as it should be. */
function findingsText(findings: readonly Finding[]): string {
  if (findings.length === 0) return "";
  const lines = findings.map(({ tier, id, kind, item, at, about, excerpt }) => {
    const word = tier === "hard" ? styled("red", "hard  ") : styled("yellow", "review");
    return `  ${word}  ${id}  ${cleanLine(`${kind} ${item} ${at}`)}\n          ${about} ${styled("dim", cleanLine(excerpt))}`;
  });
  return `\n\n${styled("bold", "Suspicious texts")} (${findings.length})\n${lines.join("\n")}`;
}

function text(found: Inspection): string {
  const { server, era, revision, offered, capabilities, instructions } = found;
  const { name, version, title } = server;
  const others = offered.length === 0 ? "" : `, offers ${offered.join(", ")}`;
  const facts: [string, string][] = [
    ["target", found.target],
    ["transport", found.transport],
    ["revision", `${revision} (${era} era)${others}`],
    ["capabilities", Object.entries(capabilities).map(capabilityText).join(", ") || "none"],
    ...(instructions === undefined ? [] : [["instructions", instructions] as [string, string]]),
  ];
  const width = Math.max(...facts.map(([word]) => word.length));
  const head = styled("bold", cleanLine(`${name} ${version}${title === undefined ? "" : `, ${title}`}`));
  const lines = facts.map(
    ([word, value]) => `  ${styled("dim", word.padEnd(width))}  ${indented(cleanText(value), width + 4)}`,
  );
  return [head, ...lines, ...lists(found)].join("\n");
}

function lists({ tools, resources, resourceTemplates, prompts }: Inspection): string[] {
  const named = [
    { title: "Tools", entries: tools.map(toolEntry) },
    {
      title: "Resources",
      entries: resources.map(({ uri, name, description }) => ({ name: uri, about: description ?? name })),
    },
    {
      title: "Resource templates",
      entries: resourceTemplates.map(({ uriTemplate, name, description }) => ({
        name: uriTemplate,
        about: description ?? name,
      })),
    },
    {
      title: "Prompts",
      entries: prompts.map(({ name, description = "", arguments: args = [] }) => ({
        name,
        about: description,
        note: cleanLine(args.map((each) => (each.required ? each.name : `[${each.name}]`)).join(", ")),
      })),
    },
  ];
  return named
    .filter(({ entries }) => entries.length > 0)
    .map(({ title, entries }) => `\n${styled("bold", title)} (${entries.length})\n${listText(entries, "  ")}`);
}

function capabilityText([name, value]: [string, unknown]): string {
  const members = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const names = members.filter(([, each]) => each !== false).map(([each]) => each);
  return cleanLine(names.length === 0 ? name : `${name} (${names.join(", ")})`);
}

function indented(value: string, by: number): string {
  return value.replaceAll("\n", `\n${" ".repeat(by)}`);
}

// Writes a list of named things in columns.

export interface ListEntry {
  readonly name: string;
  readonly about: string;
  /** Shown dim behind it. */
  readonly note?: string;
}

const WIDEST_NAME = 40;
const LONGEST_ABOUT = 160;

export function listText(entries: readonly ListEntry[], indent = ""): string {
  const names = entries.map(({ name }) => cleanLine(name));
  const width = Math.min(WIDEST_NAME, Math.max(0, ...names.map((name) => name.length)));
  const lines = entries.map(({ about, note = "" }, at) => {
    const name = styled("bold", (names[at] as string).padEnd(width));
    const line = firstLine(about);
    return `${indent}${name}  ${line}${note === "" ? "" : ` ${styled("dim", note)}`}`.trimEnd();
  });
  return lines.join("\n");
}

function firstLine(text: string): string {
  const [line = ""] = text.trim().split("\n");
  const clean = cleanLine(line);
  return clean.length > LONGEST_ABOUT ? `${clean.slice(0, LONGEST_ABOUT)}…` : clean;
}

// `mcp-secure-local tools TARGET`: lists the tools of any server.

const TOOLS_USAGE = { usage: "tools takes one target; to call a tool: call TARGET NAME", least: 0, most: 0 };

export function remoteTools(line: CommandLine): Promise<number> {
  return withClient(line, TOOLS_USAGE, async ({ client }) => {
    const tools = await client.tools().all();
    if (line.json) printJson(tools);
    else if (tools.length === 0) print("The server has no tools.");
    else print(listText(tools.map(toolEntry)));
    return ExitCode.Ok;
  });
}

/** A tool as a line of a list: its parameters, the needed ones first. */
export function toolEntry({ name, title, description, inputSchema }: ToolLike): ListEntry {
  const { properties = {}, required = [] } = inputSchema as {
    readonly properties?: object;
    readonly required?: readonly string[];
  };
  const optional = Object.keys(properties).filter((each) => !required.includes(each));
  const words = [...required, ...optional.map((each) => `[${each}]`)];
  return {
    name,
    about: description ?? title ?? "",
    note: words.length === 0 ? "" : cleanLine(`{${words.join(", ")}}`),
  };
}

interface ToolLike {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: object;
}
