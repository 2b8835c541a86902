// Finds out what an answer is and turns its bytes into text.

export interface BodyType {
  /** Lower case, without parameters; `application/octet-stream` when the server says nothing. */
  readonly mimeType: string;
  readonly charset: string | undefined;
}

/** As far as browsers look for a declaration. */
const LOOKED_AT = 1_024;
const META_CHARSET = /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i;
const MARKS: readonly (readonly [label: string, mark: readonly number[]])[] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];

export function bodyType(header: string | string[] | undefined): BodyType {
  const value = (Array.isArray(header) ? header[0] : header)?.slice(0, 500) ?? "";
  const mimeType = /^\s*([\w.+-]+\/[\w.+-]+)/.exec(value)?.[1]?.toLowerCase() ?? "application/octet-stream";
  return { mimeType, charset: /;[ \t]{0,8}charset[ \t]{0,8}=[ \t]{0,8}"?[ \t]{0,8}([\w.:-]{1,40})/i.exec(value)?.[1] };
}

/** By byte order mark, header, declaration in the page, in this order; else UTF-8, and windows-1252 for what is none. */
export function decodeBody(bytes: Uint8Array, { mimeType, charset }: BodyType): string {
  const marked = MARKS.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte))?.[0];
  const declared = mimeType.includes("html") || mimeType.includes("xml") ? declaredIn(bytes) : undefined;
  for (const label of [marked, charset, declared]) {
    const decoder = label === undefined ? undefined : decoderFor(label);
    if (decoder !== undefined) return decoder.decode(bytes);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return (decoderFor("windows-1252") ?? new TextDecoder()).decode(bytes);
  }
}

function declaredIn(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, LOOKED_AT));
  const label =
    META_CHARSET.exec(start)?.[1] ?? /^<\?xml[^>]{0,100}encoding\s*=\s*["']([\w.:-]{1,40})/.exec(start)?.[1];
  // What could be read byte by byte is not UTF-16, whatever it says.
  return label !== undefined && /^utf-?16/i.test(label) ? "utf-8" : label;
}

function decoderFor(label: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}
