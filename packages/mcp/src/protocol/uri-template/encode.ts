// Percent-encoding as URI templates want it.

const BEYOND_UNRESERVED = /[!'()*]/g;
const LONE_SURROGATE = /[\ud800-\udfff]/gu;
const NOT_IN_URI = /(?:[^A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]|%(?![0-9A-Fa-f]{2}))+/gu;

/** Encodes everything but unreserved characters. */
export function encodeValue(text: string): string {
  return encodeURIComponent(text.replace(LONE_SURROGATE, "\uFFFD")).replace(BEYOND_UNRESERVED, hex);
}

/** Keeps reserved characters and what is encoded already. */
export function encodeReserved(text: string): string {
  return text.replace(NOT_IN_URI, encodeValue);
}

function hex(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
