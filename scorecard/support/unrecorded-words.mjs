// Words that a caller puts beside a call: what of them reaches a mounted server is on record before it does.
const TRACE = { traceparent: `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01` };

const METAS = {
  "a vendor's key": (word) => ({ "example.com/a": word }),
  "the name of a key": (word) => ({ [`x/${word}`]: 1 }),
  "an object in a key": (word) => ({ "x/a": { cmd: [word] } }),
  "baggage in words": (word) => ({ baggage: `${word} and words` }),
  "baggage in its form": (word) => ({ baggage: `k=${word}` }),
  "long baggage": (word) => ({ baggage: `k=${word},${"k=v,".repeat(200)}k=v` }),
  "a state in its form": (word) => ({ ...TRACE, tracestate: `v=${word}` }),
  "a state in words": (word) => ({ ...TRACE, tracestate: `v=${word}, sh -c` }),
  "a parent that is none": (word) => ({ traceparent: word }),
};

const REQUESTS = {
  "tools/call": () => ({ name: "every__num", arguments: {} }),
  "prompts/get": () => ({ name: "every__pr", arguments: {} }),
  "resources/read": () => ({ uri: "note://a" }),
  "completion/complete": (word) => ({
    ref: { type: "ref/prompt", name: "every__pr" },
    argument: { name: "q", value: "" },
    context: { arguments: { before: word, [`n-${word}`]: "" } },
  }),
};

export async function unrecordedWords(report, parts) {
  report.kind("words beside a call that reach a server unrecorded", { found: "attack" });
  const fleet = new parts.Fleet();
  const reached = [];
  fleet.make("every", () => {
    const server = parts.everyKind();
    server.use((call, next) => {
      const recorded = JSON.stringify(fleet.audit.records());
      reached.push({ text: JSON.stringify([call.params, call.meta]), recorded });
      return next();
    });
    return server;
  });
  try {
    const allowed = 'tools: { allowed: ["every__*"], rate_limits: { default: 9999, requests: 9999 } }';
    const others = 'prompts: { allowed: ["every__*"] }\nresources: { allowed: ["note://*"] }\nsandbox: none';
    const policy = await fleet.policy(`${allowed}\n${others}`);
    await fleet.approve(policy);
    await fleet.serve(policy);
    let count = 0;
    for (const revision of ["2025-11-25", "2026-07-28"]) {
      const peer = await fleet.client(revision);
      for (const [method, params] of Object.entries(REQUESTS))
        for (const [what, meta] of Object.entries(METAS))
          await report.attack(`${method} with ${what} in ${revision}`, async () => {
            const word = `word-${++count}-end`;
            reached.length = 0;
            await peer.request(method, { ...params(word), _meta: meta(word) }).catch(() => undefined);
            const told = reached.filter(({ text, recorded }) => text.includes(word) && !recorded.includes(word));
            return told.length === 0 || told[0].text;
          });
    }
  } finally {
    await fleet.close();
  }
}
