// Shows which scopes an operation needs, what a missing one answers, and how a scope implies others.
import { describe, expect, it } from "vitest";
import { hasScopes, requireScopes, scopeRules } from "../../src/auth/scopes.js";

const identity = (...scopes: string[]): { principal: string; scopes: string[] } => ({ principal: "ada", scopes });
const hierarchy = { admin: ["write", "audit"], write: ["read"], read: ["list"], loop: ["knot"], knot: ["loop"] };

describe("scopes", () => {
  it.each<[string[], string[], boolean]>([
    [[], [], true],
    [["read"], ["read"], true],
    [["read"], ["read", "write"], false],
    [["readonly"], ["read"], false],
    [["READ"], ["read"], false],
    [["write"], ["read"], true],
    [["admin"], ["list", "audit"], true],
    [["read"], ["write"], false],
    [["loop"], ["knot"], true],
    [["loop"], ["read"], false],
    [["constructor"], ["read"], false],
  ])("%j allow %j: %s", (granted, needed, expected) => {
    expect(hasScopes(granted, needed, hierarchy)).toBe(expected);
  });

  it("imply nothing without a hierarchy", () => {
    expect(hasScopes(["admin"], ["read"])).toBe(false);
  });

  it("that are missing are asked for together with those already there", () => {
    const metadataUrl = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
    expect(requireScopes(identity("read"), ["read", "write"], { metadataUrl })).toEqual({
      ok: false,
      status: 403,
      error: "insufficient_scope",
      message: "This needs the scopes read write: ask the authorization server for a token that has them",
      challenge:
        'Bearer error="insufficient_scope", error_description="This needs the scopes read write: ask the authorization ' +
        `server for a token that has them", scope="read write", resource_metadata="${metadataUrl}"`,
    });
    expect(requireScopes(identity("read", "write"), ["read", "write"])).toBeUndefined();
  });
});

describe("rules by method and tool", () => {
  const rules = scopeRules(
    {
      default: ["mcp"],
      methods: { ping: [], "tools/call": ["tools"], "resources/read": ["files"] },
      tools: { delete_file: ["files", "delete"] },
    },
    { hierarchy: { all: ["mcp", "tools", "files", "delete"] } },
  );

  it.each<[string, string | undefined, string[]]>([
    ["ping", undefined, []],
    ["tools/list", undefined, ["mcp"]],
    ["tools/call", "echo", ["tools"]],
    ["tools/call", "delete_file", ["tools", "files", "delete"]],
    ["tools/call", "constructor", ["tools"]],
    ["prompts/get", "delete_file", ["mcp"]],
    ["resources/read", undefined, ["files"]],
    ["toString", undefined, ["mcp"]],
  ])("%s %s needs %j", (method, tool, needed) => {
    expect(rules.needed(method, tool)).toEqual(needed);
    expect(rules.check(identity(...needed), method, tool)).toBeUndefined();
    expect(rules.check(identity("all"), method, tool)).toBeUndefined();
    if (needed.length > 0) expect(rules.check(identity(), method, tool)).toMatchObject({ status: 403 });
  });

  it("cannot name what is no scope", () => {
    for (const scope of ["two words", 'quo"te', "back\\slash", "", "é", "line\nbreak"]) {
      expect(() => scopeRules({ tools: { x: [scope] } })).toThrow(RangeError);
    }
  });
});
