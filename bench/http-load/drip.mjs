// Holds many connections open by sending a byte now and then: half of them within the headers, half within the body.
import { connect } from "node:net";
import { inParallel } from "./clients.mjs";

const AT_ONCE = 200;
const BYTE_EVERY_MS = 1_000;
let cut = 0;

const JOBS = {
  async open({ port, count }) {
    await inParallel(count, AT_ONCE, (index) => drip(port, index % 2 === 0));
  },
  async report() {
    return { cut };
  },
};
process.on("message", async ({ job, options }) => {
  try {
    process.send({ value: await JOBS[job](options) });
  } catch (error) {
    process.send({ failed: error.message });
  }
});
process.on("disconnect", () => process.exit());

/** One slow connection, and another in its place whenever the server has had enough of it. */
function drip(port, inHeaders) {
  const head = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n`;
  const start = inHeaders ? `${head}X-Slow: ` : `${head}Content-Length: 1000\r\n\r\n{`;
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let timer;
    socket.once("connect", () => {
      socket.write(start);
      timer = setInterval(() => socket.write(" "), BYTE_EVERY_MS);
      resolve();
    });
    socket.once("error", reject); // after the connect it is only the cut, which "close" tells too
    socket.resume();
    socket.once("close", () => {
      clearInterval(timer);
      cut += 1;
      void drip(port, inHeaders).catch(() => {});
    });
  });
}
