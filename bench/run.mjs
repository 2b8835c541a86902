// `npm run bench -- NAME [options]`: runs one of the benches.

/** A bench exports `main(options)`, which resolves to the exit code, or does its work when it is imported. */
const BENCHES = {
  stdio: () => import("./stdio/main.mjs"),
  http: () => import("./http/main.mjs"),
  "http-load": () => import("./http-load.mjs"),
  memory: () => import("./memory.mjs"),
  client: () => import("./client/main.mjs"),
  cycles: () => import("./cycles.mjs"),
  kill: () => import("./kill.mjs"),
  schema: () => import("./schema.mjs"),
  races: () => import("./races.mjs"),
  "import-csv": () => import("./import-csv.mjs"),
  sandbox: () => import("./sandbox.mjs"),
  decide: () => import("./decide.mjs"),
  cleaning: () => import("./cleaning.mjs"),
  faults: () => import("./faults.mjs"),
  scale: () => import("./scale.mjs"),
  soak: () => import("./soak.mjs"),
  gateway: () => import("./gateway/main.mjs"),
  "gateway-faults": () => import("./gateway-faults.mjs"),
  console: () => import("./console.mjs"),
};

const [name, ...options] = process.argv.slice(2);
if (name === undefined || !Object.hasOwn(BENCHES, name)) {
  process.stderr.write(`Which bench? npm run bench -- ${Object.keys(BENCHES).join(" | ")}\n`);
  process.exitCode = 2;
} else {
  const bench = await BENCHES[name]();
  if (typeof bench.main === "function") process.exitCode = await bench.main(options);
}
