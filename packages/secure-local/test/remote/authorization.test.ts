// A person authorizes once at a protected server; afterwards the kept tokens do, with and without a terminal.
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { mockAuthorization } from "../../../mcp/test/auth-client/support/mock-authorization.js";
import { examine } from "@secure-local/mcp-tools/examine";
import { openClient, type Person, routeTo } from "@secure-local/mcp-tools/target";
import { failureCode } from "../../src/cli/failure.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { RawClient } from "../cli/command.js";
import { protectedServer } from "./protected-server.js";

async function who(url: string, person: Person): Promise<unknown> {
  const client = await openClient({ kind: "url", url, headers: {} }, { person, verdicts: false });
  try {
    return (await client.call("who")).content[0];
  } finally {
    await client.close();
  }
}

describe("a protected server", () => {
  it("is authorized in the browser once; tokens are kept for their owner alone", async () => {
    const url = await protectedServer(await mockAuthorization({}));
    const tokensFile = join(temporaryFolder(), "data", "tokens.json");
    const shown: string[] = [];
    // A browser follows where the authorization server sends it: back to us.
    const browse = async (page: string): Promise<void> => void (await fetch(page));
    const person = { tokensFile, show: (page: string) => void shown.push(page), browse };
    expect(await who(url, person)).toMatchObject({ text: "ada" });
    expect(shown).toEqual([expect.stringContaining("code_challenge_method=S256")]);
    expect(statSync(tokensFile).mode & 0o777).toBe(0o600);
    expect(readFileSync(tokensFile, "utf8")).toContain(url);
    expect(await who(url, { tokensFile, show: undefined })).toMatchObject({ text: "ada" });
    expect(shown).toHaveLength(1);
    const way = await routeTo({ kind: "url", url, headers: {} }, { person: { tokensFile, show: undefined } });
    const { findings } = await examine({ ...way, url });
    const http = findings.filter(({ id, tier, verdict }) => id.startsWith("http-") && (tier ?? verdict) !== "ok");
    expect(http.filter(({ verdict }) => verdict !== "skipped")).toEqual([]);
  });

  it("without a person and without tokens is exit code 3, and says what to do", async () => {
    const url = await protectedServer(await mockAuthorization({}));
    const tokensFile = join(temporaryFolder(), "tokens.json");
    const error: unknown = await who(url, { tokensFile, show: undefined }).catch((each: unknown) => each);
    expect((error as Error).message).toContain("run this in a terminal, or give --token");
    expect(failureCode(error)).toBe(3);
  });

  it.skipIf(process.platform !== "linux")(
    "is logged in to through a bridge, by a browser alone: its client knows nothing of tokens",
    async () => {
      const url = await protectedServer(await mockAuthorization({}));
      const home = temporaryFolder();
      // A browser that follows where the authorization server sends it, for whoever opens pages on Linux.
      const bin = join(home, "bin");
      mkdirSync(bin);
      const browser = join(bin, "xdg-open");
      writeFileSync(browser, `#!${process.execPath}\nfetch(process.argv[2]).then((page) => page.text());\n`);
      chmodSync(browser, 0o755);
      const tokensFile = join(home, "data", "tokens.json");
      const env = { PATH: `${bin}:${process.env["PATH"]}`, MCP_SECURE_LOCAL_CLIENT_TOKENS: tokensFile };
      for (const shown of [1, 0]) {
        const client = new RawClient(["bridge", url], { home, env });
        await client.open();
        const { result } = await client.request("tools/call", { name: "who", arguments: {} });
        expect(result).toMatchObject({ content: [{ text: "ada" }] });
        client.child.stdin.end();
        await once(client.child, "close");
        expect(client.stderr.split("authorize this program").length - 1, client.stderr).toBe(shown);
      }
      expect(statSync(tokensFile).mode & 0o777).toBe(0o600);
    },
  );
});
