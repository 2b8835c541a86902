// Writes one of the product's own files over and over, each time another version of it, until it is killed.
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { approvalFile } from "../../packages/mcp/src/node/host-files.js";
import { tokenFile } from "../../packages/mcp/src/node/token-file.js";
import { checkpointKey } from "../../packages/secure-local/src/audit/checkpoint.js";
import { writeHead } from "../../packages/secure-local/src/audit/log-file.js";
import { storedToken } from "../../packages/secure-local/src/cli/serve-http-settings.js";
import { writeNewFile } from "../../packages/secure-local/src/cli/write-new-file.js";

const [kind = "", file = "", bytes = ""] = process.argv.slice(2);
const tokens = tokenFile(file);
const approvals = approvalFile(file);
const hash = (n: number): string => createHash("sha256").update(String(n)).digest("hex");
/** Made where there is none, and left there for a while: a kill is to find it as often there as in the making. */
const made = async (make: () => unknown): Promise<void> => {
  fs.rmSync(file, { force: true });
  make();
  await delay(2);
};

/** A version's text says twice which version it is, so that a mixture of two is none. */
const text = (n: number): string => `begin ${n}\n${"x".repeat(Number(bytes))}\nend ${n}\n`;

const WRITERS: Readonly<Record<string, (n: number) => unknown>> = {
  policy: (n) => made(() => writeNewFile(file, text(n))),
  token: () => made(() => storedToken(file)),
  "client-tokens": (n) =>
    tokens.exclusively("https://a.example/mcp", (held) =>
      held.write({ tokens: { access_token: `a${n}-${"x".repeat(4_000)}`, token_type: "Bearer" } } as never),
    ),
  approvals: (n) => approvals.set(`server ${n % 50}`, hash(n)),
  "checkpoint-key": () => made(() => checkpointKey(file)),
  "log-head": (n) => writeHead(file.replace(/\.head$/, ""), { seq: n + 1, hash: hash(n) }),
  naive: (n) => fs.writeFileSync(file, text(n)),
};

const write = WRITERS[kind];
if (write === undefined) throw new Error(`no writer ${kind}`);
process.stdout.write("ready\n");
for (let n = 0; ; n += 1) {
  await write(n);
  // The parent's kill needs no turn of this loop, but others' promises do.
  if (n % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
}
