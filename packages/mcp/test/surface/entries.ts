// The sources' entries by subpath, each imported by its name: so the tests that need all of them can be compiled.
export const ENTRIES: Readonly<Record<string, () => Promise<object>>> = {
  "./server": () => import("../../src/entries/server.js"),
  "./stdio": () => import("../../src/entries/stdio.js"),
  "./http": () => import("../../src/entries/http.js"),
  "./fetch": () => import("../../src/entries/fetch.js"),
  "./testing": () => import("../../src/entries/testing.js"),
  "./jsonrpc": () => import("../../src/entries/jsonrpc.js"),
  "./auth": () => import("../../src/entries/auth.js"),
  "./auth/client": () => import("../../src/entries/auth-client.js"),
  "./auth/client/node": () => import("../../src/entries/auth-client-node.js"),
  "./client": () => import("../../src/entries/client.js"),
  "./client/node": () => import("../../src/entries/client-node.js"),
  "./host": () => import("../../src/entries/host.js"),
  "./host/node": () => import("../../src/entries/host-node.js"),
  "./task-files": () => import("../../src/entries/task-files.js"),
};
