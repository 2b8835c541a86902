// Checks of everything that was heard in all conversations; they come last.
import {
  type Check,
  type Examination,
  OK,
  type Outcome,
  shown,
  specification,
  unchecked,
  unless,
  warn,
} from "../examination.js";
import type { Message } from "../../remote/text-link.js";
import { type ReceivedText, isMessage } from "../session.js";

// Finds a member that an object in a JSON text names twice, which parsers pass over in silence.

/** The name that comes twice in one object of a valid JSON text; undefined when each comes once. */
function duplicateMember(text: string): string | undefined {
  const names: (Set<string> | undefined)[] = [];
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === "{") names.push(new Set());
    else if (token === "[") names.push(undefined);
    else if (token === "}" || token === "]") names.pop();
    else {
      const here = names.at(-1);
      if (here === undefined || !NAME_ENDS.test(text.slice(index + token.length, index + token.length + LOOK_AHEAD)))
        continue;
      if (here.has(token)) return token.slice(1, -1);
      here.add(token);
    }
  }
  return undefined;
}

const TOKEN = /"(?:[^"\\]|\\[^])*"|[{}[\]]/g;
const NAME_ENDS = /^\s*:/;
/** White space between a name and its colon; nobody writes more. */
const LOOK_AHEAD = 16;

/** Codes below are for the protocol; applications use others. */
const TEXT_IDS = new Set(["string", "number"]);

export const WIRE_CHECKS: readonly Check[] = [
  {
    id: "stdout-noise",
    title: "writes nothing but messages to standard output",
    tier: "breaks clients",
    page: specification("basic/transports#stdio"),
    must: 16,
    needs: ["stdio"],
    advice: "Log to standard error: console.error, logging.StreamHandler(sys.stderr). Redirect what libraries print.",
    run: ({ conversations }) =>
      unless(firsts(conversations.flatMap(({ noise }) => noise)).map((line) => JSON.stringify(line))),
  },
  {
    id: "readable",
    title: "writes messages that can be read",
    tier: "breaks clients",
    page: specification("basic/transports#stdio"),
    must: 16,
    needs: ["session"],
    advice: "One message is one line of UTF-8, of a length clients take.",
    run({ conversations }) {
      const faults = firsts(conversations.flatMap(({ unreadable }) => unreadable));
      const [limit] = conversations.flatMap(({ overLimit }) => overLimit);
      return faults.length === 0 && limit !== undefined ? unchecked(limit) : unless(faults);
    },
  },
  {
    id: "message-shape",
    title: 'sends messages with "jsonrpc": "2.0" and either a result or an error',
    tier: "breaks clients",
    page: specification("basic#messages"),
    needs: ["session"],
    advice: "A response has id and exactly one of result and error; a result is an object.",
    run(exam) {
      const faults = firsts(messages(exam).flatMap(shapeFaults));
      return faults.length > 0 ? unless(faults) : unless(firsts(messages(exam).flatMap(resultFaults)), "warn");
    },
  },
  {
    id: "error-shape",
    title: "sends errors with an integer code and a message",
    tier: "breaks clients",
    page: specification("basic#responses"),
    needs: ["session"],
    advice: "error is { code: integer, message: text }.",
    run: (exam) => unless(firsts(messages(exam).flatMap(errorFaults))),
  },
  {
    id: "answers-asked",
    title: "answers only what it was asked, once, under the same id",
    tier: "breaks the letter",
    page: specification("basic#responses"),
    must: 10,
    needs: ["session"],
    advice: "Echo the id as it came, its type included, and send one response for each request.",
    run: ({ conversations }) =>
      unless(firsts(conversations.flatMap(({ heard, asked }) => strayFaults(heard, asked))), "warn"),
  },
  {
    id: "duplicate-members",
    title: "names each member of an object once",
    tier: "breaks the letter",
    page: specification("basic#messages"),
    needs: ["session"],
    advice: "Let a JSON library write messages: which of two equal members counts is anybody's guess.",
    run: ({ conversations }) =>
      unless(
        firsts(
          conversations.flatMap(({ heard }) =>
            heard.map(({ text }) => duplicateMember(text)).filter((name) => name !== undefined),
          ),
        ).map((name) => `"${name}" is there twice`),
        "warn",
      ),
  },
  {
    id: "requests-without-capability",
    title: "asks the client for nothing it did not offer",
    tier: "breaks the letter",
    page: specification("basic/lifecycle#operation"),
    must: 39,
    needs: ["handshake"],
    advice: "Look at the client's capabilities before sending sampling, elicitation or roots requests.",
    run(exam) {
      const asked = messages(exam).filter(
        ({ id, method }) => id !== undefined && typeof method === "string" && method !== "ping",
      );
      return unless(
        firsts(asked.map(({ method }) => `it sent ${shown(method)} to a client without capabilities`)),
        "warn",
      );
    },
  },
  {
    id: "log-capability",
    title: "sends log messages only when it declares logging",
    tier: "breaks the letter",
    page: specification("server/utilities/logging#capabilities"),
    must: 39,
    needs: ["session"],
    advice: "Declare logging, or write to standard error.",
    run({ sessions }) {
      const silent = sessions.filter(({ capabilities }) => !("logging" in capabilities));
      const logged = silent.some(({ raw }) =>
        raw.heard.some(({ message }) => message?.["method"] === "notifications/message"),
      );
      return logged ? warn("notifications/message was sent, but logging is not declared") : OK;
    },
  },
];

export const CLOSING_CHECKS: readonly Check[] = [
  {
    id: "close-end",
    title: "ends when its input ends",
    tier: "breaks the letter",
    page: specification("basic/lifecycle#shutdown"),
    needs: ["stdio"],
    advice: "Exit when standard input ends: a server that stays is a process nobody ends.",
    run: (exam) =>
      endings(exam, /went on running/, "it went on running when its input had ended, and had to be sent a signal"),
  },
  {
    id: "close-leak",
    title: "leaves no process behind",
    tier: "breaks the letter",
    page: specification("basic/lifecycle#shutdown"),
    needs: ["stdio"],
    advice: "End the processes you started before you exit.",
    run: (exam) =>
      endings(exam, /behind|could not be ended/, "processes it had started were left, and had to be ended"),
  },
];

async function endings(exam: Examination, sign: RegExp, fault: string): Promise<Outcome> {
  const said = await exam.close();
  return said.some((text) => sign.test(text)) ? warn(fault) : OK;
}

function messages({ conversations }: Examination): Message[] {
  return conversations.flatMap(({ heard }) => heard.map(({ message }) => message).filter((each) => each !== undefined));
}

function shapeFaults(message: Message): string[] {
  const { jsonrpc, method } = message;
  if (jsonrpc !== "2.0") return [`a message has jsonrpc ${JSON.stringify(jsonrpc)}`];
  if (typeof method === "string") return [];
  const both = Number("result" in message) + Number("error" in message);
  if (both !== 1)
    return [both === 0 ? "a response has neither result nor error" : "a response has both result and error"];
  return [];
}

/** Whoever asked for something gets nothing they can use, and notices it there. */
function resultFaults(message: Message): string[] {
  const { result } = message;
  return "result" in message && !isMessage(result) ? [`a result is ${shown(result)}, and no object`] : [];
}

function errorFaults({ error }: Message): string[] {
  if (error === undefined) return [];
  if (!isMessage(error)) return ["an error is no object"];
  if (!Number.isInteger(error["code"])) return [`an error has the code ${JSON.stringify(error["code"])}`];
  return typeof error["message"] === "string" && error["message"] !== "" ? [] : ["an error has no message"];
}

function strayFaults(heard: readonly ReceivedText[], asked: readonly (string | number)[]): string[] {
  const open = new Set(asked);
  const answered = new Set<unknown>();
  return heard.flatMap(({ message }) => {
    if (message === undefined || "method" in message) return [];
    const { id } = message;
    if (!TEXT_IDS.has(typeof id)) return [];
    if (answered.has(id)) return [`the request ${JSON.stringify(id)} was answered twice`];
    answered.add(id);
    return open.has(id as string) || isRoughId(id)
      ? []
      : [`an answer came under ${JSON.stringify(id)}, which nobody asked`];
  });
}

/** Ids in texts that were sent as they are. */
function isRoughId(id: unknown): boolean {
  return ["odd", "deep", "p", "huge", "b2"].includes(shown(id));
}

function firsts(list: readonly string[]): string[] {
  return [...new Set(list)];
}
