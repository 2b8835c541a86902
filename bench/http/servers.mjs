// The servers the HTTP bench compares: how each is started and which workloads it can take part in.
import { fileURLToPath } from "node:url";
import { productBundle } from "../measure/bundle-product.mjs";
import { stateEnvironment } from "../stdio/servers.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const bundle = productBundle(new URL("servers/ours-product.mjs", import.meta.url), "http-chain");
const policy = here("../stdio/policy.yaml");
/** Good for this machine's loopback address while a bench runs. */
const TOKEN = "the-token-of-the-bench-which-guards-nothing";

/** The share of the calls that are enough for servers that take so long over each that a run would last for ever. */
const FEWER = 0.2;

/**
 * Every server, in the order of the report. `streams` are the modes in which it answers as a stream though JSON is asked
 * for; `jsonOnly` servers stream to whoever accepts it, so that JSON is all they are told is accepted. `state` is a folder the product may write to, `profiles` one for profiles.
 */
export function allServers(state, profiles) {
  const execArgv = profiles === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profiles}`];
  const script = (name) => ({ script: here(`servers/${name}.mjs`), env: process.env, execArgv });
  const chain = (audit) => ({
    script: bundle.path,
    args: ["--audit", audit, "--policy", policy],
    prepare: bundle.prepare,
    execArgv,
    env: { ...stateEnvironment(state), BENCH_TOKEN: TOKEN },
    token: TOKEN,
  });
  const all = ["w3-json", "w3-sse", "w3-alone", "w4", "w6", "w7", "w9"];
  const guarded = ["w3-json", "w4"];
  return [
    { id: "floor", label: "bare Node, written by hand (floor)", workloads: all, ...script("floor") },
    {
      id: "sdk-v1",
      label: "official SDK v1 1.32.2 (express)",
      workloads: all.filter((workload) => workload !== "w4"),
      share: FEWER,
      ...script("sdk-v1"),
    },
    {
      id: "sdk-v2",
      label: "official SDK v2 2.4.0",
      workloads: all,
      share: FEWER,
      streams: ["alone"],
      ...script("sdk-v2"),
    },
    {
      id: "mcp-lite",
      label: "mcp-lite 0.10.0",
      workloads: all.filter((workload) => workload !== "w4"),
      jsonOnly: true,
      ...script("mcp-lite"),
    },
    {
      id: "tmcp",
      label: "tmcp 1.20.0",
      // In sessions it answers as a stream, whatever is asked.
      workloads: ["w3-sse", "w4"],
      streams: ["modern"],
      share: FEWER,
      ...script("tmcp"),
    },
    { id: "library", label: "@secure-local/mcp", workloads: all, ...script("ours-library") },
    { id: "chain", label: "guard chain and token, audit not synced", workloads: guarded, ...chain("unsynced") },
    { id: "chain-synced", label: "guard chain and token, audit synced", workloads: guarded, ...chain("synced") },
  ];
}
