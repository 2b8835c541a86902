// Every path that a call names is shown, bound by the answer and opened where it was judged, however the call writes it.
import { link, mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectInMemory } from "@secure-local/mcp/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { atPlaces, placesIn } from "../../src/capabilities/files/leads-to.js";
import { createRun } from "../../src/capabilities/policy-run.js";
import { pathsOfCall } from "../../src/policy/decide-command.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";
import type { AnyTool } from "../../src/server/catalogue.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { textOf } from "../guard/guarded-server.js";
import { hasWall } from "../sandbox/walls.js";
import { APPROVE, person } from "./approving-server.js";

let place: string;

beforeAll(async () => {
  place = await realpath(await mkdtemp(join(tmpdir(), "named-")));
  for (const folder of ["open", "own", "other"]) {
    await mkdir(join(place, folder));
    await writeFile(join(place, folder, "f"), folder);
  }
});
beforeEach(() => lead("open"));
afterAll(() => rm(place, { recursive: true, force: true }));

/** Lets the link lead there. */
async function lead(to: string): Promise<void> {
  await symlink(to, join(place, "next"));
  await rename(join(place, "next"), join(place, "cur"));
}

/** The same file by each way to write its path, as the arguments of a command. */
const WRITTEN: Readonly<Record<string, (place: string) => string[]>> = {
  "in full": (at) => [`${at}/cur/f`],
  "from the working folder": () => ["cur/f"],
  "with a dot before": () => ["./cur/f"],
  "by a way up": () => ["other/../cur/f"],
  "in full, with dots": (at) => [`${at}/other/.././cur//f`],
  "behind a flag": (at) => ["--from", `${at}/cur/f`],
  "behind a flag, from the working folder": () => ["--from", "cur/f"],
  "in a flag": (at) => [`--from=${at}/cur/f`],
  "in a flag, from the working folder": () => ["--from=cur/f"],
  "in a flag, after another path": () => ["--from=cur/f", "other/f"],
  "after a flag's path": () => ["--from=other/f", "cur/f"],
  "behind the end of flags": () => ["--", "cur/f"],
};

function policyOf(approvals: string): Promise<Policy> {
  const text = `version: "1.0"
tools: { allowed: ["*"] }
filesystem: { allowed_paths: ["${place}/**"] }
commands:
  allowed:
    - name: show
      executable: /bin/cat
      arguments: [{ path: read, optional: true }]
      flags: [{ flag: --from, path: read }]
      working_directory: ${place}
approvals: ${approvals}
`;
  return parsePolicy(text, { file: "/nowhere/policy.yaml", environment: {} });
}

interface Asking {
  readonly forms: readonly string[];
  call(args: readonly string[]): Promise<string>;
}

/** A client whose user says yes, and has it remembered where that is offered; `first` is done before. */
async function asking(approvals: string, first?: () => Promise<void>): Promise<Asking> {
  const secure = new SecureServer({ policy: await policyOf(approvals), audit: new MemoryAudit(), version: "1" });
  const forms: string[] = [];
  const options = person(() => ({}), forms);
  const peer = await connectInMemory(secure.server, {
    ...options,
    answer: {
      "elicitation/create": async ({ message, requestedSchema }) => {
        forms.push(message as string);
        await first?.();
        const { properties } = requestedSchema as { properties: { decision: { enum: string[] } } };
        return { action: "accept", content: { decision: properties.decision.enum.at(-1) ?? APPROVE } };
      },
    },
  });
  const call = async (given: readonly string[]): Promise<string> => {
    const params = { name: "run_command", arguments: { command: "show", arguments: [...given] } };
    return textOf(await peer.request("tools/call", params));
  };
  return { forms, call };
}

describe.each(Object.keys(WRITTEN))("a path of a command %s", (how) => {
  const args = (): string[] => WRITTEN[how]?.(place) ?? [];

  it("is shown with where it leads, and an answer is void once that is elsewhere", async () => {
    const { forms, call } = await asking("[{ approve: [run_command] }]", () => lead("own"));
    expect(await call(args())).toContain("where its paths lead, or what would do it, is not what was asked about");
    expect(forms).toHaveLength(1);
    expect(forms[0]).toContain(`leads to "${place}/open/f"`);
  });

  it("is bound by what is remembered", async () => {
    const { forms, call } = await asking("[{ approve: [run_command], remember: 10 }]");
    await call(args());
    await call(args());
    expect(forms).toHaveLength(1);
    await lead("own");
    await call(args());
    expect(forms).toHaveLength(2);
    await lead("open");
    await call(args());
    expect(forms).toHaveLength(2);
  });

  it.runIf(hasWall)("is opened where it led when the call was judged, or not at all", async () => {
    const policy = await policyOf("[]");
    const run = createRun(() => policy);
    const paths = pathsOfCall(policy, { tool: "run_command", arguments: { command: "show", arguments: args() } }) ?? [];
    await expect(
      atPlaces(placesIn(paths), async () => {
        await lead("own");
        return await run("show", args());
      }),
    ).rejects.toThrow(/leads elsewhere/);
  });
});

it("a path of which nobody can tell where it leads is shown as that, and its call is not remembered", async () => {
  await link(join(place, "other/f"), join(place, "other/again"));
  const { forms, call } = await asking("[{ approve: [run_command], remember: 10 }]");
  for (const times of [1, 2]) {
    await call(["other/again"]);
    expect(forms).toHaveLength(times);
    expect(forms.at(-1)).toContain('"other/again" leads to a place that could not be found out');
  }
  await rm(join(place, "other/again"));
});

describe("the paths of any call", () => {
  it("are found in every text that is one, in URIs, in flags and in names of members", async () => {
    const policy = await policyOf("[]");
    const found = (given: unknown): string[] =>
      (pathsOfCall(policy, { tool: "x", arguments: given }) ?? []).map(({ path }) => path);
    expect(
      found({ a: "/a", b: [["/b"]], "/c": 1, d: "file:///d%20e", e: "--f=/f", g: "-I=file://localhost/g" }),
    ).toEqual(["/a", "/b", "/c", "/d e", "/f", "/g"]);
    expect(found({ a: "words", b: "a/b", c: "https://a/b", d: "x=/y", e: "file://" })).toEqual([]);
  });

  const list = (count: number): string[] => Array.from({ length: count }, (_, at) => `/nowhere/${at}`);

  it.each(["[{ approve: all }]", "[{ approve: [other] }]"])("are a thousand at most, under %s", async (approvals) => {
    const ran: unknown[] = [];
    const annotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false };
    const input = { type: "object", properties: { a: { type: "array" }, b: { type: "array" } } } as const;
    const tool: AnyTool = {
      ...{ name: "use", title: "use", description: "use", input, annotations },
      run: (args: unknown) => (ran.push(args), "done"),
    };
    const policy = await policyOf(approvals);
    const secure = new SecureServer({ policy, audit: new MemoryAudit(), version: "1", tools: [tool] });
    const peer = await connectInMemory(
      secure.server,
      person(() => ({ action: "accept", content: { decision: APPROVE } })),
    );
    const call = async (args: object): Promise<string> =>
      textOf(await peer.request("tools/call", { name: "use", arguments: args }));
    const words = Array.from({ length: 3_000 }, () => "word");
    expect(await call({ a: list(500), b: [...words, ...list(1_000).slice(500)] })).toBe("done");
    expect(await call({ a: list(600), b: list(1_001).slice(600) })).toMatch(/^Denied\. .* at most 1000 paths/);
    expect(ran).toHaveLength(1);
  });
});
