// A secret that is bound to one place in requests is put into no other by the entry of a server.
import { expect, it } from "vitest";
import type { PolicyError } from "../../src/policy/faults.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";

/** How a secret may be bound, and the headers that it may then be sent in: undefined is any. */
const BINDINGS: Readonly<Record<string, readonly string[] | undefined>> = {
  "": undefined,
  "header: Authorization": ["authorization"],
  "header: x-key": ["x-key"],
  "query: key": [],
  "body: key": [],
  'body: "*"': [],
  "query: key, body: key": [],
  "header: X-Key, query: key": ["x-key"],
  'header: X-Key, body: "*"': ["x-key"],
};
const SENT = ["Authorization", "authorization", "X-Key", "X-KEY", "X-Other", "Cookie"];
const TEXTS = ["${secret:k}", "Bearer ${secret:k}", "${secret:other}-${secret:k}"];

const textOf = (binding: string, headers: string): string => `version: "1.0"
secrets:
  other: { from: "env:OTHER", hosts: [far.example] }
  k: { from: "env:K", hosts: [far.example]${binding === "" ? "" : `, ${binding}`} }
servers:
  near: { url: "https://far.example/mcp", headers: { X-Other: "\${secret:other}" } }
  far:
    url: "https://far.example/mcp"
    headers: { ${headers} }
`;

const faultsOf = async (text: string): Promise<readonly { readonly line: number; readonly message: string }[]> => {
  try {
    await parsePolicy(text, { file: "p.yaml" });
    return [];
  } catch (error) {
    return (error as PolicyError).errors;
  }
};

it.each(Object.keys(BINDINGS).flatMap((binding) => SENT.map((header) => ({ binding, header }))))(
  "a secret with { $binding } in $header",
  async ({ binding, header }) => {
    const allowed = BINDINGS[binding];
    for (const value of TEXTS) {
      const faults = await faultsOf(textOf(binding, `${header}: "${value}"`));
      if (allowed === undefined || allowed.includes(header.toLowerCase())) expect(faults).toEqual([]);
      else {
        expect(faults).toHaveLength(1);
        expect(faults[0]).toMatchObject({ line: 7 });
        expect(faults[0]?.message).toMatch(
          new RegExp(`^servers\\.far\\.headers puts the secret "k" into ${header}, and secrets\\.k\\.`),
        );
        expect(faults[0]?.message).toMatch(new RegExp(`(?:write|add) header: ${header} there`));
      }
    }
  },
);

it("one header that may have it does not speak for another", async () => {
  const faults = await faultsOf(textOf("header: X-Key", 'X-Key: "${secret:k}", Cookie: "id=${secret:k}"'));
  expect(faults.map(({ message }) => message)).toEqual([
    'servers.far.headers puts the secret "k" into Cookie, and secrets.k.header lets it into x-key alone; write header: Cookie there, or send it as x-key',
  ]);
});

it("what the sentence says to write has no fault", async () => {
  for (const binding of ["header: X-Key", "query: key", 'body: "*"']) {
    const [fault] = await faultsOf(textOf(binding, 'Cookie: "${secret:k}"'));
    const wanted = /(?:write|add) (header: \S+) there/.exec(fault?.message ?? "")?.[1] ?? "";
    const mended = binding.startsWith("header") ? wanted : `${binding}, ${wanted}`;
    expect(await faultsOf(textOf(mended, 'Cookie: "${secret:k}"'))).toEqual([]);
  }
});
