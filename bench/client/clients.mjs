// The clients the bench compares, in the order of the report.

const HANDSHAKE = ["stdio", "stdio-one", "http", "http-one"];
/** The share of the calls that are enough for clients that take so long over each that a run would last for ever. */
const FEWER = 0.3;

/** `profiles`: a folder for profiles of the processes. */
export function allClients(profiles) {
  const execArgv = profiles === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profiles}`];
  const all = [...HANDSHAKE, "http-modern"];
  return [
    { id: "raw", label: "bare Node, written by hand (raw)", workloads: all },
    { id: "raw-ticks", label: "the same, one write a tick", workloads: ["stdio"] },
    { id: "sdk-v1", label: "official SDK v1 1.32.2", workloads: HANDSHAKE, share: FEWER },
    { id: "sdk-v2", label: "official SDK v2 2.4.0", workloads: all, share: FEWER },
    { id: "ours", label: "@secure-local/mcp", workloads: all },
  ].map((client) => ({ ...client, execArgv }));
}
