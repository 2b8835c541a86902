// A server whose tool needs consent, people who answer in every way, and a look at what was run and what is on record.
import { refusal } from "../report/own-faults.mjs";

export const STATEFUL = "2025-11-25";
export const STATELESS = "2026-07-28";
export const FORMS = { elicitation: {} };
/** What the honest call asks for; everything else is another call. */
export const ASKED = { path: "/srv/a" };
export const ASK = "  - { approve: destructive, timeout: 5 }";
export const KEEP = "  - { approve: destructive, remember: 10 }";
export const SESSION = "  - { approve: destructive, remember: session }";
export const NO = { action: "decline" };
export const keep = (span) => ({ action: "accept", content: { decision: `approve this very call ${span}` } });

/** Calls that are not the honest one, however alike they look. */
export const OTHER_CALLS = {
  "another path": { path: "/srv/b" },
  "a Cyrillic letter": { path: "/srv/\u0430" },
  "a Greek letter": { path: "/srv/\u03b1" },
  "a fullwidth letter": { path: "/srv/\uff41" },
  "a mathematical letter": { path: "/srv/\u{1d41a}" },
  "an accent of its own": { path: "/srv/a\u0301" },
  "a letter with its accent": { path: "/srv/\u00e1" },
  "a capital": { path: "/srv/A" },
  "a space behind": { path: "/srv/a " },
  "a space before": { path: " /srv/a" },
  "a space that does not break": { path: "/srv/a\u00a0" },
  "a line feed": { path: "/srv/a\n" },
  "a zero byte": { path: "/srv/a\0" },
  "a zero byte and more": { path: "/srv/a\0/../b" },
  "a joiner nobody sees": { path: "/srv/\u200da" },
  "a space nobody sees": { path: "/srv/a\u200b" },
  "a mark of direction": { path: "/srv/\u202ea" },
  "a tag": { path: "/srv/a\u{e0061}" },
  "a colour": { path: "\x1b[8m/srv/b\x1b[0m/srv/a" },
  "a backspace": { path: "/srv/b\ba" },
  "half a character": { path: "/srv/a\ud800" },
  "a slash": { path: "/srv/a/" },
  "a detour": { path: "/srv/./a" },
  "a way up": { path: "/srv/b/../a" },
  "the default the other way": { ...ASKED, force: false },
  "one argument more": { ...ASKED, text: "" },
  "padding of 10 kB": { ...ASKED, text: " ".repeat(10_000) },
  "padding of letters": { ...ASKED, text: "a".repeat(10_000) },
  "an argument nobody knows": { ...ASKED, "path ": "/srv/b" },
  "a prototype": { ...ASKED, constructor: "/srv/b" },
  "no arguments": {},
};

/** The server, what was run on it, and the questions its channel was put. */
export function approving({ approvingServer }, approvals, channel) {
  return approvingServer(approvals, channel);
}

/** Asks a stateless client's question: the peer, and what it was asked. */
export async function askedOf(parts, server, options = {}) {
  const peer = await server.connect({ revision: STATELESS, capabilities: FORMS, ...options });
  return { peer, asked: await parts.erase(peer, ASKED) };
}

/** What a request came to, errors included. */
export const outcome = (request) =>
  Promise.resolve(request).then(
    (answer) => ({ answer, refused: answer.isError === true }),
    (error) => ({ answer: { error: refusal(error).message }, refused: true }),
  );

/**
 * `true` when the calls were refused: nothing was run beyond `ran` calls, the caller was told, no consent was given on
 * record beyond those, and whatever was decided has its rule there.
 */
export function nothingRan(server, { answer, refused }, ran = 0) {
  if (server.ran.length !== ran) return `ran: ${JSON.stringify(server.ran)}`;
  if (!refused) return `answered: ${JSON.stringify(answer).slice(0, 300)}`;
  const records = server.audit.records();
  const given = records.filter(({ kind }) => kind === "approval.given");
  if (given.length > ran) return `${given.length} consents on record`;
  const denied = records.filter(({ kind }) => kind === "approval.denied");
  const nameless = denied.filter(({ decision, detail }) => !decision?.rule || !detail?.reason);
  if (nameless.length > 0) return `no rule or reason: ${JSON.stringify(nameless[0])}`;
  const ends = records.filter(({ kind, outcome }) => (kind === "call.result" || kind === "denied") && outcome !== "ok");
  return ends.length > 0 || `not on record: ${JSON.stringify(records).slice(0, 400)}`;
}
