// What each authorization scenario is authorized by: one function of the library, with what the scenario hands out.
import {
  clientCredentials,
  discoverAuthorization,
  enterpriseManaged,
  headlessRedirect,
  oauth,
  workloadIdentity,
} from "@secure-local/mcp/auth/client";

/** The only document the suite's authorization servers know a client by. */
const CLIENT_METADATA_URL = "https://conformance-test.local/client-metadata.json";

/** The authorizer for a scenario; undefined where nobody asks for a token. */
export async function authorizerFor(scenario, { url, context }) {
  if (!scenario.startsWith("auth/")) return undefined;
  const special = SPECIAL[scenario];
  return special === undefined ? user(url) : await special(url, context);
}

const SPECIAL = {
  "auth/pre-registration": async (url, context) =>
    user(url, {
      preRegistered: {
        issuer: context.issuer ?? (await issuerOf(url)),
        clientId: context.client_id,
        clientSecret: context.client_secret,
      },
    }),
  "auth/client-credentials-basic": async (url, context) =>
    clientCredentials({
      serverUrl: url,
      issuer: await issuerOf(url),
      clientId: context.client_id,
      clientSecret: context.client_secret,
    }),
  "auth/client-credentials-jwt": (url, context) =>
    clientCredentials({
      serverUrl: url,
      clientId: context.client_id,
      privateKey: context.private_key_pem,
      algorithm: context.signing_algorithm,
    }),
  "auth/enterprise-managed-authorization": async (url, context) =>
    enterpriseManaged({
      serverUrl: url,
      issuer: await issuerOf(url),
      clientId: context.client_id,
      clientSecret: context.client_secret,
      identityProvider: {
        tokenEndpoint: context.idp_token_endpoint,
        clientId: context.idp_client_id,
        subjectToken: context.idp_id_token,
      },
    }),
  "auth/wif-jwt-bearer": (url, context) =>
    workloadIdentity({ serverUrl: url, clientId: context.client_id, assertion: context.valid_jwt }),
};

function user(url, more = {}) {
  return oauth({
    serverUrl: url,
    clientName: "conformance",
    clientMetadataUrl: CLIENT_METADATA_URL,
    redirect: headlessRedirect(),
    ...more,
  });
}

async function issuerOf(url) {
  const { server } = await discoverAuthorization({ serverUrl: url });
  return server.issuer;
}
