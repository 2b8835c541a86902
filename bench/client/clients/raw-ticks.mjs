// The raw client over stdio with all lines of a tick in one write.
import { stdioClient } from "./raw.mjs";

export function openStdio(args) {
  let waiting = "";
  return stdioClient(args, (stdin, line) => {
    if (waiting === "") {
      process.nextTick(() => {
        stdin.write(waiting);
        waiting = "";
      });
    }
    waiting += line;
  });
}
