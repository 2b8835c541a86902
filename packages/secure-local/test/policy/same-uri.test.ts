// Which URIs are taken for one and the same where a denial is looked for, and which are not: each with who reads them.
import { describe, expect, it } from "vitest";
import { NameMatcher } from "../../src/policy/host-matcher.js";
import { mayBeSame, namedUri, readings, type UriReader } from "../../src/policy/same-uri.js";

function isNamed(pattern: string, uri: string, reader: UriReader): boolean | "too many" {
  const rule = { text: pattern };
  const named = namedUri(
    new NameMatcher([
      { pattern: "other://x", rule: { text: "" } },
      { pattern, rule },
    ]),
    uri,
    reader,
  );
  if (typeof named !== "object") return named ?? false;
  expect(named).toBe(rule);
  return true;
}

const [BOTH, SERVER, NOBODY] = [["ours", "server"], ["server"], []] as const;

it.each([
  // Scheme, host and path.
  ["z://r/a", "z://r/a", BOTH],
  ["z://r/a", "Z://R/A", BOTH],
  ["z://r/a", "z://r/b", NOBODY],
  ["z://r/a", "z://r/ab", NOBODY],
  ["z://r/ab", "z://r/a", NOBODY],
  ["z://r/a", "y://r/a", NOBODY],
  ["z://r/a", "z://s/a", NOBODY],
  ["z://r/a", "z://r/x/a", NOBODY],
  ["z://r/a", " z://r/a\n", BOTH],
  ["z://r/a", "z://r/\ta", BOTH],
  ["z://r/a b", "z://r/a%20b", BOTH],
  ["z://r/a b", "z://r/ab", NOBODY],
  ["z://r/é", "z://r/e\u0301", BOTH],
  ["z://r/é", "z://r/%C3%A9", BOTH],
  ["z://r/é", "z://r/%E9", NOBODY],
  // What cannot be decoded spoils nothing beside it.
  ["z://r/a%ff", "z://r/%61%ff", BOTH],
  ["z://r/a%", "z://r/%61%", BOTH],
  // Encoded more than once: what we read ourselves is decoded once.
  ["z://r/a", "z://r/%61", BOTH],
  ["z://r/a", "z://r/%2561", SERVER],
  ["z://r/a", "z://r/%25252561", SERVER],
  ["z://r/a", "z://r/%2525252561", SERVER],
  ["z://r/a", "z://r/%252525252561", NOBODY],
  // Slashes and dots.
  ["z://r/a/b", "z://r//a\\b", BOTH],
  ["z://r/a", "z://r/a/", BOTH],
  ["z://r/a/", "z://r/a", BOTH],
  ["z://r/a", "z://r/./a/.", BOTH],
  ["z://r/a", "z://r/b/../a", BOTH],
  ["z://r/a", "z://r/../../a", BOTH],
  ["z://r/a", "z://s/../r/a", NOBODY],
  ["z:///a", "z:///../a", BOTH],
  ["z:/a", "z://a", BOTH],
  ["z:/a", "z:/x/../a", BOTH],
  ["z://r/x/a", "z://r/x/y/../a", BOTH],
  ["file:///a", "file:///x/../a", BOTH],
  ["z://r/a", "z://r/a/..", NOBODY],
  ["z://r", "z://r/a/..", BOTH],
  // The host.
  ["https://h/a", "https://h:443/a", BOTH],
  ["https://h/a", "https://h:/a", BOTH],
  ["https://h/a", "https://h:80/a", NOBODY],
  ["https://bücher.example/a", "https://xn--bcher-kva.example/a", BOTH],
  ["https://127.0.0.1/a", "https://0x7f.1/a", BOTH],
  ["https://h/a", "https://u:p@h/a", BOTH],
  ["https://u@h/a", "https://u@h:443/a", BOTH],
  ["https://u@h/a", "https://h/a", NOBODY],
  ["https://u@h/a", "https://v@h/a", NOBODY],
  ["https://h/a", "https://h.example/a@h/a", NOBODY],
  ["file:///a", "file://localhost/a", BOTH],
  ["file:///a", "FILE://LocalHost/a", BOTH],
  ["file:///a", "file://local/a", NOBODY],
  ["z:///a", "z://localhost/a", NOBODY],
  ["file:///a?b=1&c=2*", "file://localhost/a?c=2&b=1", BOTH],
  ["z:///a?b=1&c=2*", "z://localhost/a?c=2&b=1", NOBODY],
  // Fragments.
  ["z://r/a", "z://r/a#x", BOTH],
  ["z://r/a", "z://r/a#?x=1", BOTH],
  ["z://r/a#x", "z://r/a", BOTH],
  ["z://r/a", "z://r/a%23x", SERVER],
  // Members: those that a server does not know it passes over; here all of them count, in whatever order.
  ["z://r/a?x=1&y=2", "z://r/a?y=2&x=1", BOTH],
  ["z://r/a?x=1&y=2", "z://r/a?&y=2&&%78=1&", BOTH],
  ["z://r/a?x=1", "z://r/a?x=2", NOBODY],
  ["z://r/a?x=1", "z://r/a", NOBODY],
  ["z://r/a", "z://r/a?", BOTH],
  ["z://r/a", "z://r/a?x=1", SERVER],
  ["z://r/a?x=1", "z://r/a?x=1&y=2", SERVER],
  // Beginnings.
  ["z://r/a*", "z://r/abc", BOTH],
  ["z://r/a*", "z://R/%61bc", BOTH],
  ["z://r/a*", "z://r/b/../abc", BOTH],
  ["z://r/a*", "z://u@r/abc", BOTH],
  ["z://r/a*", "z://r/b", NOBODY],
  ["z://r/a/*", "z://r/a/", BOTH],
  ["z://r/a/*", "z://r/a/b/..", BOTH],
  ["z://r/a/*", "z://R/a/", BOTH],
  ["z://r/a/*", "z://R/a/.", BOTH],
  ["z://r/a/*", "z://R/a/b/..", BOTH],
  ["z://r/a/*", "z://R/a", NOBODY],
  ["z://r/a/*", "z://r/a", NOBODY],
  ["z://r/a/*", "z://r/ab", NOBODY],
  ["https://h:443/*", "https://h/x", BOTH],
  ["https://h*", "https://h.example/x", BOTH],
  ["https://127*", "HTTPS://127.0.0.1/x", BOTH],
  ["z://r/a?*", "z://r/b/../a", NOBODY],
  ["z://r/a?x=1*", "z://r/a?%78=12", BOTH],
  ["z://r/a?x=1*", "z://r/b/../a?x=12", BOTH],
  ["z://r/a?x=1*", "z://r/a?y=2&x=12", BOTH],
  ["z://r/a?x=é*", "z://r/a?y=2&x=%C3%A9", BOTH],
  ["z://r/a?x=1*", "z://r/a?y=2&y2=x=1", NOBODY],
  ["z://r/a?x=1&y=2#p*", "z://r/a?y=2&x=1#part", BOTH],
  // Git: at HEAD with the ref and without; a path that is denied is denied at every ref.
  ["git:///r", "git:///r?ref=HEAD", BOTH],
  ["git:///r", "git:///r?ref=main", BOTH],
  ["git:///r?ref=HEAD", "git:///r", BOTH],
  ["git:///r?ref=HEAD", "git:///r?ref=", BOTH],
  ["git:///r?ref=HEAD", "git:///r?ref=main", NOBODY],
  ["git:///r?ref=HEAD&path=a", "git:///r?path=a", BOTH],
  ["git:///r?ref=HEAD&path=a*", "git:///r?path=a/b", BOTH],
  ["git:///r?path=a&ref=HEAD", "git:///r?path=a", BOTH],
  ["git:///r?path=a", "git:///r?path=a&ref=main", BOTH],
  ["git:///r?path=a", "git:///r?path=a//", BOTH],
  ["git:///r?path=a", "git:///r?path=ab", NOBODY],
  ["git:///r?path=a b", "git:///r?path=a%20b&ref=x", BOTH],
  ["git:///r?path=a%20b/c", "git:///r?ref=x&path=a b/c", BOTH],
  ["git:///r?ref=x", "git:///r/?ref=x", BOTH],
  ["z:///r", "z:///r?ref=HEAD", SERVER],
] as const)("%j and %j are the same for %j", (pattern, uri, readers) => {
  expect(BOTH.filter((reader) => isNamed(pattern, uri, reader) === true)).toEqual(readers);
});

describe("a URI with members", () => {
  const members = (count: number): string =>
    Array.from({ length: count }, (_, at) => `${at}=`)
      .reverse()
      .join("&");

  it("is read in every order of four, and refused with more", () => {
    for (const reader of BOTH) {
      expect(isNamed("z://r/a?0=&1=&2=&3=*", `z://r/a?${members(4)}`, reader)).toBe(true);
      expect(isNamed("z://r/a?3=*", `z://r/a?${members(5)}`, reader)).toBe("too many");
      expect(namedUri(new NameMatcher([]), `z://r/a?${members(5)}`, reader)).toBeUndefined();
    }
  });
});

it("its readings are the URI as it is, and without what may be left out or decoded", () => {
  expect(readings("z://r/%61/../B?x#y")).toEqual([
    "z://r/%61/../B?x#y",
    "z://r/%61/../B?x",
    "z://r/%61/../B",
    "z://r/B",
    "z://r/a/../B",
  ]);
  expect(readings("z://r/a")).toEqual(["z://r/a"]);
  expect(readings("a b")).toEqual(["a b"]);
});

it("a server answers with what was asked for, or with less of its members", () => {
  expect(mayBeSame("z://r/a?x=1", "z://u@r/a?y=2&x=1#z")).toBe(true);
  expect(mayBeSame("z://r/a?x=1", "z://r/a?y=2&x=1")).toBe(true);
  expect(mayBeSame("z://r/a?x=1&y=2", "z://r/a?x=1")).toBe(false);
  expect(mayBeSame("z://r/a", "z://r/b")).toBe(false);
});
