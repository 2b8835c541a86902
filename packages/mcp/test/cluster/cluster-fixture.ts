// Several members of one server behind a balancer that knows nothing, for tests.
import { randomBytes, randomInt } from "node:crypto";
import { type Agent, createServer, request as httpRequest, type Server as HttpServer } from "node:http";
import { Agent as HttpAgent } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished } from "vitest";
import { shareOver } from "../../src/cluster/member.js";
import { NodeRelay } from "../../src/cluster/relay.js";
import type { ShareOptions } from "../../src/cluster/relay-link.js";
import { memoryStores } from "../../src/cluster/stores.js";
import { type HttpServing, serveHttp, type ServeHttpOptions } from "../../src/serve/http.js";
import type { HttpExchange, Share } from "../../src/http/server/exchange.js";
import type { Server } from "../../src/server/server.js";
import { testServer } from "../http/http-fixture.js";

/** A key that all members of a test have. */
export const KEY: Buffer = randomBytes(32);

export interface Cluster {
  /** The balancer's address of `/mcp`: each request goes to the next member. */
  readonly url: string;
  readonly servers: readonly Server[];
  readonly members: readonly HttpServing[];
  /** Members by the order in which they got requests: numbers. */
  readonly routed: number[];
  /** Sends the next requests to these members in turn. */
  to(...members: number[]): void;
}

export interface ClusterOptions extends ServeHttpOptions {
  readonly count?: number;
  /** Makes the server of each member. */
  readonly server?: (member: number) => Server;
  /** How each shares, if it does. Default: in memory. */
  readonly shareOf?: (member: number) => Share | undefined;
  /** Requests go to members at random. Default: to each in turn. */
  readonly random?: boolean;
  /** Is given what ends each part. Default: it ends with the test. */
  readonly later?: Later;
}

/** Takes what is to be done at the end. */
export type Later = (ending: () => void | Promise<void>) => void;

/** Starts members and the balancer in front of them; all end with the test. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { count = 3, server = plainServer, shareOf = inMemory(), random, later = onTestFinished, ...rest } = options;
  const servers: Server[] = [];
  const members: HttpServing[] = [];
  for (let member = 0; member < count; member++) {
    const one = server(member);
    const serving = await serveHttp(one, {
      sse: true,
      signals: false,
      ...rest,
      limits: { drainMs: 50, ...rest.limits },
      ...shared(shareOf(member)),
    });
    later(() => serving.close());
    servers.push(one);
    members.push(serving);
  }
  const ports = members.map(({ url }) => Number(new URL(url).port));
  const balancer = await startBalancer(ports, { random: random === true, later });
  return { ...balancer, servers, members };
}

const shared = (share: Share | undefined): Pick<ServeHttpOptions, "share"> => (share === undefined ? {} : { share });

const plainServer = (): Server => testServer({ report: () => undefined });

/** Members of this process, which share in memory. */
export function inMemory(options: Partial<ShareOptions> = {}): (member: number) => Share {
  const stores = memoryStores();
  return (member) => shareOver(stores, { key: KEY, node: `m${member}`, ...options });
}

/** A round robin over ports, or any of them at random: every request by itself, also of one connection. */
export async function startBalancer(
  ports: readonly number[],
  { random = false, later = onTestFinished }: { readonly random?: boolean; readonly later?: Later } = {},
): Promise<Pick<Cluster, "url" | "routed" | "to">> {
  let next = 0;
  let plan: readonly number[] = ports.map((_, at) => at);
  const routed: number[] = [];
  const agent = new HttpAgent({ keepAlive: true });
  const server = createServer((request, response) => {
    const member = plan[random ? randomInt(plan.length) : next++ % plan.length] as number;
    routed.push(member);
    pass(request, response, { port: ports[member] as number, agent });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  later(() => end(server, agent));
  const { port } = server.address() as AddressInfo;
  const to = (...members: number[]): void => {
    plan = members;
    next = 0;
  };
  return { url: `http://127.0.0.1:${port}/mcp`, routed, to };
}

type Incoming = Parameters<Parameters<typeof createServer>[1] & object>[0];
type Outgoing = Parameters<Parameters<typeof createServer>[1] & object>[1];

function pass(
  request: Incoming,
  response: Outgoing,
  { port, agent }: { readonly port: number; readonly agent: Agent },
): void {
  const headers = { ...request.headers, host: `127.0.0.1:${port}` };
  const { method, url: path } = request;
  const onward = httpRequest({ host: "127.0.0.1", port, method, path, headers, agent }, (reply) => {
    response.writeHead(reply.statusCode ?? 502, reply.headers);
    reply.pipe(response);
    reply.on("error", () => response.destroy());
    reply.on("aborted", () => response.destroy());
  });
  onward.on("error", () => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end();
  });
  response.on("close", () => onward.destroy());
  request.pipe(onward);
}

function end(server: HttpServer, agent: Agent): Promise<void> {
  agent.destroy();
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** A request as the endpoint has it, and what it was answered with. */
export function fakeRequest(): HttpExchange & { readonly replies: unknown[] } {
  const replies: unknown[] = [];
  const exchange = {
    ...{
      method: "POST",
      path: "/mcp",
      query: "",
      over: false,
      principal: "ada",
      identity: undefined,
      extra: undefined,
    },
    ...{ address: undefined, connection: undefined, allHeaders: {}, onGone: undefined, onOver: undefined, replies },
    header: () => undefined,
    readBody: () => undefined,
    reply: (status: number, _headers: unknown, body: unknown) => void replies.push([status, body]),
    open: () => {
      throw new Error("not here");
    },
  };
  return exchange;
}

/** What a server says that cannot share so, in the one line there is; "served" where it can. */
export async function refusalOf(share: () => Share): Promise<string> {
  try {
    const serving = await serveHttp(testServer(), { share: share(), signals: false, limits: { drainMs: 10 } });
    onTestFinished(() => serving.close());
    return "served";
  } catch (error) {
    expect(error).toMatchObject({ code: "BAD_SHARE" });
    const { message } = error as Error;
    expect(message).not.toContain("\n");
    return message;
  }
}

/** The relay of a process, which finds every other one at `at`, and its address. */
export async function relay(
  node: string,
  serve: (exchange: HttpExchange) => void,
  at?: string,
): Promise<[NodeRelay, string]> {
  const made = new NodeRelay({
    ...{ node, keys: [KEY], listen: new URL("tcp://127.0.0.1:0"), find: async () => at, holds: () => true, serve },
    ...{ answer: async (text: string) => text, onStranger: () => undefined },
  });
  onTestFinished(() => made.close());
  return [made, await made.open()];
}
