// Reads the section servers: other MCP servers that are offered behind this policy, and what each may reach.
import { type Faults, patternRule, ruleAt } from "./faults.js";
import type { PluginGrant, SecretPolicy, ServerGrant, ServerQuestion } from "./policy.js";
import { type Environment, readAnyPath, readFilesystem, readNetwork } from "./read-paths.js";
import { NAME_PATTERN } from "./read-names.js";
import { NameMatcher, plainHost } from "./host-matcher.js";
import { didYouMean, type Expectation, type Section, TEXT, wholeNumber, YES_NO } from "./section.js";

/** As the gateway wants it: it stands before `__` in the name of each tool. */
const SERVER_NAME: Expectation<string> = {
  words: 'at most 32 letters, digits, "-" and single "_", beginning with a letter',
  read: (value) =>
    typeof value === "string" && value.length <= 32 && /^[A-Za-z][A-Za-z0-9-]*(?:_[A-Za-z0-9-]+)*$/.test(value)
      ? value
      : undefined,
};
const WEB_URL: Expectation<string> = {
  words: "a URL, as in https://host/mcp",
  read: (value) =>
    typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) ? value : undefined,
};
const RULE_ID: Expectation<string> = {
  words: "the id of a finding, as servers review shows it: override.instructions",
  read: (value) => (typeof value === "string" && /^[a-z-]{2,30}\.[a-z-]{2,40}$/.test(value) ? value : undefined),
};
const LOGIN: Expectation<"oauth"> = {
  words: "oauth",
  read: (value) => (value === "oauth" ? value : undefined),
};
/** A text, or several with `${secret:NAME}` in them. */
const VALUE: Expectation<string> = {
  words: "text; ${secret:NAME} stands for the value of a secret",
  read: (value) => (typeof value === "string" ? value : undefined),
};
const SECRET = /\$\{secret:([^}]*)\}/g;
const QUESTION: Expectation<ServerQuestion> = {
  words: "elicitation, sampling or roots",
  read: (value) => (value === "elicitation" || value === "sampling" || value === "roots" ? value : undefined),
};
/** Input that a person gives, or does not; a model's answers and the names of folders are given unseen. */
const DEFAULT_QUESTIONS: readonly { readonly value: ServerQuestion }[] = [{ value: "elicitation" }];
/** Minutes a child that nobody calls is kept: a day is as good as for ever. */
const IDLE = wholeNumber(1, 1_440);
const DEFAULT_IDLE_MIN = 15;

export function readServers(section: Section, environment: Environment): ReadonlyMap<string, ServerGrant> {
  const servers = new Map<string, ServerGrant>();
  const places = new Map<string, { readonly name: string; readonly line: number }>();
  for (const [name, item, place] of section.named()) {
    // Their URIs begin with the name, and a scheme has no case.
    const twin = places.get(name.toLowerCase());
    if (twin !== undefined)
      section.faults.add(
        place,
        `servers has ${twin.name} (line ${twin.line}) and ${name} (line ${place.line}), which differ in case alone; rename one`,
      );
    places.set(name.toLowerCase(), { name, line: place.line });
    if (SERVER_NAME.read(name) === undefined)
      section.faults.add(place, `servers has the name "${name.slice(0, 60)}"; it must be ${SERVER_NAME.words}`);
    const server = readServer(item, name, environment);
    if (server !== undefined) servers.set(name, { ...server, rule: ruleAt("servers", name, place) });
  }
  return servers;
}

function readServer(item: Section, name: string, environment: Environment): Omit<ServerGrant, "rule"> | undefined {
  const command = item.some("command", TEXT, "begin it with a program")?.map(({ value }) => value);
  const url = item.value("url", WEB_URL)?.value;
  if ((item.tree("command") === undefined) === (item.tree("url") === undefined))
    item.faults.add(
      item.place,
      `${item.path} needs a command (a list: program and arguments) or a url, one of the two`,
    );
  const tools = item.section("tools");
  const denied = (tools.list("denied", NAME_PATTERN) ?? []).map((each) =>
    patternRule(tools.name("denied"), each.value, each.place),
  );
  tools.finish();
  const server = {
    name,
    launch: url === undefined ? { kind: "command" as const, command: command ?? [] } : { kind: "url" as const, url },
    enabled: item.value("enabled", YES_NO)?.value ?? true,
    workingDirectory: readAnyPath(item, "working_directory", environment),
    env: readValues(item, "env"),
    headers: readValues(item, "headers"),
    login: item.value("login", LOGIN)?.value,
    network: readNetwork(item.section("network")),
    filesystem: readFilesystem(item.section("filesystem"), environment),
    deniedTools: new NameMatcher(denied),
    accept: (item.list("accept", RULE_ID) ?? []).map(({ value }) => value),
    mayAsk: new Set((item.list("may_ask", QUESTION) ?? DEFAULT_QUESTIONS).map(({ value }) => value)),
    idleMs: (item.value("idle", IDLE)?.value ?? DEFAULT_IDLE_MIN) * 60_000,
  };
  checkKind(item, server.launch.kind);
  item.finish();
  return url === undefined && (command === undefined || command.length === 0) ? undefined : server;
}

/** What a process has makes no sense for a URL, and the other way round. */
function checkKind(item: Section, kind: "command" | "url"): void {
  const foreign = kind === "url" ? ["env", "filesystem", "network", "working_directory"] : ["headers", "login"];
  for (const key of foreign) {
    const tree = item.tree(key);
    if (tree !== undefined)
      item.faults.add(tree.place, `${item.name(key)} is for a ${kind === "url" ? "command" : "url"}; remove it`);
  }
}

function readValues(item: Section, key: string): ReadonlyMap<string, string> {
  const section = item.section(key);
  const values = new Map(section.all(VALUE).map(([name, { value }]) => [name, value]));
  section.finish();
  return values;
}

/** The secrets a server's entry names. */
export function secretsOf({
  env,
  headers,
  launch,
}: Pick<ServerGrant, "env" | "headers" | "launch">): readonly string[] {
  const texts = [...env.values(), ...headers.values(), ...(launch.kind === "command" ? launch.command : [])];
  return [...new Set(texts.flatMap(secretsIn))];
}

function secretsIn(text: string): string[] {
  return [...text.matchAll(SECRET)].map((match) => match[1] as string);
}

/** The text with the values of secrets in it. Undefined where one cannot be had. */
export function withSecrets(text: string, valueOf: (name: string) => string | undefined): string | undefined {
  let missing = false;
  const filled = text.replaceAll(SECRET, (_whole, name: string) => {
    const value = valueOf(name);
    missing ||= value === undefined;
    return value ?? "";
  });
  return missing ? undefined : filled;
}

interface Named {
  readonly servers: ReadonlyMap<string, ServerGrant>;
  readonly secrets: ReadonlyMap<string, SecretPolicy>;
  readonly plugins: { readonly load: ReadonlyMap<string, PluginGrant> };
}

/** Names that nothing has, or that two things have, would be found out at the first call; better to say so now. */
export function checkServers(faults: Faults, { servers, secrets, plugins }: Named): void {
  for (const server of servers.values()) {
    const { rule, name, launch } = server;
    const place = { line: rule.line ?? 1, column: rule.column ?? 1 };
    for (const secret of secretsOf(server)) {
      const known = secrets.get(secret);
      const elsewhere = known && launch.kind === "url" ? misplaced(known, server) : undefined;
      if (elsewhere !== undefined) faults.add(place, elsewhere);
      const hint = didYouMean(secret, secrets.keys()) || "; add it to secrets";
      if (known === undefined)
        faults.add(place, `servers.${name} names the secret "${secret}", which secrets does not have${hint}`);
      const unnamed = known && launch.kind === "url" ? unnamedHost(known, launch.url) : undefined;
      if (unnamed !== undefined) faults.add(place, `servers.${name} sends the secret "${secret}" to ${unnamed}`);
    }
    if (plugins.load.has(name))
      faults.add(place, `there is a plugin and a server "${name}"; call one of them otherwise`);
  }
}

/** A secret that is bound to one place in requests is put into no other, by an entry either. */
function misplaced(
  { name, header, query, body }: SecretPolicy,
  { name: server, headers }: ServerGrant,
): string | undefined {
  const own = `secrets.${name}`;
  for (const [sent] of [...headers].filter(([, text]) => secretsIn(text).includes(name))) {
    const what = `servers.${server}.headers puts the secret "${name}" into ${sent}`;
    if (header !== undefined) {
      if (header.toLowerCase() === sent.toLowerCase()) continue;
      return `${what}, and ${own}.header lets it into ${header} alone; write header: ${sent} there, or send it as ${header}`;
    }
    const [bound] = [query && "query", body && "body"].filter(Boolean);
    if (bound === undefined) continue;
    return `${what}, and ${own}.${bound} keeps it out of every header; add header: ${sent} there, or remove ${bound}`;
  }
  return undefined;
}

/** What of a URL the hosts of a secret do not name, and what to write; undefined where they name it. */
function unnamedHost({ name, hosts }: SecretPolicy, url: string): string | undefined {
  const { hostname } = new URL(url);
  const host = plainHost(hostname) ?? hostname;
  const port = portOf(url);
  if (hosts.find(host, port) !== undefined) return undefined;
  const ports = hosts.portsOf(host);
  const written = host.includes(":") ? `"${host}"` : host;
  if (ports.length === 0 && port === HTTPS) return `${host}; add ${written} to secrets.${name}.hosts`;
  const named = ports.length === 0 ? "" : `, and secrets.${name}.hosts names it at port ${ports.join(", ")} only`;
  const wish = `{ host: ${written}, ports: [${[...ports, port].join(", ")}] }`;
  return `${host} port ${port}${named}; write ${wish} in secrets.${name}.hosts`;
}

/** What a host without a port means. */
const HTTPS = 443;

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}
