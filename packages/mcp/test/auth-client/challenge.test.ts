// What WWW-Authenticate headers say, however servers spell them.
import fc from "fast-check";
import { expect, it } from "vitest";
import { threadMilliseconds } from "../support/thread-time.js";
import { readChallenge } from "../../src/auth/client/token-authorizer.js";

const read = (header: string | undefined): unknown => {
  const { schemes, ...rest } = readChallenge(header);
  return [[...schemes].join(" "), JSON.parse(JSON.stringify(rest))];
};

it.each<[string | undefined, string, object]>([
  [undefined, "", {}],
  ["", "", {}],
  ["Bearer", "bearer", {}],
  ['bearer REALM=x , Resource_Metadata="https://a/b?c=d, e"', "bearer", { resourceMetadata: "https://a/b?c=d, e" }],
  ['Bearer scope="a b",error=insufficient_scope', "bearer", { scopes: ["a", "b"], error: "insufficient_scope" }],
  ['DPoP algs="ES256", error="use_dpop_nonce"', "dpop", { error: "use_dpop_nonce" }],
  ['Negotiate, Bearer scope="a"', "bearer", { scopes: ["a"] }],
  ["Negotiate, Bearer", "bearer", {}],
  ['Negotiate abc/+==, Basic realm="x", Bearer error="e"', "bearer", { error: "e" }],
  ['Basic error="theirs", Bearer scope="ours"', "bearer", { scopes: ["ours"] }],
  ['Bearer scope="first", DPoP scope="second", algs="ES256"', "bearer dpop", { scopes: ["first"] }],
  [String.raw`Bearer error="a\"b\\c"`, "bearer", { error: String.raw`a"b\c` }],
  ['Bearer scope=""', "bearer", {}],
  ['Bearer scope="a\u00e9"', "bearer", {}],
  ['Bearer resource_metadata = "https://a/"', "bearer", { resourceMetadata: "https://a/" }],
  ['Bearer error="unterminated', "bearer", { error: "" }],
  ['"Bearer"', "", {}],
  ["resource_metadata=https://a", "", {}],
])("%j", (header, schemes, rest) => {
  expect(read(header)).toEqual([schemes, rest]);
});

it("reads any text, long ones too, without harm", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), (text) => readChallenge(`Bearer ${text}`).schemes instanceof Set),
  );
  for (const part of ['a="', "a=", "a ", '\\"', ",", "=", "Bearer "]) {
    const from = threadMilliseconds();
    expect(readChallenge(`Bearer ${part.repeat(100_000)}`).schemes).toBeInstanceOf(Set);
    expect(threadMilliseconds() - from).toBeLessThan(2_000);
  }
});
