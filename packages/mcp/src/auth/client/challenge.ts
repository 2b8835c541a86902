// Reads what a 401 or 403 asks for in its WWW-Authenticate header (RFC 9110 §11.6.1, RFC 6750 §3, RFC 9449 §7.1, RFC 9728 §5.1).
import { parseScopes } from "../scopes.js";

export interface Challenge {
  /** Schemes of ours that the server takes, in lower case: "bearer", "dpop". */
  readonly schemes: ReadonlySet<string>;
  readonly error?: string | undefined;
  readonly resourceMetadata?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
}

interface OneChallenge {
  readonly scheme: string;
  readonly params: Map<string, string>;
}

/** Longest header looked at: those in use stay under 500 characters. */
const HEADER_LENGTH = 8_192;

const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y;
const QUOTED = /"(?:[^"\\]|\\[^])*"/y;
const TOKEN68 = /[A-Za-z0-9\-._~+/]+=*(?=\s*(?:,|$))/y;
const GAP = /[\s,]*/y;
const SPACE = /[ \t]+/y;
const EQUALS = /\s*=\s*/y;

/** What Bearer and DPoP challenges say together: the first word on each matter counts. Nothing of the header is trusted here. */
export function readChallenge(header: string | undefined): Challenge {
  const ours = parse((header ?? "").slice(0, HEADER_LENGTH)).filter(
    ({ scheme }) => scheme === "bearer" || scheme === "dpop",
  );
  const first = (name: string): string | undefined => ours.find(({ params }) => params.has(name))?.params.get(name);
  const scope = first("scope");
  const scopes = scope === undefined ? undefined : parseScopes(scope);
  return {
    schemes: new Set(ours.map(({ scheme }) => scheme)),
    error: first("error"),
    resourceMetadata: first("resource_metadata"),
    scopes: scopes?.length === 0 ? undefined : scopes,
  };
}

function parse(text: string): readonly OneChallenge[] {
  const found: OneChallenge[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(text)?.[0];
    if (match !== undefined) at += match.length;
    return match;
  };
  for (;;) {
    take(GAP);
    const word = take(TOKEN);
    if (word === undefined) return found;
    const isParam = take(EQUALS) !== undefined;
    if (isParam) {
      const value = take(QUOTED) ?? take(TOKEN) ?? "";
      const params = found.at(-1)?.params;
      const name = word.toLowerCase();
      if (params !== undefined && !params.has(name)) params.set(name, unquote(value));
    } else {
      found.push({ scheme: word.toLowerCase(), params: new Map() });
      if (take(SPACE) !== undefined) take(TOKEN68);
    }
  }
}

function unquote(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1).replaceAll(/\\([^])/g, "$1") : text;
}
