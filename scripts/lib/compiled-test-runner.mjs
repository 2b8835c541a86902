// Has vitest load the compiled form of each test file through Node's own loader, and puts places in errors right.
import { relative } from "node:path";
import { TestRunner } from "vitest";
import { countHitsOf } from "../mutants/switch-mutants.mjs";
import { BEFORE_FILES, compiledForm, inSources } from "./compiled-tests.mjs";
import { root } from "./run-command.mjs";
import { countCosts } from "./test-costs.mjs";

const byVite = Error.prepareStackTrace;
Error.prepareStackTrace = (error, calls) => inSources(byVite(error, calls));

const log = process.env.TEST_COSTS;
const hitsFolder = process.env.MUTANT_HITS_FOLDER;
let counted;

export default class CompiledTestRunner extends TestRunner {
  onBeforeCollect(paths) {
    for (const forget of globalThis[BEFORE_FILES] ?? []) forget();
    if (hitsFolder) countHitsOf(relative(root, paths[0]), hitsFolder, { loading: true });
    if (log) counted = countCosts(log);
    return super.onBeforeCollect?.(paths);
  }

  onCollected(files) {
    if (hitsFolder) countHitsOf(files[0].name, hitsFolder);
    return super.onCollected?.(files);
  }

  onAfterRunFiles(files) {
    counted?.(files.map(({ name }) => name).join());
    return super.onAfterRunFiles?.(files);
  }

  importFile(path, source) {
    const compiled = source === "collect" ? compiledForm(path) : undefined;
    if (compiled === undefined) return super.importFile(path, source);
    // A worker that runs a file more than once counts its runs: Node would load it once and find no test the next time.
    return import(globalThis.__run === undefined ? compiled : `${compiled}?${globalThis.__run}`);
  }
}
