// A model is told whether a call that failed was made: only one that was not may be made again without a thought.
import { describe, expect, it } from "vitest";
import { LocalError, toModelText } from "@secure-local/mcp/client";

const told = (code: string, message: string): string => toModelText(new LocalError(code, message)).text;

describe("a call", () => {
  it.each([
    ["TIMEOUT", "tools/call was not sent: the server could not be reached again within 5 ms"],
    ["CLOSED", "tools/call was not sent: The client was closed"],
    ["EXITED", "tools/call was not sent: The server node a.js exited with status 1."],
    ["NOT_READY", "north__read was not called: the server north is not up"],
    ["UNREACHABLE", "nobody answers"],
  ])("that was not sent was not made: %s", (code, message) => {
    expect(told(code, message)).toBe("The call was not made: the tool cannot be reached at the moment.");
  });

  it.each([
    ["TIMEOUT", "tools/call was not answered within 5 ms"],
    ["CLOSED", "tools/call was not answered: the connection is closed"],
    ["EXITED", "The server node a.js exited with status 1."],
    ["OUTCOME_UNKNOWN", "the request failed"],
  ])("that was not answered may have had an effect: %s", (code, message) => {
    expect(told(code, message)).toMatch(/may (?:still )?have had (?:an|its) effect/);
  });

  it.each(["DENIED", "WITHHELD", "CHANGED"])("that the host's owner stopped says why: %s", (code) => {
    expect(told(code, "a__b was not called: not today")).toBe("a__b was not called: not today");
  });
});
