// What is checked when something is registered: names, icons, `_meta` keys.
import { describe, expect, it } from "vitest";
import { iconsFault } from "../../src/protocol/capabilities.js";
import { isReservedMetaKey, metaKeyFault } from "../../src/protocol/meta.js";
import { revision } from "../../src/protocol/revisions/all.js";
import type { Revision } from "../../src/protocol/revisions/revision.js";
import { toolNameFault } from "../../src/protocol/features/tools.js";

describe("tool names", () => {
  it("may hold letters, digits and three signs", () => {
    expect(toolNameFault("get_weather.v2-Beta")).toBeUndefined();
    expect(toolNameFault("a".repeat(128))).toBeUndefined();
  });

  it.each([
    ["", /empty/],
    ["a".repeat(129), /128 characters.* has 129/],
    ["two words", /character 4 of "two words" is " "/],
    ["a/b", /character 2/],
    ["é", /character 1/],
    ["😀", /is "😀"/],
    [7, /a string/],
  ])("refuses %s", (name, why) => {
    expect(toolNameFault(name)).toMatch(why);
  });
});

describe("icons", () => {
  it("may come from https or be part of the message", () => {
    const src = "data:image/png;base64,AAAA";
    expect(iconsFault(undefined)).toBeUndefined();
    expect(
      iconsFault([
        { src },
        { src: "https://a.example/i.svg", mimeType: "image/svg+xml", sizes: ["48x48", "any"], theme: "dark" },
      ]),
    ).toBeUndefined();
  });

  it.each<[unknown, RegExp]>([
    ["x", /must be an array/],
    [[1], /icons\[0\] must be an object/],
    [[{}], /src must be an https: URL .* not nothing/],
    [[{ src: "javascript:alert(1)" }], /not "javascript:alert\(1\)"/],
    [[{ src: "http://a.example/i.png" }], /https/],
    [[{ src: "file:///etc/passwd" }], /https/],
    [[{ src: "ftp://a.example/i.png" }], /https/],
    [[{ src: " https://a.example" }], /https/],
    [[{ src: "https://" }], /https/],
    [[{ src: "data:text/html,<script>" }], /data: URI of an image/],
    [[{ src: "https://a.example/i.png" }, { src: 1 }], /icons\[1\]\.src/],
    [[{ src: "https://a.example/i.png", mimeType: "text/html" }], /mimeType must be an image type/],
    [[{ src: "https://a.example/i.png", sizes: "48x48" }], /sizes must be an array/],
    [[{ src: "https://a.example/i.png", sizes: ["48"] }], /sizes/],
    [[{ src: "https://a.example/i.png", sizes: ["0x48"] }], /sizes/],
    [[{ src: "https://a.example/i.png", theme: "blue" }], /theme must be "light" or "dark"/],
  ])("refuses %j", (icons, why) => {
    expect(iconsFault(icons)).toMatch(why);
  });
});

describe("_meta keys", () => {
  it.each([
    "a",
    "a_b.c-d",
    "com.example/a",
    "com.example/",
    "x/1",
    "traceparent",
    "io.modelcontextprotocol/related-task",
  ])("may be %s", (key) => {
    expect(metaKeyFault(key)).toBeUndefined();
  });

  it.each(["", "-a", "a-", "a b", "/a", "1com/a", "com-/a", "com..example/a", "com.example/a/b", "com.example/-"])(
    "may not be %j",
    (key) => {
      expect(metaKeyFault(key)).toMatch(/_meta key/);
    },
  );

  it("are reserved differently in 2025-06-18 and later", () => {
    const reserved = (date: string) =>
      [
        "mcp.dev/a",
        "tools.mcp.com/a",
        "dev.mcp/a",
        "io.modelcontextprotocol/a",
        "com.example.mcp/a",
        "mcp/a",
        "progressToken",
        "own",
      ].filter((key) => isReservedMetaKey(key, revision(date) as Revision));
    expect(reserved("2025-06-18")).toEqual(["mcp.dev/a", "tools.mcp.com/a", "progressToken"]);
    expect(reserved("2025-11-25")).toEqual([
      "tools.mcp.com/a",
      "dev.mcp/a",
      "io.modelcontextprotocol/a",
      "progressToken",
    ]);
  });
});
