// Parses the text of an IP address into its bytes: 4 for IPv4, 16 for IPv6.

const DECIMAL = /^(?:0|[1-9][0-9]{0,2})$/;
const GROUP = /^[0-9a-f]{1,4}$/i;

/**
 * Returns the bytes of `text`, or undefined when it is not an address in its usual form. Strict on purpose: octal, hexadecimal
 * and short IPv4 forms, brackets and zone names are not addresses here (the URL parser has normalised what people may write).
 */
export function parseIp(text: string): readonly number[] | undefined {
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): readonly number[] | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => DECIMAL.test(part))) return undefined;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

function parseIpv6(text: string): readonly number[] | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half, index) => parseGroups(half, index === halves.length - 1));
  if (head === undefined) return undefined;
  if (halves.length === 1) return head.length === 16 ? head : undefined;
  if (tail === undefined || head.length + tail.length > 14) return undefined;
  return [...head, ...new Array<number>(16 - head.length - tail.length).fill(0), ...tail];
}

/** The bytes of colon-separated groups; the last may be a dotted IPv4 address when it ends the whole text. */
function parseGroups(text: string, ends: boolean): readonly number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  for (const [index, group] of groups.entries()) {
    if (ends && index === groups.length - 1 && group.includes(".")) {
      const dotted = parseIpv4(group);
      if (dotted === undefined) return undefined;
      bytes.push(...dotted);
    } else {
      if (!GROUP.test(group)) return undefined;
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    }
  }
  return bytes;
}
