// The clients the servers are shown to: both generations of the official SDK, in every mode and every revision they have.
import type { OfficialClient, Target } from "./official-client.js";
import { connectV1 } from "./v1-client.js";
import { connectV2 } from "./v2-client.js";

export interface ClientKind {
  readonly name: string;
  /** The revision that must come out of the negotiation. */
  readonly revision: string;
  connect(target: Target): Promise<OfficialClient>;
}

const HANDSHAKE = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
const STATELESS = "2026-07-28";

const older = HANDSHAKE.slice(1);

export const CLIENTS: readonly ClientKind[] = [
  { name: "v1", revision: HANDSHAKE[0], connect: (target) => connectV1(target, HANDSHAKE[0]) },
  ...older.map((revision) => ({
    name: `v1 asking for ${revision}`,
    revision,
    connect: (target: Target) => connectV1(target, revision),
  })),
  { name: "v2", revision: HANDSHAKE[0], connect: (target) => connectV2(target, {}) },
  ...older.map((revision) => ({
    name: `v2 asking for ${revision}`,
    revision,
    connect: (target: Target) => connectV2(target, { revisions: [revision] }),
  })),
  { name: "v2 auto", revision: STATELESS, connect: (target) => connectV2(target, { mode: "auto" }) },
  { name: "v2 pinned", revision: STATELESS, connect: (target) => connectV2(target, { mode: { pin: STATELESS } }) },
];
