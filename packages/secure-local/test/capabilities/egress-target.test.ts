// What may be reached at all, before anybody asks the policy: plain web addresses of a bearable length.
import { describe, expect, it } from "vitest";
import { parseTarget } from "../../src/capabilities/egress-target.js";

const LONGEST = 8_192;
const urlOf = (length: number): string => "https://a.test/".padEnd(length, "x");

describe("a target", () => {
  it("may be as long as 8,192 characters and no longer", () => {
    expect(parseTarget(urlOf(LONGEST)).url.href).toHaveLength(LONGEST);
    expect(() => parseTarget(urlOf(LONGEST + 1))).toThrow("is too long");
  });

  it.each([
    ["http://a.test", { scheme: "http", host: "a.test", port: 80, literal: false }],
    ["https://a.test", { scheme: "https", host: "a.test", port: 443, literal: false }],
    ["https://a.test:80", { scheme: "https", port: 80 }],
    ["http://[::1]:8080/", { host: "::1", port: 8_080, literal: true }],
    ["http://127.1", { host: "127.0.0.1", literal: true }],
    ["http://A.Test", { host: "a.test" }],
    ["http://a.test.:8080/x.?y.", { host: "a.test", port: 8_080, literal: false }],
    ["http://127.0.0.1./", { host: "127.0.0.1", literal: true }],
  ])("%s is read as the platform reads it", (text, parts) => expect(parseTarget(text)).toMatchObject(parts));

  it("has one form, whether the dot of the root ends its name or not", () => {
    for (const rest of ["", "/", ":8080/a./b", "/?q=a.test.", "/#x."])
      expect(parseTarget(`https://a.test.${rest}`)).toEqual(parseTarget(`https://a.test${rest}`));
    expect(parseTarget("/next", new URL("https://a.test./from")).url.href).toBe("https://a.test/next");
  });

  it.each([
    ["a.test", "has no scheme"],
    ["https://", "cannot be parsed"],
    ["ftp://a.test", "must begin with https:// or http://"],
    ["file:///etc/passwd", "must begin with"],
    ["https://me@a.test", "must not contain a user name or password"],
    ["https://:word@a.test", "must not contain a user name or password"],
    ["https://a.test../", "has a host that is neither"],
    ["https://-a.test", "has a host that is neither"],
    ["https://a_b.test", "has a host that is neither"],
    ["https://a..test", "has a host that is neither"],
  ])("%s is none: it %s", (text, why) => expect(() => parseTarget(text)).toThrow(why));
});
