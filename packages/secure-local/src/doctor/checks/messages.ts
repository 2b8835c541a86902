// Checks of JSON-RPC: ids, errors, and what no client should send but some do.
import { type Check, type Exam, fail, initializeParams, OK, type Outcome, skipped, warn } from "../exam.js";
import { answerText, codeOf, HANDSHAKE, type Session } from "../session.js";

const METHOD_NOT_FOUND = -32601;
/** Just over what most servers read into one message. */
const HUGE = 5 * 1024 * 1024;
const DEEP = 5_000;

export const MESSAGE_CHECKS: readonly Check[] = [
  {
    id: "unknown-method",
    title: "answers an unknown method with -32601",
    needs: ["session"],
    advice: "Answer with error -32601, or clients cannot tell a missing feature from a failure.",
    async run({ session }) {
      const answer = await session.ask("doctor/there_is_no_such_method");
      return codeOf(answer) === METHOD_NOT_FOUND ? OK : fail(`it was answered with ${answerText(answer)}`);
    },
  },
  {
    id: "id-text",
    title: "answers under ids that are texts",
    must: 10,
    needs: ["session"],
    advice: "Echo the id as it came: a text stays a text.",
    run: ({ session }) => echoes(session, "id-ä-7"),
  },
  {
    id: "id-zero",
    title: "answers under the id 0",
    must: 10,
    needs: ["session"],
    advice: "Test ids for undefined, not for truth: 0 is an id.",
    run: ({ session }) => echoes(session, 0),
  },
  {
    id: "id-large",
    title: "answers under large ids",
    must: 10,
    needs: ["session"],
    advice: "Keep ids as numbers of 53 bits.",
    run: ({ session }) => echoes(session, Number.MAX_SAFE_INTEGER),
  },
  {
    id: "concurrent",
    title: "answers requests that come together",
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
    needs: ["handshake", "tools"],
    advice: "params may be absent; treat that as {}.",
    async run({ handshake }) {
      const answer = await handshake?.raw.ask("tools/list", undefined, { headers: handshake.headers("tools/list") });
      return answer !== undefined && "result" in answer ? OK : fail(`it was answered with ${answerText(answer)}`);
    },
  },
  {
    id: "unknown-member",
    title: "overlooks members it does not know",
    needs: ["handshake", "tools"],
    advice: "Do not refuse params for members you do not know: later revisions add some.",
    async run({ handshake }) {
      const answer = await handshake?.ask("tools/list", { _meta: { "example.org/x": 1 }, later: true });
      return answer !== undefined && "result" in answer ? OK : warn(`it was answered with ${answerText(answer)}`);
    },
  },
];

/** Each in a session of its own, which it may end. */
export const ROUGH_CHECKS: readonly Check[] = [
  rough("invalid-json", {
    title: "survives a line that is not JSON",
    advice: "Answer with error -32700 (id null) or drop the line, and go on.",
    text: "{ this is not JSON",
  }),
  rough("invalid-request", {
    title: "survives JSON that is no request",
    advice: "Answer with error -32600 or drop it, and go on.",
    text: '{"jsonrpc":"1.0","method":5,"id":"odd"}',
  }),
  rough("deep-message", {
    title: "survives a message that nests thousands of levels deep",
    advice: "Limit the depth of messages before walking through them.",
    text: `{"jsonrpc":"2.0","id":"deep","method":"ping","params":{"a":${"[".repeat(DEEP)}${"]".repeat(DEEP)}}}`,
  }),
  rough("prototype-member", {
    title: "survives members called __proto__ and constructor",
    advice: "Read params by name; never merge them into objects of your own.",
    text: '{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"constructor","arguments":{"__proto__":{"x":1}}}}',
  }),
  rough("huge-message", {
    title: "survives a message of 5 MB",
    advice: "Bound the length of a message, answer what is too long with an error, and go on.",
    text: `{"jsonrpc":"2.0","id":"huge","method":"ping","params":{"x":"${"x".repeat(HUGE)}"}}`,
  }),
  {
    id: "batch",
    title: "takes batches in the revision that has them",
    must: 33,
    needs: ["handshake", "stdio"],
    advice: "Serve each message of the array and answer with an array, or at least with an error.",
    async run(exam) {
      const session = await exam.fresh("2025-03-26");
      if (session?.revision !== "2025-03-26") return skipped("it does not speak 2025-03-26");
      const ping = (id: string): string => JSON.stringify({ jsonrpc: "2.0", id, method: "ping" });
      const [first] = await Promise.all([
        session.raw.send(`[${ping("b1")},${ping("b2")}]`, { id: "b1" }),
        session.raw.answerTo("b2"),
      ]);
      if (!(await session.alive())) return fail("a batch ended the conversation");
      return first === undefined ? fail("the requests of a batch were not answered") : OK;
    },
  },
];

interface Rough {
  readonly title: string;
  readonly advice: string;
  readonly text: string;
}

function rough(id: string, { title, advice, text }: Rough): Check {
  return {
    id,
    title,
    advice,
    needs: ["handshake", "stdio"],
    async run(exam: Exam): Promise<Outcome> {
      const raw = await exam.open();
      if ((await raw.ask("initialize", initializeParams(HANDSHAKE))) === undefined)
        return fail("it did not start again");
      raw.notify("notifications/initialized");
      void raw.send(text);
      const alive = (await raw.ask("ping")) !== undefined;
      return alive ? OK : fail(`afterwards it ${raw.ended === undefined ? "no longer answered" : "was gone"}`);
    },
  };
}

async function echoes(session: Session, id: string | number): Promise<Outcome> {
  const method = session.era === "stateless" ? "server/discover" : "ping";
  const answer = await session.ask(method, {}, { id });
  return answer === undefined ? fail(`a request with the id ${JSON.stringify(id)} got no answer under that id`) : OK;
}
