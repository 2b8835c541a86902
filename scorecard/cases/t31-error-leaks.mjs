// T31: exceptions and refusals tell a class and an id, never what lies behind: secrets thrown in every way, paths, addresses.
import { join } from "node:path";
import { place } from "../support/place.mjs";
import { session } from "../support/session.mjs";

export const goal = { id: "T31", title: "Errors that tell too much", atLeast: 1_000 };

const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const SECRETS = Array.from({ length: 100 }, (_, index) => `hunter-${(index * 7_919 + 13).toString(36)}-secret`);

/** Everything people throw. */
const THROWN = [
  (secret) => new Error(`the password is ${secret}`),
  (secret) => new TypeError(secret, { cause: new Error(secret) }),
  (secret) => Object.assign(new Error(secret), { code: -32_602, data: secret }),
  (secret) => secret,
  (secret) => ({ message: secret, code: -32_602 }),
  (secret) => [secret],
  (secret) => new AggregateError([new Error(secret)], secret),
  (secret) => Object.assign(Object.create(null), { secret }),
  (secret) => Symbol(secret),
  (secret) => new DOMException(secret, "AbortError"),
];

export async function run(report, parts) {
  await thrown(report, parts);
  await places(report, parts);
}

function tool(name, run) {
  return {
    name,
    title: name,
    description: "Fails.",
    input: { type: "object", properties: { n: { type: "integer" } } },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run,
  };
}

async function thrown(report, parts) {
  const fail = (n) => {
    throw THROWN[n % THROWN.length](SECRETS[n]);
  };
  const tools = [
    tool("now", ({ n }) => fail(n)),
    tool("later", async ({ n }) => fail(n)),
    tool("rejected", ({ n }) => Promise.reject(THROWN[n % THROWN.length](SECRETS[n]))),
    tool("odd", ({ n }) => ({ structured: circular(SECRETS[n]) })),
  ];
  const policy = 'version: "1.0"\ntools:\n  allowed: [now, later, rejected, odd]';
  report.kind("secrets in what a tool throws");
  for (const revision of REVISIONS) {
    const { call, peer, close } = await session(parts, { policy, tools, revision });
    for (const [n, secret] of SECRETS.entries()) {
      const { name } = tools[n % tools.length];
      await report.attack(`${name} throws ${n % THROWN.length} in ${revision}`, async () => {
        const before = peer.messages.length;
        const { answer, records } = await call(name, { n });
        const wire = JSON.stringify(peer.messages.slice(before));
        if (wire.includes(secret) || JSON.stringify(answer).includes(secret)) return "the secret came out";
        if (/\bat .*:\d+:\d+|node_modules|\.ts\b/.test(wire)) return "a stack came out";
        if (answer.isError !== true && answer.error === undefined) return "no error was told";
        const told = /[0-9a-f]{8}/.exec(JSON.stringify(answer))?.[0];
        const said = records.filter((record) => record.error_id === told && record.outcome === "error");
        return said.length === 1 || `on record: ${JSON.stringify(records).slice(0, 300)}`;
      });
    }
    await close();
  }
}

function circular(secret) {
  const value = { [secret]: 1n };
  value.self = value;
  return value;
}

/** Whether something lies outside, and where an address leads, is nobody's business: absent and present read alike. */
async function places(report, parts) {
  const at = place();
  const policy = `version: "1.0"
filesystem: { allowed_paths: ["${at.inside}/**"] }
tools:
  allowed: ["search_*", "read_file", "write_file", "edit_file", "list_directory"]`;
  const there = [join(at.outside, "secret.txt"), "/etc/passwd", "/root", at.outside, "/proc/1/environ"];
  const absent = there.map((path) => `${path}-absent-${path.length}`);
  report.kind("whether a file lies outside");
  for (const revision of REVISIONS) {
    const { call, close } = await session(parts, { policy, revision });
    for (const [index, path] of there.entries())
      for (const name of ["read_file", "list_directory"])
        await report.attack(`${name} ${path} in ${revision}`, async () => {
          const said = async (asked) =>
            JSON.stringify((await call(name, { path: asked })).answer).replaceAll(asked, "PATH");
          const [real, none] = [await said(path), await said(absent[index])];
          return real === none || `${real.slice(0, 200)} / ${none.slice(0, 200)}`;
        });
    await report.benign(`a file inside in ${revision}`, async () => {
      const { answer } = await call("read_file", { path: join(at.inside, "absent.txt") });
      return /does not exist/.test(JSON.stringify(answer)) || JSON.stringify(answer);
    });
    await close();
  }
  report.kind("where an address leads");
  for (const address of ["10.0.0.7", "127.0.0.1", "169.254.169.254", "fd00::1", "192.168.7.7"])
    for (let turn = 0; turn < 100; turn += 1)
      await report.attack(`a name that leads to ${address}, ${turn}`, async () => {
        const fetch = parts.createFetch(() => ({ allowed: true, rule: "test" }), { resolve: async () => [address] });
        const error = await fetch(`https://n${turn}.example/`).catch((caught) => caught);
        const text = `${error.message} ${JSON.stringify(error)}`;
        return (error.code === "not-public" && !text.includes(address)) || text;
      });
  at.remove();
}
