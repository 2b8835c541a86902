// Describes the sections `network` and `filesystem`, which plugins and commands have as well.
import type { RangeMatcher } from "./address-range.js";
import type { HostMatcher } from "./host-matcher.js";
import type { PathMatcher } from "./path-matcher.js";
import type { Rule } from "./rule.js";

/** Section `network`. */
export interface NetworkPolicy {
  /** `offline: true` (ours) refuses every host and address, whatever else is allowed. */
  readonly offline: Rule | undefined;
  /** `allowed_endpoints`: `host` (`*.example.com` for every host below it), `ports` (443 when absent), `description`. */
  readonly allowedEndpoints: HostMatcher;
  /** `denied_endpoints` (ours): the same shape, every port when `ports` is absent; stronger than every permission. */
  readonly deniedEndpoints: HostMatcher;
  /** `allowed_ranges`: addresses that may be reached at any port that is not blocked. */
  readonly allowedRanges: RangeMatcher;
  /** `blocked_ports`: never reached, whatever else is allowed. */
  readonly blockedPorts: ReadonlyMap<number, Rule>;
  /** `allow_dns: false` refuses every name; addresses may still be reached. Default true: allowed names are looked up. */
  readonly dnsRefused: Rule | undefined;
  /** `dns_allowlist`: when present, only these names are looked up. A name here that is no endpoint may lead into `allowed_ranges`. */
  readonly dnsNames: HostMatcher | undefined;
}

/** Section `filesystem`. Path values expand a leading `~` and `${NAME}`. */
export interface FilesystemPolicy {
  /** `allowed_paths`: absolute patterns with `*`, `**` and `?`; what fits may be read, listed, written and deleted. */
  readonly allowed: PathMatcher;
  /** `readable_paths` (ours): what fits may be read and listed. */
  readonly readable: PathMatcher;
  /** `denied_paths`: stronger; compared without regard to case; a folder is denied with all that lies in it. */
  readonly denied: PathMatcher;
  /** `denied_write_paths` (ours): never written or deleted; compared like denials, folders with all that lies in them. */
  readonly unwritable: PathMatcher;
  /** `read_only: true` (ours) refuses every write and deletion. */
  readonly readOnly: Rule | undefined;
}
