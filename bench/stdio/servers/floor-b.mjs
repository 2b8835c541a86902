// Floor B: bare Node, one write for all the answers to one chunk.
import { serve } from "./bare-node.mjs";

let pending = "";
serve(
  (line) => {
    pending += line;
  },
  () => {
    if (pending !== "") process.stdout.write(pending);
    pending = "";
  },
);
