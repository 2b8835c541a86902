// What a tool asks a person about is asked about as a resource, as a prompt and before its names are completed as well.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import { afterAll, describe, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { MadeRepository } from "../git/made-repository.js";
import { APPROVE, person } from "./approving-server.js";
import "../databases/plain-wasm.js";

type Json = Record<string, unknown>;
type Ask = (peer: MemoryPeer) => Promise<Json>;

const inside = realpathSync(mkdtempSync(join(tmpdir(), "asked-reads-")));
afterAll(() => rmSync(inside, { recursive: true, force: true }));
const made = new MadeRepository(join(inside, "r"));
made.main({ "notes.md": "# History" });
mkdirSync(join(inside, "d"));
writeFileSync(join(inside, "d/notes.md"), "# Notes");
writeFileSync(join(inside, "app.log"), `${new Date().toISOString()} ERROR it broke\n`);
const file = join(inside, "d/notes.md");

const called =
  (name: string, args: object): Ask =>
  (peer) =>
    peer.request("tools/call", { name, arguments: args });
const read =
  (uri: string): Ask =>
  (peer) =>
    peer.request("resources/read", { uri });

/** What each kind of resource or prompt stands for: a call of a tool that reads the same thing. */
const KINDS: readonly { readonly kind: string; readonly as: Ask; readonly tool: Ask }[] = [
  { kind: "file", as: read(`file://${file}`), tool: called("read_file", { path: file }) },
  { kind: "folder", as: read(`file://${inside}/d`), tool: called("list_directory", { path: `${inside}/d` }) },
  { kind: "root", as: read(`file://${inside}`), tool: called("list_directory", { path: inside }) },
  {
    kind: "git",
    as: read(`git://${inside}/r?path=notes.md`),
    tool: called("read_file", { path: `${inside}/r/notes.md` }),
  },
  { kind: "database", as: read("db://c/schema"), tool: called("query_database", { sql: "SELECT 1", database: "c" }) },
  {
    kind: "table",
    as: read("db://c/schema/t"),
    tool: called("query_database", { sql: "SELECT * FROM t", database: "c" }),
  },
  {
    kind: "prompt",
    as: (peer) => peer.request("prompts/get", { name: "analyze_logs", arguments: { timeframe: "1h" } }),
    tool: called("read_file", { path: `${inside}/app.log` }),
  },
];

const RULES: readonly string[] = [
  "approve: all",
  'approve: ["*"]',
  "approve: [read_file]",
  "approve: [list_directory]",
  "approve: [query_database]",
  "approve: [calculate]",
  "approve: destructive",
  `approve: all, when: { path: "${inside}/d/**" }`,
  `approve: [read_file], when: { path: "${inside}/**" }`,
  `approve: [read_file], when: { path: "**/*.log" }`,
  `approve: all, when: { database: c }`,
  `approve: [query_database], when: { database: other }`,
  `approve: [query_database], when: { sql: "*t*" }`,
];

async function serverOf(rule: string): Promise<{ readonly secure: SecureServer; readonly audit: MemoryAudit }> {
  const text = `version: "1.0"
tools: { allowed: ["*"] }
resources: { allowed: ["file:///*", "git:///*", "db://*", "server://*"] }
prompts: { allowed: ["*"], analyze_logs: { log_file: "${inside}/app.log" } }
filesystem: { allowed_paths: ["${inside}/**"] }
databases: { c: { file: "${inside}/c.db", read_only: false } }
approvals: [{ ${rule} }]`;
  const audit = new MemoryAudit();
  const policy = await parsePolicy(text, { file: "policy.yaml" });
  return { audit, secure: new SecureServer({ policy, audit, version: "1" }) };
}

const ASKED = /needs a person's consent/;
const told = (ask: Promise<Json>): Promise<string> => ask.then(JSON.stringify, (error: Error) => error.message);

describe("what a tool asks about", () => {
  it.each(RULES)("is asked about as a resource and as a prompt: %s", async (rule) => {
    const { secure } = await serverOf(rule);
    const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
    for (const { kind, as, tool } of KINDS) {
      const [byTool, byRead] = [ASKED.test(await told(tool(peer))), await told(as(peer))];
      if (byTool) expect(byRead, `${rule}: ${kind}`).toMatch(ASKED);
      else if (!/list_directory|read_file/.test(rule)) expect(byRead, `${rule}: ${kind}`).not.toMatch(ASKED);
    }
    await peer.close();
  });

  it.each(["2025-11-25", "2026-07-28"])(
    "is read once a person has agreed, and asked anew, in revision %s",
    async (revision) => {
      const { secure, audit } = await serverOf("approve: all, timeout: 5");
      const shown: string[] = [];
      const answers = person(() => ({ action: "accept", content: { decision: APPROVE } }), shown);
      const peer = await connectInMemory(secure.server, { ...answers, revision });
      for (const { kind, as } of revision < "2026" ? KINDS.filter(({ kind }) => !/database|table/.test(kind)) : []) {
        const before = shown.length;
        const text = await told(as(peer));
        expect(text, kind).not.toMatch(ASKED);
        expect(text, kind).toMatch(/contents|messages/);
        expect(shown.length, kind).toBe(before + 1);
      }
      if (revision > "2026") expect(await read(`file://${file}`)(peer)).toMatchObject({ resultType: "input_required" });
      else {
        expect(shown[0]).toContain(`read of the resource "file://${file}"`);
        expect(audit.records().map(({ kind }) => kind)).toContain("approval.given");
      }
      await peer.close();
    },
  );

  it("is remembered for the tool and the resource alike, and for no other version of it", async () => {
    const { secure } = await serverOf("approve: all, remember: session");
    const shown: string[] = [];
    const keep = "approve this very call until this session ends";
    const peer = await connectInMemory(
      secure.server,
      person(() => ({ action: "accept", content: { decision: keep } }), shown),
    );
    await called("read_file", { path: file })(peer);
    await read(`file://${file}`)(peer);
    expect(shown).toHaveLength(1);
    await read(`git://${inside}/r?path=notes.md`)(peer);
    await called("read_file", { path: `${inside}/r/notes.md` })(peer);
    expect(shown).toHaveLength(3);
    await peer.close();
  });

  it("is not completed", async () => {
    const values = async (rule: string, uri: string, argument: object, known = {}): Promise<unknown> => {
      const { secure } = await serverOf(rule);
      const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
      const params = { ref: { type: "ref/resource", uri }, argument, context: { arguments: known } };
      const { completion } = await peer.request("completion/complete", params);
      await peer.close();
      return (completion as { values: unknown }).values;
    };
    const typed = { name: "path", value: `${inside.slice(1)}/d/` };
    const git = [{ name: "path", value: "no" }, { repository: `${inside.slice(1)}/r` }] as const;
    const [files, history] = ["file:///{+path}", "git:///{+repository}{?ref,path}"];
    for (const rule of ["approve: all", `approve: [list_directory], when: { path: "${inside}/**" }`]) {
      expect(await values(rule, files, typed), rule).toEqual([]);
      expect(await values(rule, history, ...git), rule).toEqual([]);
    }
    const other = 'approve: [list_directory], when: { path: "/elsewhere/**" }';
    expect(await values(other, files, typed)).toEqual([`${inside.slice(1)}/d/notes.md`]);
    expect(await values(other, history, ...git)).toEqual(["notes.md"]);
  });
});
