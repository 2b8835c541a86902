// A remote server with OAuth of its own: a person logs in once, calls go on with the kept tokens, and logging out ends that.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { mockAuthorization } from "../../../mcp/test/auth-client/support/mock-authorization.js";
import { protectedServer } from "../remote/protected-server.js";
import { Household, said } from "./household.js";

const house = new Household();
afterAll(() => house.close());

it("is authorized in the browser once, called with the kept tokens, and refused after logging out", async () => {
  const mock = await mockAuthorization({});
  const url = await protectedServer(mock);
  // A browser that follows where it is sent.
  const bin = join(house.folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "xdg-open"), `#!${process.execPath}\nfetch(process.argv[2]);\n`);
  chmodSync(join(bin, "xdg-open"), 0o755);
  const data = join(house.folder, "data");
  house.env = { PATH: `${bin}:${process.env["PATH"] ?? ""}`, XDG_DATA_HOME: data, DISPLAY: ":0" };
  const named = `network: { allowed_endpoints: [{ host: 127.0.0.1, ports: [${new URL(mock.issuer).port}] }] }`;
  const rest = `audit: { results: true }\ntools: { allowed: ["far__*"] }\nservers:\n  far: { url: ${url}, login: oauth }\n`;
  house.write(`version: "1.0"\n${rest}`);
  const elsewhere = await house.run(["servers", "login", "far"]);
  expect(elsewhere).toMatchObject({ code: 4, stderr: expect.stringContaining("network.allowed_endpoints") as string });
  expect(mock.seen).toEqual([]);
  house.write(`version: "1.0"\n${named}\n${rest}`);
  const before = await house.approve("far");
  expect(before).toMatchObject({ code: 1, stderr: expect.stringContaining("cannot be looked at") as string });
  const login = await house.run(["servers", "login", "far"]);
  expect(login).toMatchObject({ code: 0, stdout: expect.stringContaining("far is logged in") as string });
  expect(await house.approve("far")).toMatchObject({ code: 0 });
  const client = await house.client();
  onTestFinished(() => house.closeClients());
  expect(await said(client, "far__who")).toBe("ada");
  // What logs in to it is nobody else's, whatever it sends back.
  const echoed = await said(client, "far__echo");
  expect(echoed).toMatch(/^its token (?:\[secret login of far[^\]]*\]=* ?){3}$/);
  const known = [...mock.tokens.keys()];
  expect(known.length).toBeGreaterThan(0);
  const logs = readFileSync(join(house.folder, "state/mcp-secure-local/audit.log"), "utf8");
  expect(logs).toContain("[secret login of far");
  for (const token of known) expect(echoed + logs).not.toContain(token);
  const tokens = join(data, "mcp-secure-local/tokens.json");
  expect(existsSync(tokens)).toBe(true);
  expect(readFileSync(tokens, "utf8")).toContain(url);
  expect(await house.run(["servers", "logout", "far"])).toMatchObject({ code: 0 });
  expect(readFileSync(tokens, "utf8")).not.toContain(url);
  const after = await house.client();
  expect(await said(after, "far__who")).toBe(
    "far needs a login. Its owner gives it by: mcp-secure-local servers login far",
  );
});

it("says which entry has no login", async () => {
  house.write('version: "1.0"\nservers:\n  near: { url: "http://127.0.0.1:9/mcp" }\n');
  const { code, stderr } = await house.run(["servers", "login", "near"]);
  expect(code).toBe(2);
  expect(stderr).toContain("write login: oauth beside its url");
});
