// What every packed server must do, whoever it belongs to.
import { expect, it } from "vitest";
import { type ChildServer, REFUSED } from "./child-server.js";

/** Revisions that begin with a handshake. */
export const HANDSHAKE: readonly string[] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/** `start` starts the packed server. */
export function refusesAndServesOn(start: () => ChildServer): void {
  it("refuses what must be refused, and serves the next message", async () => {
    const server = start();
    await server.open("2025-11-25");
    for (const { name, line, code } of REFUSED) {
      server.send(line());
      const refused = await server.next();
      expect({ name, code: refused.error?.code }).toEqual({ name, code });
      expect(await server.ask("ping")).toMatchObject({ result: {} });
    }
    await server.end();
  });
}
