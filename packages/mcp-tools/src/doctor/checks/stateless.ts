// Checks of the stateless era: discovery, envelopes, errors and caching hints.
import { type Check, fail, note, OK, type Outcome, shown, specification, unless, warn } from "../examination.js";
import { answerText, codeOf, envelope, isMessage, type Session, STATELESS } from "../session.js";

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const SCOPES = ["public", "private"];

export const STATELESS_CHECKS: readonly Check[] = [
  {
    id: "discover",
    title: "names the revisions it speaks when asked by server/discover",
    tier: "breaks clients",
    page: specification("basic/versioning", STATELESS),
    must: 12,
    needs: ["stateless"],
    advice: "Answer with supportedVersions, capabilities and who the server is.",
    run({ stateless }) {
      const versions = (stateless as Session).opening["supportedVersions"];
      if (!Array.isArray(versions) || versions.length === 0) return fail("the answer has no supportedVersions");
      return versions.includes(STATELESS) ? OK : warn(`it serves ${STATELESS}, but does not list it`);
    },
  },
  {
    id: "discover-cache",
    title: "says how long its lists may be kept",
    tier: "breaks the letter",
    page: specification("schema", STATELESS),
    must: 48,
    needs: ["stateless"],
    advice: "Add ttlMs (0 or more) and cacheScope (public or private) to server/discover and to every list.",
    async run({ stateless }) {
      const session = stateless as Session;
      const faults = hintFaults("server/discover", session.opening);
      for (const name of ["tools", "resources", "prompts"] as const) {
        if (!(name in session.capabilities)) continue;
        const { pages } = await session.list(name);
        faults.push(...pages.flatMap((page) => hintFaults(`${name}/list`, page)));
        if (new Set(pages.map((page) => page["cacheScope"])).size > 1)
          faults.push(`${name} changes cacheScope between pages`);
      }
      return unless([...new Set(faults)], "warn");
    },
  },
  {
    id: "result-type",
    title: "says of every result what it is",
    tier: "breaks the letter",
    page: specification("basic", STATELESS),
    must: 2,
    needs: ["stateless"],
    advice: 'Add "resultType": "complete" to results.',
    run({ stateless }) {
      const results = (stateless as Session).raw.heard.map(({ message }) => message?.["result"]).filter(isMessage);
      const bare = results.filter(({ resultType }) => typeof resultType !== "string").length;
      return bare === 0 ? OK : warn(`${bare} of ${results.length} results have no resultType`);
    },
  },
  {
    id: "envelope-version",
    title: "refuses a request that does not say its revision",
    tier: "breaks the letter",
    page: specification("basic/versioning", STATELESS),
    must: 1,
    needs: ["stateless"],
    advice: "Answer with error -32602; never fall back to what an earlier request said.",
    run: ({ stateless }) => without(stateless as Session, VERSION),
  },
  {
    id: "envelope-capabilities",
    title: "refuses a request that does not say the client's capabilities",
    tier: "breaks the letter",
    page: specification("basic", STATELESS),
    must: 1,
    needs: ["stateless"],
    advice: "Answer with error -32602; never fall back to what an earlier request said.",
    run: ({ stateless }) => without(stateless as Session, CAPABILITIES),
  },
  {
    id: "version-refused",
    title: "refuses an unknown revision with -32022 and says which ones it speaks",
    tier: "breaks the letter",
    page: specification("basic/versioning", STATELESS),
    must: 11,
    needs: ["stateless"],
    advice: "Answer with error -32022 and data { supported, requested }.",
    async run({ stateless }) {
      const session = stateless as Session;
      const meta = { ...envelope(), [VERSION]: "1999-12-31" };
      const headers = { ...session.headers("server/discover"), "mcp-protocol-version": "1999-12-31" };
      const answer = await session.raw.ask("server/discover", { _meta: meta }, { headers });
      if (codeOf(answer) !== -32022) return warn(`1999-12-31 was answered with ${answerText(answer)}`);
      const error = answer?.["error"];
      const data = isMessage(error) ? error["data"] : undefined;
      return isMessage(data) && Array.isArray(data["supported"]) ? OK : warn("the error has no data.supported");
    },
  },
  {
    id: "legacy-ping",
    title: "knows which methods a protocol version without sessions does not have",
    tier: "note",
    page: specification("changelog", STATELESS),
    needs: ["stateless"],
    advice: `Answer logging/setLevel and resources/subscribe with -32601 where the envelope says ${STATELESS}.`,
    async run({ stateless }) {
      const answer = await (stateless as Session).ask("logging/setLevel", { level: "info" });
      return codeOf(answer) === -32601 ? OK : note(`logging/setLevel was answered with ${answerText(answer)}`);
    },
  },
  {
    id: "resource-code",
    title: "never sends the error codes that protocol versions without sessions have given up",
    tier: "breaks the letter",
    page: specification("schema", STATELESS),
    must: 3,
    needs: ["stateless"],
    advice: "Answer an unknown resource with -32602; -32002 and -32042 belong to older revisions.",
    async run({ stateless }) {
      const session = stateless as Session;
      if ("resources" in session.capabilities)
        await session.ask("resources/read", { uri: "doctor-absent://there/is/none" });
      const codes = session.raw.heard
        .map(({ message }) => codeOf(message))
        .filter((code) => code === -32002 || code === -32042);
      return codes.length === 0 ? OK : warn(`error ${codes[0]} was sent`);
    },
  },
  {
    id: "no-requests",
    title: "sends no requests of its own",
    tier: "breaks the letter",
    page: specification("basic/patterns/mrtr", STATELESS),
    must: 14,
    needs: ["stateless"],
    advice: "Ask by an input_required result; requests of the server do not exist in this era.",
    run({ stateless }) {
      const { heard } = (stateless as Session).raw;
      const asked = heard.find(({ message }) => message?.["method"] !== undefined && message["id"] !== undefined);
      return asked === undefined ? OK : warn(`it sent the request ${shown(asked.message?.["method"])}`);
    },
  },
];

function hintFaults(what: string, { ttlMs, cacheScope }: Readonly<Record<string, unknown>>): string[] {
  const faults: string[] = [];
  if (typeof ttlMs !== "number" || ttlMs < 0) faults.push(`${what} has no ttlMs`);
  if (!SCOPES.includes(shown(cacheScope))) faults.push(`${what} has no cacheScope`);
  return faults;
}

async function without(session: Session, key: string): Promise<Outcome> {
  const meta = envelope();
  delete meta[key];
  const answer = await session.raw.ask(
    "server/discover",
    { _meta: meta },
    { headers: session.headers("server/discover") },
  );
  if (codeOf(answer) === undefined) return warn(`a request without ${key} was answered with ${answerText(answer)}`);
  return codeOf(answer) === -32602 ? OK : warn(`a request without ${key} was answered with ${answerText(answer)}`);
}
