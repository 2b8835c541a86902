// T22: abuse of the JSON Schema engine: the official suite, bombs, references that lead out, prototype names, generated code.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { corpusFiles } from "../support/corpora.mjs";
import { watchSockets } from "../support/sockets.mjs";

export const goal = { id: "T22", title: "JSON Schema engine abuse", atLeast: 130, refusalMs: 50 };

const BOMB_MS = 50;
const BOMB_BYTES = 32 * 2 ** 20;
/** Names every object seems to have. */
const INHERITED = [
  "toString",
  "constructor",
  "hasOwnProperty",
  "valueOf",
  "__proto__",
  "isPrototypeOf",
  "__defineGetter__",
];

export async function run(report, parts) {
  const watch = watchSockets();
  const made = watchGeneratedCode();
  await suite(report, parts);
  await bombs(report, parts);
  await references(report, parts);
  await names(report, parts);
  if (watch.take().length > 0) report.sideEffect("a schema led to a connection");
  report.demand("no code is generated for any schema", made() === 0, `${made()} functions`);
  watch.stop();
}

/** Counts functions made of text: a schema of a stranger must never become code. */
function watchGeneratedCode() {
  let count = 0;
  const real = globalThis.Function;
  globalThis.Function = new Proxy(real, {
    construct(target, args) {
      count += 1;
      return Reflect.construct(target, args);
    },
    apply(target, self, args) {
      count += 1;
      return Reflect.apply(target, self, args);
    },
  });
  return () => count;
}

async function suite(report, { compileJsonSchema }) {
  const documents = Object.fromEntries(
    corpusFiles("json-schema-test-suite/remotes").map((file) => [
      `http://localhost:1234/${file.slice(file.indexOf("/remotes/") + 9)}`,
      JSON.parse(readFileSync(file, "utf8")),
    ]),
  );
  report.kind("values that do not fit, by a public suite");
  for (const [folder, dialect] of Object.entries({ "draft2020-12": "2020-12", draft7: "draft-07" })) {
    const files = corpusFiles(`json-schema-test-suite/tests/${folder}`).filter((file) => !file.includes("/optional/"));
    for (const file of files)
      for (const { description, schema, tests } of JSON.parse(readFileSync(file, "utf8")))
        for (const test of tests) {
          const name = `${folder} ${basename(file)}: ${description}: ${test.description}`;
          const judge = () => {
            const validator = compileJsonSchema(schema, { documents, dialect });
            return validator.check(test.data) === test.valid && validator.validate(test.data).ok === test.valid;
          };
          await (test.valid ? report.benign(name, judge) : report.attack(name, judge, { again: true }));
        }
  }
}

async function bombs(report, { compileJsonSchema, SchemaError, SCHEMA_BOMBS }) {
  let slowest = [0, ""];
  let large = 0;
  report.kind("schemas that cost more than they say");
  for (const [name, make, expected] of SCHEMA_BOMBS) {
    const { schema, value } = make();
    let best = Infinity;
    let least = Infinity;
    const explode = () => {
      const memory = process.memoryUsage();
      const before = process.cpuUsage();
      const outcome = outcomeOf(compileJsonSchema, SchemaError, { schema, value });
      const { user, system } = process.cpuUsage(before);
      const after = process.memoryUsage();
      best = Math.min(best, (user + system) / 1_000);
      least = Math.min(least, after.heapUsed + after.external - memory.heapUsed - memory.external);
      return outcome === expected || `${outcome}, not ${expected}`;
    };
    await report.attack(name, explode, { again: true });
    for (let tries = 0; tries < 8; tries += 1) {
      if (best <= BOMB_MS / 2) break;
      globalThis.gc();
      explode();
    }
    if (best > slowest[0]) slowest = [best, name];
    if (least > BOMB_BYTES) large += 1;
  }
  const [slow, name] = slowest;
  const text = `${SCHEMA_BOMBS.length} bombs cost less than ${BOMB_MS} ms of the processor each`;
  report.demand(text, slow < BOMB_MS, `${slow.toFixed(1)} ms, ${name}`);
  report.demand("no bomb takes 32 MiB", large === 0, `${large} do`);
}

function outcomeOf(compileJsonSchema, SchemaError, { schema, value }) {
  try {
    const answer = compileJsonSchema(schema).validate(value);
    return !answer.ok && answer.faults.some(({ message }) => message.includes("too expensive"))
      ? "expensive"
      : "answered";
  } catch (error) {
    if (error instanceof SchemaError) return "refused";
    throw error;
  }
}

/** References out of the schema are refused, never fetched. */
async function references(report, { compileJsonSchema, SchemaError }) {
  const refs = [
    ...[
      "http://127.0.0.1:1/s.json",
      "https://evil.example/s",
      "file:///etc/passwd",
      "//evil.example/s",
      "data:application/json,{}",
    ],
    ...[
      "other.json",
      "../x#/a",
      "#/$defs/absent",
      "#nowhere",
      "urn:uuid:0",
      "http://localhost:1234/integer.json",
      "#/%24defs/%GG",
    ],
    ...["#/$defs/a/../b", "#/__proto__", "#/constructor/prototype", "#/toString", "#/properties/__proto__"],
  ];
  report.kind("references that lead out of a schema");
  for (const ref of refs)
    for (const [keyword, schema] of Object.entries({
      $ref: { $ref: ref },
      "a property": { properties: { a: { $ref: ref } } },
      $dynamicRef: { $dynamicRef: ref },
    }))
      await report.attack(`${keyword} to ${ref}`, () => {
        try {
          compileJsonSchema(schema);
          return "compiled";
        } catch (error) {
          return error instanceof SchemaError || String(error);
        }
      });
  await report.attack("another dialect", () => {
    try {
      compileJsonSchema({ $schema: "https://evil.example/schema" });
      return "compiled";
    } catch (error) {
      return error instanceof SchemaError || String(error);
    }
  });
  for (const schema of [
    { $ref: "#/$defs/a", $defs: { a: { type: "string" } } },
    { $id: "https://x.example/s", $ref: "#a", $defs: { b: { $anchor: "a" } } },
  ])
    await report.benign(JSON.stringify(schema), () => compileJsonSchema(schema).check("x"));
}

/** What an object inherits is not what it has. */
async function names(report, { compileJsonSchema }) {
  report.kind("members named like what objects inherit");
  for (const name of INHERITED) {
    await report.attack(`required ${name}`, () => !compileJsonSchema({ required: [name] }).check({}));
    await report.attack(
      `dependentRequired of ${name}`,
      () => !compileJsonSchema({ dependentRequired: { a: [name] } }).check({ a: 1 }),
    );
    const shape = {
      type: "object",
      properties: JSON.parse(`{"${name}":{"type":"integer"}}`),
      additionalProperties: false,
    };
    await report.attack(
      `${name} of another type`,
      () => !compileJsonSchema(shape).check(JSON.parse(`{"${name}":"x"}`)),
    );
    await report.attack(
      `${name} that is not named`,
      () => !compileJsonSchema({ additionalProperties: false }).check(JSON.parse(`{"${name}":1}`)),
    );
    await report.benign(`{} without ${name}`, () => compileJsonSchema(shape).check({}));
    const filled = { properties: JSON.parse(`{"${name}":{"default":{"polluted":1}}}`) };
    await report.attack(`a default for ${name}`, () => {
      compileJsonSchema(filled).validate({});
      return {}.polluted === undefined;
    });
  }
}
