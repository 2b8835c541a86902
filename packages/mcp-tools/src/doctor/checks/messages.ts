// Checks of JSON-RPC: ids, errors, and what no client should send but some do.
import {
  type Check,
  type Examination,
  fail,
  initializeParams,
  note,
  OK,
  type Outcome,
  skipped,
  specification,
  unchecked,
  warn,
} from "../examination.js";
import { answerText, BATCHES, codeOf, HANDSHAKE, resultOf, type Session } from "../session.js";

const METHOD_NOT_FOUND = -32601;
/** Just over what most servers read into one message. */
const HUGE = 5 * 1024 * 1024;
const DEEP = 5_000;
const NO_LIST = "tools/list is not answered at all, see tools-list";

export const MESSAGE_CHECKS: readonly Check[] = [
  {
    id: "unknown-method",
    title: "answers an unknown method with -32601",
    tier: "breaks clients",
    page: specification("basic#responses"),
    needs: ["session"],
    advice: "Answer with error -32601, or clients cannot tell a missing feature from a failure.",
    async run({ session }) {
      const answer = await session.ask("doctor/there_is_no_such_method");
      if (answer === undefined) return fail("it was never answered");
      return codeOf(answer) === METHOD_NOT_FOUND ? OK : warn(`it was answered with ${answerText(answer)}`);
    },
  },
  {
    id: "id-text",
    title: "answers under ids that are texts",
    tier: "breaks clients",
    page: specification("basic#requests"),
    must: 10,
    needs: ["session"],
    advice: "Echo the id as it came: a text stays a text.",
    run: ({ session }) => echoes(session, "id-ä-7"),
  },
  {
    id: "id-zero",
    title: "answers under the id 0",
    tier: "breaks clients",
    page: specification("basic#requests"),
    must: 10,
    needs: ["session"],
    advice: "Test ids for undefined, not for truth: 0 is an id.",
    run: ({ session }) => echoes(session, 0),
  },
  {
    id: "id-large",
    title: "answers under large ids",
    tier: "breaks the letter",
    page: specification("basic#requests"),
    must: 10,
    needs: ["session"],
    advice: "Keep ids as numbers of 53 bits.",
    run: ({ session }) => echoes(session, Number.MAX_SAFE_INTEGER, "warn"),
  },
  {
    id: "concurrent",
    title: "answers requests that come together",
    tier: "breaks clients",
    page: specification("basic#responses"),
    needs: ["session"],
    advice: "Do not wait for one request to end before the next is read; keep no request in a variable of the module.",
    async run({ session }) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => session.ask("doctor/none")));
      const missing = answers.filter((each) => each === undefined).length;
      return missing === 0 ? OK : fail(`${missing} of 8 requests were never answered`);
    },
  },
  {
    id: "params-left-out",
    title: "takes a list request without params",
    tier: "breaks clients",
    page: specification("basic#requests"),
    needs: ["handshake", "tools"],
    advice: "params may be absent; treat that as {}.",
    async run({ handshake }) {
      if (handshake === undefined || (await handshake.list("tools")).failed !== undefined) return skipped(NO_LIST);
      const answer = await handshake.raw.ask("tools/list", undefined, { headers: handshake.headers("tools/list") });
      return resultOf(answer) !== undefined ? OK : fail(`it was answered with ${answerText(answer)}`);
    },
  },
  {
    id: "unknown-member",
    title: "overlooks members it does not know",
    tier: "breaks the letter",
    page: specification("basic#general-fields"),
    needs: ["handshake", "tools"],
    advice: "Do not refuse params for members you do not know: later revisions add some.",
    async run({ handshake }) {
      if (handshake === undefined || (await handshake.list("tools")).failed !== undefined) return skipped(NO_LIST);
      const answer = await handshake.ask("tools/list", { _meta: { "example.org/x": 1 }, later: true });
      return resultOf(answer) !== undefined ? OK : warn(`it was answered with ${answerText(answer)}`);
    },
  },
];

/** Each in a session of its own, which it may end. */
export const ROUGH_CHECKS: readonly Check[] = [
  rough("invalid-json", {
    title: "survives a line that is not JSON",
    tier: "breaks the letter",
    page: specification("basic/transports#stdio"),
    advice: "Answer with error -32700 (id null) or drop the line, and go on.",
    text: "{ this is not JSON",
  }),
  rough("invalid-request", {
    title: "survives JSON that is no request",
    tier: "breaks the letter",
    page: specification("basic/transports#stdio"),
    advice: "Answer with error -32600 or drop it, and go on.",
    text: '{"jsonrpc":"1.0","method":5,"id":"odd"}',
  }),
  rough("deep-message", {
    title: "survives a message that nests thousands of levels deep",
    tier: "note",
    page: specification("basic/transports#stdio"),
    advice: "Limit the depth of messages before walking through them.",
    text: `{"jsonrpc":"2.0","id":"deep","method":"ping","params":{"a":${"[".repeat(DEEP)}${"]".repeat(DEEP)}}}`,
  }),
  rough("prototype-member", {
    title: "survives members called __proto__ and constructor",
    tier: "breaks the letter",
    page: specification("server/tools#error-handling"),
    advice: "Read params by name; never merge them into objects of your own.",
    text: '{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"constructor","arguments":{"__proto__":{"x":1}}}}',
  }),
  rough("huge-message", {
    title: "survives a message of 5 MB",
    tier: "note",
    page: specification("basic/transports#stdio"),
    advice: "Bound the length of a message, answer what is too long with an error, and go on.",
    text: `{"jsonrpc":"2.0","id":"huge","method":"ping","params":{"x":"${"x".repeat(HUGE)}"}}`,
  }),
  {
    id: "batch",
    title: "takes batches in the revision that has them",
    tier: "breaks the letter",
    page: specification("basic", BATCHES),
    must: 33,
    needs: ["handshake", "stdio"],
    advice: "Serve each message of the array and answer with an array, or at least with an error.",
    async run(exam) {
      const session = await exam.fresh(BATCHES);
      if (session?.revision !== BATCHES) return skipped(`it does not speak ${BATCHES}`);
      const ping = (id: string): string => JSON.stringify({ jsonrpc: "2.0", id, method: "ping" });
      const [first] = await Promise.all([
        session.raw.send(`[${ping("b1")},${ping("b2")}]`, { id: "b1" }),
        session.raw.answerTo("b2"),
      ]);
      if (!(await session.alive())) return warn("a batch ended the conversation");
      return first === undefined ? warn("the requests of a batch were not answered") : OK;
    },
  },
];

interface Rough extends Pick<Check, "title" | "tier" | "page"> {
  readonly advice: string;
  readonly text: string;
}

function rough(id: string, { title, tier, page, advice, text }: Rough): Check {
  return {
    id,
    title,
    tier,
    page,
    advice,
    needs: ["handshake", "stdio"],
    async run(exam: Examination): Promise<Outcome> {
      const raw = await exam.open();
      if ((await raw.ask("initialize", initializeParams(HANDSHAKE))) === undefined)
        return unchecked("the server did not answer initialize when it was started once more");
      raw.notify("notifications/initialized");
      void raw.send(text);
      const alive = (await raw.ask("ping")) !== undefined;
      if (alive) return OK;
      const fault = `afterwards it ${raw.ended === undefined ? "no longer answered" : "was gone"}`;
      return tier === "note" ? note(fault) : warn(fault);
    },
  };
}

async function echoes(session: Session, id: string | number, verdict: "warn" | "fail" = "fail"): Promise<Outcome> {
  const method = session.era === "stateless" ? "server/discover" : "ping";
  const answer = await session.ask(method, {}, { id });
  if (answer !== undefined) return OK;
  return { verdict, detail: `a request with the id ${JSON.stringify(id)} got no answer under that id` };
}
