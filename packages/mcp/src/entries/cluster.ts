// The public surface for many processes over stores of one's own.
export { shareOver } from "../cluster/member.js";
export { fleetOf, type ShareKey, type ShareOptions } from "../cluster/relay-link.js";
export {
  FairLimits,
  memoryStores,
  BEAT_MS,
  type Bus,
  type BusListener,
  type Directory,
  type Fingerprint,
  type Fleet,
  type HeldLock,
  LEASE_MS,
  LETTERS,
  type LimitRule,
  type LimitStore,
  type LockStore,
  type MarkStore,
  RECORD_TEXT,
  RECORDS,
  type RecordStore,
  SESSION_TEXT,
  type SessionStore,
  type SharedSession,
  type SharedStores,
  type StreamStore,
  type WindowRule,
} from "../cluster/stores.js";
export { type ContractCase, storesContract } from "../cluster/contract.js";
export type { KeptStream, Share, StreamBounds, StoredEvent, StreamPiece } from "../http/server/exchange.js";
export type { TaskRecord, TaskStore } from "./types.js";
