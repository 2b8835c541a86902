// A port of 127.0.0.1 at which nobody listens, and nobody can start to before the test ends.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/**
 * The near end of a connection of our own: the system gives its port to nobody else. The port of a server that was closed goes to
 * the next test that wants one, and stays open while a process that starts beside this test still holds a copy.
 */
export async function refusingPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const held = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [far] = await accepted;
  server.close();
  onTestFinished(() => {
    far.destroy();
    held.destroy();
  });
  return held.localPort as number;
}
