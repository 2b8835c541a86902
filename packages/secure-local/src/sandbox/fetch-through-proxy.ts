// Has the `fetch` of a Node that knows no proxy go through the one of its sandbox; its text is loaded first by each Node inside.
import type { ConnectionOptions, TLSSocket } from "node:tls";
import { HANDED_FOLDER } from "./wall.js";

/** Where it is found inside. */
export const FETCH_PATH: string = `${HANDED_FOLDER}/fetch.cjs`;

/** The program. */
export function fetchProgram(): string {
  return `"use strict";\n(${throughProxy.toString()})();\n`;
}

/** What of the parts behind `fetch` is used here. */
interface Dispatcher {
  dispatch(options: DispatchOptions, handler: object): boolean;
}

interface DispatchOptions {
  readonly origin: string | URL;
  readonly path: string;
  readonly headers?: object | null;
}

type Connected = (error: Error | null, socket: TLSSocket | null) => void;

interface Endpoint {
  readonly hostname: string;
  readonly port?: string;
  readonly servername?: string | null;
}

/** Uses nothing from around it, and does nothing where Node heeds the variables by itself or the program has a way of its own. */
function throughProxy(): void {
  const proxy = process.env["HTTPS_PROXY"];
  const knows = process.allowedNodeEnvironmentFlags.has("--use-env-proxy");
  if (proxy === undefined || knows || typeof process.getBuiltinModule !== "function") return;
  const { hostname: host, port } = new URL(proxy);

  const tunnel = ({ hostname, port: to, servername }: Endpoint, done: Connected): void => {
    const http = process.getBuiltinModule("node:http");
    const tls = process.getBuiltinModule("node:tls");
    const path = `${hostname}:${to === undefined || to === "" ? "443" : to}`;
    const request = http.request({ host, port, method: "CONNECT", path, headers: { host: path } });
    request.once("error", (error) => done(error, null));
    request.once("connect", ({ statusCode }, socket) => {
      if (statusCode !== 200) {
        socket.destroy();
        return done(new Error(`The proxy of the sandbox answered ${statusCode} for ${path}`), null);
      }
      const options: ConnectionOptions = { socket, servername: servername ?? hostname, ALPNProtocols: ["http/1.1"] };
      const secure = tls.connect(options);
      secure.once("error", (error) => done(error, null));
      secure.once("secureConnect", () => done(null, secure));
    });
    request.end();
  };

  const place = Symbol.for("undici.globalDispatcher.1");
  const prepare = (): void => {
    const plain = Reflect.get(globalThis, place) as Dispatcher;
    // One that the program has put there goes its own way.
    if (plain.constructor.name !== "Agent") return;
    const Agent = plain.constructor as new (options: object) => Dispatcher;
    const secure = new Agent({ connect: tunnel });
    const dispatch = secure.dispatch.bind(secure);
    secure.dispatch = (options, handler) => {
      const { protocol, origin, host: authority } = new URL(options.origin);
      if (protocol === "https:") return dispatch(options, handler);
      const headers = { ...options.headers, host: authority };
      return plain.dispatch(
        { ...options, headers, origin: `http://${host}:${port}`, path: origin + options.path },
        handler,
      );
    };
    Reflect.set(globalThis, place, secure);
  };

  const original = globalThis.fetch;
  let ready: Promise<void> | undefined;
  // What stands behind it is there once it was called: before that, no start pays for it.
  const fetch: typeof original = async (input, init) => {
    ready ??= original("data:,").then(prepare);
    await ready;
    return original(input, init);
  };
  Object.defineProperty(globalThis, "fetch", { value: fetch, writable: true, configurable: true, enumerable: true });
}
