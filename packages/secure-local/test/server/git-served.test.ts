// Git repositories through the whole server: offered where the policy says so, read, completed, denied and recorded.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectInMemory } from "@secure-local/mcp/testing";
import { describe, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { SECRET } from "../files/attacked-folder.js";
import { tree, type Tree } from "../files/tree.js";
import { MadeRepository } from "../git/made-repository.js";

const TEMPLATE = "git:///{+repository}{?ref,path}";

async function served(
  t: Tree,
  { resources = '"git:///*"', revision = "2025-11-25", files = true, denied = [] as string[] } = {},
) {
  const paths = files ? `readable_paths: ["${t.inside}/**"]` : "readable_paths: []";
  const text = `version: "1.0"\nfilesystem: { ${paths} }\nresources: { allowed: [${resources}], denied: ${JSON.stringify(denied)} }\n`;
  const audit = new MemoryAudit();
  const policy = await parsePolicy(text, { file: "policy.yaml" });
  const secure = new SecureServer({ policy, audit, version: "1.0.0" });
  const peer = await connectInMemory(secure.server, { revision });
  const read = async (uri: string) => (await peer.request("resources/read", { uri }))["contents"];
  const templates = async () =>
    ((await peer.request("resources/templates/list"))["resourceTemplates"] as { uriTemplate: string }[]).map(
      ({ uriTemplate }) => uriTemplate,
    );
  const complete = async (name: string, value: string, known: Readonly<Record<string, string>> = {}) => {
    const [ref, argument] = [
      { type: "ref/resource", uri: TEMPLATE },
      { name, value },
    ];
    const answer = await peer.request("completion/complete", { ref, argument, context: { arguments: known } });
    return (answer["completion"] as { readonly values: string[] }).values;
  };
  return { audit, peer, read, templates, complete };
}

describe.each(["2025-06-18", "2026-07-28"])("git repositories in revision %s", (revision) => {
  it("are read and completed", async () => {
    const t = tree();
    const made = new MadeRepository(join(t.inside, "r"));
    const first = made.main({ "notes.md": "# One" });
    made.main({ "notes.md": "# Two", "src/a b.bin": new Uint8Array([0, 255]), ".env": SECRET });
    made.put("refs/heads/feature/x", first);
    const { peer, read, templates, complete } = await served(t, { revision });
    expect(await templates()).toEqual([TEMPLATE]);
    const base = `git://${t.inside}/r`;
    expect(await read(`${base}?path=notes.md`)).toEqual([
      { uri: `${base}?path=notes.md`, mimeType: "text/markdown", text: "# Two" },
    ]);
    for (const query of [
      "ref=feature%2Fx&path=notes.md",
      "path=notes.md&ref=feature/x",
      `ref=${first}&path=notes.md`,
    ]) {
      expect(await read(`${base}?${query}`)).toMatchObject([{ text: "# One" }]);
    }
    expect(await read(`${base}?ref=main&path=src%2Fa%20b.bin`)).toMatchObject([{ blob: "AP8=" }]);
    expect(await read(base)).toMatchObject([{ mimeType: "inode/directory", text: "notes.md\nsrc/" }]);
    const repository = `${t.inside.slice(1)}/r`;
    expect(await complete("repository", `${t.inside.slice(1)}/`)).toEqual([`${repository}/`]);
    expect(await complete("ref", "", { repository })).toEqual(["HEAD", "feature/x", "main"]);
    expect(await complete("ref", "fea", { repository })).toEqual(["feature/x"]);
    expect(await complete("path", "", { repository, ref: "main" })).toEqual(["notes.md", "src/"]);
    expect(await complete("path", "src/", { repository: `${repository}/` })).toEqual(["src/a b.bin"]);
    for (const elsewhere of [t.outside.slice(1), "etc", "", "../x"]) {
      expect(await complete("ref", "", { repository: elsewhere })).toEqual([]);
      expect(await complete("path", "", { repository: elsewhere })).toEqual([]);
    }
    await peer.close();
  });

  it("are denied by the rules of files, with one record and nothing told of what lies there", async () => {
    const t = tree();
    new MadeRepository(join(t.inside, "r")).main({ "a.txt": "a", ".env": SECRET });
    new MadeRepository(join(t.outside, "r")).main({ "a.txt": SECRET });
    const { audit, peer, read } = await served(t, { revision });
    const denied = [
      ...[`${t.outside}/r?path=a.txt`, `${t.outside}/none?path=a.txt`, `${t.inside}/r?path=.env`, "/etc"],
      ...[
        `${t.inside}/r?path=../../outside/r/a.txt`,
        `${t.inside}/r?path=..%2F..%2Foutside%2Fr%2Fa.txt`,
        `${t.inside}/../outside/r`,
      ],
      ...[
        `${t.inside}/r?path=a.txt&path=.env`,
        `${t.inside}/r?other=1`,
        `${t.inside}/r#x`,
        `${t.inside}/r?path=%2Fetc%2Fpasswd`,
      ],
      ...[`${t.inside}/r?path=a%00.txt`, `${t.inside}/r?path=%ff`],
    ];
    for (const address of denied) {
      const before = audit.records().length;
      const error: unknown = await read(`git://${address}`).catch((problem: unknown) => problem);
      expect(error, address).toMatchObject({ code: -32602 });
      expect(JSON.stringify(error)).not.toContain(SECRET);
      expect(audit.records().slice(before), address).toMatchObject([{ kind: "denied" }]);
    }
    await expect(read(`git://host.example${t.inside}/r`)).rejects.toMatchObject({ code: -32602 });
    await expect(read(`git://${t.inside}/r?path=none`)).rejects.toThrow(/no such file or folder at that commit/);
    await expect(read(`git://${t.inside}/r?ref=none`)).rejects.toThrow(/no such branch, tag or commit/);
    await expect(read(`git://${t.inside}/none`)).rejects.toThrow(/not found/i);
    await peer.close();
  });
});

it("are offered only where the policy names them and lets files be read", async () => {
  const t = tree();
  new MadeRepository(join(t.inside, "r")).main({ "a.txt": "a" });
  for (const options of [{ resources: '"file:///*"' }, { files: false }]) {
    const { peer, read, templates } = await served(t, options);
    expect(await templates()).not.toContain(TEMPLATE);
    await expect(read(`git://${t.inside}/r?path=a.txt`)).rejects.toMatchObject({ code: expect.any(Number) as number });
    await peer.close();
  }
});

describe("what a URI leads to", () => {
  it("is denied by each of its names, whatever links it goes by", async () => {
    const t = tree();
    new MadeRepository(join(t.inside, "r")).main({ "a.txt": "private", "b.txt": "open" });
    mkdirSync(join(t.inside, "private"));
    writeFileSync(join(t.inside, "private", "a.txt"), "private");
    writeFileSync(join(t.inside, "open.txt"), "open");
    symlinkSync("private", join(t.inside, "vendor"));
    symlinkSync("private/a.txt", join(t.inside, "direct"));
    symlinkSync("r", join(t.inside, "s"));
    const denied = [`file://${t.inside}/private/*`, `git://${t.inside}/r?path=a*`];
    const { read } = await served(t, { resources: '"file:///*", "git:///*"', denied });
    for (const uri of [
      `file://${t.inside}/private/a.txt`,
      `file://${t.inside}/vendor/a.txt`,
      `file://localhost${t.inside}/vendor/a.txt`,
      `file://${t.inside}/%76endor/a.txt`,
      `file://${t.inside}/direct`,
      `git://${t.inside}/r?path=a.txt`,
      `git://${t.inside}/s?path=a.txt`,
      `git://${t.inside}/s/?ref=HEAD&path=a.txt`,
    ])
      await expect(read(uri), uri).rejects.toThrow(/Denied/);
    expect(JSON.stringify(await read(`file://${t.inside}/open.txt`))).toContain("open");
    expect(JSON.stringify(await read(`git://${t.inside}/s?path=b.txt`))).toContain("open");
  });
});
