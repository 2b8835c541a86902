// A socket is only handed out when it ended at the address that was judged.
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dial } from "../../src/capabilities/resolve.js";
import type { EgressTarget } from "../../src/capabilities/egress-target.js";

const server = createServer((socket) => socket.on("error", () => undefined));
let target: EgressTarget;

beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  target = { scheme: "http", host: "web.test", port, literal: false, url: new URL(`http://web.test:${port}/`) };
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

describe("a connection", () => {
  const signal = new AbortController().signal;

  it("is handed out where it ended at the address, in any spelling of it", async () => {
    for (const address of ["127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1"]) {
      const socket = await dial(target, [address], signal);
      expect(socket.remoteAddress).toMatch(/127\.0\.0\.1$/);
      socket.destroy();
    }
  });

  it("is closed and told where it ended somewhere else, and the next address is tried", async () => {
    // The system takes it for this machine: it is the one address that ends elsewhere without anybody's help.
    await expect(dial(target, ["0.0.0.0"], signal)).rejects.toMatchObject({
      code: "connect",
      message: expect.stringContaining("connected elsewhere") as string,
    });
    const socket = await dial(target, ["0.0.0.0", "127.0.0.1"], signal);
    expect(socket.remoteAddress).toMatch(/127\.0\.0\.1$/);
    socket.destroy();
  });

  it("that is given up is closed", async () => {
    const ending = new AbortController();
    const closed = new Promise((resolve) => {
      server.once("connection", (socket) => {
        socket.resume().once("close", resolve);
        ending.abort(new Error("given up"));
      });
    });
    // The server says nothing, so that no TLS begins.
    await expect(dial({ ...target, scheme: "https" }, ["127.0.0.1"], ending.signal)).rejects.toThrow("given up");
    await closed;
  });
});
