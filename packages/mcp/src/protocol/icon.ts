// Describes an icon of a tool, prompt, resource, template or program (since 2025-11-25).

/** A picture a client may show. */
export interface Icon {
  /** An `https:` or `data:` URI. */
  src: string;
  mimeType?: string;
  /** Each `WIDTHxHEIGHT` in pixels, or `any`. */
  sizes?: readonly string[];
  theme?: "light" | "dark";
}
