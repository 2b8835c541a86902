// Has vitest load the compiled form of each test file through Node's own loader, and puts places in errors right.
import { TestRunner } from "vitest";
import { compiledForm, inSources } from "./compiled-tests.mjs";

const byVite = Error.prepareStackTrace;
Error.prepareStackTrace = (error, calls) => inSources(byVite(error, calls));

export default class CompiledTestRunner extends TestRunner {
  importFile(path, source) {
    const compiled = source === "collect" ? compiledForm(path) : undefined;
    return compiled === undefined ? super.importFile(path, source) : import(compiled);
  }
}
