// What is known of a server once it is settled how to speak to it.
import type { ServerCapabilities } from "../protocol/capabilities.js";
import type { Implementation } from "../protocol/implementation.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { Conversation } from "./conversation.js";

/** What a server says of itself. */
export interface ServerFacts {
  readonly server: Implementation;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
  /** Revisions it says it speaks, where it says so. */
  readonly offered: readonly string[];
}

export interface Established extends ServerFacts {
  readonly conversation: Conversation;
  readonly revision: Revision;
}
