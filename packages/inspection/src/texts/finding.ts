// Describes rules of the inspection, what they find, and how serious it is.

import type { Phrase } from "./phrase.js";

/** `hard`: not to be offered. `soft`: to be looked at by a person. */
export type Severity = "hard" | "soft";

/** What kind of thing it was found in. */
export type ItemKind = "server" | "tool" | "prompt" | "resource" | "template";

/** One reason to distrust one thing. Equal offerings give equal findings, in the same order. */
export interface Finding {
  /** Names the rule for ever, as in `override.instructions`: for reports, and for people who accept it. */
  readonly id: string;
  readonly tier: Severity;
  readonly kind: ItemKind;
  /** Name of the tool or prompt, URI of the resource, or name of the server. */
  readonly item: string;
  /** Where in it: a JSON Pointer (RFC 6901), as in `/inputSchema/properties/note/description`. */
  readonly at: string;
  /** One sentence about what the text does. */
  readonly about: string;
  /** The words it is about, at most 120 characters, hidden characters written as `\u{…}`. */
  readonly excerpt: string;
}

/** What a check finds in one text, before it is known where the text stands. */
export interface TextFinding {
  readonly id: string;
  readonly tier: Severity;
  readonly about: string;
  readonly excerpt: string;
}

const LONGEST_EXCERPT = 120;

/** The words of a finding, on one line and with nothing in them that acts on its reader. */
export function excerptOf(text: string): string {
  const cut = text.slice(0, 4 * LONGEST_EXCERPT);
  // Written here: as a constant it would make whoever loads this look up Unicode's tables.
  const unseen = /[^\n\t\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]/gu;
  const shown = cut.replace(unseen, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
  const line = shown.replace(/\s+/g, " ").trim();
  return line.length > LONGEST_EXCERPT ? `${line.slice(0, LONGEST_EXCERPT)}…` : line;
}

// Describes what a server offers, as far as an inspection looks at it: the texts that models and people read.

/** An item as the server sent it. */
export type RawItem = Readonly<Record<string, unknown>>;

export interface Offering {
  /** What the server is called here. */
  readonly server: string;
  /** Outside, its names stand behind its own: who reads one sees whose it is, unless letters of other alphabets stand in for Latin. */
  readonly prefixed?: boolean;
  readonly instructions?: string | undefined;
  /** Members as in the results of the list methods; strings of any other member are read too. */
  readonly tools: readonly RawItem[];
  readonly prompts?: readonly RawItem[];
  readonly resources?: readonly RawItem[];
  readonly resourceTemplates?: readonly RawItem[];
}

/** What else the same model is offered: names that must not be taken, and texts that must not be copied. */
export interface Peer {
  readonly server: string;
  readonly tools: readonly { readonly name: string; readonly description?: string | undefined }[];
}

export interface InspectionRule {
  /** Family and name, for ever. */
  readonly id: string;
  readonly tier: Severity;
  /** One sentence about what such a text does. */
  readonly about: string;
  /** Any of them. */
  readonly phrases: readonly Phrase[];
  /** One of these in the same sentence or one beside it. */
  readonly near?: readonly Phrase[];
  /** One of these in the same sentence. */
  readonly with?: readonly Phrase[];
  /** None of these in the same sentence. */
  readonly unless?: readonly Phrase[];
  /** Counts where the phrase is quoted or talked about too. */
  readonly evenMentioned?: boolean;
}
