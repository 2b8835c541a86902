// A web in memory for the authorization flow: an MCP server, its authorization server, and whoever attacks them. No socket.

export const SERVER = "https://mcp.example/mcp";
export const ISSUER = "https://as.example";
/** What may never be seen by anybody but the issuer. */
const CREDENTIALS = /code=|code_verifier=|client_secret=|refresh_token=|operator-secret|Bearer |Basic /;

/** `prm`, `metadata`: what the documents say beside or instead. `answers`: replies by URL. `callback`: what comes back. */
export function virtualWeb({ prm = {}, metadata = {}, answers = {}, callback = {}, token = {} } = {}) {
  const issuer = ISSUER;
  const requests = [];
  const opened = [];
  const documents = {
    "https://mcp.example/.well-known/oauth-protected-resource/mcp": {
      resource: SERVER,
      authorization_servers: [issuer],
      ...prm,
    },
    [`${issuer}/.well-known/oauth-authorization-server`]: {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      registration_endpoint: `${issuer}/register`,
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
      authorization_response_iss_parameter_supported: true,
      ...metadata,
    },
    [`${issuer}/register`]: { client_id: "client-1", redirect_uris: ["http://localhost:3000/callback"] },
    [`${issuer}/token`]: { access_token: "the-token", token_type: "Bearer", expires_in: 3600, ...token },
  };
  const fetch = async (url, init = {}) => {
    const sent = `${url} ${JSON.stringify([...new Headers(init.headers)])} ${init.body ?? ""}`;
    requests.push({ url: String(url), sent, redirect: init.redirect });
    const own = answers[url];
    if (own !== undefined) return typeof own === "function" ? own(init) : own.clone();
    const document = documents[url];
    if (document === undefined) return new Response("{}", { status: 404 });
    return Response.json(document, { status: String(url).endsWith("/register") ? 201 : 200 });
  };
  /** The user's browser: shown a page, it comes back with a code unless told otherwise. */
  const browse = async (url) => {
    opened.push(url);
    const asked = new URL(url);
    const back = new URL("http://localhost:3000/callback");
    const fields = { code: "the-code", state: asked.searchParams.get("state"), iss: issuer, ...callback };
    for (const [name, value] of Object.entries(fields)) if (value !== null) back.searchParams.set(name, value);
    return back.href;
  };
  /** Origins other than the issuer's that were sent something secret, and URLs asked that are no https pages of the internet. */
  const leaks = () =>
    requests.filter(({ url, sent }) => CREDENTIALS.test(sent) && new URL(url).origin !== issuer).map(({ url }) => url);
  const strays = () => requests.filter(({ url }) => !/^https:\/\/[\w.-]+\.example\//.test(url)).map(({ url }) => url);
  return { fetch, browse, requests, opened, leaks, strays };
}

/** Goes for a token as a transport does after a 401; resolves with the error it ends with, or the headers it then sends. */
export async function authorize({ oauth, redirectTo }, web, { challenge, ...options } = {}) {
  const redirect = redirectTo("http://localhost:3000/callback", web.browse);
  const authorizer = oauth({ serverUrl: SERVER, clientName: "score", redirect, fetch: web.fetch, ...options });
  const refused = {
    method: "POST",
    url: SERVER,
    status: 401,
    sent: {},
    header: (name) => (name === "www-authenticate" ? challenge : undefined),
  };
  try {
    await authorizer.challenged(refused);
    return { headers: await authorizer.headers({ method: "POST", url: SERVER }), authorizer };
  } catch (error) {
    return { error, authorizer };
  }
}

/**
 * Attacks on the flow, by name: each has to end without a token and without a credential at anybody but the issuer. `judge`
 * gets the web and the error and says `true` of an end as it has to be.
 */
export function flowAttacks(report, parts, judge) {
  return (name, world, options) =>
    report.attack(name, async () => {
      const web = virtualWeb(world);
      const { error } = await authorize(parts, web, options);
      for (const url of web.leaks()) report.sideEffect(`${name}: a credential was sent to ${url}`);
      const said = judge({ name, web, error });
      return error === undefined ? "a token was got" : said;
    });
}
