// Approvals outlive the host, count for exactly what was approved, and a broken file approves nothing.
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { approvalFile } from "../../src/node/host-files.js";
import { hostWith, shop } from "./host-fixture.js";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "approvals-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

it("asks once over several hosts", async () => {
  const path = join(folder, "deep", "approvals.json");
  let asked = 0;
  for (let host = 0; host < 3; host++) {
    const { host } = hostWith({ approvals: approvalFile(path), authorize: () => ++asked > 0 });
    expect((await host.add("a", shop("a"))).state).toBe("ready");
    await host.close();
  }
  expect(asked).toBe(1);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(path, "utf8"))).toEqual({ a: expect.stringMatching(/^[0-9a-f]{64}$/) as string });
});

it("keeps all of many approvals at once, and leaves no other file", async () => {
  const path = join(folder, "many.json");
  const file = approvalFile(path);
  const digest = "0".repeat(64);
  const names = Array.from({ length: 20 }, (_, index) => `server ${index}`);
  await Promise.all([...names, "__proto__"].map((name) => file.set(name, digest)));
  expect(await Promise.all(names.map((name) => file.get(name)))).toEqual(names.map(() => digest));
  expect(await file.get("constructor")).toBeUndefined();
  expect((await readdir(folder)).filter((name) => name.startsWith("many"))).toEqual(["many.json"]);
});

it.each(["", "null", "not json", '{ "a": '])("%j approves nothing, and is said to be broken", async (text) => {
  const path = join(folder, "broken.json");
  await writeFile(path, text);
  const { host } = hostWith({ approvals: approvalFile(path) });
  const { state, reason } = await host.add("a", shop("a"));
  expect(state).toBe("denied");
  expect(reason).toContain("Mend the file, or delete it to be asked again");
});

it.skipIf(process.platform === "win32")("a file others can write approves nothing", async () => {
  const path = join(folder, "shared.json");
  await writeFile(path, "{}");
  await chmod(path, 0o666);
  const { host } = hostWith({ approvals: approvalFile(path) });
  expect((await host.add("a", shop("a"))).reason).toContain("others can write it");
});

it.each(['{ "a": true }', '{ "a": "yes" }', "[]", "{}"])("%j approves nothing: somebody is asked", async (text) => {
  const path = join(folder, "other.json");
  await writeFile(path, text);
  const { host } = hostWith({ approvals: approvalFile(path), authorize: () => false });
  expect((await host.add("a", shop("a"))).state).toBe("denied");
});
