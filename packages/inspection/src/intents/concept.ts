// What a concept is: one thing a sentence can say, with all the ways the vocabulary knows to say it.
export interface Concept {
  /** Any form of a word; words that belong together are joined by a plus sign. */
  readonly words?: string;
  /** As the rules write them. */
  readonly phrases?: readonly string[];
}

/** What an order is after. */
export type SourceName = "file" | "credential" | "environment" | "talk" | "prompt" | "person" | "work";

/** What is to be done, and where things are to go. */
export type ActionName = "read" | "give" | "send" | "argument" | "address" | "stranger" | "run" | "destroy" | "persist";

/** How it is hidden. */
export type HidingName = "untold" | "quiet" | "lie" | "omitted";

/** What is set aside, and what takes its place. */
export type TakeoverName = "rules" | "void" | "role" | "defy" | "tool" | "change";

/** How a sentence is said. */
export type PressureName =
  | "trigger"
  | "authority"
  | "pressed"
  | "reason"
  | "imperative"
  | "addressed"
  | "guarded"
  | "configured"
  | "owner"
  | "wanted"
  | "whole";

export type ConceptName = SourceName | ActionName | HidingName | TakeoverName | PressureName;
