// Describes what a server offers, as far as an inspection looks at it: the texts that models and people read.

/** An item as the server sent it. */
export type Json = Readonly<Record<string, unknown>>;

export interface Offering {
  /** What the server is called here. */
  readonly server: string;
  readonly instructions?: string | undefined;
  /** Members as in the results of the list methods; strings of any other member are read too. */
  readonly tools: readonly Json[];
  readonly prompts?: readonly Json[];
  readonly resources?: readonly Json[];
  readonly resourceTemplates?: readonly Json[];
}

/** What else the same model is offered: names that must not be taken, and texts that must not be copied. */
export interface Peer {
  readonly server: string;
  readonly tools: readonly { readonly name: string; readonly description?: string | undefined }[];
}
