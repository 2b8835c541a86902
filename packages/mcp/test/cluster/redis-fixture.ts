// Redis for tests: the one on this machine under a prefix of the test's own, or servers a test starts itself.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Whether redis-server can be started; says why tests are skipped where it cannot. */
export const hasRedis: boolean = ((): boolean => {
  try {
    execFileSync("redis-server", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    console.log("skipped: redis-server is not installed here");
    return false;
  }
})();

export interface StartedRedis {
  readonly url: string;
  readonly port: number;
  /** Ends it at once, as a power cut does. */
  kill(): Promise<void>;
  /** Stops and continues the process without ending its connections. */
  pause(): void;
  resume(): void;
  /** One command, as a person at redis-cli. */
  cli(...args: string[]): string;
}

/** Starts a server of its own on a port of the system's choice; ends with the test. */
export function startRedis(...settings: string[]): Promise<StartedRedis> {
  return startRedisFor(onTestFinished, ...settings);
}

/** The same, ended by what is given to `later`. */
export async function startRedisFor(
  later: (ending: () => void | Promise<void>) => void,
  ...settings: string[]
): Promise<StartedRedis> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "redis-"));
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"];
  const child = spawn("redis-server", [...args, ...settings], { stdio: "ignore" });
  later(async () => {
    child.kill("SIGCONT");
    await killed(child);
    rmSync(folder, { recursive: true, force: true });
  });
  await listening(port);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill: () => killed(child),
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    cli: (...command) => execFileSync("redis-cli", ["-p", String(port), ...command], { encoding: "utf8" }).trim(),
  };
}

/** Starts a Redis Cluster of three masters. Resolves with its address. */
export async function startRedisCluster(): Promise<{ readonly url: string; readonly nodes: readonly StartedRedis[] }> {
  const nodes: StartedRedis[] = [];
  for (let n = 0; n < 3; n++)
    nodes.push(await startRedis("--cluster-enabled", "yes", "--cluster-node-timeout", "2000"));
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  execFileSync("redis-cli", ["--cluster", "create", ...addresses, "--cluster-yes"], { stdio: "ignore" });
  await until(() => nodes.every((node) => node.cli("cluster", "info").includes("cluster_state:ok")));
  return { url: `redis+cluster://${addresses.join(",")}`, nodes };
}

/** Starts a master, a replica of it, and a Sentinel that watches both. */
export async function startSentinel(): Promise<{
  readonly url: string;
  readonly master: StartedRedis;
  readonly replica: StartedRedis;
}> {
  const master = await startRedis();
  const replica = await startRedis("--replicaof", "127.0.0.1", String(master.port));
  await until(() => replica.cli("info", "replication").includes("master_link_status:up"));
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "sentinel-"));
  const file = join(folder, "sentinel.conf");
  const lines = [
    `port ${port}`,
    "bind 127.0.0.1",
    `dir ${folder}`,
    `sentinel monitor one 127.0.0.1 ${master.port} 1`,
    "sentinel down-after-milliseconds one 500",
    "sentinel failover-timeout one 3000",
  ];
  writeFileSync(file, `${lines.join("\n")}\n`);
  const child = spawn("redis-server", [file, "--sentinel"], { stdio: "ignore" });
  onTestFinished(async () => {
    await killed(child);
    rmSync(folder, { recursive: true, force: true });
  });
  await listening(port);
  const ask = (...args: string[]): string =>
    execFileSync("redis-cli", ["-p", String(port), ...args], { encoding: "utf8" });
  await until(() => /num-slaves\n1\b/.test(ask("sentinel", "master", "one")));
  return { url: `redis+sentinel://127.0.0.1:${port}/one`, master, replica };
}

/** A prefix no other test has. */
export function prefix(): string {
  return `test-${randomBytes(6).toString("hex")}`;
}

/** Waits for a condition, looking often. The test's own time limit ends it. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}

async function freePort(): Promise<number> {
  // A Redis Cluster wants its port plus 10,000 too.
  for (;;) {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    if (port < 55_000) return port;
  }
}

function listening(port: number): Promise<void> {
  return until(
    () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(port, "127.0.0.1", () => {
          socket.destroy();
          resolve(true);
        });
        socket.on("error", () => resolve(false));
      }),
  );
}
