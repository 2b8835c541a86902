// Tests the formats that JSON Schema names, in linear time. Nothing loads this file but those who assert formats.

type Test = (text: string) => boolean;

/** The longest text any of these formats has use for: what is longer is refused unread. */
const MAX_LENGTH = 8_192;

function matching(expression: RegExp): Test {
  return (text) => text.length <= MAX_LENGTH && expression.test(text);
}

const daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** RFC 3339 full-date. */
function isDate(text: string): boolean {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (parts === null) return false;
  const [year, month, day] = parts.slice(1).map(Number) as [number, number, number];
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 1 : 0;
  return day >= 1 && day <= (daysInMonth[month - 1] ?? 0) + leap;
}

/** RFC 3339 full-time; a leap second only where it is one in UTC. */
function isTime(text: string): boolean {
  const parts = /^(\d\d):(\d\d):(\d\d)(?:\.\d{1,20})?(?:z|([+-])(\d\d):(\d\d))$/i.exec(text);
  if (parts === null) return false;
  const [hour, minute, second] = parts.slice(1, 4).map(Number) as [number, number, number];
  const [offsetHour, offsetMinute] = [Number(parts[5] ?? 0), Number(parts[6] ?? 0)];
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false;
  if (second < 60) return true;
  const offset = (parts[4] === "-" ? -1 : 1) * (offsetHour * 60 + offsetMinute);
  return (hour * 60 + minute - offset + 2 * 1_440) % 1_440 === 1_439;
}

/** RFC 3339 date-time. */
function isDateTime(text: string): boolean {
  return /^.{10}t/i.test(text) && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

/** ISO 8601 duration, as RFC 3339 appendix A writes it. */
function isDuration(text: string): boolean {
  if (text.length > 100 || !/^P.*\d[YMDHSW]$/.test(text)) return false;
  return /^P(?:\d+W|(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)?(?:T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?)$/.test(
    text,
  );
}

/** RFC 1123 host name, of 253 characters at most. */
function isHostname(text: string): boolean {
  if (text.length > 253) return false;
  return text.split(".").every((label) => label.length <= 63 && /^[a-z\d](?:[a-z\d-]*[a-z\d])?$/i.test(label));
}

function isIpv4(text: string): boolean {
  return (
    /^(?:\d{1,3}\.){3}\d{1,3}$/.test(text) &&
    text.split(".").every((part) => String(Number(part)) === part && Number(part) < 256)
  );
}

/** RFC 4291, without zone. */
function isIpv6(text: string): boolean {
  if (text.length > 45) return false;
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1) ?? "";
  const hasIpv4 = last.includes(".") && !text.endsWith("::");
  if (hasIpv4 && !isIpv4(last)) return false;
  const hex = hasIpv4 ? groups.slice(0, -1) : groups;
  const count = hex.length + (hasIpv4 ? 2 : 0);
  return hex.every((group) => /^[\da-f]{1,4}$/i.test(group)) && (halves.length === 2 ? count < 8 : count === 8);
}

/** RFC 5321 mailbox: a dot-atom or a quoted string at a host name or a bracketed address. */
function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  if (at < 1 || at > 64 || text.length > 320) return false;
  const local = text.slice(0, at);
  const isLocal =
    /^"(?:[^"\\]|\\.)*"$/.test(local) || local.split(".").every((atom) => /^[\w!#$%&'*+/=?^`{|}~-]+$/.test(atom));
  const host = text.slice(at + 1);
  if (!host.startsWith("[")) return isLocal && isHostname(host);
  const address = host.endsWith("]") ? host.slice(1, -1) : "";
  return isLocal && (isIpv4(address) || (/^ipv6:/i.test(address) && isIpv6(address.slice(5))));
}

const isUriText = matching(/^(?:[\w\-.~:/?#[\]@!$&'()*+,;=]|%[\da-f]{2})*$/i);

/** RFC 3986 URI or relative reference. */
function isUriReference(text: string): boolean {
  if (!isUriText(text) || text.indexOf("#") !== text.lastIndexOf("#")) return false;
  const parts = /^([a-z][a-z\d+.-]*:)?(?:\/\/([^/?#]*))?(.*)$/is.exec(text);
  if (parts === null) return false;
  const [, scheme, authority, rest = ""] = parts;
  if (/[[\]]/.test(rest) || (authority !== undefined && !isAuthority(authority))) return false;
  // Without a scheme, a colon in the first segment would read as the end of one.
  return scheme !== undefined || authority !== undefined || !/^[^/?#]*:/.test(rest);
}

function isAuthority(authority: string): boolean {
  const at = authority.lastIndexOf("@");
  if (/[@[\]]/.test(authority.slice(0, Math.max(at, 0)))) return false;
  const host = authority.slice(at + 1);
  const address = /^\[(.*)\](?::\d*)?$/.exec(host)?.[1];
  return address === undefined ? /^[^:[\]]*(?::\d*)?$/.test(host) : isIpv6(address) || /^v[\da-f]+\./i.test(address);
}

function isUri(text: string): boolean {
  return isUriReference(text) && /^[a-z][a-z\d+.-]*:/i.test(text);
}

function isRegex(text: string): boolean {
  try {
    return text.length <= MAX_LENGTH && new RegExp(text, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

/** The formats tested, for the option `formats` of `compileJsonSchema`. Any other format is an annotation. */
export const formats: Readonly<Record<string, Test>> = {
  date: isDate,
  time: isTime,
  "date-time": isDateTime,
  duration: isDuration,
  email: isEmail,
  hostname: isHostname,
  ipv4: isIpv4,
  ipv6: isIpv6,
  uri: isUri,
  "uri-reference": isUriReference,
  uuid: matching(/^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i),
  "json-pointer": matching(/^(?:\/(?:[^~/]|~[01])*)*$/u),
  "relative-json-pointer": matching(/^(?:0|[1-9]\d*)(?:#|(?:\/(?:[^~/]|~[01])*)*)$/u),
  regex: isRegex,
};
