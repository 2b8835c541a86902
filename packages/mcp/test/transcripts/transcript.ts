// Reads and writes a golden conversation: prose, definitions, then steps of lines `→ client` and `← server`.

/** Lines sent together, and what the server writes before the next step. */
export interface Step {
  /** `→ text` is sent, `! directive` is something done to the server, `# text` is a remark. */
  readonly client: readonly string[];
  readonly server: readonly string[];
}

export interface Transcript {
  readonly prose: string;
  /** Name of the fixture server, from a line `server: name`. */
  readonly server: string;
  /** Lines `«name» = text`: texts that stand for themselves in client lines. */
  readonly definitions: ReadonlyMap<string, string>;
  readonly steps: readonly Step[];
}

const DEFINITION = /^«([^»]+)» = (.*)$/;

export function readTranscript(text: string): Transcript {
  const [head = "", ...blocks] = text.trim().split(/\n\n+/);
  const definitions = new Map<string, string>();
  const prose: string[] = [];
  let server = "";
  for (const line of [head, ...(startsSteps(blocks[0]) ? [] : [blocks.shift()])].join("\n").split("\n")) {
    const definition = DEFINITION.exec(line);
    if (definition !== null) definitions.set(definition[1] as string, definition[2] as string);
    else if (line.startsWith("server: ")) server = line.slice("server: ".length);
    else prose.push(line);
  }
  return { prose: prose.join("\n").trim(), server, definitions, steps: blocks.map(readStep) };
}

function startsSteps(block: string | undefined): boolean {
  return block === undefined || /^[→!#←]/.test(block);
}

function readStep(block: string): Step {
  const lines = block.split("\n");
  const odd = lines.find((line) => !/^[→←!#] ?/.test(line));
  if (odd !== undefined) throw new Error(`A line of a step begins with →, ←, ! or #: ${odd}`);
  return {
    client: lines.filter((line) => !line.startsWith("←")),
    server: lines.filter((line) => line.startsWith("←")).map((line) => line.slice(2)),
  };
}

export function writeTranscript({ prose, server, definitions, steps }: Transcript): string {
  const defined = [...definitions].map(([name, text]) => `«${name}» = ${text}`);
  const blocks = steps.map((step) => [...step.client, ...step.server.map((line) => `← ${line}`)].join("\n"));
  return `${[prose, [`server: ${server}`, ...defined].join("\n"), ...blocks].join("\n\n")}\n`;
}
