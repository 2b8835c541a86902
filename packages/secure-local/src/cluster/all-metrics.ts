// The metrics of all processes of a server as one text: each sample with the name of its process.
import { RECORD_TEXT, type RecordStore } from "@secure-local/mcp/cluster";

const GROUP = "metrics";
/** Milliseconds between two texts of a process. */
const TELL_MS = 5_000;
/** A process that has said nothing for so long is left out. */
const LIFE_MS = 16_000;

/** Tells the other processes of this one's metrics from now on; returns what ends that. */
export function tellMetrics(records: RecordStore, node: string, text: () => string): () => void {
  const tell = (): void => void records.put(GROUP, node, short(text()), LIFE_MS).catch(() => undefined);
  tell();
  const timer = setInterval(tell, TELL_MS).unref();
  return () => clearInterval(timer);
}

/** Of a text that is too long first the buckets of histograms go, then what comes last. */
function short(text: string): string {
  if (text.length <= RECORD_TEXT) return text;
  const lines = text.split("\n").filter((line) => !/^\w+_bucket\{/.test(line));
  let length = 0;
  return lines.filter((line) => (length += line.length + 1) <= RECORD_TEXT).join("\n");
}

/** Rejects with UNREACHABLE when nobody can be asked. */
export async function allMetrics(records: RecordStore): Promise<string> {
  return joinedMetrics(await records.list(GROUP));
}

/** Joins texts for Prometheus by the names of their processes: samples of one metric stand together, as the format wants it. */
export function joinedMetrics(texts: ReadonlyMap<string, string>): string {
  const metrics = new Map<string, { readonly head: readonly string[]; readonly samples: string[] }>();
  for (const [node, text] of [...texts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    let head: string[] = [];
    let name = "";
    for (const line of text.split("\n")) {
      if (line.startsWith("# HELP ")) [head, name] = [[line], line.split(" ", 3)[2] ?? ""];
      else if (line.startsWith("#")) head.push(line);
      else if (line !== "") {
        const metric = metrics.get(name) ?? { head, samples: [] };
        metrics.set(name, metric);
        metric.samples.push(withNode(line, node));
      }
    }
  }
  return [...metrics.values()].map(({ head, samples }) => `${[...head, ...samples].join("\n")}\n`).join("");
}

function withNode(sample: string, node: string): string {
  const label = `node="${node}"`;
  // A value holds neither brace nor space: what stands after the last of them is the value, whatever labels say.
  const end = sample.lastIndexOf("}");
  if (end !== -1) return `${sample.slice(0, end)},${label}${sample.slice(end)}`;
  const space = sample.lastIndexOf(" ");
  return `${sample.slice(0, space)}{${label}}${sample.slice(space)}`;
}
