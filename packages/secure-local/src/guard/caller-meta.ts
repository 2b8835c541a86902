// What of a caller's `_meta` goes to a mounted server: trace context in the forms that W3C gives it, and nothing else.

type Metadata = Readonly<Record<string, unknown>>;

/** What goes on, and the names of what is dropped. */
interface CallerMeta {
  readonly passed: Readonly<Record<string, string>>;
  readonly dropped: readonly string[];
}

/** `version-trace-parent-flags`, which is all of it in the one version there is. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** W3C asks programs to keep at least so many characters of a tracestate; nobody who traces needs more, and it is a way out. */
const MAX_STATE = 512;
/** Members that W3C lets a tracestate have. */
const MAX_MEMBERS = 32;
const STATE_MEMBER = /^[a-z0-9][a-z0-9_*/@-]{0,240}=[\x21-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/;
const BAGGAGE_MEMBER =
  /^[\w!#$%&'*+.^`|~-]{1,256}=[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]{0,512}(?:;[\w!#$%&'*+.^`|~-]{1,64}(?:=[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]{0,256})?)*$/;

const FORMS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["traceparent", (text) => TRACEPARENT.test(text)],
  ["tracestate", (text) => isList(text, STATE_MEMBER)],
  ["baggage", (text) => isList(text, BAGGAGE_MEMBER)],
]);

/** What the protocol itself uses between a client and us: it belongs to one hop, and is no message to a server. */
const OUR_HOP =
  /^(?:progressToken|io\.modelcontextprotocol\/(?:protocolVersion|clientInfo|clientCapabilities|logLevel|related-task))$/;

/** Judges each member by its name and form. */
export function callerMeta(meta: Metadata | undefined): CallerMeta {
  const passed: Record<string, string> = {};
  const dropped: string[] = [];
  for (const [key, value] of Object.entries(meta ?? {})) {
    if (OUR_HOP.test(key)) continue;
    if (typeof value === "string" && FORMS.get(key)?.(value) === true) passed[key] = value;
    else dropped.push(key);
  }
  // A state continues a parent; without one nobody can use it.
  if (passed["traceparent"] === undefined && passed["tracestate"] !== undefined) {
    delete passed["tracestate"];
    dropped.push("tracestate");
  }
  return { passed, dropped };
}

function isList(text: string, member: RegExp): boolean {
  if (text.length > MAX_STATE) return false;
  const members = text.split(",");
  return members.length <= MAX_MEMBERS && members.every((each) => member.test(each.replace(/^[ \t]+|[ \t]+$/g, "")));
}
