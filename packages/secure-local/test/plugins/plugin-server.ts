// Serves plugins under the text of a policy, and calls their tools as a client does.
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import { expect, vi } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer, type SecureServerOptions } from "../../src/server/secure-server.js";

export interface ServedPlugins {
  readonly secure: SecureServer;
  readonly peer: MemoryPeer;
  readonly audit: MemoryAudit;
  /** The text of the answer; begins with `failed: ` when it is an error. */
  call(name: string, args?: object): Promise<string>;
}

/** Waits until these tools are listed. Stop `secure` in the end. */
export async function servePlugins(
  policyText: string,
  tools: readonly string[],
  options: Partial<SecureServerOptions> = {},
): Promise<ServedPlugins> {
  const policy = await parsePolicy(policyText, { file: "policy.yaml", environment: {} });
  const audit = new MemoryAudit();
  const secure = new SecureServer({ policy, audit, version: "1", ...options });
  secure.start();
  const listed = (): string[] => secure.tools().map(({ name }) => name);
  const notes = (): string => JSON.stringify(secure.pluginHealth());
  await vi.waitFor(() => expect(listed(), notes()).toEqual(expect.arrayContaining([...tools])), {
    timeout: 15_000,
    interval: 10,
  });
  const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
  const call = async (name: string, args: object = {}): Promise<string> => {
    const answer = (await peer.request("tools/call", { name, arguments: args })) as {
      readonly content: readonly { readonly text: string }[];
      readonly isError?: boolean;
    };
    return `${answer.isError === true ? "failed: " : ""}${answer.content.map(({ text }) => text).join("")}`;
  };
  return { secure, peer, audit, call };
}
