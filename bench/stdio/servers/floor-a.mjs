// Floor A: bare Node, one write an answer, as naive code does.
import { serve } from "./bare-node.mjs";

serve(
  (line) => process.stdout.write(line),
  () => {},
);
