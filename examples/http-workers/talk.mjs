// Loads the worker into a runtime without Node and asks it: exits 0 only when every answer is right in both eras.
import { checkBothEras } from "../test/both-eras.mjs";
import { loadWorker } from "./runtime.mjs";

const worker = await loadWorker(new URL("worker.mjs", import.meta.url).href);
await checkBothEras("https://worker.example/mcp", { ask: (request) => worker.fetch(request), sessions: false });
console.log("http-workers: answered in both eras with web globals alone");
