// Reads labelled descriptions as the inspection does, and tells the signs in each of their pieces.
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const REPLACED = "../intents/read-intents.js";
const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The inspection, with intents that keep what they hear. Nothing is written. */
export async function listeningProduct() {
  const build = await rolldown({
    input: pathOf("listening-product.ts"),
    platform: "node",
    plugins: [
      { name: "listen", resolveId: (source) => (source === REPLACED ? pathOf("listening-intents.ts") : undefined) },
    ],
  });
  const { output } = await build.generate({ format: "esm", codeSplitting: false });
  await build.close();
  return await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
}

/** What is found in a sample `{ server, tool, beside, peers }`. */
export function findingsOf({ inspectOffering }, { server = "server", tool, beside = [], peers = [] }) {
  const findings = inspectOffering({ server, tools: [tool, ...beside] }, peers);
  return findings.filter(({ item }) => item === tool.name);
}

/** A sample with its `pieces` (signs `said`, signs `meant`, points `less`), and whether `others` than the intents find something in it. */
export function heardIn(product, sample) {
  product.heard.length = 0;
  const others = findingsOf(product, sample).some(({ id }) => id !== "intent.order" && id !== "signs.together");
  // The tool is the first of what is offered.
  const [pieces = []] = product.heard;
  return { ...sample, others, pieces: pieces.map(({ said, meant, less }) => ({ said, meant: meant(), less })) };
}
