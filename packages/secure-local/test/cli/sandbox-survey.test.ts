// What `status` and `doctor` say of a machine without a sandbox: a fault wherever the policy starts something, and who it is.
import { expect, it } from "vitest";
import { surveySandbox } from "../../src/cli/status-command.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { noWall } from "../../src/sandbox/find-wall.js";
import { WallError } from "../../src/sandbox/wall.js";

const absent = (): Promise<never> =>
  Promise.reject(
    new WallError("The sandbox needs bwrap, so nothing is started. Install it: sudo apt install bubblewrap. Or let"),
  );

const STARTED = {
  server: ["servers: { notes: { command: [node, x] } }", "the server notes"],
  servers: ["servers: { notes: { command: [node, x] }, board: { command: [node, y] } }", "the servers notes, board"],
  plugin: ["plugins: { load: [{ name: weather, path: /opt/weather }] }", "the plugin weather"],
  command: ["commands: { allowed: [{ name: git, executable: /usr/bin/git }] }", "the command git"],
} as const;
const NOT_STARTED = [
  "",
  "servers: { far: { url: 'https://a.example/mcp' } }",
  "servers: { notes: { command: [node, x], enabled: false } }",
  "plugins: { load: [{ name: weather, path: /opt/weather, enabled: false }] }",
];
const policy = (...bodies: readonly string[]) =>
  parsePolicy(["version: '1.0'", ...bodies].join("\n"), { file: "p.yaml" });

it.each(Object.entries(STARTED))("a %s makes it a fault", async (_kind, [body, named]) => {
  const item = await surveySandbox(await policy(body), absent);
  expect(item).toMatchObject({ state: "fault", mend: "sudo apt install bubblewrap" });
  expect(item.text).toContain(`none of these starts: ${named}.`);
});

it("all of them are named", async () => {
  const { server, plugin, command } = STARTED;
  const item = await surveySandbox(await policy(server[0], plugin[0], command[0]), absent);
  expect(item.text).toContain("the server notes, the plugin weather and the command git.");
});

it.each(NOT_STARTED)("where nothing is started it is a note: %s", async (body) => {
  expect(await surveySandbox(await policy(body), absent)).toMatchObject({ state: "note" });
});

it("what is lost without one is said", async () => {
  const item = await surveySandbox(await policy("sandbox: none", STARTED.server[0]), () => Promise.resolve(noWall));
  expect(item.text).toContain("nothing confines the server notes: each is started with all the rights of your account");
});
