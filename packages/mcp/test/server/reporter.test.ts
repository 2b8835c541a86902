// What only the operator should know reaches somebody, and nothing about telling it ends the program.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RpcError, Server, type ServerOptions } from "@secure-local/mcp/server";
import { connect as connectInMemory } from "../../src/serve/connect.js";
import { connect } from "../support/connect.js";

let written: string[] = [];

beforeEach(() => {
  written = [];
  vi.spyOn(console, "error").mockImplementation((text: unknown) => void written.push(String(text)));
});
afterEach(() => void vi.restoreAllMocks());

const failing = (options: Partial<ServerOptions> = {}): Server => {
  const server = new Server({ name: "notes", version: "1", ...options });
  server.tool("save", {
    run: () => {
      throw new Error("database is down", { cause: new Error("no route to host") });
    },
  });
  server.tool("owes", { output: { type: "object", required: ["id"] }, run: () => ({}) as never });
  return server;
};

const call = async (server: Server, name = "save"): Promise<string> => {
  const peer = await connect(server);
  const { content } = await peer.request("tools/call", { name });
  return (content as [{ text: string }])[0].text;
};

describe("an exception that nobody expected", () => {
  it("is written to standard error with its stack and cause, under the id that the model is told", async () => {
    const told = await call(failing());
    const id = /error id (\w{8})/.exec(told)?.[1];
    expect(told).not.toContain("database");
    expect(written).toHaveLength(1);
    expect(written[0]).toMatch(
      /^\[notes\] error: tools\/call "save" failed \(error id \w{8}\)\nError: database is down\n +at /,
    );
    expect(written[0]).toContain(id);
    expect(written[0]).toContain("caused by: Error: no route to host");
  });

  it("is written for output that does not fit, with the member at fault", async () => {
    await call(failing(), "owes");
    expect(written[0]).toContain('must have required property "id"');
  });

  it("is not written by a server that was told to be silent, or that reports elsewhere", async () => {
    await call(failing({ report: false }));
    const told: unknown[] = [];
    await call(failing({ report: (level, _message, details) => told.push([level, String(details?.["error"])]) }));
    expect(written).toEqual([]);
    expect(told).toEqual([["error", "Error: database is down"]]);
  });

  it("is none where the client goes before it answers what it was asked", async () => {
    const server = new Server({ name: "s", version: "1" });
    let ended = (): void => undefined;
    const end = new Promise<void>((resolve) => (ended = resolve));
    server.tool("ask", {
      run: (_, ctx) =>
        ctx
          .elicit({ message: "?", schema: { sure: { type: "boolean" } } })
          .then(String)
          .finally(ended),
    });
    let asked = (): void => undefined;
    const asking = new Promise<void>((resolve) => (asked = resolve));
    const elicit = (): Promise<never> => (asked(), new Promise(() => undefined));
    const client = await connectInMemory(server, { revision: "2025-11-25", elicit });
    const answer = client.call("ask").catch(() => undefined);
    await asking;
    await client.close();
    await Promise.all([answer, end]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toEqual([]);
  });

  it("cannot steer the terminal, and of a flood the rest is counted", async () => {
    // All of it is one moment, however busy the machine is.
    vi.spyOn(performance, "now").mockReturnValue(performance.now());
    const server = new Server({ name: "s", version: "1" });
    server.tool("t", {
      run: () => {
        throw new Error("\u001b[2Jgone");
      },
    });
    const peer = await connect(server);
    for (let n = 0; n < 150; n++) await peer.request("tools/call", { name: "t" });
    expect(written[0]).toContain("\\x1b[2Jgone");
    expect(written.length).toBeLessThan(150);
  });
});

describe("a `report` that fails", () => {
  it.each([
    [
      "throws",
      () => {
        throw new TypeError("circular");
      },
    ],
    ["rejects", () => Promise.reject(new TypeError("circular"))],
  ] as const)("and %s ends nothing, and both are written", async (_how, report) => {
    const server = failing({ report: report as never });
    const told = await call(server);
    expect(told).toContain("failed unexpectedly");
    await vi.waitFor(() => expect(written.join("\n")).toContain("TypeError: circular"));
    expect(written.join("\n")).toContain("Error: database is down");
  });

  it("while nobody waits for an answer, ends nothing either", async () => {
    const server = failing({
      report: () => {
        throw new TypeError("circular");
      },
    });
    server.notification("acme/hello", () => {
      throw new Error("unheard");
    });
    const peer = await connect(server);
    peer.notify("acme/hello");
    expect(await peer.request("tools/list")).toHaveProperty("tools");
    expect(written.join("\n")).toContain("Error: unheard");
  });
});

it("hears once of an error number that the caller's revision does not let through, with what to do", async () => {
  const server = failing();
  for (const [name, code] of Object.entries({ kept: -32050, own: 4001, defined: -32002 })) {
    server.tool(name, {
      run: () => {
        throw new RpcError(code, "no", { why: 1 });
      },
    });
  }
  const peer = await connect(server, { revision: "2026-07-28" });
  const refusal = (name: string): Promise<unknown> => peer.request("tools/call", { name }).catch((error) => error);
  const upstream = { code: -32050, message: "no", data: { why: 1 } };
  expect(await refusal("kept")).toMatchObject({ code: -32603, data: { upstream } });
  expect(await refusal("kept")).toMatchObject({ code: -32603 });
  expect(await refusal("own")).toMatchObject({ code: 4001, data: { why: 1 } });
  await refusal("defined");
  expect(written).toHaveLength(1);
  expect(written[0]).toMatch(/-32050 of tools\/call was sent as -32603.*take a code outside of -32768 to -32000/);
});
