// The servers the stdio bench compares: how each is started and what it is asked.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { productBundle } from "../measure/bundle-product.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const productCommand = here("../../packages/secure-local/dist/mcp-secure-local.cjs");

const policy = here("policy.yaml");
const bundle = productBundle(new URL("servers/ours-product.mjs", import.meta.url), "chain");

export const EMPTY_PROGRAM = here("servers/empty.mjs");

/** Calls of echo and add in turn, and what each must answer. */
const ECHO_AND_ADD = {
  call: (id) => (id % 2 === 0 ? ["echo", { text: `Message ${id} of the bench` }] : ["add", { a: id, b: 0.5 }]),
  expected: (id) => (id % 2 === 0 ? `Message ${id} of the bench` : String(id + 0.5)),
};
/** The same for the product's own command, which has neither. */
const CALCULATE = {
  call: (id) => ["calculate", { expression: `${id} + 4 * 2` }],
  expected: (id) => String(id + 8),
};

/**
 * Every server, in the order of the report. `state` is a folder the product may write to.
 * `prepare` runs once before the first start and throws the reason why the server cannot take part.
 */
export function allServers(state) {
  const chain = (audit) => ({
    args: [bundle.path, "--audit", audit, "--policy", policy],
    prepare: bundle.prepare,
    env: stateEnvironment(state),
    asks: ECHO_AND_ADD,
  });
  const command = (...options) => ({
    args: [productCommand, ...options],
    env: stateEnvironment(state),
    asks: CALCULATE,
  });
  const script = (name) => ({ args: [here(`servers/${name}.mjs`)], env: process.env, asks: ECHO_AND_ADD });
  const all = ["w1", "w2", "w5", "w6", "w7"];
  return [
    { id: "floor-a", label: "bare Node, a write an answer (floor A)", workloads: all, ...script("floor-a") },
    { id: "floor-b", label: "bare Node, a write a chunk (floor B)", workloads: all, ...script("floor-b") },
    { id: "sdk-v1", label: "official SDK v1 1.32.2", workloads: all, ...script("sdk-v1") },
    { id: "sdk-v2", label: "official SDK v2 2.4.0", workloads: all, ...script("sdk-v2") },
    { id: "library", label: "@secure-local/mcp", workloads: all, ...script("ours-library") },
    { id: "chain", label: "guard chain, audit not synced", workloads: ["w1", "w2", "w6"], ...chain("unsynced") },
    { id: "chain-synced", label: "guard chain, audit synced", workloads: ["w1", "w2", "w6"], ...chain("synced") },
    { id: "command", label: "mcp-secure-local, built-in policy", workloads: ["w5"], ...command() },
    {
      id: "command-policy",
      label: "mcp-secure-local, policy file",
      workloads: ["w1", "w2", "w5"],
      ...command("--policy", policy),
    },
  ];
}

/** A folder for what the servers write (audit, caches), and the function that removes it. */
export function temporaryState() {
  const state = mkdtempSync(join(tmpdir(), "secure-local-bench-"));
  return { state, remove: () => rmSync(state, { recursive: true, force: true }) };
}

/** An environment whose home is `state`, so that no bench touches the files of the person who runs it. */
export function stateEnvironment(state) {
  const environment = { ...process.env, HOME: state };
  for (const kind of ["CONFIG", "CACHE", "STATE", "DATA"]) {
    const folder = join(state, kind.toLowerCase());
    mkdirSync(folder, { recursive: true });
    environment[`XDG_${kind}_HOME`] = folder;
  }
  return environment;
}
