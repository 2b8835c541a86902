// Chooses the scopes to ask for: as few as the server says are needed, and never fewer than were asked for before.

export interface ScopeGround {
  /** Of the challenge; the server's word on this very request. */
  readonly challenged: readonly string[] | undefined;
  /** Of the user. */
  readonly configured: readonly string[] | undefined;
  /** Of the resource's metadata. */
  readonly published: readonly string[] | undefined;
  /** Asked for before, at the same issuer for the same resource. */
  readonly before: readonly string[];
  /** Of the authorization server's metadata. */
  readonly offered: readonly string[] | undefined;
  /** Whether refresh tokens are wanted. */
  readonly refresh: boolean;
}

const OFFLINE = "offline_access";

/** Empty: ask for none, and let the server choose. */
export function planScopes(ground: ScopeGround): readonly string[] {
  const { challenged, configured, published, before, offered, refresh } = ground;
  const base = challenged === undefined ? (configured ?? published ?? []) : [...(configured ?? []), ...challenged];
  const known = offered?.includes(OFFLINE) === true;
  const kept = new Set(
    [...before, ...base].filter((scope) => scope !== OFFLINE || known || configured?.includes(scope)),
  );
  // Alone it would take the place of the server's own choice of scopes.
  if (refresh && known && kept.size > 0) kept.add(OFFLINE);
  return [...kept];
}
