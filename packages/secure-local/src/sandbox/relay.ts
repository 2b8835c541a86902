// Runs inside a sandbox that may use the network: offers an HTTP and SOCKS 5 proxy on loopback and leads it to the proxy outside.
import { Buffer } from "node:buffer";
import { HANDED_FOLDER } from "./wall.js";

/** Where the relay's program is found inside. */
export const RELAY_PATH: string = `${HANDED_FOLDER}/relay.cjs`;

/** The program as a file: the function below, which therefore uses nothing from around it. */
export function relayProgram(): Buffer {
  return Buffer.from(`"use strict";\n(${relay.toString()})();\n`);
}

/** Arguments: the socket of the proxy outside, the program to run, and its arguments. Ends as that program does. */
function relay(): void {
  const { connect, createServer } = process.getBuiltinModule("node:net");
  const { spawn } = process.getBuiltinModule("node:child_process");
  const [, , socket = "", executable = "", ...args] = process.argv;
  const server = createServer({ allowHalfOpen: true }, (inside) => {
    const outside = connect({ path: socket, allowHalfOpen: true });
    inside.on("error", () => outside.destroy());
    outside.on("error", () => inside.destroy());
    inside.on("close", () => outside.destroy());
    outside.on("close", () => inside.destroy());
    inside.pipe(outside);
    outside.pipe(inside);
  });
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    const place = `127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
    const env: NodeJS.ProcessEnv = { ...process.env, NO_PROXY: "", no_proxy: "", NODE_USE_ENV_PROXY: "1" };
    for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"])
      env[name] = env[name.toLowerCase()] = `http://${place}`;
    // Not in ALL_PROXY: some HTTP clients give up at a kind of proxy they were installed without.
    env["SOCKS_PROXY"] = env["socks_proxy"] = `socks5h://${place}`;
    const child = spawn(executable, args, { stdio: "inherit", env });
    child.on("error", (error) => {
      process.stderr.write(`${executable}: ${error.message}\n`);
      process.exit(127);
    });
    child.on("exit", (code) => process.exit(code ?? 1));
  });
}
