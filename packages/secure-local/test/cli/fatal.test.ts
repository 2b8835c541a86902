// A failure that nobody waited for ends the program, and the last line says so.
import { expect, it } from "vitest";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { Served } from "../serve/served.js";

it("a failure that nobody waited for ends the program with a line that says that it ends, and why", async () => {
  const failing = `process.on("newListener", (event) => event === "unhandledRejection" && setImmediate(() => Promise.reject(new Error("the connection was lost"))))`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(failing)}` };
  const served = new Served([], temporaryFolder(), { env });
  expect(await served.exited()).toBe(1);
  expect(served.stderr).toMatch(
    /^mcp-secure-local: the program ends, as nothing expected this: .*the connection was lost/m,
  );
});
