// The command `mcp-secure-local`: the program's own arguments in, its exit code out.
import { runCommandLine, tellAnyFailure } from "./run-command-line.js";
import { ExitCode } from "./terminal.js";

/** Who reads a log has to see that the program is gone, and why. */
const ENDS = "the program ends, as nothing expected this: ";

// What nobody awaited ends the program like any other failure: in a line, and not in a page of the bundle.
for (const event of ["uncaughtException", "unhandledRejection"]) process.on(event, (error: unknown) => void end(error));

void runCommandLine(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
  // What was given up may go on for long, and so may what it has started: with the process it ends.
  if (code === ExitCode.Interrupted) process.exit();
});

async function end(error: unknown): Promise<never> {
  process.exit(await tellAnyFailure(error, process.argv.slice(2), ENDS));
}
