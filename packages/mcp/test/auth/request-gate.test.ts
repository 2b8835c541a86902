// Shows the gate between an HTTP endpoint and an authenticator: a principal or a refusal, and what else is known of the sender.
import { expect, it } from "vitest";
import { requestGate, type RequestHead } from "../../src/auth/resource-metadata.js";
import { staticTokenAuthenticator } from "../../src/auth/token-authenticator.js";

const TOKEN = "kQ3vT8wY1zB6nM4xR9pL2c";
const gate = requestGate(staticTokenAuthenticator([{ token: TOKEN, principal: "ada", scopes: ["read"] }]));

function head(authorization?: string, query = ""): RequestHead {
  return {
    method: "POST",
    path: "/mcp",
    query,
    header: (name) => (name === "authorization" ? authorization : undefined),
  };
}

it("gives the principal, and remembers how this very request was admitted", async () => {
  const [mine, other] = [head(`Bearer ${TOKEN}`), head(`Bearer ${TOKEN}`)];
  expect(await gate.authenticate(mine)).toBe("ada");
  expect(gate.admissionOf(mine)).toMatchObject({ identity: { principal: "ada", scopes: ["read"] } });
  expect(gate.admissionOf(other)).toBeUndefined();
});

it("gives a refusal ready to be written", async () => {
  const nobody = head();
  expect(await gate.authenticate(nobody)).toEqual({
    status: 401,
    headers: { "cache-control": "no-store", "www-authenticate": "Bearer" },
    text: 'Send an access token in the header "Authorization: Bearer <token>"',
  });
  expect(gate.admissionOf(nobody)).toBeUndefined();
});

it("sees a token in the query", async () => {
  const outcome = await gate.authenticate(head(`Bearer ${TOKEN}`, `a=b&access_token=${TOKEN}`));
  expect(outcome).toMatchObject({ status: 400 });
  expect(JSON.stringify(outcome)).not.toContain(TOKEN);
});

it("lets faults of its own through, for the endpoint to answer with 500", async () => {
  const broken = requestGate({ authenticate: () => Promise.reject(new Error("out of order")) });
  await expect(broken.authenticate(head())).rejects.toThrow("out of order");
});
