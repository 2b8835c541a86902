// Tells the audit log what of each plugin is withheld, once for each different answer.
import type { AuditEvent } from "../audit/audit-event.js";
import type { PluginReview } from "./plugin-reviews.js";

export class Quarantines {
  readonly #told = new Map<string, string>();

  /** The records of what is withheld now and was not told yet. */
  news(reviews: readonly PluginReview[]): AuditEvent[] {
    return reviews.flatMap((review) => {
      const event = recordOf(review);
      const text = JSON.stringify(event.detail);
      if (this.#told.get(review.plugin) === text) return [];
      this.#told.set(review.plugin, text);
      return review.withheld.size === 0 && review.findings.length === 0 ? [] : [event];
    });
  }
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
