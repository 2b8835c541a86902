// Measures JSON Schema validation: the first call of a fresh process, and valid calls beside ajv.
// Run after `npx tsc -b packages/mcp/tsconfig.core.json`: node bench/schema.mjs

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const compiler = "../packages/mcp/dist/schema/json-schema/compile.js";
const closed = { type: "object", additionalProperties: false };

const cases = {
  "echo {text}": {
    schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    value: { text: "hello, world" },
  },
  "add {a,b}": {
    schema: { ...closed, properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
    value: { a: 17.5, b: 4 },
  },
  "search {query,limit,kind,tags}": {
    schema: {
      ...closed,
      properties: {
        query: { type: "string", minLength: 1, maxLength: 400 },
        limit: { type: "integer", minimum: 1, maximum: 50 },
        kind: { enum: ["web", "news", "images"] },
        safe: { type: "boolean" },
        tags: { type: "array", items: { type: "string" }, maxItems: 20 },
      },
      required: ["query"],
    },
    value: { query: "weather in Berlin", limit: 10, kind: "news", safe: true, tags: ["a", "b", "c"] },
  },
  "nested {filter,page}": {
    schema: {
      type: "object",
      properties: {
        filter: { ...closed, properties: { from: { type: "string" }, to: { type: "string" } }, required: ["from"] },
        page: { ...closed, properties: { size: { type: "integer" }, cursor: { type: ["string", "null"] } } },
      },
      required: ["filter"],
    },
    value: { filter: { from: "2026-01-01", to: "2026-02-01" }, page: { size: 20, cursor: null } },
  },
};

/** Milliseconds of the phases of a first validation, in a process of its own. */
function cold(library) {
  const { schema, value } = cases["search {query,limit,kind,tags}"];
  const code = `
    const t0 = performance.now();
    ${library === "ajv" ? `const { Ajv2020 } = await import("ajv/dist/2020.js");` : `const { compileJsonSchema } = await import(${JSON.stringify(compiler)});`}
    const t1 = performance.now();
    const schema = ${JSON.stringify(schema)}, value = ${JSON.stringify(value)};
    const t2 = performance.now();
    const check = ${library === "ajv" ? "new Ajv2020().compile(schema)" : "compileJsonSchema(schema)"};
    const t3 = performance.now();
    ${library === "ajv" ? "check(value)" : "check.validate(value)"};
    const t4 = performance.now();
    console.log(JSON.stringify([t1 - t0, t3 - t2, t4 - t3]));`;
  const options = { cwd: fileURLToPath(new URL(".", import.meta.url)), encoding: "utf8" };
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", code], options));
}

function median(numbers) {
  return numbers.toSorted?.((a, b) => a - b)[numbers.length >> 1];
}

/** Million calls in a second, over fresh objects as a parser would hand them over. */
function speed(check, value) {
  const values = Array.from({ length: 1_000 }, () => structuredClone(value)).map((one) =>
    JSON.parse(JSON.stringify(one)),
  );
  let valid = 0;
  const rounds = 300;
  const start = process.hrtime.bigint();
  for (let i = 0; i < rounds; i++) for (const one of values) if (check(one)) valid++;
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  if (valid !== rounds * values.length) throw new Error("a valid value was refused");
  return valid / seconds / 1e6;
}

console.log("First validation in a fresh process, medians of 15, ms:");
console.log("| library | import | compile | first call | compile + call |\n| --- | ---: | ---: | ---: | ---: |");
for (const library of ["ours", "ajv"]) {
  const runs = Array.from({ length: 15 }, () => cold(library));
  const [load, compile, call] = [0, 1, 2].map((phase) => median(runs.map((run) => run[phase])));
  const sum = median(runs.map((run) => run[1] + run[2]));
  console.log(`| ${library} | ${[load, compile, call, sum].map((ms) => ms.toFixed(2)).join(" | ")} |`);
}

const { compileJsonSchema } = await import(compiler);
const { Ajv2020 } = await import("ajv/dist/2020.js");
const contenders = Object.values(cases).map(({ schema, value }) => {
  const ours = compileJsonSchema(schema);
  return {
    value,
    ours: (one) => ours.check(one),
    ajv: new Ajv2020({ strict: false, ownProperties: true }).compile(schema),
  };
});
console.log("\nValid calls, million a second, medians of 7 interleaved rounds (ajv with ownProperties):");
console.log("| schema | ours | ajv | ajv / ours |\n| --- | ---: | ---: | ---: |");
const results = contenders.map(() => ({ ours: [], ajv: [] }));
for (let round = 0; round < 9; round++) {
  contenders.forEach(({ value, ours, ajv }, i) => {
    const [a, b] = [speed(ours, value), speed(ajv, value)];
    if (round < 2) return;
    results[i].ours.push(a);
    results[i].ajv.push(b);
  });
}
Object.keys(cases).forEach((name, i) => {
  const [ours, ajv] = [median(results[i].ours), median(results[i].ajv)];
  console.log(`| ${name} | ${ours.toFixed(1)} | ${ajv.toFixed(1)} | ${(ajv / ours).toFixed(2)} |`);
});
