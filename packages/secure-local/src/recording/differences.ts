// Says where two answers differ, beyond what differs each time: times and random ids.

const TIME = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g;
const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/gi;
/** Enough to see what is wrong. */
const MOST = 10;
const SHOWN = 80;

/** Sentences with the path of each difference; the first ones, if there are many. */
export function differences(expected: unknown, actual: unknown): string[] {
  const found: string[] = [];
  compare({ path: "", expected, actual }, found);
  return found;
}

interface Pair {
  readonly path: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

function compare({ path, expected, actual }: Pair, found: string[]): void {
  if (found.length >= MOST) return;
  if (isObject(expected) && isObject(actual) && Array.isArray(expected) === Array.isArray(actual)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const inner = Array.isArray(expected) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
      compare({ path: inner, expected: expected[key], actual: actual[key] }, found);
    }
  } else if (steady(expected) !== steady(actual))
    found.push(`${path}: ${text(expected)} was recorded, ${text(actual)} came`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function steady(value: unknown): unknown {
  if (typeof value === "string") return value.replace(TIME, "<time>").replace(UUID, "<uuid>");
  return isObject(value) ? JSON.stringify(value) : value;
}

function text(value: unknown): string {
  const json = JSON.stringify(value) ?? "nothing";
  return json.length > SHOWN ? `${json.slice(0, SHOWN)}…` : json;
}
