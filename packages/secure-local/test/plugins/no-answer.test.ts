// A call that a plugin does not answer: the operator sees what it wrote instead, and the caller hears the true cause.
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { pluginFolder } from "../sandbox/plugin-folder.js";
import { type ServedPlugins, servePlugins } from "./plugin-server.js";

const SCRIPT = `
import json, sys
for line in sys.stdin:
    told = json.loads(line)
    if told.get("tool") == "wrong":
        print("looking for " + str(told["id"]), file=sys.stderr, flush=True)
        print(json.dumps({"id": str(told["id"]), "content": "SECRET WORDS"}), flush=True)
    elif told.get("tool") == "silent":
        print("still thinking", file=sys.stderr, flush=True)
    elif "tool" in told:
        print(json.dumps({"id": told["id"], "content": "fine"}), flush=True)
`;

const folder = pluginFolder();
let served: ServedPlugins | undefined;
const said: string[] = [];

afterEach(async () => {
  await served?.secure.stop();
  said.length = 0;
  folder.remove();
});

const STAYS = `
import json, os, sys, time
for line in sys.stdin:
    told = json.loads(line)
    if "tool" in told:
        open(os.environ["PLACE"] + "/pid", "w").write(str(os.getpid()))
        time.sleep(60)
`;

async function serve(persistent: boolean): Promise<ServedPlugins> {
  const tools = [{ name: "wrong" }, { name: "silent" }, { name: "good" }];
  const manifest = { name: "odd", version: "1", run: ["python3", "main.py"], persistent, tools };
  folder.write("odd", { "manifest.yaml": JSON.stringify(manifest), "main.py": SCRIPT });
  const policy = `
version: "1.0"
sandbox: none
tools: { allowed: ["odd_*"], timeouts: { odd_wrong: 1, odd_silent: 1 } }
plugins: { folder: ${folder.path}, load: [{ name: odd }] }
`;
  served = await servePlugins(policy, ["odd_wrong"], { say: (line) => said.push(line) });
  return served;
}

describe.each([true, false])("a program that answers nothing (persistent: %s)", (persistent) => {
  it("is told by the line it wrote instead, and by what it said last", async () => {
    const { call, audit } = await serve(persistent);
    expect(await call("odd_good")).toContain("fine");
    const wrong = await call("odd_wrong");
    expect(wrong).toContain(
      "failed: The tool odd_wrong timed out after 1 s: its plugin wrote 1 line, and none of them",
    );
    expect(wrong).not.toContain("SECRET WORDS");
    const id = persistent ? 2 : 1;
    expect(said.join("\n")).toContain(
      `plugin odd: a call of it (wrong) was not answered in time; stdout is for answers, and it wrote 1 line there meanwhile that answer nothing (an answer has the id of its call), the first: ${JSON.stringify(`{"id": "${id}", "content": "SECRET WORDS"}`)}`,
    );
    expect(said.at(-1)).toBe(`  | looking for ${id}`);
    const silent = await call("odd_silent");
    expect(silent).toContain("timed out after 1 s: its plugin wrote no answer.");
    expect(silent).toContain("If it only needs longer, raise tools.timeouts.odd_silent");
    expect(said.join("\n")).toContain("a call of it (silent) was not answered in time; it wrote no line to stdout");
    expect(said.at(-1)).toBe("  | still thinking");
    await vi.waitFor(() =>
      expect(audit.records().filter(({ outcome }) => outcome === "timeout")).toMatchObject([
        { detail: { reason: "its plugin wrote 1 line, and none of them is an answer to it" } },
        { detail: { reason: "its plugin wrote no answer" } },
      ]),
    );
  });
});

describe.each([true, false])("a call under way (persistent: %s)", (persistent) => {
  it("ends with its program when another policy comes into force", async () => {
    const manifest = { name: "odd", version: "1", run: ["python3", "main.py"], persistent, tools: [{ name: "stays" }] };
    const main = STAYS.replace('os.environ["PLACE"]', JSON.stringify(folder.path));
    folder.write("odd", { "manifest.yaml": JSON.stringify(manifest), "main.py": main });
    const text = (rest: string): string => `
version: "1.0"
sandbox: none
tools: { allowed: ["odd_*"] }
plugins: { folder: ${folder.path}, load: [{ name: odd }] }
${rest}`;
    served = await servePlugins(text(""), ["odd_stays"], { say: (line) => said.push(line) });
    const answer = served.call("odd_stays");
    const pid = await vi.waitFor(() => {
      const written = Number(readFileSync(`${folder.path}/pid`, "utf8"));
      expect(written).toBeGreaterThan(0);
      return written;
    }, 10_000);
    expect(process.kill(pid, 0)).toBe(true);
    served.secure.reload(await parsePolicy(text("network: { offline: true }"), { file: "policy.yaml" }));
    expect(await answer).toMatch(/^failed: .*ended before it answered/);
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), 10_000);
  });
});
