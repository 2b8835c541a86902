// Writes a client's capabilities as one revision knows them.
import type { ClientCapabilities } from "../protocol/capabilities.js";
import type { Revision } from "../protocol/revisions/revision.js";

/** The capabilities a client may declare in the revision. Unknown members stay: the object is open. */
export function projectClientCapabilities(revision: Revision, capabilities: ClientCapabilities): ClientCapabilities {
  const { roots, sampling, elicitation, tasks, ...rest } = capabilities;
  const stateless = revision.era === "stateless";
  const copy: ClientCapabilities = { ...rest };
  if (roots !== undefined) copy.roots = stateless ? withoutListChanged(roots) : roots;
  if (sampling !== undefined) copy.sampling = revision.sampling.tools ? sampling : {};
  if (elicitation !== undefined && revision.elicitation.form) {
    copy.elicitation = revision.elicitation.url ? elicitation : {};
  }
  if (tasks !== undefined && revision.rules.tasks === "requested") copy.tasks = tasks;
  return copy;
}

function withoutListChanged(roots: object): object {
  const { listChanged: _, ...rest } = roots as { listChanged?: boolean };
  return rest;
}
