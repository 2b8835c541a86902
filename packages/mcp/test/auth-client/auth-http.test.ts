// What the requests for metadata and tokens go to, and how much of an answer is read.
import { expect, it } from "vitest";
import { AuthHttp, Reach } from "../../src/auth/client/auth-http.js";

const MOST = 64 * 1024;
const reach = new Reach(["https://mcp.example/mcp"]);

it.each([
  ["https://as.example/token#x", "it has a fragment"],
  ["https://user@as.example/token", "it names a user"],
  ["http://as.example/token", "only https may be used"],
  ["https://10.0.0.7/token", "an address in place of a name is not trusted"],
])("%s is not asked: %s", (url, why) => {
  expect(() => reach.check(url, "The token endpoint")).toThrow(
    `The token endpoint is ${JSON.stringify(url)}, and ${why}`,
  );
});

it("an answer is read up to its bound, and one that is longer is no answer", async () => {
  const sized = (size: number): AuthHttp =>
    new AuthHttp(async () => new Response(`{"a":"${"x".repeat(size - 8)}"}`), reach);
  expect((await sized(MOST).get("https://as.example/a", "The metadata")).json).toMatchObject({ a: expect.any(String) });
  await expect(sized(MOST + 1).get("https://as.example/a", "The metadata")).rejects.toMatchObject({
    code: "AUTH_DISCOVERY",
    message: expect.stringContaining(`answered with more than ${MOST} bytes`),
  });
});
