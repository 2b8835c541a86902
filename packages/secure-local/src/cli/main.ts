// The command `mcp-secure-local`: the program's own arguments in, its exit code out.
import { runCommandLine } from "./run-command-line.js";

void runCommandLine(process.argv.slice(2)).then((code) => (process.exitCode = code));
