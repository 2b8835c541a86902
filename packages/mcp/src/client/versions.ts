// Decides which revisions a client may speak, and which of them both sides do.
import { LocalError } from "../jsonrpc/local-error.js";
import { revision as revisionOf, REVISIONS } from "../protocol/revisions/all.js";
import type { Revision } from "../protocol/revisions/revision.js";

/** The revisions a client may speak, newest first. */
export class Versions {
  readonly allowed: readonly Revision[];

  /** Throws UNKNOWN_REVISION, or INCOMPATIBLE when the pin is of another era than the one asked for. */
  constructor(options: { readonly revision?: string; readonly era?: "auto" | "handshake" | "stateless" }) {
    const { revision, era = "auto" } = options;
    const known = revision === undefined ? REVISIONS : [pinned(revision)];
    this.allowed = known.filter((each) => era === "auto" || each.era === era);
    if (this.allowed.length > 0) return;
    throw new LocalError(
      "INCOMPATIBLE",
      `Revision ${revision} is not of the ${era} era: leave one of the two options out.`,
    );
  }

  /** The newest one of an era. */
  newest(era: Revision["era"]): Revision | undefined {
    return this.allowed.find((each) => each.era === era);
  }

  /** The newest one of an era that is among `dates`. */
  mutual(era: Revision["era"], dates: readonly string[]): Revision | undefined {
    return this.allowed.find((each) => each.era === era && dates.includes(each.date));
  }

  /** The one with this date, if it may be spoken. */
  find(date: unknown): Revision | undefined {
    return this.allowed.find((each) => each.date === date);
  }

  /** INCOMPATIBLE, naming both sides' lists. */
  incompatible(theirs: readonly string[]): LocalError {
    const ours = this.allowed.map(({ date }) => date).join(", ");
    const spoken = theirs.length === 0 ? "none it names" : theirs.join(", ");
    const text = `There is no common revision: the server speaks ${spoken}; this client may speak ${ours}. Update the older side, or drop the pin.`;
    return new LocalError("INCOMPATIBLE", text);
  }
}

function pinned(date: string): Revision {
  const found = revisionOf(date);
  if (found !== undefined) return found;
  const known = REVISIONS.map((each) => each.date).join(", ");
  throw new LocalError("UNKNOWN_REVISION", `There is no revision "${date}". This client speaks ${known}.`);
}
