// Measures what one decision of the policy costs: 500 rules of each kind, every decision timed by itself.
// `npm run bench -- decide [--runs N]` prints p50, p99 and the worst of each kind, and fails over 50 µs at p99.
import { pathToFileURL } from "node:url";
import { productBundle } from "./measure/bundle-product.mjs";

const GOAL_US = 50;
const RULES = 500;
/** Enough that p99 rests on thousands of decisions. */
const RUNS = 200_000;
const WARM_UP = 20_000;

const many = (make) => Array.from({ length: RULES }, (_, index) => make(index));

const POLICY = {
  version: "1.0",
  network: {
    allowed_endpoints: many((n) => ({ host: n % 2 ? `*.h${n}.example.com` : `h${n}.example.com` })),
    denied_endpoints: many((n) => ({ host: `*.bad${n}.example.com` })),
    allowed_ranges: many((n) => `10.${n >> 8}.${n & 255}.0/24`),
  },
  filesystem: {
    allowed_paths: many((n) => `/srv/app${n}/**`),
    readable_paths: many((n) => `/data/set${n}/*/in/**`),
    denied_paths: many((n) => (n % 2 ? `**/*.x${n}` : `**/secret${n}/**`)),
    denied_write_paths: many((n) => `**/keep${n}/**`),
  },
  tools: { allowed: many((n) => (n % 2 ? `tool_${n}` : `group_${n}_*`)), denied: many((n) => `bad_${n}_*`) },
  resources: { allowed: many((n) => `logs://app${n}/*`) },
  approvals: many((n) => ({ approve: [`write_${n}`], when: { path: `/srv/app${n}/etc/**` } })),
  commands: {
    allowed: many((n) => ({
      name: `run_${n}`,
      executable: `/usr/bin/run${n}`,
      arguments: [{ pattern: "[a-z]+" }, { path: "read", optional: true }],
    })),
  },
};

/** Each decides by a rule far down, by none, or by a denial. */
function questions({ decide, decideCommand, approvalNeed }, policy) {
  const ask = (request) => () => decide(policy, request);
  const file = (path, op = "read") => ask({ kind: "file", path, op });
  const host = (name) => ask({ kind: "network", host: name, port: 443 });
  return {
    "tool by its prefix": ask({ kind: "tool", name: "group_498_x" }),
    "tool in no rule": ask({ kind: "tool", name: "unknown" }),
    "resource by its prefix": ask({ kind: "resource", uri: "logs://app499/x" }),
    "host by its suffix": host("a.b.h499.example.com"),
    "host in no rule": host("nothing.example.org"),
    "address in a range": host("10.1.200.9"),
    "file allowed": file("/srv/app499/a/b/c/d.ts"),
    "file to be read": file("/data/set499/x/in/a/b.csv"),
    "file denied": file("/srv/app3/secret498/x"),
    "file in no rule": file("/nowhere/a/b/c/d/e/f/g.ts", "write"),
    "call that needs consent": () =>
      approvalNeed(policy, { tool: "write_499", destructive: true, arguments: { path: "/srv/app499/etc/x" } }),
    "command with a path": () => decideCommand(policy, "run_499", ["abc", "/srv/app499/a"]),
  };
}

function measure(ask, runs) {
  for (let warm = 0; warm < WARM_UP; warm++) ask();
  const times = new Float64Array(runs);
  for (let run = 0; run < runs; run++) {
    const started = process.hrtime.bigint();
    ask();
    times[run] = Number(process.hrtime.bigint() - started) / 1_000;
  }
  times.sort();
  return { p50: times[runs >> 1], p99: times[Math.floor(runs * 0.99)], worst: times[runs - 1] };
}

export async function main(options) {
  const at = options.indexOf("--runs");
  const runs = at < 0 ? RUNS : Number(options[at + 1]);
  const bundle = productBundle(new URL("decide/policy.ts", import.meta.url), "decide");
  await bundle.prepare();
  const parts = await import(pathToFileURL(bundle.path).href);
  const text = JSON.stringify(POLICY);
  const policy = await parts.parsePolicy(text.slice(0, 256 * 1024), { file: "policy.yaml", environment: {} });
  let good = true;
  console.log(`${RULES} rules of each kind, ${runs} decisions each, microseconds`);
  console.log(`${"".padEnd(28)}${["p50", "p99", "worst"].map((name) => name.padStart(10)).join("")}`);
  for (const [name, ask] of Object.entries(questions(parts, policy))) {
    const figures = measure(ask, runs);
    good &&= figures.p99 <= GOAL_US;
    const cells = [figures.p50, figures.p99, figures.worst].map((value) => value.toFixed(2).padStart(10));
    console.log(`${name.padEnd(28)}${cells.join("")}`);
  }
  console.log(good ? `ok: at most ${GOAL_US} µs at p99` : `over ${GOAL_US} µs at p99`);
  return good ? 0 : 1;
}
