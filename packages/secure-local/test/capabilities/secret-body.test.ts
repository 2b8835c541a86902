// Secrets in bodies: where a value is put, what it cannot break out of, and what is left as it is.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bodyKind, MAX_BODY_BYTES, SecretExchange, type SecretMember } from "../../src/capabilities/secret-exchange.js";

const MARK = `placeholder_${"0a".repeat(20)}`;
const JSON_TYPE = { "content-type": "application/json" };
const FORM = { "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8" };
const TEXT = { "content-type": "text/plain" };
const NASTY = 'q"u\\o&t=e+%41,\r\n{}"},';

function exchange(body: string | undefined, text = NASTY, more: Partial<SecretMember> = {}): SecretExchange {
  const places = { header: undefined, query: undefined, body };
  return new SecretExchange([{ name: "key", placeholder: MARK, value: { text }, spellings: [], ...places, ...more }]);
}

function filled(body: string, headers: Record<string, string>, by = exchange("*")): string {
  return by.body(Buffer.from(body), headers).toString();
}

describe("a secret in JSON", () => {
  it("is escaped, and nothing else of the body changes", () => {
    const body = `{ "a" : 1e400, "n":12345678901234567890,"ü":"\\u0041 ${MARK}!", "l":["${MARK}"], "a":null }\n`;
    const wanted = body.replaceAll(MARK, JSON.stringify(NASTY).slice(1, -1));
    expect(filled(body, JSON_TYPE)).toBe(wanted);
  });

  it("stays inside of its text, whatever it is", () => {
    const ascii = fc.string({ unit: fc.constantFrom(...'"\\{}[]:,&=%+\n\r\t ab') });
    fc.assert(
      fc.property(ascii, fc.json(), (value, other) => {
        const body = `{"other":${other},"text":"<${MARK}>"}`;
        const read = JSON.parse(filled(body, JSON_TYPE, exchange("*", value))) as Record<string, unknown>;
        expect(read).toEqual({ ...(JSON.parse(body) as object), text: `<${value}>` });
      }),
      { numRuns: 300 },
    );
  });

  it("goes into the field it is for, at any depth, and into no other", () => {
    const body = {
      client_secret: MARK,
      text: MARK,
      [MARK]: "name",
      list: [{ client_secret: `Bearer ${MARK}` }, { client_secret: [MARK], x: MARK }],
    };
    const read = JSON.parse(filled(JSON.stringify(body), JSON_TYPE, exchange("client_secret"))) as object;
    const list = [{ client_secret: `Bearer ${NASTY}` }, body.list[1]];
    expect(read).toEqual({ ...body, client_secret: NASTY, list });
    const escaped = `{"\\u0063lient_secret" :\n "${MARK}", "x\\"client_secret":"${MARK}"}`;
    expect(filled(escaped, JSON_TYPE, exchange("client_secret", "value"))).toBe(
      `{"\\u0063lient_secret" :\n "value", "x\\"client_secret":"${MARK}"}`,
    );
  });

  it.each([`{"a":"${MARK}"`, MARK, `{"a":${MARK}}`, `{'a':'${MARK}'}`, `\ufeff"${MARK}"`])(
    "that is none is not sent: %s",
    (body) => expect(() => filled(body, JSON_TYPE)).toThrow(/The secret "key" is not sent: the body is no JSON/),
  );
});

describe("a secret in a form", () => {
  it("is percent-encoded and adds no field", () => {
    const read = new URLSearchParams(filled(`grant=x&client_secret=${MARK}&y=a+b`, FORM, exchange("client_secret")));
    expect([...read]).toEqual([
      ["grant", "x"],
      ["client_secret", NASTY],
      ["y", "a b"],
    ]);
    const other = `client%5Fsecret=${MARK}&secret=${MARK}&=${MARK}&${MARK}&%=${MARK}`;
    expect(filled(other, FORM, exchange("client_secret", "value"))).toBe(other.replace(MARK, "value"));
    expect(filled(other, FORM, exchange("*", "value"))).toBe(other.replaceAll(MARK, "value"));
  });
});

describe("a secret in plain text", () => {
  it("is put in as it is where any field will do, and not where one is named", () => {
    expect(filled(`token ${MARK}`, TEXT)).toBe(`token ${NASTY}`);
    expect(filled(`client_secret=${MARK}`, TEXT, exchange("client_secret"))).toBe(`client_secret=${MARK}`);
  });

  it("leaves bytes that are no UTF-8", () => {
    const bytes = Buffer.concat([Buffer.from([0xff, 0x00, 0xc3]), Buffer.from(MARK), Buffer.from("é")]);
    const wanted = Buffer.concat([Buffer.from([0xff, 0x00, 0xc3]), Buffer.from("value"), Buffer.from("é")]);
    expect(exchange("*", "value").body(bytes, TEXT)).toEqual(wanted);
  });
});

describe("a body", () => {
  it.each([
    [{}],
    [{ "content-type": "multipart/form-data; boundary=x" }],
    [{ "content-type": "application/octet-stream" }],
    [{ "content-type": "application/json; charset=utf-16" }],
    [{ "content-type": "text/html" }],
    [{ "content-type": "text/plain, application/json" }],
    [{ "content-type": "text/plain", "Content-Type": "application/json" }],
    [{ "content-type": "application/json", "content-encoding": "gzip" }],
  ])("of another kind is left as it is: %j", (headers: Record<string, string>) => {
    expect(bodyKind(headers)).toBeUndefined();
    expect(filled(`"${MARK}"`, headers)).toBe(`"${MARK}"`);
  });

  it("is left as it is where the policy names no field for the secret", () => {
    expect(filled(`"${MARK}"`, JSON_TYPE, exchange(undefined))).toBe(`"${MARK}"`);
    expect(exchange(undefined).fills(JSON_TYPE)).toBe(false);
    expect(exchange("*").fills(JSON_TYPE)).toBe(true);
  });

  it("that is too large is left as it is, and refused with a placeholder in it", () => {
    const large = "x".repeat(MAX_BODY_BYTES + 1);
    expect(filled(large, TEXT)).toBe(large);
    expect(() => filled(`${MARK}${large}`, TEXT)).toThrow(/the body is larger than 262144 bytes/);
    const fits = "x".repeat(MAX_BODY_BYTES - MARK.length);
    expect(filled(MARK + fits, TEXT, exchange("*", "value"))).toBe(`value${fits}`);
  });

  it("takes a secret sixteen times, and not seventeen", () => {
    expect(filled(`${MARK} `.repeat(16), TEXT, exchange("*", "value"))).toBe("value ".repeat(16));
    expect(() => filled(JSON.stringify(Array(17).fill(MARK)), JSON_TYPE)).toThrow(/in more than 16 places/);
    expect(() => exchange(undefined).headers({ "x-key": MARK.repeat(17) })).toThrow(/in more than 16 places/);
  });

  it("is not sent with a secret that has no value", () => {
    const broken = exchange("*", "", { value: { problem: "it has no value" } });
    expect(() => filled(MARK, TEXT, broken)).toThrow(/it has no value/);
  });

  it("is the only place of a secret that names a field, unless it names others", () => {
    expect(exchange("*").headers({ "x-key": MARK })["x-key"]).toBe(MARK);
    expect(exchange("*", "value", { header: "x-key" }).headers({ "x-key": MARK })["x-key"]).toBe("value");
    expect(() => exchange("*", NASTY, { header: "x-key" }).headers({ "x-key": MARK })).toThrow(/no header can carry/);
  });
});
