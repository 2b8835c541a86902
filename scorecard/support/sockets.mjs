// The canary of sockets: sees every connection this process tries to make, and lets none of them leave the machine.
import dgram from "node:dgram";
import net from "node:net";

/** Begins to watch. `dialled` holds the addresses tried since it was last emptied; those of loopback are really connected. */
export function watchSockets() {
  const dialled = [];
  const real = net.Socket.prototype.connect;
  net.Socket.prototype.connect = function connect(...args) {
    const [options] = Array.isArray(args[0]) ? args[0] : args;
    const { host, lookup } = options;
    if (host === undefined || host === null) return real.apply(this, args);
    const go = (addresses) => {
      dialled.push(...addresses);
      if (addresses.every(isLoopback)) return void real.apply(this, args);
      const refused = Object.assign(new Error("the scorecard connects to nothing outside"), { code: "ECONNREFUSED" });
      process.nextTick(() => this.destroy(refused));
    };
    if (typeof lookup !== "function" || net.isIP(host) !== 0) go([host]);
    else
      lookup(host, { all: true }, (_error, found) =>
        go((Array.isArray(found) ? found : []).map(({ address }) => address)),
      );
    return this;
  };
  return { dialled, take: () => dialled.splice(0), stop: () => (net.Socket.prototype.connect = real) };
}

function isLoopback(host) {
  return host === "::1" || host === "localhost" || host.startsWith("127.") || host.startsWith("::ffff:127.");
}

/** A listener on a free port that counts who comes; `handle` makes it answer HTTP. */
export async function listen(server, address = "127.0.0.1", port = 0) {
  let count = 0;
  server.on("connection", () => {
    count += 1;
  });
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, resolve);
  });
  return { port: server.address().port, connections: () => count };
}

/** A name server on loopback whose answers come from `answer(name, question number)`: IPv4 addresses. */
export async function nameServer(answer) {
  const socket = dgram.createSocket("udp4");
  let asked = 0;
  socket.on("message", (query, from) => {
    const name = questionOf(query);
    socket.send(reply(query, answer(name, asked++)), from.port, from.address);
  });
  await new Promise((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return { port: socket.address().port, asked: () => asked, close: () => socket.close() };
}

function questionOf(query) {
  const labels = [];
  for (let at = 12; query[at] !== 0; at += query[at] + 1)
    labels.push(query.toString("latin1", at + 1, at + 1 + query[at]));
  return labels.join(".");
}

/** The question back, with one A record for each address, to be kept for no time at all. */
function reply(query, addresses) {
  const end = query.indexOf(0, 12) + 5;
  const head = Buffer.from(query.subarray(0, 12));
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(addresses.length, 6);
  head.fill(0, 8, 12);
  const records = addresses.map((address) => {
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
    record.set(address.split(".").map(Number), 12);
    return record;
  });
  return Buffer.concat([head, query.subarray(12, end), ...records]);
}
