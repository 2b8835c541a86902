// Gets tokens that a user grants: the authorization code flow of OAuth 2.1.
import type { Grant, GrantTask, Obtained } from "./grant.js";
import { authorizationRequest, readAnswer } from "./authorization-request.js";
import type { Credentials, StoredClient } from "./credential-store.js";
import type { ClientIdentity } from "./client-identity.js";
import type { OpenRedirect, Redirect } from "./redirect.js";
import { identifyClient, type Registration } from "./registration.js";
import { requestTokens } from "./token-endpoint.js";

export interface AuthorizationCodeOptions extends Registration {
  readonly redirect: Redirect;
  /** Told of the URL the user is about to be shown. */
  readonly onAuthorize?: ((url: string) => void) | undefined;
}

export class AuthorizationCode implements Grant {
  readonly asksUser = true;
  readonly issuers: readonly string[];
  readonly #options: AuthorizationCodeOptions;

  constructor(options: AuthorizationCodeOptions) {
    this.#options = options;
    this.issuers = options.preRegistered === undefined ? [] : [options.preRegistered.issuer];
  }

  refresher({ issuer, client }: Credentials): ClientIdentity | undefined {
    const { preRegistered } = this.#options;
    if (preRegistered === undefined || client === undefined) return client;
    const same = preRegistered.issuer === issuer && preRegistered.clientId === client.clientId;
    return same ? { ...client, clientSecret: preRegistered.clientSecret } : undefined;
  }

  async obtain(task: GrantTask): Promise<Obtained> {
    const redirect = await this.#options.redirect.open(task.kept?.client?.redirectUri);
    try {
      return await this.#through(redirect, task);
    } finally {
      await redirect.close();
    }
  }

  async #through(redirect: OpenRedirect, task: GrantTask): Promise<Obtained> {
    const { http, place, scopes, kept, dpop, now } = task;
    const { server, resource } = place;
    const known = { redirectUri: redirect.uri, kept: kept?.client, now: now() };
    const client = await identifyClient(http, server, { ...this.#options, ...known });
    const ask = { server, clientId: client.clientId, redirectUri: redirect.uri, resource, scopes };
    const request = await authorizationRequest(ask);
    this.#options.onAuthorize?.(request.url);
    const code = readAnswer(await redirect.authorize(request.url), ask, request);
    const tokens = await requestTokens(http, {
      endpoint: server.tokenEndpoint,
      issuer: server.issuer,
      client,
      form: {
        grant_type: "authorization_code",
        code,
        redirect_uri: redirect.uri,
        code_verifier: request.verifier,
        resource,
      },
      dpop,
      now: now(),
    });
    return { tokens, client: this.#toKeep(client) };
  }

  /** What the user configured stays where they keep it. */
  #toKeep(client: StoredClient): StoredClient {
    if (this.#options.preRegistered === undefined) return client;
    return { clientId: client.clientId, method: client.method };
  }
}
