// Real processes of one server over a Redis of their own, behind a balancer, for tests.
import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect as dial, createServer, type Server as NetServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { KEY, startBalancer } from "./cluster-fixture.js";
import { prefix, startRedis } from "./redis-fixture.js";

export interface Processes {
  readonly url: string;
  readonly children: readonly ChildProcess[];
  readonly redis: Awaited<ReturnType<typeof startRedis>>;
  to(...members: number[]): void;
  /** What tools did, one line each, in the order they did it. */
  effects(): readonly string[];
  kill(member: number): Promise<void>;
  /** The ways by which the others reach each of them, where they have such. */
  readonly ways: readonly Cable[];
}

export async function startProcesses(
  count = 3,
  envOf: (member: number) => Readonly<Record<string, string>> = () => ({}),
  { cables = false }: { readonly cables?: boolean } = {},
): Promise<Processes> {
  const redis = await startRedis();
  const folder = mkdtempSync(join(tmpdir(), "members-"));
  const file = join(folder, "effects");
  writeFileSync(file, "");
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const own = prefix();
  const children: ChildProcess[] = [];
  const ports: number[] = [];
  const ways: Cable[] = [];
  const script = fileURLToPath(new URL("member-process.mjs", import.meta.url));
  for (let member = 0; member < count; member++) {
    const args = [redis.url, own, `m${member}`, KEY.toString("base64"), file];
    const way = cables ? await Cable.open() : undefined;
    const via = way === undefined ? {} : { RELAY_VIA: String(way.port) };
    const child = fork(script, args, {
      stdio: ["ignore", "pipe", "inherit", "ipc"],
      execArgv: [],
      env: { ...process.env, ...envOf(member), ...via },
    });
    if (way !== undefined) ways.push(way);
    child.on("message", ({ relay }: { readonly relay?: number }) => {
      if (way !== undefined && relay !== undefined) way.target = relay;
    });
    children.push(child);
    onTestFinished(() => ended(child));
    ports.push(Number(await firstLine(child)));
  }
  const balancer = await startBalancer(ports);
  const effects = (): readonly string[] => readFileSync(file, "utf8").split("\n").filter(Boolean);
  return { ...balancer, children, redis, effects, ways, kill: (member) => ended(children[member] as ChildProcess) };
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.once("data", (chunk: Buffer) => resolve(chunk.toString().trim()));
    child.once("exit", (code) => reject(new Error(`The member ended with ${code}`)));
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
}

/** Passes connections on to a port until it is cut. */
export class Cable {
  readonly #sockets = new Set<Socket>();
  readonly #server: NetServer;
  #cut = false;
  #holds = false;
  /** Pieces that came back from the port. */
  returned = 0;
  port = 0;
  target: number;

  private constructor(target: number) {
    this.target = target;
    this.#server = createServer((socket) => {
      if (this.#cut || this.target === 0) return void socket.destroy();
      const onward = dial(this.target, "127.0.0.1");
      for (const each of [socket, onward]) this.#sockets.add(each.on("error", () => undefined));
      socket.pipe(onward).pipe(socket);
      onward.on("data", () => this.returned++);
      socket.on("close", () => onward.destroy());
      onward.on("close", () => socket.destroy());
    });
  }

  static async open(target = 0): Promise<Cable> {
    const cable = new Cable(target);
    await new Promise<void>((resolve) => cable.#server.listen(0, "127.0.0.1", resolve));
    cable.port = (cable.#server.address() as AddressInfo).port;
    onTestFinished(() => {
      cable.cut();
      cable.#server.close();
    });
    return cable;
  }

  /** Connections that are open. */
  get open(): number {
    return [...this.#sockets].filter(({ destroyed }) => !destroyed).length / 2;
  }

  /** Whether nothing is passed on, as when whoever listens at the port hangs. */
  get holds(): boolean {
    return this.#holds;
  }

  set holds(holds: boolean) {
    this.#holds = holds;
    for (const socket of this.#sockets)
      if (holds) socket.pause();
      else socket.resume();
  }

  cut(): void {
    this.#cut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#cut = false;
  }
}
