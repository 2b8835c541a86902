// The official SDK's second generation as a client, in each of its modes.
import { Client, type JSONRPCMessage, type Transport, type VersionNegotiationMode } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
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
  "notifications/message",
  "notifications/resources/updated",
  "notifications/tools/list_changed",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
] as const;

/** How to find out what the server speaks; without anything the SDK's default, which is the handshake. */
export interface V2Options {
  readonly mode?: VersionNegotiationMode;
  /** Revisions the client admits to; the first is the one it asks for. */
  readonly revisions?: readonly string[];
}

/** Starts the target and connects to it. */
export async function connectV2(target: Target, options: V2Options): Promise<OfficialClient> {
  const { mode, revisions } = options;
  const client = new Client(
    { name: "official-v2", version: "2.4.0" },
    {
      capabilities: CLIENT_CAPABILITIES,
      ...(mode === undefined ? {} : { versionNegotiation: { mode } }),
      ...(revisions === undefined ? {} : { supportedProtocolVersions: [...revisions] }),
    },
  );
  const transport = transportTo(target);
  const tap = new Tap(transport);
  const arrived = new Arrivals();
  for (const method of NOTIFICATIONS) {
    client.setNotificationHandler(method, ({ params }) => arrived.add(method, params as Params | undefined));
  }
  const official = adapt(client, arrived, tap);
  client.setRequestHandler("elicitation/create", ({ params }) => official.answers.elicit(params) as never);
  client.setRequestHandler("sampling/createMessage", ({ params }) => official.answers.sample(params) as never);
  client.setRequestHandler("roots/list", () => official.answers.roots() as never);
  await client.connect(transport);
  return official;
}

/** Any result of a method that the SDK does not know. */
const ANY_RESULT = {
  "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value: value as Params }) },
} as const;

/** What leads to the target: a program is started when the client connects. */
export function transportTo({ args, env, here }: Target): Transport {
  if (here !== undefined) return new HereTransport<JSONRPCMessage>(here());
  const command = { command: process.execPath, args: [...args], cwd: ROOT, stderr: "pipe" as const };
  return new StdioClientTransport({ ...command, ...(env === undefined ? {} : { env: { ...env } }) });
}

function adapt(client: Client, arrived: Arrivals, tap: Tap): OfficialClient {
  const modern = (): boolean => client.getProtocolEra() === "modern";
  return {
    tap,
    arrived,
    answers: refusing(),
    get revision() {
      return client.getNegotiatedProtocolVersion() as string;
    },
    get server() {
      return client.getServerVersion();
    },
    get instructions() {
      return client.getInstructions();
    },
    get capabilities() {
      return client.getServerCapabilities();
    },
    async call(name, args, options = {}) {
      const { logLevel, ...rest } = options;
      if (logLevel !== undefined && !modern()) await client.setLoggingLevel(logLevel);
      const level = logLevel !== undefined && modern();
      const params = {
        name,
        ...(args === undefined ? {} : { arguments: args }),
        ...(level ? { _meta: { "io.modelcontextprotocol/logLevel": logLevel } } : {}),
      };
      return client.callTool(params, rest);
    },
    listTools: () => client.listTools(),
    listPrompts: () => client.listPrompts(),
    listResources: () => client.listResources(),
    listResourceTemplates: () => client.listResourceTemplates(),
    readResource: (uri) => client.readResource({ uri }),
    getPrompt: (name, args) => client.getPrompt({ name, ...(args === undefined ? {} : { arguments: args }) }),
    complete: (params) => client.complete(params),
    ping: () => client.ping(),
    custom: async (method, params) => (await client.request({ method, params: { ...params } }, ANY_RESULT)) as Params,
    async subscribe(uri) {
      if (modern()) {
        const subscription = await client.listen({ resourceSubscriptions: [uri] });
        return () => subscription.close();
      }
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    async watchLists() {
      if (!modern()) return () => Promise.resolve();
      const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
      const subscription = await client.listen(lists);
      return () => subscription.close();
    },
    rootsChanged: () => client.sendRootsListChanged(),
    close: () => client.close(),
  };
}
