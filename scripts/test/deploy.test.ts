// What goes to others as it lies here: the entry of the registry, the container, the units, scripts and the man page.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import formats from "ajv-formats";
import { afterAll, describe, expect, it } from "vitest";
import { dockerfileFaults } from "../lib/dockerfile-faults.mjs";
import { SERVER_JSON } from "../lib/server-json-schema.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const COMMAND = join(ROOT, "packages/secure-local/dist/mcp-secure-local.cjs");
const folder = mkdtempSync(join(tmpdir(), "deploy-"));
afterAll(() => rmSync(folder, { recursive: true }));

const read = (name: string): string => readFileSync(join(ROOT, name), "utf8");
const has = (program: string): boolean => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

/** What the command prints, with a home of its own. */
function printed(...args: string[]): string {
  const env = { PATH: process.env["PATH"], HOME: folder, XDG_STATE_HOME: folder, XDG_CACHE_HOME: folder };
  return spawnSync(process.execPath, [COMMAND, ...args], { env, encoding: "utf8" }).stdout;
}

function fileOf(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

describe("server.json", () => {
  const ajv = new Ajv({ allErrors: true });
  (formats as unknown as (to: Ajv) => void)(ajv);
  const fits = ajv.compile(SERVER_JSON);
  const entry = JSON.parse(read("packages/secure-local/server.json")) as Record<string, unknown>;

  it("is what the registry takes", () => {
    expect(fits(entry), JSON.stringify(fits.errors)).toBe(true);
    const [npm] = entry["packages"] as { identifier: string; version: string }[];
    const { name, version, mcpName } = JSON.parse(read("packages/secure-local/package.json")) as Record<string, string>;
    // The registry looks for its own name in the package, and takes one version at a time.
    expect(entry).toMatchObject({ name: mcpName, version });
    expect(npm).toMatchObject({ identifier: name, version });
  });

  it.each([
    ["a name without a namespace", { name: "mcp-secure-local" }],
    ["a description of more than 100 characters", { description: "x".repeat(101) }],
    [
      "the version latest",
      { packages: [{ registryType: "npm", identifier: "a", version: "latest", transport: { type: "stdio" } }] },
    ],
    ["a package without a transport", { packages: [{ registryType: "npm", identifier: "a", version: "1.0.0" }] }],
    ["another schema", { $schema: "https://static.modelcontextprotocol.io/schemas/2025-07-09/server.schema.json" }],
    ["a URL that is none", { repository: { url: "nowhere", source: "git" } }],
  ])("would not be with %s", (_, change) => {
    expect(fits({ ...entry, ...change })).toBe(false);
  });
});

describe("the container", () => {
  const text = read("deploy/Dockerfile");

  it("is what a linter of containers takes", () => {
    expect(dockerfileFaults(text)).toEqual([]);
  });

  // Each takes one defence out of our own file, or adds one fault to it.
  it.each([
    ["FROM node:22-bookworm-slim AS build", "FROM node AS build", "names no version"],
    ["FROM node:22-bookworm-slim\n", "FROM node:latest\n", "names no version"],
    ["USER node\n", "", "runs as root"],
    ["USER node", "USER root", "runs as root"],
    ["USER node", "USER 0:0", "runs as root"],
    ["HEALTHCHECK --", "# HEALTHCHECK --", "HEALTHCHECK"],
    ["COPY . .", "ADD https://example.com/x.tgz .", "fetches"],
    ["COPY . .", "ADD . .", "use COPY"],
    ["WORKDIR /src", "WORKDIR src", "not absolute"],
    ['CMD ["serve", "--host", "0.0.0.0", "--quiet"]', "CMD serve", "exec form"],
    ['ENTRYPOINT ["/app/bin/mcp-secure-local"]', "ENTRYPOINT /app/bin/mcp-secure-local", "exec form"],
    ["RUN npm ci", "RUN apt-get update && apt-get install git && npm ci", "--yes"],
    ["RUN npm ci", "RUN apt-get install --yes git && npm ci", "--no-install-recommends"],
    ["RUN npm ci", "RUN apt-get install --yes --no-install-recommends git && npm ci", "lists of apt"],
    ["RUN npm ci", "RUN apt install --yes git && npm ci", "apt-get"],
    ["RUN npm ci", "RUN curl https://example.com/x | sh && npm ci", "runs what it fetches"],
    ["ENV NODE_ENV=production", "ENV API_KEY=abc NODE_ENV=production", "secret"],
  ])("would not be with %j as %j", (from, to, fault) => {
    expect(text).toContain(from);
    expect(dockerfileFaults(text.replace(from, to)).join("\n")).toContain(fault);
  });
});

describe("the policy of the container", () => {
  it("is the one that the page mounts", () => {
    const [, inside] = /--volume "\$PWD\/policy\.yaml:([^:"]+):ro"/.exec(read("docs/deployment.md")) ?? [];
    expect(read("deploy/Dockerfile")).toContain(`MCP_SECURE_LOCAL_POLICY=${inside} `);
  });

  it("has beside it what was approved of servers at a url, as the page mounts it", () => {
    const [, outside, inside] =
      /--volume "\$PWD\/(policy\.yaml\.servers\.lock):([^:"]+):ro"/.exec(read("docs/deployment.md")) ?? [];
    expect(read("deploy/Dockerfile")).toContain(`MCP_SECURE_LOCAL_POLICY=${inside?.replace(".servers.lock", "")} `);
    const policy = fileOf("with-url.yaml", 'version: "1.0"\nservers: { far: { url: https://mcp.example.com } }\n');
    const listed = printed("servers", "list", "--policy", policy, "--json");
    expect(listed).toContain("not approved");
    // As the product names it.
    expect(read("packages/secure-local/src/server/plugin-lock.ts")).toContain("return `${policyFile}.servers.lock`");
    expect(outside).toBe("policy.yaml.servers.lock");
  });
});

/** The programs of a block of the page that a test has not, each as one that does nothing. */
const STUBS = ["systemctl", "loginctl", "journalctl"];

/** Runs what a page says as a person would, with the command and Node in the PATH. */
function asWritten(
  script: string,
  home: string,
  env: Readonly<Record<string, string>> = {},
): ReturnType<typeof spawnSync> {
  const bin = join(home, "bin");
  mkdirSync(bin, { recursive: true });
  const put = (name: string, text: string): void =>
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  for (const name of STUBS) put(name, ":");
  put("mcp-secure-local", `exec "${process.execPath}" "${COMMAND}" "$@"`);
  put("npm", `echo "${home}/modules"`);
  const path = `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`;
  return spawnSync("sh", ["-ec", script], { env: { PATH: path, HOME: home, ...env }, encoding: "utf8" });
}

/** The block of shell commands with these words. */
function blockWith(page: string, words: string): string {
  const blocks = [...read(page).matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = ""]) => block);
  return blocks.find((block) => block.includes(words)) ?? "";
}

describe("a service with options of its own", () => {
  it("is started by the line of the unit as it was installed", () => {
    const home = mkdtempSync(join(folder, "home-"));
    const deploy = join(home, "modules/mcp-secure-local/dist/deploy");
    mkdirSync(deploy, { recursive: true });
    writeFileSync(join(deploy, "mcp-secure-local.service"), read("deploy/mcp-secure-local.service"));
    const page = "docs/deployment.md";
    expect(asWritten(blockWith(page, "enable --now"), home)).toMatchObject({ status: 0, stderr: "" });
    expect(asWritten(blockWith(page, "override.conf"), home)).toMatchObject({ status: 0, stderr: "" });
    const unit = join(home, ".config/systemd/user/mcp-secure-local.service");
    const [line = ""] = /^ExecStart=.*$/m.exec(readFileSync(unit, "utf8")) ?? [];
    expect(line).toContain(process.execPath);
    expect(readFileSync(`${unit}.d/override.conf`, "utf8")).toBe(
      `[Service]\nExecStart=\n${line} --tokens %h/.config/mcp-secure-local/tokens\n`,
    );
  });

  it.each(["docs/deployment.md", "docs/upgrade-and-uninstall.md"])(
    "has its policy checked with the variables of its unit, as %s says",
    (page) => {
      const home = mkdtempSync(join(folder, "home-"));
      mkdirSync(join(home, ".config/mcp-secure-local"), { recursive: true });
      const policy = join(home, ".config/mcp-secure-local/policy.yaml");
      const text = `version: "1.0"
network: { allowed_endpoints: [{ host: board.example.com, ports: [443] }] }
tools: { allowed: [web_fetch] }
secrets: { board: { from: "env:BOARD_KEY", hosts: [board.example.com] } }
`;
      writeFileSync(policy, text, { mode: 0o600 });
      const write = blockWith("docs/deployment.md", "BOARD_KEY=").split("\n")[0] ?? "";
      expect(asWritten(write, home, { BOARD_KEY: "two words $HOME 8f31" })).toMatchObject({ status: 0, stderr: "" });
      const check = "mcp-secure-local policy check --strict";
      expect(asWritten(check, home)).toMatchObject({
        status: 1,
        stdout: expect.stringContaining("the variable BOARD_KEY is not set") as string,
      });
      const [, told = ""] = /`(\(set -a;[^`]*\))`/.exec(read(page)) ?? [];
      expect(told).toContain(check);
      expect(asWritten(told, home)).toMatchObject({ status: 0, stderr: "" });
    },
  );
});

describe("the README of the package", () => {
  it("names the file of other people's tokens, and the pages about them and about many processes", () => {
    const text = read("packages/secure-local/README.md");
    for (const words of ["serve --tokens FILE", "dist/docs/deployment.md#several-people", "dist/docs/scale.md"])
      expect(text).toContain(words);
    expect(text).not.toContain("There is one token because there is one owner");
  });
});

describe("the units", () => {
  it.runIf(has("systemd-analyze"))("are what systemd takes", () => {
    // Whether the program is there is asked, too.
    const program = join(folder, ".local/bin/mcp-secure-local");
    mkdirSync(dirname(program), { recursive: true });
    writeFileSync(program, "#!/bin/sh\n");
    chmodSync(program, 0o755);
    const ran = spawnSync("systemd-analyze", ["verify", "--user", join(ROOT, "deploy/mcp-secure-local.service")], {
      env: { PATH: process.env["PATH"], HOME: folder, XDG_RUNTIME_DIR: folder },
      encoding: "utf8",
    });
    expect(`${ran.stdout}${ran.stderr}`).toBe("");
    expect(ran.status).toBe(0);
  });

  it("read variables of secrets from the file that the page has people write", () => {
    const [, file = ""] = /^EnvironmentFile=-%h\/(\S+)$/m.exec(read("deploy/mcp-secure-local.service")) ?? [];
    expect(file).not.toBe("");
    expect(read("docs/deployment.md")).toContain(`>> ~/${file})`);
  });

  it("start the same command at a login on macOS", () => {
    const plist = read("deploy/local.mcp-secure-local.plist");
    const open: string[] = [];
    for (const [, end, name = "", alone] of plist.matchAll(/<(\/?)(\w+)[^>]*?(\/?)>/g)) {
      if (end === "/") expect(name).toBe(open.pop());
      else if (alone === "") open.push(name);
    }
    expect(open).toEqual([]);
    expect(plist).toMatch(/<string>serve<\/string>\s*<string>--quiet<\/string>/);
  });
});

describe("scripts and the man page", () => {
  it.runIf(has("shellcheck"))("have nothing that shellcheck remarks on", () => {
    const completion = fileOf("completion.bash", printed("completion", "bash"));
    for (const [shell, file] of [
      ["bash", join(ROOT, ".ci/run")],
      ["bash", completion],
    ] as const) {
      const ran = spawnSync("shellcheck", ["--shell", shell, file], { encoding: "utf8" });
      expect(ran.stdout).toBe("");
    }
  });

  it.runIf(has("mandoc"))("have nothing that mandoc remarks on", () => {
    const page = fileOf("mcp-secure-local.1", printed("help", "man"));
    const ran = spawnSync("mandoc", ["-T", "lint", page], { encoding: "utf8" });
    expect(ran.stdout).toBe("");
  });
});

describe("docs/deployment.md behind a proxy", () => {
  const block = (language: string): string =>
    new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, "m").exec(read("docs/deployment.md"))?.[1] ?? "";
  const UPSTREAM = "127.0.0.1:3333";

  it("has a Caddyfile of one directive a line, which passes on the paths of profiles too", () => {
    const lines = block("caddyfile").trimEnd().split("\n");
    expect(lines.map((line) => line.trim())).toEqual([
      "mcp.example.com {",
      `reverse_proxy /mcp* ${UPSTREAM} {`,
      "flush_interval -1",
      "}",
      "}",
    ]);
  });

  it.runIf(has("caddy"))("has a Caddyfile that Caddy reads as it is meant", () => {
    const file = fileOf("Caddyfile", block("caddyfile"));
    const { stdout, stderr } = spawnSync("caddy", ["adapt", "--adapter", "caddyfile", "--config", file], {
      encoding: "utf8",
    });
    expect(stdout, stderr).toContain('"path":["/mcp*"]');
    expect(stdout).toContain(`"dial":"${UPSTREAM}"`);
  });

  it.runIf(has("nginx"))("has a location that nginx takes", () => {
    const log = `pid ${folder}/nginx.pid; error_log stderr; events {} http { access_log off;`;
    const file = fileOf("nginx.conf", `${log} server { listen 127.0.0.1:3334; ${block("nginx")} } }`);
    const { stderr } = spawnSync("nginx", ["-t", "-p", folder, "-c", file], { encoding: "utf8" });
    expect(stderr).toContain("syntax is ok");
  });
});
