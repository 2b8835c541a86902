// Hosts with servers in this program; all are closed at the end of a test.
import { onTestFinished } from "vitest";
import type { Dialer } from "../../src/client/options.js";
import type { HostEvent } from "../../src/host/catalogue.js";
import type { Transport, MessageSink, Outgoing } from "../../src/jsonrpc/transport.js";
import { LocalError } from "../../src/jsonrpc/errors.js";
import { memoryTransport } from "../../src/serve/host.js";
import { Host, type WebHostOptions } from "../../src/serve/host.js";
import { Server } from "../../src/server/server.js";

/** Closes it at the end of the test. */
export function kept<T extends { close(): Promise<void> }>(host: T): T {
  onTestFinished(() => host.close());
  return host;
}

/** A host that allows everything unless told otherwise, and what it tells. */
export function hostWith(options: WebHostOptions = {}): { host: Host; events: HostEvent[] } {
  const events: HostEvent[] = [];
  const defaults: WebHostOptions = {
    authorize: () => true,
    onCall: () => true,
    onEvent: (event) => events.push(event),
    client: { verdicts: false },
  };
  return { host: kept(new Host({ ...defaults, ...options })), events };
}

/** A server with the tools `read` (read-only) and `write`, a prompt, a resource and a template. */
export function shop(name: string): Server {
  const server = new Server({ name, version: "1.0.0" });
  server.tool("read", {
    description: `Reads in ${name}`,
    input: { type: "object", properties: { key: { type: "string" } } },
    annotations: { readOnlyHint: true },
    run: ({ key }) => `${name}: ${String(key)}`,
  });
  server.tool("write", { description: "Writes down", input: { type: "object" }, run: () => "written" });
  server.prompt("greet", {
    description: "Greets somebody",
    arguments: { whom: { required: true, complete: () => [`${name}-Ada`, `${name}-Bob`] } },
    run: ({ whom }) => `${name} greets ${whom}`,
  });
  server.resource(`note://${name}`, { name: "note", read: () => `a note of ${name}` });
  server.resource("note://all", { name: "all", read: () => `all of ${name}` });
  return server;
}

/** A link that notes what the server is told. */
export function tapped(server: Server, told: string[]): Dialer {
  const wrap = (link: Transport): Transport => ({
    kind: link.kind,
    describe: () => link.describe?.() ?? "",
    start: (sink: MessageSink) => link.start(sink),
    send(message: Outgoing) {
      told.push(message.text);
      return link.send(message);
    },
    forget: (id) => link.forget?.(id) === true,
    close: () => link.close(),
  });
  return { link: () => wrap(memoryTransport(server)) };
}

/** A link to a shop that can be cut. */
export function cuttable(): { link: () => Transport; cut: () => void } {
  let sink: MessageSink | undefined;
  const link = (): Transport => {
    const inner = memoryTransport(shop("north"));
    return {
      kind: "stdio",
      describe: () => "node north.js",
      start: (given) => inner.start((sink = given)),
      send: (message) => inner.send(message),
      forget: (id) => inner.forget?.(id) === true,
      close: () => inner.close(),
    };
  };
  return { link, cut: () => sink?.closed(new LocalError("EXITED", "The server node north.js was ended by SIGKILL.")) };
}
