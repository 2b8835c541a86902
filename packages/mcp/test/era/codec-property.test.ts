// Whatever a handler answers, what the codecs write is valid in its revision and holds nothing of another.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codecFor } from "../../src/era/select.js";
import type { MethodRecord } from "../../src/protocol/method.js";
import { REVISIONS } from "../../src/protocol/revisions/all.js";
import { createdTasks, implementation, RESULTS } from "../support/random-protocol.js";
import { repeated } from "../support/soak.js";
import { specValidator } from "../support/spec-schema.js";

describe.each(REVISIONS.map((revision) => [revision.date, revision] as const))("%s", (date, revision) => {
  const codec = codecFor(revision);
  const validator = specValidator(date);

  const acknowledged = revision.rules.tasks === "directed" ? ["tasks/update", "tasks/cancel"] : [];
  const answering = [...revision.methods.keys()].filter((method) => !acknowledged.includes(method));

  it.runIf(revision.rules.tasks !== "none")("announces tasks as the revision has them", () => {
    const record = revision.methods.get("tools/call") as MethodRecord;
    fc.assert(
      fc.property(createdTasks, implementation, (result, identity) => {
        const written = { jsonrpc: "2.0", id: 1, result: JSON.parse(codec.resultText(record, result, identity)) };
        expect(validator.validateServerMessage(written, { requestMethod: "tools/call" })).toEqual([]);
      }),
      { numRuns: repeated(20, 100) },
    );
  });

  it.each(answering)("writes valid answers to %s", (method) => {
    const record = revision.methods.get(method) as MethodRecord;
    fc.assert(
      fc.property(RESULTS[method] as fc.Arbitrary<object>, implementation, (result, identity) => {
        const before = JSON.stringify(result);
        const text = codec.resultText(record, result, identity);
        const written = { jsonrpc: "2.0", id: 1, result: JSON.parse(text) };
        expect(validator.validateServerMessage(written, { requestMethod: method }), text).toEqual([]);
        expect(JSON.stringify(result), "the codec changed its argument").toBe(before);
      }),
      { numRuns: repeated(20, 150) },
    );
  });
});
