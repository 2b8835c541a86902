// A home of its own for the product under test: policy, log, plugins and files, and what became of them.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { stateEnvironment } from "../stdio/servers.mjs";

const PACKAGE = fileURLToPath(new URL("../../packages/secure-local/", import.meta.url));
let copied;

/** The product's command: a copy, which stays as it is though the repository is built meanwhile. Removed when this process ends. */
export function product() {
  if (copied === undefined) {
    copied = mkdtempSync(join(tmpdir(), "mcp-secure-local-product-"));
    process.on("exit", () => rmSync(copied, { recursive: true, force: true }));
    for (const name of ["dist", "package.json"]) cpSync(join(PACKAGE, name), join(copied, name), { recursive: true });
  }
  return join(copied, "dist", "mcp-secure-local.cjs");
}

/** Calls a minute that no case reaches. */
const UNLIMITED = 1_000_000;

/**
 * A folder under the home folder, since the wall puts an empty one over /tmp. `body` is what the policy says beside
 * tools, files and audit; `limits` are rate limits; `log` puts the audit log elsewhere.
 */
export function arena({ tools = ["calculate", "get_timestamp", "write_file"], ...rest } = {}) {
  const folder = mkdtempSync(join(homedir(), ".mcp-secure-local-faults-"));
  const place = new Arena(folder);
  mkdirSync(place.work);
  mkdirSync(place.plugins);
  place.writePolicy({ tools, ...rest });
  return place;
}

class Arena {
  constructor(folder) {
    this.folder = folder;
    this.work = join(folder, "work");
    this.plugins = join(folder, "plugins");
    this.policy = join(folder, "policy.yaml");
    this.log = join(folder, "audit", "audit.log");
    this.env = stateEnvironment(folder);
  }

  /** The text of a policy; `log` and the rest as in `arena`. */
  policyText({ tools, body = "", limits = {}, timeout = 30, load = [] }) {
    const rates = Object.entries({ default: UNLIMITED, ...limits }).map(([name, rate]) => `${name}: ${rate}`);
    return `version: "1.0"
filesystem: { allowed_paths: ["${this.work}/**"] }
tools: { allowed: [${tools.map((name) => JSON.stringify(name)).join(", ")}], rate_limits: { ${rates.join(", ")} }, timeout: ${timeout} }
audit: { log_file: "${this.log}" }
${load.length === 0 ? "" : `plugins: { folder: "${this.plugins}", load: [${load.map((name) => `{ name: ${name} }`).join(", ")}] }`}
${body}
`;
  }

  writePolicy(wishes) {
    if (wishes.log !== undefined) this.log = wishes.log;
    writeFileSync(this.policy, this.policyText(wishes), { mode: 0o600 });
  }

  /** Writes a plugin's files into its folder. */
  writePlugin(name, files) {
    const folder = join(this.plugins, name);
    mkdirSync(folder, { recursive: true });
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text, { mode: 0o755 });
  }

  /** Every record there is, of full files first; a torn last line is left out. */
  records(log = this.log) {
    if (!existsSync(dirname(log))) return [];
    const name = basename(log);
    const archives = readdirSync(dirname(log)).filter((each) => each.startsWith(`${name}.`) && /\.\d{16}$/.test(each));
    const files = [...archives.sort().map((each) => join(dirname(log), each)), ...(existsSync(log) ? [log] : [])];
    return files.flatMap((file) =>
      readFileSync(file, "utf8")
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    );
  }

  /** What `audit verify` says: undefined when it is content. */
  auditFault(log = this.log) {
    const args = [product(), "audit", "verify", "--audit", log];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { env: this.env, encoding: "utf8" });
    return status === 0 ? undefined : `audit verify: ${(stdout + stderr).trim().slice(0, 300)}`;
  }

  /** Names of files the tool `write_file` has made. */
  effects() {
    return readdirSync(this.work).filter((name) => !name.startsWith("."));
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
