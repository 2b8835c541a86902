// What is really on the heap: V8 collects twice, since the first pass may only mark what weak references free.

export function heapUsedAfterCollection() {
  if (typeof globalThis.gc !== "function") throw new Error("start the server with --expose-gc");
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
