// A server that says in the middle of its session that its lists changed is compared again, and its callers hear of it.
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { RpcError, Server } from "@secure-local/mcp/server";
import { Fleet } from "./fleet.js";

let fleet: Fleet;
beforeEach(() => {
  fleet = new Fleet();
});
afterEach(() => fleet.close());

const input = { type: "object" } as const;

/** A server with two tools, and what makes one of them another one. */
function changing(): { readonly server: Server; change(description: string): void; hide(): void; stall(): void } {
  let isHidden = false;
  let isSilent = false;
  const server = new Server({ name: "moody", version: "1" });
  server.use((call, next) => {
    if (isHidden && call.method === "tools/list") throw new RpcError(-32603, "not now");
    if (isSilent && call.method === "tools/list") return new Promise(() => undefined);
    return next();
  });
  const describe = (description: string) => server.tool("one", { description, input, run: () => "called" });
  let one = describe("As approved.");
  server.tool("two", { description: "The other.", input, run: () => "called" });
  return {
    server,
    /** It lists nothing any more. */
    hide() {
      isHidden = true;
    },
    /** Its list is never told any more. */
    stall() {
      isSilent = true;
    },
    change(description) {
      one.remove();
      one = describe(description);
    },
  };
}

it.each(["2025-06-18", "2026-07-28"])(
  "withholds what is another thing now, and nothing else, in revision %s",
  async (spoken) => {
    const made: ReturnType<typeof changing>[] = [];
    fleet.spoken = spoken;
    fleet.make("moody", () => {
      made.push(changing());
      return (made.at(-1) as ReturnType<typeof changing>).server;
    });
    const policy = await fleet.policy('tools: { allowed: ["moody__*"] }\nsandbox: none');
    await fleet.approve(policy);
    await fleet.serve(policy);
    const peer = await fleet.client("2025-06-18");
    const call = async (name: string): Promise<string> =>
      JSON.stringify(await peer.request("tools/call", { name: `moody__${name}`, arguments: {} }));
    expect([await call("one"), await call("two")].join()).not.toContain("withheld");
    const running = made.at(-1) as ReturnType<typeof changing>;
    const listed = async (): Promise<string> => JSON.stringify(await peer.request("tools/list", {}));

    running.change("Something else.");
    await expect.poll(listed, { timeout: 5_000 }).not.toContain("moody__one");
    expect(await listed()).toContain("moody__two");
    expect(await call("one")).toContain("withheld");
    expect(await call("two")).not.toContain("withheld");

    running.change("As approved.");
    await expect.poll(listed, { timeout: 5_000 }).toContain("moody__one");
  },
);

it("speaks no more over a connection that says its lists changed and then lists nothing", async () => {
  const made: ReturnType<typeof changing>[] = [];
  fleet.make("moody", () => {
    made.push(changing());
    return (made.at(-1) as ReturnType<typeof changing>).server;
  });
  const policy = await fleet.policy('tools: { allowed: ["moody__*"] }\nsandbox: none');
  await fleet.approve(policy);
  await fleet.serve(policy);
  const peer = await fleet.client("2025-06-18");
  await peer.request("tools/call", { name: "moody__one", arguments: {} });
  const [before, running] = [made.length, made.at(-1) as ReturnType<typeof changing>];
  running.hide();
  running.change("Something else.");
  const begunAnew = async (): Promise<boolean> => {
    await peer.request("tools/call", { name: "moody__two", arguments: {} }).catch(() => undefined);
    return made.length > before;
  };
  await expect.poll(begunAnew, { timeout: 5_000 }).toBe(true);
});

it("speaks no more over a connection whose lists are never told when they are to be compared", async () => {
  const made: ReturnType<typeof changing>[] = [];
  fleet.make("moody", () => {
    made.push(changing());
    return (made.at(-1) as ReturnType<typeof changing>).server;
  });
  const policy = await fleet.policy('tools: { allowed: ["moody__*"] }\nsandbox: none');
  await fleet.approve(policy);
  await fleet.serve(policy);
  const peer = await fleet.client("2025-06-18");
  await peer.request("tools/call", { name: "moody__one", arguments: {} });
  const [before, running] = [made.length, made.at(-1) as ReturnType<typeof changing>];
  const call = (): Promise<unknown> =>
    peer.request("tools/call", { name: "moody__two", arguments: {} }).catch(() => undefined);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    running.stall();
    running.change("Something else.");
    await call();
    expect(made.length).toBe(before);
    await vi.advanceTimersByTimeAsync(29_000);
    await call();
    expect(made.length).toBe(before);
    await vi.advanceTimersByTimeAsync(2_000);
  } finally {
    vi.useRealTimers();
  }
  const begunAnew = async (): Promise<boolean> => (await call(), made.length > before);
  await expect.poll(begunAnew, { timeout: 5_000 }).toBe(true);
});

it.each(["2025-06-18", "2026-07-28"])(
  "compares again what changed between its start and the moment from which it is heard, in revision %s",
  async (spoken) => {
    let isArmed = false;
    fleet.spoken = spoken;
    fleet.make("moody", () => {
      const one = changing();
      let isDone = false;
      one.server.use(async (call, next) => {
        const answer = await next();
        if (isArmed && !isDone && call.method === "tools/list") {
          isDone = true;
          one.change("Something else.");
        }
        return answer;
      });
      return one.server;
    });
    const policy = await fleet.policy('tools: { allowed: ["moody__*"] }\nsandbox: none');
    await fleet.approve(policy);
    isArmed = true;
    await fleet.serve(policy);
    const peer = await fleet.client("2025-06-18");
    const call = async (name: string): Promise<string> =>
      JSON.stringify(await peer.request("tools/call", { name: `moody__${name}`, arguments: {} }));
    await call("two");
    await expect.poll(() => call("one"), { timeout: 5_000 }).toContain("withheld");
    expect(await call("two")).not.toContain("withheld");
  },
);

it("names the server to a call for which it was started and whose lists are never told", async () => {
  fleet.make("moody", () => changing().server);
  const policy = await fleet.policy('tools: { allowed: ["moody__*"], timeout: 120 }\nsandbox: none');
  await fleet.approve(policy);
  fleet.make("moody", () => {
    const moody = changing();
    moody.stall();
    return moody.server;
  });
  await fleet.serve(policy);
  const peer = await fleet.client("2025-06-18");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const answer = peer.request("tools/call", { name: "moody__two", arguments: {} });
    await vi.waitFor(() => expect(fleet.starts).toEqual(["moody"]));
    for (let second = 0; second < 32; second++) await vi.advanceTimersByTimeAsync(1_000);
    expect(JSON.stringify(await answer)).toMatch(
      /"moody: it did not list all that it offers within 30 seconds, so it could not be compared with what was approved/,
    );
  } finally {
    vi.useRealTimers();
  }
});
