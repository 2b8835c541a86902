// What the servers have in common that listen in the test's own process.
import { once } from "node:events";

/** The origin of a server that now listens, and how to end it with every connection. */
export async function listening(server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return { origin: `http://127.0.0.1:${server.address().port}`, close };
}

/** The result of a tool that says one thing. */
export function text(said) {
  return { content: [{ type: "text", text: said }] };
}
