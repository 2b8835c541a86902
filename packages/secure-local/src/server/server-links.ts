// Which URIs of a server reach a client as such: pages of https, and what the server itself was approved with; the rest is text.
import { isIP } from "node:net";
import { innerUri } from "@secure-local/mcp/gateway";
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import { nonPublicClass } from "../capabilities/resolve.js";
import { decide, decideAnyName, type Decision, isMetadataHost } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";
import { mayBeSame, readings } from "../policy/same-uri.js";

/** What a URI in an answer of one server is judged by. */
export interface LinkRules {
  readonly policy: Policy;
  /** The server's own spelling of a URI as it is shown. */
  own(uri: string): string;
  /** Whether the server was approved with this resource, or with a template that it fits. */
  approved(own: string): boolean;
  /** The spelling that names the server: nobody opens it but by reading it here. */
  wrapped(own: string): string;
}

/** What is known of one server: how its URIs are spelled outside, and what was approved of it. */
interface Known {
  readonly policy: Policy;
  readonly approved: ReadonlyMap<string, unknown>;
  /** The templates that one of its own URIs fits. */
  templatesOf(own: string): readonly string[];
  unwrapUri(server: string, uri: string): string | undefined;
  wrapUri(server: string, own: string): string;
}

export function linkRules(server: string, { policy, approved, templatesOf, unwrapUri, wrapUri }: Known): LinkRules {
  return {
    policy,
    own: (uri) => unwrapUri(server, uri) ?? uri,
    approved: (own) =>
      approved.has(`resource ${own}`) || templatesOf(own).some((each) => approved.has(`template ${each}`)),
    wrapped: (own) => wrapUri(server, own),
  };
}

const SCHEME = /^([a-z][a-z0-9+.-]*):/i;
/** Of an approved resource these are shown in the wrapped spelling alone: programs open or run them without asking anybody. */
const OPENED = new Set([
  "about",
  "blob",
  "data",
  "file",
  "filesystem",
  "ftp",
  "javascript",
  "jar",
  "mhtml",
  "vbscript",
]);
/** Pictures that hold no program. */
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,[a-z0-9+/]*={0,2}$/i;
const HTTPS_PORT = 443;

/** Whether it holds what no URI has, and some readers of URIs leave out before they look at the scheme. */
function holdsNoUri(text: string): boolean {
  // Written here: as a constant it would make every start look up Unicode's tables.
  // oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
  return /[\x00-\x20\x7f-\xa0"<>\\^`{|}\u2028\u2029\ufeff]|\p{Cf}/u.test(text);
}

/** Whether a client may open this page: by https, or by http where the policy allows its host and port. */
export function isPage(policy: Policy, uri: string): boolean {
  if (!/^https?:\/\//i.test(uri) || holdsNoUri(uri) || !URL.canParse(uri)) return false;
  // A name before the host makes people take it for the host; an empty one is a sign without need.
  if (/^[^/]*\/+[^/?#]*@/.test(uri)) return false;
  const { protocol, hostname: host, port } = new URL(uri);
  if (inwardPlace(host) === METADATA) return false;
  if (protocol === "https:") return true;
  const at = port === "" ? 80 : Number(port);
  return at !== HTTPS_PORT && decide(policy, { kind: "network", host, port: at }).allowed;
}

const METADATA = "a cloud metadata address";
/** Names that no resolver of the internet knows. */
const LOCAL_NAME = /^[^.]+$|\.(?:local|localhost|internal|intranet|lan|home|corp|private|home\.arpa)$/;

/** What the host of a page is where it is not on the internet, as `URL` writes it; undefined for any other. */
export function inwardPlace(hostname: string): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (isMetadataHost(host)) return METADATA;
  if (isIP(host) !== 0) return nonPublicClass(host);
  if (/(?:^|\.)localhost$/.test(host)) return "this machine";
  return LOCAL_NAME.test(host) ? "a name of a private network" : undefined;
}

/** The URI as it may be shown as one; undefined where it is text. */
function shownUri(uri: string, { policy, own: ownOf, approved, wrapped }: LinkRules): string | undefined {
  const own = ownOf(uri);
  const scheme = SCHEME.exec(own)?.[1]?.toLowerCase();
  if (scheme === undefined) return undefined;
  if (isPage(policy, own)) return uri;
  if (!approved(own)) return undefined;
  return OPENED.has(scheme) ? wrapped(own) : uri;
}

/** An answer whose URIs are all ones that may be opened or read. `asked`: the URI that was read, which its reader knows already. */
export function safeLinks(answer: JsonObject, rules: LinkRules, asked: string | undefined): JsonObject {
  const { content, contents, messages } = answer;
  const block = (given: unknown): unknown => safeBlock(given, rules);
  return {
    ...answer,
    ...(Array.isArray(content) ? { content: content.map(block) } : {}),
    ...(Array.isArray(contents) ? { contents: contents.map((each) => contained(each, rules, asked)) } : {}),
    ...(Array.isArray(messages)
      ? {
          messages: messages.map((message) =>
            isObject(message) ? { ...message, content: blocks(message["content"], block) } : message,
          ),
        }
      : {}),
  };
}

function blocks(given: unknown, block: (each: unknown) => unknown): unknown {
  return Array.isArray(given) ? given.map(block) : block(given);
}

function safeBlock(given: unknown, rules: LinkRules): unknown {
  if (!isObject(given)) return given;
  if (given["type"] === "resource") return { ...given, resource: contained(given["resource"], rules, undefined) };
  if (given["type"] !== "resource_link") return given;
  const link = safeIcons(given, rules.policy);
  const uri = shownUri(String(link["uri"]), rules);
  if (uri !== undefined) return uri === link["uri"] ? link : { ...link, uri };
  const { name, description, annotations, _meta } = link;
  const about = typeof description === "string" && description !== "" ? `\n${description}` : "";
  return {
    type: "text",
    text: `${String(name)}: ${String(link["uri"])}${about}`,
    ...(annotations === undefined ? {} : { annotations }),
    ...(_meta === undefined ? {} : { _meta }),
  };
}

/** What was read stays, under a name that nobody opens. */
function contained(given: unknown, rules: LinkRules, asked: string | undefined): unknown {
  if (!isObject(given)) return given;
  const { uri } = given;
  if (typeof uri !== "string" || uri === asked) return given;
  const shown = shownUri(uri, rules) ?? rules.wrapped(rules.own(uri));
  return shown === uri ? given : { ...given, uri: shown };
}

/** A definition or link without icons that are no pictures. */
export function safeIcons<T extends object>(thing: T, policy: Policy): T {
  const { icons } = thing as { readonly icons?: unknown };
  if (icons === undefined) return thing;
  const all: readonly unknown[] = Array.isArray(icons) ? icons : [];
  const kept = all.filter((icon) => isObject(icon) && isPicture(icon["src"], policy));
  if (kept.length === all.length && Array.isArray(icons)) return thing;
  const { icons: _, ...rest } = thing as { readonly icons?: unknown };
  return (kept.length === 0 ? rest : { ...rest, icons: kept }) as T;
}

function isPicture(src: unknown, policy: Policy): boolean {
  return typeof src === "string" && (PICTURE.test(src) || isPage(policy, src));
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Gateways behind each other that one URI may name. */
const MOST_WRAPS = 8;

/** A URI of a server under all its names. */
interface NamedUri {
  readonly shown: string;
  readonly own: string;
  readonly wrapped: string;
}

/**
 * The decision about a URI of a server. What is wrapped in its own URI, as a server has it that is a gateway itself, is denied by all
 * the names inside, and allowed by the whole name alone: the others may be those of another server.
 */
export function decideUri(policy: Policy, { shown, own, wrapped }: NamedUri): Decision {
  const names = [own];
  for (let inner = innerUri(own); inner !== undefined; inner = innerUri(inner)) {
    if (names.push(inner) > MOST_WRAPS)
      return { allowed: false, rule: TOO_DEEP, reason: `The resource "${shown}" names more servers than one URI may.` };
  }
  if (names.length === 1) return decideAnyName(policy, [shown, own, wrapped]);
  const decision = decideAnyName(policy, [wrapped]);
  return decision.allowed ? decideAnyName(policy, [wrapped, ...names]) : decision;
}

const TOO_DEEP = Object.freeze({ text: `built-in rule: at most ${MOST_WRAPS} servers in one URI` });

/** Which of these items a server may answer with that is asked for this URI: one of its resources, or what a template stands for. */
export function alikeOf(
  own: string,
  items: readonly string[],
  templatesOf: (uri: string) => readonly string[],
): string | undefined {
  const asked = innermost(own);
  const templates = new Set([own, ...readings(asked)].flatMap(templatesOf));
  return items.find((item) => {
    const [, kind, uri = ""] = /^(resource|template) (.*)$/s.exec(item) ?? [];
    return kind === "template" ? templates.has(uri) : mayBeSame(innermost(uri), asked);
  });
}

/** Without the names of servers that stand before it. */
function innermost(uri: string): string {
  let plain = uri;
  for (let inner = innerUri(uri); inner !== undefined; inner = innerUri(inner)) plain = inner;
  return plain;
}
