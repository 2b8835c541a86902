// Texts that parsers of JSON are known to read differently, made from a seed, and two readers that differ as widely as programs do.

const NAMES = [
  "name",
  "n\\u0061me",
  "arguments",
  "__proto__",
  "constructor",
  "toJSON",
  "id",
  "method",
  "Name",
  "name\\u0000",
  "\\u006eame",
  "",
];
const VALUES = [
  '"safe"',
  '"evil"',
  "1",
  "1.0",
  "-0",
  "0",
  "1e2",
  "1E400",
  "-1e400",
  "12345678901234567890",
  "9007199254740993",
  "0.1000000000000000055",
  "1e-400",
  "123456789012345678901234567890.5",
  "true",
  "null",
  "[]",
  "{}",
  "[1,2.50]",
  '{"a":1.0}',
  '"\\ud800"',
  '"\\ud83d\\ude00"',
  '"\\u0000"',
  '"1.0, -0, 1e400"',
  "NaN",
  "Infinity",
  "0x10",
  "01",
  ".5",
  "5.",
  "+1",
  "'x'",
  '"a\tb"',
  "undefined",
  "1_000",
];
const AROUND = [
  ["{", "}"],
  ['{"params":{', "}}"],
  ["[{", "}]"],
  ['{"a":[{"b":{', "}}]}"],
  ["\ufeff{", "}"],
  [" \n{", "}\t"],
  ["{", ",}"],
  ["{", "}x"],
  ["/**/{", "}"],
  ["{", "}{}"],
];

/** A sequence of numbers below one that is the same in every run (mulberry32). */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** So many texts; half of them have the same key twice, in one spelling or two. */
export function texts(count) {
  const random = randomOf(44);
  const any = (list) => list[Math.floor(random() * list.length)];
  return Array.from({ length: count }, (_, n) => {
    const first = any(NAMES);
    const second = n % 2 === 0 ? any([first, "name", "n\\u0061me"]) : any(NAMES);
    // Most are sound but for what two readers may differ in.
    const [open, close] = n % 3 === 0 ? any(AROUND) : AROUND[n % 4];
    return `${open}"${first}":${any(VALUES)},"${second}":${any(VALUES)}${close}`;
  });
}

/** Of two keys alike one keeps the first, the other the last; numbers are their digits. */
export const readers = [(text) => new Reader(text, true).whole(), (text) => new Reader(text, false).whole()];

class Reader {
  #text;
  #first;
  #at = 0;

  constructor(text, first) {
    this.#text = text;
    this.#first = first;
  }

  whole() {
    const value = this.#value();
    this.#blank();
    if (this.#at !== this.#text.length) throw new SyntaxError(`more behind ${this.#at}`);
    return value;
  }

  #value() {
    this.#blank();
    const character = this.#text[this.#at];
    if (character === "{") return this.#object();
    if (character === "[") return this.#list();
    const [token] = /^(?:"(?:[^"\\]|\\.)*"|-?[\d.eE+-]+|true|false|null)/.exec(this.#text.slice(this.#at)) ?? [];
    if (token === undefined) throw new SyntaxError(`no value at ${this.#at}`);
    this.#at += token.length;
    return /^[-\d]/.test(token) ? { number: token } : JSON.parse(token);
  }

  #object() {
    const members = new Map();
    for (this.#at++; !this.#over("}"); this.#take(",", "}")) {
      this.#blank();
      const key = this.#value();
      this.#take(":");
      const value = this.#value();
      if (!this.#first || !members.has(key)) members.set(key, value);
    }
    return members;
  }

  #list() {
    const items = [];
    for (this.#at++; !this.#over("]"); this.#take(",", "]")) items.push(this.#value());
    return items;
  }

  #over(close) {
    this.#blank();
    if (this.#text[this.#at] !== close) return false;
    this.#at++;
    return true;
  }

  /** The sign, or the end that its caller sees next. */
  #take(sign, end) {
    this.#blank();
    if (this.#text[this.#at] === sign) this.#at++;
    else if (end === undefined || this.#text[this.#at] !== end) throw new SyntaxError(`no ${sign} at ${this.#at}`);
  }

  #blank() {
    while (/[ \t\r\n]/.test(this.#text[this.#at] ?? "")) this.#at++;
  }
}
