// Checks of how a server comes up, and of who it says it is.
import {
  type Check,
  type Examination,
  fail,
  initializeParams,
  note,
  OK,
  type Outcome,
  specification,
  unless,
  warn,
} from "../examination.js";
import { answerText, HANDSHAKE, isMessage, knownRevision, OLDEST, resultOf } from "../session.js";

/** From here on people wonder whether it works; from there on clients give up. */
const SLOW_MS = 2_000;
const TOO_SLOW_MS = 30_000;
const NO_VERSION = /^(?:0\.0\.0|unknown|dev|latest|undefined|null)?$/i;

export const LAUNCH_CHECKS: readonly Check[] = [
  {
    id: "start-time",
    title: "answers soon after it was started",
    tier: "breaks clients",
    page: specification("basic/lifecycle#timeouts"),
    advice: "Load what a call needs when it is called; answer initialize before connecting to anything.",
    run({ startMs }) {
      const text = `the first answer came after ${(startMs / 1000).toFixed(1)} s`;
      if (startMs >= TOO_SLOW_MS) return fail(text);
      return startMs >= SLOW_MS ? note(text) : OK;
    },
  },
  {
    id: "server-name",
    title: "says its name",
    tier: "breaks clients",
    page: specification("basic/lifecycle#initialization"),
    needs: ["session"],
    advice: "Set serverInfo.name.",
    run({ sessions }) {
      const nameless = sessions.filter(({ server }) => !isText(server["name"]));
      // Clients of sessions refuse an answer to initialize without it; later ones show the name alone.
      const refused = nameless.some(({ era, server }) => era === "handshake" && typeof server["name"] !== "string");
      return unless(
        nameless.map(({ era }) => `no name in the ${era} era`),
        refused ? "fail" : "warn",
      );
    },
  },
  {
    id: "server-version",
    title: "says a version that means something",
    tier: "breaks clients",
    page: specification("basic/lifecycle#initialization"),
    needs: ["session"],
    advice: "Take serverInfo.version from the package, so that reports name what was running.",
    run({ session: { era, server } }) {
      const version = server["version"];
      if (typeof version !== "string") {
        const text = "serverInfo has no version";
        return era === "handshake" ? fail(text) : warn(text);
      }
      return NO_VERSION.test(version.trim()) ? note(`the version is "${version}"`) : OK;
    },
  },
  {
    id: "capabilities-shape",
    title: "declares capabilities as an object of objects",
    tier: "breaks clients",
    page: specification("basic/lifecycle#capability-negotiation"),
    needs: ["session"],
    advice: "Send an object; a capability without options is {}.",
    run({ session: { opening } }) {
      const { capabilities } = opening;
      if (!isMessage(capabilities)) return fail("capabilities is no object");
      const odd = Object.entries(capabilities).filter(([, value]) => !isMessage(value));
      return unless(odd.map(([name]) => `${name} is no object`));
    },
  },
  {
    id: "instructions-text",
    title: "sends instructions as text, or none",
    tier: "breaks clients",
    page: specification("basic/lifecycle#initialization"),
    needs: ["session"],
    advice: "Leave instructions out, or make it a string that says when to use which tool.",
    run({ session: { opening } }) {
      const { instructions } = opening;
      if (instructions === undefined) return OK;
      if (typeof instructions !== "string") return fail("instructions is no string");
      return instructions.trim() === "" ? note("instructions is empty") : OK;
    },
  },
];

export const HANDSHAKE_CHECKS: readonly Check[] = [
  {
    id: "version-echo",
    title: "takes the revision it is asked for, or names one that exists",
    tier: "breaks clients",
    page: specification("basic/lifecycle#version-negotiation"),
    must: 36,
    needs: ["handshake"],
    advice: "Answer with the requested protocolVersion when it is supported, else with the newest one that is.",
    run({ handshake }) {
      const agreed = handshake?.opening["protocolVersion"];
      if (typeof agreed !== "string") return fail("the answer to initialize has no protocolVersion");
      if (knownRevision(agreed) === undefined) return fail(`it answered with "${agreed}", which is no revision`);
      return agreed === HANDSHAKE ? OK : note(`it answered ${HANDSHAKE} with ${agreed}: update it when you can`);
    },
  },
  {
    id: "version-unknown",
    title: "answers an unknown revision with one it speaks",
    tier: "breaks the letter",
    page: specification("basic/lifecycle#version-negotiation"),
    must: 36,
    needs: ["handshake"],
    advice: "Do not refuse: answer initialize with another revision and let the client decide.",
    async run(exam) {
      const raw = await exam.open();
      const answer = await raw.ask("initialize", initializeParams("1999-12-31"));
      const version = resultOf(answer)?.["protocolVersion"];
      if (version === undefined) return warn(`initialize with 1999-12-31 was answered with ${answerText(answer)}`);
      return version === "1999-12-31" ? warn("it agreed to speak 1999-12-31, which does not exist") : OK;
    },
  },
  {
    id: "version-old",
    title: "speaks an older revision when asked for it",
    tier: "breaks the letter",
    page: specification("basic/lifecycle#version-negotiation"),
    must: 36,
    needs: ["handshake"],
    advice: `Support ${OLDEST} as well, or answer with the oldest revision you do support.`,
    async run(exam) {
      const session = await exam.fresh(OLDEST);
      if (session === undefined)
        return warn(`initialize with ${OLDEST} was refused instead of answered with another revision`);
      return session.revision === OLDEST ? OK : note(`it answered ${OLDEST} with ${session.revision}`);
    },
  },
  {
    id: "before-initialize",
    title: "serves nothing before initialize, and still shakes hands afterwards",
    tier: "breaks the letter",
    page: specification("basic/lifecycle#initialization"),
    needs: ["handshake", "stdio"],
    advice: "Keep a flag that initialize sets; until then refuse everything but ping with an error.",
    async run(exam) {
      const raw = await exam.open();
      const early = await raw.ask("tools/list", {});
      const opened = resultOf(await raw.ask("initialize", initializeParams(HANDSHAKE)));
      if (opened === undefined) return warn("a request before initialize broke the handshake");
      if (early === undefined) return note("a request before initialize was never answered");
      return "result" in early ? note("tools/list was served before initialize") : OK;
    },
  },
  {
    id: "initialized-reply",
    title: "does not answer notifications",
    tier: "breaks the letter",
    page: specification("basic#notifications"),
    needs: ["handshake"],
    advice: "A message without an id gets no answer, not even an error.",
    run: (exam) => noReplyTo(exam, "notifications/initialized"),
  },
  {
    id: "unknown-notification-reply",
    title: "does not answer notifications it does not know",
    tier: "breaks the letter",
    page: specification("basic#notifications"),
    needs: ["handshake"],
    advice: "Ignore notifications you do not know; a message without an id gets no answer, not even an error.",
    run: (exam) => noReplyTo(exam, "notifications/there_is_no_such"),
  },
  {
    id: "cancelled-unknown",
    title: "ignores the cancellation of a request it does not know",
    tier: "breaks the letter",
    page: specification("basic/utilities/cancellation#behavior-requirements"),
    needs: ["handshake"],
    advice: "Drop notifications/cancelled for requests that are over.",
    run: (exam) => noReplyTo(exam, "notifications/cancelled", { requestId: "no-such-request", reason: "test" }),
  },
  {
    id: "ping",
    title: "answers ping with an empty result",
    tier: "breaks clients",
    page: specification("basic/utilities/ping"),
    must: 38,
    needs: ["handshake"],
    advice: "Answer ping with {} at once, or clients take the server for dead.",
    async run({ handshake }) {
      const answer = await handshake?.ask("ping");
      const result = resultOf(answer);
      // Clients ping to see whether anybody is there: an error shows it, silence does not.
      if (answer === undefined) return fail("ping was never answered");
      if (result === undefined) return warn(`ping was answered with ${answerText(answer)}`);
      const names = Object.keys(result).filter((name) => name !== "_meta");
      return names.length === 0 ? OK : note(`the result has ${names.join(", ")}`);
    },
  },
];

/** A reply would come before the answer to what is asked next. */
async function noReplyTo({ handshake }: Examination, method: string, params: object = {}): Promise<Outcome> {
  if (handshake === undefined) return OK;
  const { raw } = handshake;
  const strays = (): number => raw.heard.filter(({ message }) => isStray(message)).length;
  const before = method === "notifications/initialized" ? 0 : strays();
  if (method !== "notifications/initialized") raw.notify(method, params, handshake.headers(method));
  await handshake.alive();
  return strays() > before ? warn(`${method} was answered`) : OK;
}

function isStray(message: unknown): boolean {
  if (!isMessage(message) || "method" in message) return false;
  return message["id"] === undefined || message["id"] === null;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}
