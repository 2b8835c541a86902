// A path that is exchanged while a question waits, right after the yes, between two paths of one call, and under a consent that is
// remembered: what is opened is what the person was shown, from every kind of place to every other.
import { link, mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectInMemory } from "@secure-local/mcp/testing";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { AnyTool } from "../../src/server/catalogue.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { textOf } from "../guard/guarded-server.js";

let place: string;

/** Where a link may lead; of the last ones nobody can tell where they lead. */
const PLACES = ["free/file", "protected/file", "free/missing", "free/several", "protected/others", "round"] as const;
type Place = (typeof PLACES)[number];
const MOMENTS = [
  "while the question waits",
  "right after the yes",
  "between its paths",
  "when it is remembered",
] as const;

beforeAll(async () => {
  place = await realpath(await mkdtemp(join(tmpdir(), "exchanged-places-")));
  for (const folder of ["free", "protected"]) {
    await mkdir(join(place, folder));
    await writeFile(join(place, folder, "file"), `${folder}/file`);
  }
  for (const several of ["free/several", "protected/others"]) {
    await writeFile(join(place, several), several);
    await link(join(place, several), join(place, `${several}-too`));
  }
  await symlink("round", join(place, "round"));
});
afterAll(() => rm(place, { recursive: true, force: true }));

async function lead(name: string, to: Place): Promise<void> {
  await symlink(to, join(place, "next"));
  await rename(join(place, "next"), join(place, name));
}

interface Told {
  /** What a run of the tool read, or why it did not. */
  readonly runs: string[][];
  questions: number;
}

/** Calls a tool with two paths, which are links to `from` and to a free file; one is exchanged. */
async function tried(
  moment: (typeof MOMENTS)[number],
  [from, to]: readonly [Place, Place],
  first: boolean,
): Promise<Told> {
  const [one, two] = [first ? "a" : "b", first ? "b" : "a"];
  await lead(one, from);
  await lead(two, "free/file");
  const told: Told = { runs: [], questions: 0 };
  let exchange = async (): Promise<void> => await lead(one, to);
  const at = async (now: (typeof MOMENTS)[number]): Promise<void> => {
    if (now !== moment) return;
    await exchange();
    exchange = () => Promise.resolve();
  };
  const tool: AnyTool = {
    name: "use",
    title: "use",
    description: "use",
    input: { type: "object", properties: { paths: { type: "array", items: { type: "string" } } } },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    run: async (args: unknown, { files }) => {
      const read: string[] = [];
      told.runs.push(read);
      await at("right after the yes");
      for (const path of (args as { paths: string[] }).paths) {
        read.push(
          await files.read(path).then(
            ({ bytes }) => `read ${Buffer.from(bytes).toString()}`,
            (error: Error) => error.message,
          ),
        );
        await at("between its paths");
      }
      return "done";
    },
  };
  const text = `version: "1.0"\ntools: { allowed: ["*"] }\nfilesystem: { allowed_paths: ["${place}/**"] }
approvals: [{ approve: all, remember: 10 }]\n`;
  const policy = await parsePolicy(text, { file: "/nowhere/policy.yaml", environment: {} });
  const secure = new SecureServer({ policy, audit: new MemoryAudit(), version: "1.0.0", tools: [tool] });
  const peer = await connectInMemory(secure.server, {
    revision: "2025-11-25",
    capabilities: { elicitation: {} },
    answer: {
      "elicitation/create": async ({ requestedSchema }) => {
        told.questions += 1;
        await at("while the question waits");
        const { properties } = requestedSchema as { properties: { decision: { enum: string[] } } };
        return { action: "accept", content: { decision: properties.decision.enum.at(-1) } };
      },
    },
  });
  const call = async (): Promise<string> => {
    const args = { name: "use", arguments: { paths: [`${place}/a`, `${place}/b`] } };
    return textOf(await peer.request("tools/call", args));
  };
  await call();
  if (moment !== "when it is remembered") return told;
  await at(moment);
  told.runs.length = 0;
  await call();
  return told;
}

const SINGLE: ReadonlySet<string> = new Set(["free/file", "protected/file"]);

describe.each(MOMENTS)("a path that is exchanged %s", (moment) => {
  it.each(PLACES.map((from) => [from]))("from %s", async (from) => {
    for (const to of PLACES)
      for (const first of [true, false]) {
        const what = `${from} to ${to}, ${first ? "first" : "second"}`;
        const { runs, questions } = await tried(moment, [from, to], first);
        const moved = from !== to;
        if (moment === "while the question waits") expect(runs.length, what).toBe(moved ? 0 : 1);
        if (moment === "when it is remembered") {
          // Of what nobody can tell nothing is remembered.
          expect(questions, what).toBe(moved || !(SINGLE.has(from) || from === "free/missing") ? 2 : 1);
          continue;
        }
        for (const read of runs) {
          const [it, other] = first ? read : read.toReversed();
          expect(other, what).toBe("read free/file");
          // Read before it was exchanged, it is what it was.
          const early = moment === "between its paths" && first;
          if (early || !moved) expect(it?.startsWith("read"), what).toBe(SINGLE.has(from));
          else expect(it, what).not.toMatch(/^read/);
        }
      }
  });
});
