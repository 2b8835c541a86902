// URI templates (RFC 6570, levels 1 to 4): expanding them, and the way back from a URI to its variables.
import { expandTemplate, type TemplateValues } from "./uri-template/expand.js";
import { Matcher } from "./uri-template/match.js";
import { type Expression, parseTemplate } from "./uri-template/parse.js";
import type { TemplateMatch } from "./uri-template/values.js";

/** A parsed template. Make it once: parsing is the expensive part. */
export class UriTemplate {
  readonly text: string;
  /** Names of the variables, each once, in order of appearance. */
  readonly variables: readonly string[];
  readonly #parts: readonly (string | Expression)[];
  readonly #matcher: Matcher;

  /** Throws a LocalError with code `INVALID_TEMPLATE` that says where the text stops making sense. */
  constructor(text: string) {
    this.text = text;
    this.#parts = parseTemplate(text);
    const names = this.#parts.flatMap((part) =>
      typeof part === "string" ? [] : part.variables.map(({ name }) => name),
    );
    this.variables = [...new Set(names)];
    this.#matcher = new Matcher(this.#parts);
  }

  /**
   * The URI for these values. Undefined, null and empty lists count as absent. Throws a LocalError with code `INVALID_VALUE` for a
   * list or a map of which the template takes a prefix.
   */
  expand(values: TemplateValues): string {
    return expandTemplate(this.#parts, values);
  }

  /**
   * The variables a URI was made from, percent-decoded, or undefined when the template cannot have made it.
   * An exploded variable (`{x*}`) is always a list, any other always a string; absent optional ones have no entry.
   * A variable without an operator is never empty here, though an empty value makes such a URI: no resource is meant by a name left out.
   * Earlier variables take as much as they can. Query and path parameters may come in any order, unknown ones do not match.
   * Takes time proportional to the URI's length; URIs of more than 8,192 characters never match.
   */
  match(uri: string): TemplateMatch | undefined {
    return this.#matcher.match(uri);
  }
}
