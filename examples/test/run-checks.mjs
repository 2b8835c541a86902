// Runs the checks of some examples one after the other in one process: `node run-checks.mjs NAME...`.
for (const name of process.argv.slice(2)) await import(`../${name}/check.mjs`);
