// Tells the audit log and the operator what of each plugin is withheld, once for each different answer.
import type { AuditEvent } from "../audit/audit-event.js";
import type { PluginReview } from "./plugin-reviews.js";

export class Quarantines {
  readonly #told = new Map<string, string>();

  /** The records of what is withheld now and was not told yet, and lines for the operator. */
  news(reviews: readonly PluginReview[]): { readonly events: AuditEvent[]; readonly lines: readonly string[] } {
    const fresh = reviews.filter((review) => {
      const text = JSON.stringify(recordOf(review).detail);
      if (this.#told.get(review.plugin) === text) return false;
      this.#told.set(review.plugin, text);
      return review.withheld.size > 0 || review.findings.length > 0;
    });
    return { events: fresh.map(recordOf), lines: fresh.flatMap(linesOf) };
  }
}

/** One line a plugin. */
function linesOf({ plugin, withheld }: PluginReview): string[] {
  const [first, ...more] = withheld;
  if (first === undefined) return [];
  const rest = more.length === 0 ? "" : `; and ${more.length} more, see mcp-secure-local plugins list`;
  return [`plugin ${plugin}: ${first[0]} is withheld: ${first[1]}${rest}`];
}

function recordOf({ plugin, withheld, findings, changes }: PluginReview): AuditEvent {
  return {
    kind: "plugins.quarantined",
    tool: plugin,
    outcome: withheld.size > 0 ? "denied" : "reported",
    detail: {
      withheld: Object.fromEntries(withheld),
      findings: findings.map(({ id, tier, kind, item, at, excerpt }) => ({
        id,
        tier,
        item: `${kind} ${item}`,
        at,
        excerpt,
      })),
      changes,
    },
  };
}
