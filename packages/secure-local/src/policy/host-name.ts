// Decides what is a host name, an address or a host pattern, and writes each in one form only.
import { isIP } from "node:net";

/** Longest name the DNS carries. */
const MAX_HOST = 253;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** A last label that some resolver reads as part of an IPv4 address: `1`, `0x7f`. */
const NUMBER = /^(?:\d+|0x[0-9a-f]*)$/;

/** The host in lower case without brackets, or undefined when it is neither a plain host name nor an address. */
export function plainHost(text: string): string | undefined {
  const host = (text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text).toLowerCase();
  if (isIP(host) !== 0) return host.includes("%") ? undefined : canonicalAddress(host);
  if (host.length === 0 || host.length > MAX_HOST) return undefined;
  const labels = host.split(".");
  if (NUMBER.test(labels[labels.length - 1] ?? "")) return undefined;
  return labels.every((label) => LABEL.test(label)) ? host : undefined;
}

/** The pattern in its one form, or a sentence about what is wrong with it. */
export function hostPattern(text: string): { readonly pattern: string } | { readonly wrong: string } {
  if (text.startsWith("*.")) {
    const base = plainHost(text.slice(2));
    if (base === undefined || isIP(base) !== 0)
      return { wrong: `"${text}" is not a host pattern; write *. before a host name` };
    if (!base.includes("."))
      return {
        wrong: `"${text}" would name every host under "${base}"; give at least two labels, as in *.example.com`,
      };
    return { pattern: `*.${base}` };
  }
  const host = plainHost(text);
  if (host !== undefined) return { pattern: host };
  if (text.includes("://")) return { wrong: `"${text}" is a URL; write its host name only` };
  if (text.includes("*"))
    return {
      wrong: `"${text}" has * in a wrong place; only *.example.com is understood, for every host below example.com`,
    };
  if (/[^\u0000-\u007f]/.test(text)) return { wrong: `"${text}" is not ASCII; write the host name in its xn-- form` };
  return { wrong: `"${text}" is not a host name or an IP address` };
}

/** IPv6 has many spellings of one address; the URL parser knows the canonical one. */
function canonicalAddress(address: string): string {
  return address.includes(":") ? new URL(`http://[${address}]/`).hostname.slice(1, -1) : address;
}
