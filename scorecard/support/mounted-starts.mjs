// What a container or a service mounts of a home into an allowed folder: start files and secrets, under names that say nothing of it.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { place } from "./place.mjs";

export const mountsDefended = [
  {
    name: "what is mounted again has its other names",
    steps: ["mountedStarts"],
    file: "packages/secure-local/src/capabilities/files/mounted-names.ts",
    find: "if (text !== undefined && name !== path && this.#mountOf(name) === other) names.add(text);",
    replace: "if (text === undefined && name !== path && this.#mountOf(name) === other) names.add(name);",
    built: true,
  },
  {
    name: "what is mounted is what it is outside of the container",
    steps: ["mountedStarts"],
    file: "packages/secure-local/src/capabilities/files/file-rules.ts",
    find: "return outside === undefined ? undefined : this.#protectedAs(outside, asked);",
    replace: "return outside === undefined ? undefined : undefined;",
    built: true,
  },
];

const WALL = "bwrap";
const COMMAND = fileURLToPath(new URL("../../packages/secure-local/dist/mcp-secure-local.cjs", import.meta.url));
/** Parts of a home, and the files in them that are protected there. */
const PARTS = {
  ".config": ["autostart/x.desktop", "systemd/user/x.service", "Code/User/settings.json", "gh/hosts.yml"],
  ".config/autostart": ["x.desktop"],
  ".config/Code/User": ["settings.json", "tasks.json"],
  ".local/share": ["applications/x.desktop", "dbus-1/services/x.service", "keyrings/login.keyring"],
  ".cargo": ["config.toml", "credentials.toml"],
  ".ssh": ["id", "config", "new"],
  ".bashrc": [""],
  ".vscode": ["tasks.json"],
  dotfiles: ["v1/rc"],
};
const LINKS = { ".zshrc": "dotfiles/v1/rc" };

/** Answers of the program, which sees the parts of the home as `/m0`, `/m1` … in the allowed folder. */
async function answersOf(at, hidden, calls) {
  const home = join(at.base, "home");
  const policy = join(at.base, "policy.yaml");
  const text = `version: "1.0"\nfilesystem: { allowed_paths: ["${at.inside}/**"] }\ntools: { allowed: ["*"], rate_limits: { default: 1000000 } }\n`;
  writeFileSync(policy, text, { mode: 0o600 });
  const binds = Object.keys(PARTS).flatMap((part, index) => ["--bind", join(home, part), join(at.inside, `m${index}`)]);
  const words = [
    "--dev-bind",
    "/",
    "/",
    ...binds,
    ...(hidden ? ["--tmpfs", home] : []),
    "--",
    process.execPath,
    COMMAND,
  ];
  const env = { PATH: process.env.PATH, HOME: home, MCP_SECURE_LOCAL_AUDIT: join(at.base, "audit.log") };
  const child = spawn(WALL, [...words, "--policy", policy], { env, stdio: ["pipe", "pipe", "ignore"] });
  const clientInfo = { name: "scorecard", version: "1" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  const asked = calls.map(([name, args], index) => ({
    id: index + 1,
    method: "tools/call",
    params: { name, arguments: args },
  }));
  for (const message of [{ id: 0, method: "initialize", params }, ...asked])
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const answers = new Map();
  for await (const line of createInterface({ input: child.stdout })) {
    const { id } = JSON.parse(line);
    if (id !== undefined) answers.set(id, line);
    if (answers.size === calls.length + 1) child.stdin.end();
  }
  return calls.map((_, index) => answers.get(index + 1) ?? "no answer");
}

function homeIn(base, inside) {
  const put = (path, text) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  for (const [index, [part, files]] of Object.entries(PARTS).entries()) {
    for (const file of files.filter((name) => name !== "new")) put(join(base, "home", part, file), "good");
    if (part === ".bashrc") put(join(inside, `m${index}`), "");
    else mkdirSync(join(inside, `m${index}`), { recursive: true });
  }
  for (const [name, target] of Object.entries(LINKS)) symlinkSync(target, join(base, "home", name));
}

export async function mountedStarts(report) {
  report.kind("start files and secrets of a home mounted under other names in an allowed folder", { found: "attack" });
  for (const hidden of [false, true]) {
    const at = place();
    homeIn(at.base, at.inside);
    const attacks = Object.entries(PARTS).flatMap(([part, files], index) =>
      // Which links lead there is not to be seen where their home is not.
      hidden && part === "dotfiles" ? [] : files.map((file) => [part, file, join(at.inside, `m${index}`, file)]),
    );
    const calls = [
      ...attacks.map(([, , path]) => ["write_file", { path, content: "evil", create_folders: true }]),
      ["write_file", { path: join(at.inside, "plain.txt"), content: "good" }],
    ];
    const answers = await answersOf(at, hidden, calls);
    for (const [index, [part, file]] of attacks.entries())
      await report.attack(`${part}/${file}${hidden ? ", its home not seen" : ""}`, () => {
        const path = join(at.base, "home", part, file);
        if (existsSync(path) && readFileSync(path, "utf8") === "evil") report.sideEffect(`${path} was written`);
        return /This name is protected/.test(answers[index]) || answers[index];
      });
    await report.benign("a file beside them", () => !/"isError":true|"error"|no answer/.test(answers.at(-1)));
    at.remove();
  }
}
