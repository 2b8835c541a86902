// `mcp-secure-local inspect TARGET`: what a server is, speaks and offers.
import { cleanLine, cleanText } from "../../guard/cleaning/clean-text.js";
import type { Finding } from "../../inspection/finding.js";
import { inspectOffering } from "../../inspection/inspect.js";
import type { Offering } from "../../inspection/offering.js";
import { inspection, type Inspection } from "../../remote/inspection.js";
import type { CommandLine } from "../command-line.js";
import { ExitCode, print, printJson, styled } from "../terminal.js";
import { inOptions } from "./failure.js";
import { listText } from "./list-text.js";
import { toolEntry } from "./remote-tools.js";
import { withClient } from "./with-client.js";

const USAGE = { usage: "inspect needs one target, as in inspect TARGET", least: 0, most: 0 };

export function inspectCommand(line: CommandLine): Promise<number> {
  return withClient(line, USAGE, async ({ client, target }) => {
    const found = await inspection(client, target);
    const findings = inspectOffering(offeringOf(found));
    if (line.json) printJson({ ...found, findings });
    else print(`${text(found)}${failedText(found)}${findingsText(findings)}`);
    return found.failed === undefined ? ExitCode.Ok : ExitCode.Failed;
  });
}

function offeringOf({ server, instructions, tools, prompts, resources, resourceTemplates }: Inspection): Offering {
  const plain = (items: readonly object[]): Offering["tools"] => items.map((item) => ({ ...item }));
  return {
    ...{ server: server.name, instructions, tools: plain(tools), prompts: plain(prompts) },
    ...{ resources: plain(resources), resourceTemplates: plain(resourceTemplates) },
  };
}

/** What could not be listed, and why; empty when all could. */
function failedText({ failed = {} }: Inspection): string {
  const lines = Object.entries(failed).map(
    ([list, reason]) => `  ${styled("red", list)}  ${cleanLine(inOptions(reason))}`,
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
