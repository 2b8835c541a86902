// The public surface for tests: a server connected to a raw peer in memory.
export {
  connectInMemory,
  type MemoryPeer,
  type MemoryPeerOptions,
  type WireMessage,
} from "../serve/connect-in-memory.js";
