// Loading: the file itself must be trustworthy, and the built-in policy must not cost what YAML costs.
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { decide } from "../../src/policy/decide.js";
import { loadPolicy } from "../../src/policy/load-policy.js";
import { PolicyError } from "../../src/policy/faults.js";

let folder = "";
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "policy-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(text: string | Uint8Array, mode = 0o600): string {
  const file = join(folder, "policy.yaml");
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

async function faultOf(file: string): Promise<string> {
  const error: unknown = await loadPolicy(file).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(PolicyError);
  expect((error as PolicyError).message.startsWith(`${file}:1:1: `)).toBe(true);
  return (error as PolicyError).message;
}

const posix = process.platform !== "win32";

describe("a policy file", () => {
  it.each([0o600, 0o644, 0o400])("is loaded with mode %o", async (mode) => {
    const policy = await loadPolicy(write('version: "1.0"\n', mode));
    expect(policy).toMatchObject({ version: "1.0", file: join(folder, "policy.yaml") });
  });

  it("is loaded through a link", async () => {
    symlinkSync(write('version: "1.0"\n'), join(folder, "link.yaml"));
    expect((await loadPolicy(join(folder, "link.yaml"))).version).toBe("1.0");
  });

  it("is refused when it is missing or a folder", async () => {
    expect(await faultOf(join(folder, "absent.yaml"))).toContain("no such file");
    mkdirSync(join(folder, "inner"));
    expect(await faultOf(join(folder, "inner"))).toContain("folder");
  });

  it.runIf(posix).each([0o620, 0o602, 0o666, 0o777, 0o664])(
    "is refused when others can write to it: %o",
    async (mode) => {
      expect(await faultOf(write('version: "1.0"\n', mode))).toContain("chmod go-w");
    },
  );

  it.runIf(process.getuid?.() === 0)("is refused when somebody else owns it", async () => {
    const file = write('version: "1.0"\n');
    chownSync(file, 12_345, 12_345);
    expect(await faultOf(file)).toContain("chown");
  });

  it.runIf(posix && process.getuid?.() !== 0)("is refused when it may not be read", async () => {
    expect(await faultOf(write('version: "1.0"\n', 0o200))).toContain("may not be read");
  });

  it.runIf(posix)("is refused when it is a device", async () => {
    expect(await faultOf("/dev/null")).toMatch(/regular file|chmod/);
  });

  it("is refused when it is not UTF-8 or too long", async () => {
    expect(await faultOf(write(Uint8Array.of(0x76, 0xff, 0xfe)))).toContain("UTF-8");
    expect(await faultOf(write(`version: "1.0"\n${"#\n".repeat(200_000)}`))).toContain("longer");
  });

  it("in the shape of mcp-secure-server's example is loaded unchanged", async () => {
    const text = [
      'version: "1.0"',
      "network:",
      "  mode: deny_all",
      '  allowed_ranges: ["127.0.0.0/8", "::1/128", "fe80::/10"]',
      '  allowed_endpoints: [{ host: "html.duckduckgo.com", ports: [443], description: "search" }]',
      "  blocked_ports: [22]",
      "  allow_dns: true",
      '  dns_allowlist: ["html.duckduckgo.com"]',
      "filesystem:",
      '  allowed_paths: ["${HOME}/projects/**", "/tmp/mcp-workspace/**"]',
      '  denied_paths: ["**/.ssh/**", "**/*.pem", "**/.env.*", "**/.git/config"]',
      'commands: { blocked: ["curl", "wget"] }',
      "tools:",
      "  timeout: 30",
      "  rate_limits: { default: 60, web_search: 20 }",
      "audit:",
      '  log_file: "${HOME}/.mcp-secure/audit.log"',
      '  log_level: "INFO"',
      "  include: [timestamp, request_id, tool_name, arguments, result_status, execution_time, security_events]",
    ].join("\n");
    const policy = await loadPolicy(write(text));
    expect(decide(policy, { kind: "tool", name: "web_search" })).toMatchObject({ allowed: true, rule: { line: 15 } });
    expect(decide(policy, { kind: "tool", name: "command_execute" }).allowed).toBe(false);
    expect(decide(policy, { kind: "network", host: "127.0.0.1", port: 22 })).toMatchObject({
      allowed: false,
      rule: { line: 6 },
    });
  });
});

describe("the built-in policy", () => {
  it("is what loads when no file is named", async () => {
    expect(await loadPolicy()).toMatchObject({ file: undefined, version: "1.0" });
  });

  it("is reached without importing YAML", () => {
    const source = fileURLToPath(new URL("../../src/policy/", import.meta.url));
    const seen = new Set<string>();
    const visit = (name: string): void => {
      if (seen.has(name)) return;
      seen.add(name);
      const text = readFileSync(join(source, name), "utf8");
      expect(text, name).not.toMatch(/^import (?!type )[^;]*"yaml"/m);
      for (const [, next] of text.matchAll(/^import (?!type )[^;]*"\.\/(.+)\.js"/gm)) visit(`${next}.ts`);
    };
    visit("load-policy.ts");
    expect(seen.size).toBeGreaterThan(4);
    expect(existsSync(join(source, "load-policy.ts"))).toBe(true);
  });
});
