// Fetches the metadata of an authorization server from where RFC 8414 and OpenID Connect put it, and checks whose it is.
import { fetchJson, type FetchOptions } from "./fetch-json.js";

/**
 * The metadata of `issuer`, in the order RFC 8414 §3.1, RFC 8414 §5 and OpenID Connect Discovery §4. Rejects when none of
 * the places has a document that names exactly this issuer: endpoints of somebody else would receive our users' secrets.
 */
export async function fetchIssuerMetadata(issuer: string, options: FetchOptions): Promise<Record<string, unknown>> {
  const init: RequestInit = { headers: { accept: "application/json" } };
  let last: unknown;
  for (const url of metadataUrls(issuer)) {
    try {
      const document = await fetchJson(url, init, options);
      if (document["issuer"] === issuer) return document;
      last = new Error(`${url} does not name ${issuer} as its issuer`);
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const inserted = ["oauth-authorization-server", "openid-configuration"].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  );
  return path === "" ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}
