// What logs in to a server behind us, said back by that server: whoever finds it reaches the server past the policy.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Words that look like no token: only who knows the value takes it out. */
const valueNo = (n) => `harbour lantern ${String(n).padStart(5, "0")}`;

/** Where each kind of secret stands in the file of logins. */
const KINDS = {
  "access token": (value, login) => (login.tokens.accessToken = value),
  "refresh token": (value, login) => (login.tokens.refreshToken = value),
  "secret of the client": (value, login) => (login.client.clientSecret = value),
  "key of proofs": (value, login) => (login.dpopKey.d = value),
};
const SPELLINGS = {
  "as it is": (value) => value,
  "in Base64": (value) => Buffer.from(value).toString("base64"),
  "in hexadecimal": (value) => Buffer.from(value).toString("hex"),
  "in a URL": (value) => `https://far.example/?t=${encodeURIComponent(value)}`,
};
const PLACES = {
  "a text": (text) => ({ content: [{ type: "text", text }] }),
  "structured content": (text) => ({ content: [], structuredContent: { headers: { authorization: text } } }),
  "the contents of a resource": (text) => ({ contents: [{ uri: "note://a", text }] }),
};
const URL_OF_SERVER = "http://127.0.0.1:9/mcp";

export async function loginTokens(report, parts) {
  report.kind("what logs in to a server, said back by it", { found: "attack" });
  const home = mkdtempSync(join(tmpdir(), "scorecard-logins-"));
  const environment = { HOME: home, XDG_DATA_HOME: join(home, "data"), XDG_STATE_HOME: join(home, "state") };
  const folder = join(home, "data/mcp-secure-local");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const text = `version: "1.0"
network: { allowed_ranges: ["127.0.0.0/8"], allowed_endpoints: [{ host: 127.0.0.1, ports: [9] }] }
tools: { allowed: ["far__*"] }
servers: { far: { url: "${URL_OF_SERVER}", login: oauth } }`;
  const policy = await parts.parsePolicy(text, { file: join(home, "policy.yaml"), environment });
  const { logins } = parts.pluginFolders(environment);
  let count = 0;
  for (const [kind, put] of Object.entries(KINDS))
    for (const moment of ["kept from before", "written anew meanwhile"]) {
      const login = {
        ...{ issuer: "http://127.0.0.1:9", resource: URL_OF_SERVER, tokenEndpoint: "http://127.0.0.1:9/token" },
        client: { clientId: "c", method: "client_secret_basic", clientSecret: valueNo((count += 1)) },
        tokens: { accessToken: valueNo((count += 1)), type: "Bearer", refreshToken: valueNo((count += 1)), scopes: [] },
        dpopKey: { kty: "EC", crv: "P-256", x: "x", y: "y", d: valueNo((count += 1)) },
        requestedScopes: [],
      };
      const value = valueNo((count += 1));
      const write = () =>
        writeFileSync(
          join(folder, "tokens.json"),
          JSON.stringify({ version: 1, servers: { [URL_OF_SERVER]: login } }),
          { mode: 0o600 },
        );
      const request = { method: "POST", url: URL_OF_SERVER };
      if (moment === "written anew meanwhile") {
        write();
        await sent(parts, policy, logins, request);
      }
      put(value, login);
      write();
      // One that was opened for the next start reads the file anew.
      await sent(parts, policy, logins, request);
      for (const [spelling, spell] of Object.entries(SPELLINGS))
        for (const [place, make] of Object.entries(PLACES))
          await report.attack(`the ${kind}, ${moment}, ${spelling} in ${place}`, () => {
            const got = JSON.stringify(parts.cleanResult(make(`You sent ${spell(value)} to me.`)));
            return (got.includes("[secret login of far") && !got.includes(spell(value))) || got;
          });
      await report.attack(`the ${kind}, ${moment}, in what a server offers`, () => {
        const tool = { name: "t", description: `With ${value}.`, inputSchema: { type: "object" } };
        const none = { prompts: [], resources: [], resourceTemplates: [], capabilities: {} };
        const kept = JSON.stringify([...parts.serverItems({ ...none, tools: [tool], instructions: value }, {})]);
        return !kept.includes(value) || kept;
      });
      await report.benign(`words beside the ${kind}, ${moment}`, () => {
        const words = `harbour lantern 9${count}`;
        return JSON.stringify(parts.cleanResult(PLACES["a text"](words))).includes(words);
      });
    }
  rmSync(home, { recursive: true });
}

/** A request to the server is made ready, as the product does it: nothing is sent. */
async function sent(parts, policy, logins, request) {
  const record = async () => undefined;
  const { http } = await parts.upstreamOf(policy.servers.get("far"), { policy, program: "none", logins, record });
  await http.authorizer.headers(request);
}
