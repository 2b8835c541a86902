// Says what bytes are by their first ones: a file's name can say anything.

const IMAGES: readonly (readonly [mimeType: string, offset: number, start: readonly number[]])[] = [
  ["image/png", 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/jpeg", 0, [0xff, 0xd8, 0xff]],
  ["image/gif", 0, [0x47, 0x49, 0x46, 0x38]],
  ["image/webp", 8, [0x57, 0x45, 0x42, 0x50]],
];

/** The MIME type of an image that models can look at; undefined for anything else. */
export function imageType(bytes: Uint8Array): string | undefined {
  return IMAGES.find(([, offset, start]) => start.every((byte, index) => bytes[offset + index] === byte))?.[0];
}
