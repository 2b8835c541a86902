// The public surface of the gateway: servers mounted into one server, on every runtime.
export type { OpenUpstream, Sharing } from "../gateway/connections.js";
export { Gateway, type Mounted, type MountOptions, Mounts } from "../gateway/gateway.js";
export type { BeforeCall, BeforeRead, RelayedCall, RelayedRead } from "../gateway/mount.js";
export { innerUri, mountedName, unwrapUri, wrapUri } from "../gateway/uris.js";
export type { Admit, RelayedItem, RelayedQuestion, RelayedWords } from "../gateway/relay.js";
export type { MountState, RelayFailure } from "../gateway/told.js";
export type { RelayedRequest } from "./types.js";
export { EVERYTHING_ASKABLE, itemFault, type Offer, readOffer } from "../gateway/offer.js";
export type { ListHints } from "./types.js";
