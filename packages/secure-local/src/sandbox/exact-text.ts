// Reads names that the kernel tells as bytes: as text only where that says them exactly.
import { type Buffer, isUtf8 } from "node:buffer";

/**
 * Undefined for what is no UTF-8. Decoded loosely, all that is wrong in a name becomes the same character: it would be judged as
 * another name, which may be there as well.
 */
export function exactText(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}
