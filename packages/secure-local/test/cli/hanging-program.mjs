// A program that never says anything and does not want to end: writes its process id into the file that it is given.
import { writeFileSync } from "node:fs";

writeFileSync(process.argv[2], String(process.pid));
process.on("SIGTERM", () => undefined);
process.stdin.resume();
setInterval(() => undefined, 60_000);
