// What only one of the official SDKs does by itself: lists kept fresh, rounds by hand, a remembered discovery, odd versions.
import {
  Client,
  type ClientOptions,
  type ConnectOptions,
  type Tool,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, describe, expect, it } from "vitest";
import { CLIENTS } from "./clients.js";
import { repeated, soaking } from "../support/soak.js";
import { EVERYTHING, EVERYTHING_HERE, type OfficialClient, type Params, ROOT } from "./official-client.js";
import { connectV1 } from "./v1-client.js";
import { transportTo } from "./v2-client.js";

const PROGRAM = { command: process.execPath, args: [...EVERYTHING.args], cwd: ROOT, stderr: "pipe" as const };
const PINNED: ClientOptions = { versionNegotiation: { mode: { pin: "2026-07-28" } } };
const NEWEST = CLIENTS.filter(({ name }) => name === "v1" || name === "v2 pinned" || (soaking && name === "v2"));

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

describe("the second generation by itself", () => {
  it.each([{}, PINNED])("keeps a list fresh (%o)", async (options) => {
    let changed: (items: readonly Tool[] | null) => void = () => undefined;
    const fresh = new Promise<readonly Tool[] | null>((resolve) => {
      changed = resolve;
    });
    const tools = { debounceMs: 0, onChanged: (_error: Error | null, items: Tool[] | null): void => changed(items) };
    const { client } = await connect({ ...options, listChanged: { tools } });
    await client.callTool({ name: "change_lists" });
    expect((await fresh)?.map(({ name }) => name)).toContain("extra_tool");
  });

  it("asks its rounds by hand", async () => {
    const { client } = await connect({
      ...PINNED,
      capabilities: { elicitation: {} },
      inputRequired: { autoFulfill: false },
    });
    const call = { name: "get_weather", arguments: { location: "home" } };
    const asked: Params = await client.callTool(call, { allowInputRequired: true });
    expect(asked).toMatchObject({
      resultType: "input_required",
      inputRequests: { github_login: { method: "elicitation/create" } },
    });
    const github_login = { action: "accept", content: { name: "octocat" } };
    const answered = await client.callTool({
      ...call,
      requestState: asked["requestState"],
      inputResponses: { github_login },
    } as never);
    expect(answered.content).toMatchObject([{ text: expect.stringContaining("octocat") }]);
  });

  it("is told which capability a tool needs", async () => {
    const { client } = await connect(PINNED);
    const refused = await client
      .callTool({ name: "classify_log", arguments: { entry: "x" } })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: -32021, data: { requiredCapabilities: { sampling: {} } } });
  });

  it("remembers what it discovered, and needs no round trip the next time", async () => {
    const { client } = await connect(PINNED);
    const discover = client.getDiscoverResult();
    expect(discover?.supportedVersions).toEqual(expect.arrayContaining(["2026-07-28", "2025-11-25"]));
    const again = await connect(PINNED, discover === undefined ? {} : { prior: { kind: "modern", discover } });
    expect((await again.client.callTool({ name: "echo", arguments: { text: "at once" } })).isError).toBe(false);
  });

  it("probes on the pipe itself where it does not know the transport", async () => {
    class Unknown extends StdioClientTransport {}
    const { client } = await connect({ versionNegotiation: { mode: "auto" } }, { transport: new Unknown(PROGRAM) });
    expect(client.getNegotiatedProtocolVersion()).toBe("2026-07-28");
    expect((await client.callTool({ name: "echo", arguments: { text: "same pipe" } })).isError).toBe(false);
  });

  it("hears that the server ends its subscription", async () => {
    const transport = new StdioClientTransport(PROGRAM);
    const { client } = await connect(PINNED, { transport });
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: ["everything://text"] });
    expect(subscription.honoredFilter).toEqual({
      toolsListChanged: true,
      resourceSubscriptions: ["everything://text"],
    });
    process.kill(Number(transport.pid), "SIGTERM");
    expect(await subscription.closed).toBe("graceful");
  });
});

describe.each(NEWEST)("$name under load", ({ connect: connectTo }) => {
  it("gets each of many answers for its own question, a long one among them", async () => {
    const client = remembered(await connectTo(EVERYTHING));
    // Few enough at once for the SDKs, which wait for the pipe once for each message they have not sent.
    const texts = Array.from({ length: 40 }, (_, index) => (index === 39 ? "é".repeat(500_000) : `text ${index}`));
    for (let round = 0; round < repeated(2, 5); round++) {
      const answers = await Promise.all(texts.map((text) => client.call("echo", { text })));
      expect(answers.map(({ content }) => (content[0] as { text: string }).text)).toEqual(texts);
    }
  });
});

describe("a client that asks for a version nobody has", () => {
  it.each(["2099-01-01", "2026-07-28", "1.0"])(
    "is offered the newest there is with a handshake (%s)",
    async (asked) => {
      const client = remembered(await connectV1(EVERYTHING_HERE, asked));
      const [opened] = client.tap.received;
      expect(opened).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
      expect((await client.call("echo", { text: "agreed" })).isError).toBe(false);
    },
  );
});

function remembered(client: OfficialClient): OfficialClient {
  open.push(client);
  return client;
}

async function connect(
  options: ClientOptions,
  { transport = transportTo(EVERYTHING_HERE), ...how }: ConnectOptions & { transport?: Transport } = {},
): Promise<{ client: Client }> {
  const client = new Client({ name: "official-v2", version: "2.4.0" }, options);
  open.push(client);
  await client.connect(transport, how);
  return { client };
}
