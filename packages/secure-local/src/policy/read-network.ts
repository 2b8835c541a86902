// Reads the section network: endpoints, address ranges, ports and names.
import { rangeFault, RangeMatcher } from "./address-range.js";
import { type EndpointRule, HostMatcher, hostPattern } from "./host-matcher.js";
import type { Tree } from "./policy-tree.js";
import type { NetworkPolicy } from "./policy.js";
import { readTrue } from "./read-paths.js";
import { patternRule, type Place, type Rule, ruleAt } from "./faults.js";
import { Section, TEXT, wholeNumber, YES_NO, type Expectation } from "./section.js";

/** The port of an allowed endpoint that names none: encrypted web traffic. */
export const DEFAULT_PORT = 443;
/** Characters of a name that a message repeats. */
const MAX_SHOWN = 60;
const PORT = wholeNumber(1, 65_535);
/** The only mode there is; the key is read because files of mcp-secure-server have it. */
const MODE: Expectation<"deny_all"> = {
  words: "deny_all (all that is not listed is denied; there is no other mode)",
  read: (value) => (value === "deny_all" ? value : undefined),
};

export function readNetwork(section: Section): NetworkPolicy {
  section.value("mode", MODE);
  const dns = section.value("allow_dns", YES_NO);
  const names = section.list("dns_allowlist", TEXT);
  const network: NetworkPolicy = {
    offline: readTrue(section, "offline"),
    allowedEndpoints: new HostMatcher(readEndpoints(section, "allowed_endpoints", [DEFAULT_PORT])),
    deniedEndpoints: new HostMatcher(readEndpoints(section, "denied_endpoints", undefined)),
    allowedRanges: readRanges(section),
    blockedPorts: readPorts(section),
    dnsRefused: dns?.value === false ? ruleAt(section.name("allow_dns"), false, dns.place) : undefined,
    dnsNames:
      names &&
      new HostMatcher(
        names.flatMap(({ value, place }) => endpoint(section, "dns_allowlist", { host: value, place }) ?? []),
      ),
  };
  section.finish();
  return network;
}

function readEndpoints(section: Section, key: string, otherwise: readonly number[] | undefined): EndpointRule[] {
  return (section.trees(key) ?? []).flatMap((tree, index) => readEndpoint(section, { key, tree, index, otherwise }));
}

interface EndpointItem {
  readonly key: string;
  readonly tree: Tree;
  readonly index: number;
  /** The ports of an endpoint that names none; undefined: every port. */
  readonly otherwise: readonly number[] | undefined;
}

/** One item of a list of endpoints: a mapping with `host`, `ports` and `description`. */
export function readEndpoint(section: Section, { key, tree, index, otherwise }: EndpointItem): EndpointRule[] {
  if (tree.kind === "value" && typeof tree.value === "string") {
    const example = `{ host: ${JSON.stringify(tree.value.slice(0, MAX_SHOWN))} }`;
    section.faults.add(tree.place, `${section.name(key)}[${index}] must be a mapping; write ${example}`);
    return [];
  }
  const item = new Section(tree, `${section.name(key)}[${index}]`, section.faults);
  const host = item.value("host", TEXT);
  const description = item.value("description", TEXT)?.value;
  const listed = item.some("ports", PORT, "name a port, as in [443]")?.map((port) => port.value);
  item.finish();
  if (!host) {
    if (tree.kind === "map" && item.tree("host") === undefined)
      item.faults.add(tree.place, `${item.path} needs a host`);
    return [];
  }
  const rule = endpoint(section, key, { host: host.value, place: host.place, ports: listed ?? otherwise });
  return rule ? [{ ...rule, ...(description === undefined ? {} : { description }) }] : [];
}

export function endpoint(
  section: Section,
  key: string,
  given: { host: string; place: Place; ports?: readonly number[] | undefined },
): EndpointRule | undefined {
  const read = hostPattern(given.host);
  if ("wrong" in read) {
    section.faults.add(given.place, `${section.name(key)}: ${read.wrong}`);
    return undefined;
  }
  return { ...patternRule(section.name(key), read.pattern, given.place), ports: given.ports && new Set(given.ports) };
}

function readRanges(section: Section): RangeMatcher {
  const ranges = section.list("allowed_ranges", TEXT) ?? [];
  const good = ranges.filter(({ value, place }) => {
    const wrong = rangeFault(value);
    if (wrong) section.faults.add(place, `${section.name("allowed_ranges")}: ${wrong}`);
    return wrong === undefined;
  });
  return new RangeMatcher(good.map(({ value, place }) => patternRule(section.name("allowed_ranges"), value, place)));
}

function readPorts(section: Section): ReadonlyMap<number, Rule> {
  const ports = section.list("blocked_ports", PORT) ?? [];
  return new Map(ports.map(({ value, place }) => [value, ruleAt(section.name("blocked_ports"), value, place)]));
}
