// The public surface for tests: a server connected to a raw peer in memory.
export { connectInMemory } from "../serve/connect-in-memory.js";
export type { MemoryPeer, MemoryPeerOptions, WireMessage } from "./types.js";
