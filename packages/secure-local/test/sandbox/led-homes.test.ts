// Kept homes behind links and mounts: generated ways by which `sandbox.homes` leads into what is granted, before the policy is loaded
// and after, are refused, and homes beside it are made.
import { Buffer } from "node:buffer";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { checkPlaces } from "../../src/capabilities/files/own-files.js";
import { MOUNTS } from "../../src/capabilities/files/mounted-names.js";
import { persistentHome } from "../../src/capabilities/sandbox-environment.js";
import { grantedPolicy } from "../../src/policy/granted-policy.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";

let base = "";

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "led-homes-")));
  for (const folder of ["proj/cache/deep", "beside/cache", "ways", "up"])
    mkdirSync(join(base, folder), { recursive: true });
  symlinkSync("proj", join(base, "named"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(base, { recursive: true, force: true });
});

/** A number below `most`, of a row that is the same in every run. */
function numbers(seed: number): (most: number) => number {
  let state = (seed * 2_654_435_761) % 4_294_967_296;
  return (most) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return Math.floor((state / 4_294_967_296) * most);
  };
}

/** Links of bytes that are no text among them: by these, too, a way goes on. */
function way(next: (most: number) => number, target: string): string {
  let led = target;
  for (let left = 1 + next(4); left > 0; left -= 1) {
    const at = join(base, ["ways", "up"][next(2)] as string, `l${left}${next(1_000_000)}`);
    const rest = next(3) === 0 ? led.split("/").slice(-1).join("/") : "";
    const lead = rest === "" ? led : dirname(led);
    const said = next(2) === 0 ? lead : relative(dirname(at), lead) || ".";
    if (next(3) === 0) {
      const odd = Buffer.concat([Buffer.from(`${at}-`), Buffer.from([0xff])]);
      symlinkSync(said, odd);
      symlinkSync(Buffer.from(odd), at);
    } else symlinkSync(said, at);
    led = rest === "" ? at : join(at, rest);
  }
  return led;
}

const GRANTS: readonly ((folder: string) => string)[] = [
  (folder) => `filesystem: { allowed_paths: ["${folder}/**"] }`,
  (folder) => `filesystem: { readable_paths: ["${folder}/**"] }`,
  (folder) => `plugins: { load: [{ name: one, path: /opt/one, filesystem: { allowed_paths: ["${folder}/**"] } }] }`,
  (folder) => `plugins: { load: [{ name: one, path: /opt/one, filesystem: { readable_paths: ["${folder}/**"] } }] }`,
  (folder) => `servers: { one: { command: [node, a.js], filesystem: { allowed_paths: ["${folder}/**"] } } }`,
];

async function policyOf(grant: string, homes: string): Promise<Policy> {
  const text = `version: "1.0"\n${grant}\nsandbox: { homes: "${homes}" }\n`;
  return await parsePolicy(text, { file: "/nowhere/policy.yaml", environment: {} });
}

const checked = (policy: Policy): string => {
  try {
    checkPlaces(policy);
    return "taken";
  } catch (error) {
    return (error as Error).message;
  }
};

const used = (policy: Policy): Promise<string> =>
  persistentHome(policy, policy.sandbox.homes ?? "", ["a"]).then(
    ({ held }) => (held?.close(), "made"),
    (error: Error & { readonly rule?: string }) => `${error.message} [${error.rule}]`,
  );

describe.each(Array.from({ length: 40 }, (_, seed) => [seed]))("a generated way (%d)", (seed) => {
  const next = numbers(seed + 1);
  const grantOf = GRANTS[next(GRANTS.length)] as (typeof GRANTS)[number];
  const named = ["proj", "named"][next(2)] as string;
  const inside = ["proj/cache", "proj/cache/deep", "proj/cache/new", "proj"][next(4)] as string;

  it("into what is granted is a fault that names both lines", async () => {
    const policy = await policyOf(grantOf(join(base, named)), way(next, join(base, inside)));
    const fault = checked(policy);
    expect(fault).toMatch(/^\/nowhere\/policy\.yaml:2:\d+: .* \(line 3: sandbox\.homes\)/s);
  });

  it("is refused when it is exchanged for one while the server runs, and nothing is made there", async () => {
    const homes = way(next, join(base, "beside/cache"));
    const policy = await policyOf(grantOf(join(base, named)), homes);
    expect(checked(policy)).toBe("taken");
    expect(await used(policy)).toBe("made");
    const before = readdirSync(join(base, "proj/cache"));
    rmSync(join(base, "beside"), { recursive: true });
    symlinkSync(way(next, join(base, dirname(inside) === "." ? "proj" : dirname(inside))), join(base, "beside"));
    mkdirSync(join(base, "proj/cache"), { recursive: true });
    const part = grantedPolicy(policy, { network: policy.network });
    for (const each of [policy, part]) {
      const said = await used(each);
      expect(said).toContain("it leads into what is granted by");
      expect(said).toMatch(/\(line 2 of the policy\)\]$/);
    }
    expect(readdirSync(join(base, "proj/cache"))).toEqual(before);
  });

  it("beside it is taken, and a home is made", async () => {
    const policy = await policyOf(grantOf(join(base, named)), way(next, join(base, "beside/cache")));
    expect(checked(policy)).toBe("taken");
    expect(await used(policy)).toBe("made");
  });
});

describe("homes", () => {
  it.each(["homes", "homes/x"])("that are mounted in a granted folder are refused (%s)", async (mounted) => {
    mkdirSync(join(base, mounted), { recursive: true });
    const policy = await policyOf(`filesystem: { allowed_paths: ["${base}/proj/**"] }`, `${base}/homes/x/h`);
    expect(checked(policy)).toBe("taken");
    vi.spyOn(MOUNTS, "namesOf").mockImplementation((path) => ({
      names: `${path}/`.startsWith(`${base}/${mounted}/`)
        ? [`${base}/proj/cache${path.slice(`${base}/${mounted}`.length)}`]
        : [],
      outside: undefined,
    }));
    expect(checked(policy)).toContain("(line 3: sandbox.homes)");
    expect(await used(policy)).toContain("it leads into what is granted by");
  });

  it("in which something is mounted, or what is granted lies, are refused", async () => {
    const policy = await policyOf(`filesystem: { allowed_paths: ["${base}/proj/**"] }`, `${base}/homes`);
    expect(await used(policy)).toBe("made");
    const [home = ""] = readdirSync(join(base, "homes"));
    const holds = vi.spyOn(MOUNTS, "holdsOne").mockReturnValue(true);
    expect(await used(policy)).toContain("something is mounted in it");
    holds.mockRestore();
    symlinkSync(join(base, "homes", home), join(base, "inner"));
    const inner = await policyOf(`filesystem: { allowed_paths: ["${base}/inner/x/**"] }`, `${base}/homes`);
    expect(checked(inner)).toContain("lies in the place where sandbox.homes keeps the homes of sandboxes");
    expect(await used(inner)).toContain("it leads into what is granted by");
  });
});

describe("what the program lives by", () => {
  it.each([
    ["audit: { log_file: %/audit.log }", "the audit log (line 3: audit.log_file)"],
    ["audit: { checkpoints: { file: %/c.json } }", "the file of checkpoints (line 3: audit.checkpoints)"],
    ["sandbox: { read_only_paths: [%] }", "what every sandbox sees (line 3: sandbox.read_only_paths)"],
  ])("behind generated ways in what a plugin writes: %s", async (key, words) => {
    const grant = GRANTS[2]?.(`${base}/proj`) ?? "";
    for (let seed = 100; seed < 120; seed += 1) {
      const next = numbers(seed);
      for (const [to, expected] of [
        ["proj/cache", words],
        ["beside/cache", "taken"],
      ] as const) {
        const text = `version: "1.0"\n${grant}\n${key.replace("%", way(next, join(base, to)))}\n`;
        const policy = await parsePolicy(text, { file: "/nowhere/policy.yaml", environment: {} });
        expect(checked(policy)).toContain(expected);
      }
    }
  });
});
