// `mcp-secure-local policy map`: draws what a client may reach under a policy, in the terminal or as an SVG picture.
import { redactLaunch } from "../audit/event-text.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { loadPolicy } from "../policy/load-policy.js";
import { decide } from "../policy/decide.js";
import type { FilesystemPolicy, NetworkPolicy, Policy, ServerGrant } from "../policy/policy.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { policyFile, reviewedTools } from "./settings.js";
import { ExitCode, print, printJson, styled } from "./terminal.js";
import { requireFolderOf, writeNewFile } from "./write-new-file.js";

/** One kind of thing that may be reached. */
export interface ReachGroup {
  readonly title: string;
  readonly entries: readonly string[];
  /** What of it is denied although it lies within what is allowed. */
  readonly denied: readonly string[];
  /** Whether it can change something. */
  readonly changes: boolean;
}

export async function policyMap(line: CommandLine, named: string | undefined): Promise<number> {
  const file = named ?? policyFile(line);
  const policy = await loadPolicy(file);
  const groups = reachOf(policy);
  const title = file ?? "The built-in policy";
  if (line.output !== undefined) {
    requireFolderOf(line.output);
    const wrong = writeNewFile(line.output, mapPicture(title, groups), line.force);
    if (wrong !== undefined) throw new UsageError(wrong);
    if (!line.json) print(`${styled("green", "written")}  ${line.output}`);
  }
  if (line.json) printJson({ policy: file, groups });
  else if (line.output === undefined) print(mapText(title, groups));
  return ExitCode.Ok;
}

/** What the policy opens, by kind; kinds of which it opens nothing are left out. */
export function reachOf(policy: Policy): ReachGroup[] {
  const tools = reviewedTools(policy).filter(
    ({ name, lack }) => lack === undefined && decide(policy, { kind: "tool", name }).allowed,
  );
  const { commands, databases, plugins, resources, servers } = policy;
  const groups: Omit<ReachGroup, "denied">[] = [
    { title: "Tools", entries: tools.map(({ name }) => name), changes: false },
    ...fileGroups(policy.filesystem),
    { title: "Hosts", entries: hostsOf(policy.network), changes: false },
    {
      title: "Commands",
      entries: [...commands.allowed.values()].map(({ name, executable }) => `${name} (${executable})`),
      changes: true,
    },
    {
      title: "Databases",
      entries: [...databases.values()].map(({ name, readOnly }) => `${name}${readOnly ? " (read only)" : ""}`),
      changes: [...databases.values()].some(({ readOnly }) => !readOnly),
    },
    { title: "Resources", entries: resources.allowed.rules.map(({ pattern }) => pattern), changes: false },
    ...[...plugins.load.values()]
      .filter(({ enabled }) => enabled)
      .map((plugin) => {
        const runs = plugin.commands.map((each) => `Commands: ${each}`);
        const all = [...grantOf(plugin), ...runs, ...plugin.secrets.map((each) => `Secrets: ${each}`)];
        return {
          title: `Plugin ${plugin.name}`,
          entries: all.length === 0 ? ["nothing but its own tools"] : all,
          changes: false,
        };
      }),
  ];
  const all = [
    ...groups.map((group): ReachGroup => ({ ...group, denied: deniedIn(policy, group.title) })),
    ...[...servers.values()].filter(({ enabled }) => enabled).map((server) => serverGroup(policy, server)),
  ];
  if (policy.profile === undefined) return all.filter(({ entries }) => entries.length > 0);
  const left = all.flatMap((group) => leftOf(policy, group));
  return [...left, ...leftOutServers(policy)].filter(({ entries, denied }) => entries.length + denied.length > 0);
}

/** By which tools the things of a group are reached. */
const REACHED_BY: Readonly<Record<string, Doing>> = { Hosts: "fetch", Commands: "run", Databases: "query" };

/** A group as a profile leaves it: what none of its tools reaches stands with what is denied. */
function leftOf(policy: Policy, group: ReachGroup): ReachGroup[] {
  const { title, entries, denied } = group;
  if (title === "Tools") {
    const whole = reviewedTools(policy).filter(({ name }) => toolOfWhole(policy, name));
    const out = whole.map(({ name }) => name).filter((name) => !entries.includes(name));
    return [{ ...group, denied: [...out, ...denied] }];
  }
  if (title === CHANGED && toolLeftOut(policy, "write") !== undefined)
    return [
      { title: READ, entries, denied, changes: false },
      { title: "Files to change", entries: [], denied: entries, changes: false },
    ];
  const doing = REACHED_BY[title];
  if (doing === undefined || toolLeftOut(policy, doing) === undefined) return [group];
  return [{ title, entries: [], denied: [...entries, ...denied], changes: false }];
}

/** Whether the whole policy allows a tool that is there. */
function toolOfWhole({ whole }: Policy, name: string): boolean {
  return whole !== undefined && decide(whole, { kind: "tool", name }).allowed;
}

function leftOutServers({ servers, whole }: Policy): ReachGroup[] {
  const out = [...(whole?.servers.values() ?? [])].filter(({ name, enabled }) => enabled && !servers.has(name));
  const denied = ["all of it: the profile leaves it out"];
  return out.map(({ name }) => ({ title: `Server ${name}`, entries: [], denied, changes: false }));
}

/** What is denied among the files, tools and resources that may be reached. */
function deniedIn({ filesystem, tools, resources, servers }: Policy, title: string): string[] {
  const patterns = ({ rules }: { readonly rules: readonly { readonly pattern: string }[] }): string[] =>
    rules.map(({ pattern }) => pattern);
  const files = filesystem.readOnly !== undefined || filesystem.allowed.rules.length === 0 ? READ : CHANGED;
  if (title === files) return patterns(filesystem.denied);
  if (title === "Resources") return patterns(resources.denied);
  if (title !== "Tools") return [];
  return patterns(tools.denied).filter(
    (pattern) => ![...servers.keys()].some((name) => pattern.startsWith(`${name}__`)),
  );
}

/** Another server: how it is started or where it is, what of its tools may be called, and what it may reach. */
function serverGroup(policy: Policy, grant: ServerGrant): ReachGroup {
  const { name, launch, deniedTools, env, headers } = grant;
  const { profile } = policy;
  const own = `${name}__`;
  const denied = [
    ...deniedTools.rules.map(({ pattern }) => own + pattern),
    ...ownPatterns(policy.tools.denied.rules, own),
    ...ownPatterns(profile?.deniedTools.rules ?? [], own),
  ];
  const isDenied = (pattern: string): boolean =>
    denied.includes(pattern) || denied.some((each) => each.endsWith("*") && pattern.startsWith(each.slice(0, -1)));
  const allowed = ownPatterns(policy.tools.allowed.rules, own);
  const named = profile?.allowedTools && ownPatterns(profile.allowedTools.rules, own);
  const tools = (named === undefined ? allowed : narrowed(allowed, named)).filter((pattern) => !isDenied(pattern));
  const how = launch.kind === "url" ? `At ${launch.url}` : `Runs ${launch.command.join(" ")}`;
  const secrets = [...env.values(), ...headers.values()].flatMap((value) =>
    [...value.matchAll(/\$\{secret:([^}]+)\}/g)].map(([, secret]) => `Secrets: ${secret}`),
  );
  const offered =
    tools.length > 0
      ? tools.map((each) => `Tools: ${each}`)
      : [`No tools: the ${profile === undefined ? "policy" : "profile"} allows none of ${own}*`];
  return {
    title: `Server ${name}`,
    entries: [redactLaunch(how), ...offered, ...grantOf(grant), ...secrets],
    denied: denied.map((each) => `Tools: ${each}`),
    changes: tools.length > 0,
  };
}

/** The patterns that name tools of a server: those of its own, and all of it where a wider one does. */
function ownPatterns(rules: readonly { readonly pattern: string }[], own: string): string[] {
  const isWider = (pattern: string): boolean => pattern.endsWith("*") && own.startsWith(pattern.slice(0, -1));
  if (rules.some(({ pattern }) => isWider(pattern))) return [`${own}*`];
  return rules.map(({ pattern }) => pattern).filter((pattern) => pattern.startsWith(own));
}

const READ = "Files to read";
const CHANGED = "Files to read and change";

/** What a plugin or server reaches beyond its own tools, in words. */
export function grantOf({ filesystem, network }: Pick<ServerGrant, "filesystem" | "network">): string[] {
  const files = fileGroups(filesystem).flatMap(({ title, entries }) => entries.map((each) => `${title}: ${each}`));
  return [...files, ...hostsOf(network).map((each) => `Hosts: ${each}`)];
}

function fileGroups({ allowed, readable, readOnly }: FilesystemPolicy): Omit<ReachGroup, "denied">[] {
  const patterns = (rules: readonly { readonly pattern: string }[]): string[] => rules.map(({ pattern }) => pattern);
  const writable = readOnly === undefined ? patterns(allowed.rules) : [];
  const read = [...patterns(readable.rules), ...(readOnly === undefined ? [] : patterns(allowed.rules))];
  return [
    { title: READ, entries: read, changes: false },
    { title: CHANGED, entries: writable, changes: true },
  ];
}

function hostsOf({ offline, allowedEndpoints, allowedRanges }: NetworkPolicy): string[] {
  if (offline !== undefined) return [];
  const hosts = allowedEndpoints.rules.map(({ pattern, ports }) => {
    const other = [...(ports ?? [])].filter((port) => port !== 443);
    return other.length === 0 ? pattern : `${pattern} (${[...(ports ?? [])].join(", ")})`;
  });
  return [...new Set([...hosts, ...allowedRanges.rules.map(({ pattern }) => pattern)])];
}

const NOTHING = "Nothing may be reached.";

function mapText(title: string, groups: readonly ReachGroup[]): string {
  if (groups.length === 0) return `${title}\n└─ ${NOTHING}`;
  const lines = [styled("bold", cleanLine(title))];
  for (const [at, { title: name, entries, denied, changes }] of groups.entries()) {
    const last = at === groups.length - 1;
    lines.push(`${last ? "└─" : "├─"} ${styled(changes ? "yellow" : "cyan", name)}`);
    const all = [...entries.map(cleanLine), ...denied.map((each) => styled("red", `never ${cleanLine(each)}`))];
    for (const [index, entry] of all.entries())
      lines.push(`${last ? " " : "│"}  ${index === all.length - 1 ? "└─" : "├─"} ${entry}`);
  }
  return lines.join("\n");
}

const LINE = 18;
const BOX = { x: 420, width: 460, pad: 12 } as const;
/** Characters of an entry, as wide as its box. */
const MAX_ENTRY = 62;

/** Client, policy, and a box for each kind; no font, script or picture from elsewhere. */
function mapPicture(title: string, groups: readonly ReachGroup[]): string {
  let y = 20;
  const boxes = groups.map(({ title: name, entries, denied, changes }) => {
    const height = BOX.pad * 2 + LINE * (entries.length + denied.length + 1);
    const top = y;
    y += height + 14;
    const lines = [...entries, ...denied].map((entry, at) => {
      const [color, text] = at < entries.length ? ["", entry] : [' fill="#cf222e"', `never ${entry}`];
      return `<text x="${BOX.x + BOX.pad}" y="${top + BOX.pad + LINE * (at + 2) - 4}"${color}>${escaped(text)}</text>`;
    });
    const color = changes ? "#d4a72c" : "#0969da";
    return {
      top,
      height,
      text: `<rect x="${BOX.x}" y="${top}" width="${BOX.width}" height="${height}" rx="8" fill="#fff" stroke="${color}" stroke-width="2"/><text x="${BOX.x + BOX.pad}" y="${top + BOX.pad + LINE - 4}" font-weight="600">${escaped(name)}${changes ? " (may change things)" : ""}</text>${lines.join("")}`,
    };
  });
  const height = Math.max(y + 10, 140);
  const middle = height / 2;
  const lines = boxes.map(
    ({ top, height: size }) =>
      `<path d="M330 ${middle} C380 ${middle} 370 ${top + size / 2} ${BOX.x} ${top + size / 2}" fill="none" stroke="#8c959f"/>`,
  );
  const nothing = groups.length === 0 ? `<text x="${BOX.x}" y="${middle + 5}">${NOTHING}</text>` : "";
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 ${height}" font-family="system-ui,sans-serif" font-size="13" fill="#1c2128">
<title>${escaped(title)}: what an AI client may reach</title><rect width="900" height="${height}" fill="#f6f8fa"/>
<rect x="20" y="${middle - 30}" width="110" height="60" rx="8" fill="#fff" stroke="#8c959f"/><text x="75" y="${middle + 5}" text-anchor="middle">AI client</text>
<path d="M130 ${middle} H190" stroke="#8c959f"/>
<rect x="190" y="${middle - 40}" width="140" height="80" rx="8" fill="#2da44e"/><text x="260" y="${middle - 4}" text-anchor="middle" fill="#fff" font-weight="600">policy, approval,</text><text x="260" y="${middle + 14}" text-anchor="middle" fill="#fff" font-weight="600">audit log</text>
${lines.join("")}${boxes.map(({ text }) => text).join("\n")}${nothing}
</svg>
`;
}

function escaped(text: string): string {
  const short = text.length > MAX_ENTRY ? `${text.slice(0, MAX_ENTRY - 1)}…` : text;
  return cleanLine(short).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

// What a profile leaves of all that: what no tool of it can reach is out of its reach.

/** The built-in tools by which clients do something with each kind of thing. */
const TOOLS: Readonly<Record<Doing, readonly string[]>> = {
  write: ["write_file", "edit_file"],
  read: ["read_file", "search_text"],
  list: ["list_directory", "search_files"],
  fetch: ["web_fetch", "web_search"],
  run: ["run_command"],
  query: ["query_database", "import_csv"],
};

/** What a client does with a thing. */
export type Doing = "write" | "read" | "list" | "fetch" | "run" | "query";

/** The first of the tools that do it, where the profile leaves none of those that the policy allows; undefined otherwise. */
export function toolLeftOut(policy: Policy, doing: Doing): string | undefined {
  if (policy.profile === undefined || policy.whole === undefined) return undefined;
  const isAllowed = (of: Policy, name: string): boolean => decide(of, { kind: "tool", name }).allowed;
  const { whole } = policy;
  if (TOOLS[doing].some((name) => isAllowed(policy, name))) return undefined;
  return TOOLS[doing].find((name) => isAllowed(whole, name));
}

/** Of some patterns those that other ones let through, each as narrow as the narrower of the two. */
function narrowed(patterns: readonly string[], to: readonly string[]): string[] {
  const both = patterns.flatMap((one) =>
    to.flatMap((other) => (isWithin(other, one) ? [other] : isWithin(one, other) ? [one] : [])),
  );
  return [...new Set(both)];
}

function isWithin(pattern: string, wide: string): boolean {
  return pattern === wide || (wide.endsWith("*") && pattern.startsWith(wide.slice(0, -1)));
}
