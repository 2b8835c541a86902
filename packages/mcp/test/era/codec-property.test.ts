// Whatever a handler answers, what the codecs write is valid in its revision and holds nothing of another.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codecFor } from "../../src/era/codecs.js";
import type { MethodRecord } from "../../src/protocol/method.js";
import { REVISIONS } from "../../src/protocol/revisions/all.js";
import { implementation, RESULTS } from "../support/random-protocol.js";
import { specValidator } from "../support/spec-schema.js";

describe.each(REVISIONS.map((revision) => [revision.date, revision] as const))("%s", (date, revision) => {
  const codec = codecFor(revision);
  const validator = specValidator(date);

  it.each([...revision.methods.keys()])("writes valid answers to %s", (method) => {
    const record = revision.methods.get(method) as MethodRecord;
    fc.assert(
      fc.property(RESULTS[method] as fc.Arbitrary<object>, implementation, (result, identity) => {
        const before = JSON.stringify(result);
        const text = codec.resultText(record, result, identity);
        const written = { jsonrpc: "2.0", id: 1, result: JSON.parse(text) };
        expect(validator.validateServerMessage(written, { requestMethod: method }), text).toEqual([]);
        expect(JSON.stringify(result), "the codec changed its argument").toBe(before);
      }),
      { numRuns: 150 },
    );
  });
});
