// Has vitest load the compiled form of each test file through Node's own loader, and puts places in errors right.
import { relative } from "node:path";
import { TestRunner } from "vitest";
import { countHitsOf } from "../mutants/switch-mutants.mjs";
import { compiledForm, inSources } from "./compiled-tests.mjs";
import { root } from "./run-command.mjs";
import { countCosts } from "./test-costs.mjs";

const byVite = Error.prepareStackTrace;
Error.prepareStackTrace = (error, calls) => inSources(byVite(error, calls));

const log = process.env.TEST_COSTS;
const hitsFolder = process.env.MUTANT_HITS_FOLDER;
let counted;

export default class CompiledTestRunner extends TestRunner {
  onBeforeCollect(paths) {
    if (hitsFolder) countHitsOf(relative(root, paths[0]), hitsFolder);
    if (log) counted = countCosts(log);
    return super.onBeforeCollect?.(paths);
  }

  onAfterRunFiles(files) {
    counted?.(files.map(({ name }) => name).join());
    return super.onAfterRunFiles?.(files);
  }

  importFile(path, source) {
    const compiled = source === "collect" ? compiledForm(path) : undefined;
    return compiled === undefined ? super.importFile(path, source) : import(compiled);
  }
}
