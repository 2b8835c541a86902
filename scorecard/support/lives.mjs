// A name that somebody had and somebody else has now: the ways in which that comes about, and all that was kept of the first.
import { FORMS, keep, NO, STATEFUL, STATELESS } from "./approving.mjs";
import { refusal } from "../report/own-faults.mjs";

const YES = { action: "accept", content: { decision: "approve this one call" } };
const A = "a1".repeat(32);
const B = "b2".repeat(32);
const OTHER = "c3".repeat(32);

/** Who is in the file of tokens, one list after another: `cho` with these. */
export const COMEBACKS = {
  "is removed, and another of the name has another token": [[], [B]],
  "is removed, and is back with the same token": [[], [A]],
  "has another token in one step": [[B]],
  "is removed and back twice": [[], [B], [], [A]],
  "has two tokens, then neither of them": [[A, B], [OTHER]],
};

/** The same person all the time. */
export const STAYS = {
  "gets a second token": [[A, B]],
  "has another token, with both for a while": [[A, B], [B]],
  "has the first again, with both for a while each time": [[A, B], [B], [B, A], [A]],
};

const NAME = "cho";

/** A server whose people come and go. */
async function open(parts, approvals) {
  const listOf = (own) => [
    { principal: "ada", sha256: "d4".repeat(32) },
    ...own.map((sha256) => ({ principal: NAME, sha256 })),
  ];
  const people = new parts.KnownPeople(listOf([A]));
  const policy = await parts.parsePolicy(
    `version: "1.0"
tools: { allowed: ["*"], rate_limits: { default: 1000, count: 2 } }
filesystem: { readable_paths: ["/srv/**"] }
network: { allowed_endpoints: [{ host: a.example }] }
approvals:
${approvals}
`,
    { file: "policy.yaml", environment: {} },
  );
  const ran = [];
  const secure = new parts.SecureServer({
    policy,
    audit: new parts.MemoryAudit(),
    version: "1",
    tools: TOOLS.map((tool) => ({ ...tool, run: () => (ran.push(tool.name), "done") })),
    lifeOf: (name) => people.lifeOf(name),
  });
  return {
    ran,
    secure,
    async come(lists) {
      for (const list of lists) {
        const { gone } = people.replace(listOf(list));
        await Promise.all(gone.map((name) => secure.endWorkOf(name)));
      }
    },
    /** A client of whoever has the name, whose person answers each form so; `asked` counts them. */
    async client({ answer = NO, revision = STATEFUL, name = NAME } = {}) {
      const one = { asked: 0 };
      const forms = { "elicitation/create": () => ((one.asked += 1), answer) };
      const peer = await parts.connectInMemory(secure.server, {
        revision,
        capabilities: FORMS,
        answer: forms,
        principal: name,
      });
      one.call = (tool, more = {}) =>
        peer
          .request("tools/call", { name: tool, arguments: {}, ...more })
          .catch((error) => ({ isError: true, error: refusal(error) }));
      one.list = () => peer.request("tools/list", {});
      return one;
    },
  };
}

const tool = (name, { needs, ...hints } = {}) => ({
  name,
  title: name,
  description: name,
  input: { type: "object" },
  ...(needs === undefined ? {} : { needs }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false, ...hints },
});

const TOOLS = [
  tool("erase", { destructiveHint: true }),
  tool("count"),
  tool("own", { needs: ["readable-files"] }),
  tool("strange", { openWorldHint: true }),
  tool("send", { needs: ["network"] }),
];

const text = ({ content = [], error }) => content.map((block) => block.text).join("") || (error?.message ?? "");

/**
 * What is kept: the policy's `approvals`, what the first one does, and whether the second one finds anything of it: `true`, or what is
 * not as it should be. `stays` asks the same of one who is the same all the time: it finds it.
 */
export const KEPT = {
  "a consent for 10 minutes": {
    approvals: "  - { approve: destructive, remember: 10 }",
    before: async (server) => (await server.client({ answer: keep("for 10 minutes") })).call("erase"),
    async found(server) {
      const next = await server.client();
      await next.call("erase");
      return next.asked === 0 && server.ran.length === 2;
    },
  },
  "a consent for the session": {
    approvals: "  - { approve: destructive, remember: session }",
    async before(server) {
      const one = await server.client({ answer: keep("until this session ends") });
      await one.call("erase");
      return one;
    },
    // Over HTTP the session ends; here whoever has the name goes on in it.
    async found(server, one) {
      const before = one.asked;
      await one.call("erase");
      return one.asked === before;
    },
  },
  "a question that waits": {
    approvals: "  - { approve: destructive }",
    async before(server) {
      const one = await server.client({ revision: STATELESS });
      return one.call("erase");
    },
    async found(server, asked) {
      const next = await server.client({ revision: STATELESS });
      const answers = Object.fromEntries(Object.keys(asked.inputRequests).map((key) => [key, YES]));
      await next.call("erase", { requestState: asked.requestState, inputResponses: answers });
      return server.ran.includes("erase");
    },
  },
  "how often a person was asked": {
    approvals: "  - { approve: destructive }",
    async before(server) {
      const one = await server.client();
      for (let at = 0; at < 20; at += 1) await one.call("erase");
    },
    async found(server) {
      const next = await server.client();
      await next.call("erase");
      return next.asked === 0;
    },
  },
  "how often a tool was called": {
    approvals: "  []",
    async before(server) {
      const one = await server.client();
      for (let at = 0; at < 2; at += 1) await one.call("count");
    },
    async found(server) {
      const shown = server.secure.clients().flatMap(({ principal, limits }) => (principal === NAME ? limits : []));
      const got = await (await server.client()).call("count");
      return got.isError === true && shown.some(({ name, used }) => name === "count" && used > 0);
    },
  },
  "what was read without a session": {
    approvals: "  - { approve: tainted }",
    async before(server) {
      const one = await server.client({ revision: STATELESS });
      for (const name of ["own", "strange"]) await one.call(name);
    },
    async found(server) {
      const got = await (await server.client({ revision: STATELESS })).call("send");
      return got.resultType === "input_required" || text(got) !== "done";
    },
  },
  "since when a client was heard of": {
    approvals: "  []",
    before: async (server) => (await server.client()).list(),
    found: (server) => server.secure.clients().some(({ principal }) => principal === NAME),
  },
};

/** Everything that is kept, for each way in which a name comes to be another's. */
export function* livesCases(parts) {
  for (const [kept, { approvals, before, found }] of Object.entries(KEPT)) {
    const after = async (lists) => {
      const server = await open(parts, approvals);
      const made = await before(server);
      await server.come(lists);
      return found(server, made);
    };
    for (const [how, lists] of Object.entries(COMEBACKS))
      yield {
        name: `${kept}: ${NAME} ${how}`,
        isAttack: true,
        run: async () => !(await after(lists)) || "it is there",
      };
    for (const [how, lists] of Object.entries(STAYS))
      yield { name: `${kept}: ${NAME} ${how}`, isAttack: false, run: async () => (await after(lists)) || "it is gone" };
  }
}
