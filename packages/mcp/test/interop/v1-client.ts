// The official SDK's first generation as a client; by rewriting its `initialize` it asks for older revisions too.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  type JSONRPCMessage,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ResultSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { HereTransport } from "./here-transport.js";
import {
  Arrivals,
  CLIENT_CAPABILITIES,
  type OfficialClient,
  type Params,
  refusing,
  ROOT,
  Tap,
  type Target,
} from "./official-client.js";

const NOTIFICATIONS = [
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
];

/** Starts the target and connects to it, asking for `revision`. */
export async function connectV1(target: Target, revision: string): Promise<OfficialClient> {
  const client = new Client({ name: "official-v1", version: "1.32.2" }, { capabilities: CLIENT_CAPABILITIES });
  const transport = transportTo(target);
  const tap = new Tap(transport, (message) =>
    message["method"] === "initialize"
      ? { ...message, params: { ...(message["params"] as Params), protocolVersion: revision } }
      : message,
  );
  const arrived = new Arrivals();
  for (const schema of NOTIFICATIONS) {
    client.setNotificationHandler(schema, ({ method, params }) => arrived.add(method, params as Params));
  }
  const official = adapt(client, arrived, tap, revision);
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => official.answers.elicit(params) as never);
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => official.answers.sample(params) as never);
  client.setRequestHandler(ListRootsRequestSchema, () => official.answers.roots() as never);
  await client.connect(transport);
  return official;
}

function transportTo({ args, env, here }: Target): Transport {
  if (here !== undefined) return new HereTransport<JSONRPCMessage>(here());
  const command = { command: process.execPath, args: [...args], cwd: ROOT, stderr: "pipe" as const };
  return new StdioClientTransport({ ...command, ...(env === undefined ? {} : { env: { ...env } }) });
}

function adapt(client: Client, arrived: Arrivals, tap: Tap, revision: string): OfficialClient {
  return {
    revision,
    tap,
    arrived,
    answers: refusing(),
    get server() {
      return client.getServerVersion();
    },
    get instructions() {
      return client.getInstructions();
    },
    get capabilities() {
      return client.getServerCapabilities() as OfficialClient["capabilities"];
    },
    async call(name, args, options = {}) {
      const { logLevel, ...rest } = options;
      if (logLevel !== undefined) await client.setLoggingLevel(logLevel);
      const params = { name, ...(args === undefined ? {} : { arguments: args }) };
      return (await client.callTool(params, CallToolResultSchema, rest)) as never;
    },
    listTools: () => everyPage((page) => client.listTools(page), "tools"),
    listPrompts: () => everyPage((page) => client.listPrompts(page), "prompts"),
    listResources: () => everyPage((page) => client.listResources(page), "resources"),
    listResourceTemplates: () => everyPage((page) => client.listResourceTemplates(page), "resourceTemplates"),
    readResource: (uri) => client.readResource({ uri }),
    getPrompt: (name, args) => client.getPrompt({ name, ...(args === undefined ? {} : { arguments: args }) }),
    complete: (params) => client.complete(params),
    ping: () => client.ping(),
    custom: (method, params) => client.request({ method, params }, ResultSchema),
    async subscribe(uri) {
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    watchLists: () => Promise.resolve(() => Promise.resolve()),
    rootsChanged: () => client.sendRootsListChanged(),
    close: () => client.close(),
  };
}

/** This generation gives one page at a time; the next one follows the cursors by itself. */
async function everyPage<T>(list: (page: { cursor?: string }) => Promise<unknown>, member: string): Promise<T> {
  const items: unknown[] = [];
  let cursor: string | undefined;
  do {
    const page = (await list(cursor === undefined ? {} : { cursor })) as Params;
    items.push(...(page[member] as unknown[]));
    cursor = page["nextCursor"] as string | undefined;
  } while (cursor !== undefined);
  return { [member]: items } as T;
}
