// A policy with servers in a folder of its own, and the built command to ask about them.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { digestIn, RawClient, type Ran, type RunOptions } from "../cli/command.js";
import { runQuickly } from "../cli/command-in-thread.js";

/** What a server of the tests offers: its tools, and what the program says in their calls (a function as text). */
export interface Program {
  readonly tools: readonly { readonly name: string; readonly [member: string]: unknown }[];
  readonly answers?: Readonly<Record<string, string>>;
}

/** A tool with nothing special about it. */
export function tool(name: string, more: object = {}): Program["tools"][number] {
  return { name, description: `Does ${name}.`, inputSchema: { type: "object" }, ...more };
}

export class Household {
  readonly folder: string = mkdtempSync(join(tmpdir(), "household-"));
  readonly policy: string = join(this.folder, "policy.yaml");
  env: Record<string, string> = {};
  readonly #clients: RawClient[] = [];

  /** What an entry grants, so that the wall stands in the way of no program of the tests. */
  get readable(): string {
    return `filesystem: { readable_paths: ["${this.folder}/programs/**"] }`;
  }

  /** What a program offers from its next start on; its launch stays as it was. */
  offer(name: string, tools: Program["tools"]): void {
    writeFileSync(join(this.folder, "programs", `${name}.json`), JSON.stringify(tools));
  }

  /** The file of a server of 2025-06-18 that answers calls with a text. */
  program(name: string, { tools, answers = {} }: Program): string {
    mkdirSync(join(this.folder, "programs"), { recursive: true });
    this.offer(name, tools);
    const file = join(this.folder, "programs", `${name}.mjs`);
    const told = Object.entries(answers).map(([tool, answer]) => `${JSON.stringify(tool)}: ${answer}`);
    writeFileSync(
      file,
      `import { readFileSync } from "node:fs";
      const tools = JSON.parse(readFileSync(import.meta.filename.replace(/mjs$/, "json"), "utf8"));
      const told = { ${told.join(", ")} };
      const serverInfo = { name: ${JSON.stringify(name)}, version: "1" };
      const answers = {
        initialize: () => ({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo }),
        "tools/list": () => ({ tools }),
        "tools/call": async ({ name, arguments: given }) =>
          ({ content: [{ type: "text", text: String(await (told[name] ?? (() => "did " + name))(given)) }] }),
      };
      let rest = "";
      process.stdin.setEncoding("utf8").on("data", async (chunk) => {
        const lines = (rest + chunk).split("\\n");
        rest = lines.pop();
        for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
          if (id === undefined) continue;
          const answer = answers[method];
          const said = answer ? { result: await answer(params) } : { error: { code: -32601, message: "no " + method } };
          process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...said }) + "\\n");
        }
      });`,
    );
    return file;
  }

  /** Writes the policy; `NAME.mjs` of a server's command is readable to it. */
  write(text: string): void {
    writeFileSync(this.policy, text);
  }

  run(words: readonly string[], options: Partial<Omit<RunOptions, "input">> = {}): Promise<Ran> {
    return runQuickly([...words, "--policy", this.policy], { home: this.folder, env: this.env, ...options });
  }

  /** Approves what is shown, as a person does who is in no terminal: by the digest that stands under it. */
  async approve(...names: readonly string[]): Promise<Ran> {
    const shown = await this.run(["servers", "review", ...names]);
    const digest = digestIn(shown);
    return digest === undefined ? shown : this.run(["servers", "review", ...names, "--yes", "--digest", digest]);
  }

  /** A client of the served policy, its session open. */
  async client(capabilities: object = {}): Promise<RawClient> {
    const client = new RawClient(["--policy", this.policy], { home: this.folder, env: this.env });
    this.#clients.push(client);
    await client.open(capabilities);
    return client;
  }

  async closeClients(): Promise<void> {
    for (const client of this.#clients.splice(0)) await client.close();
  }

  async close(): Promise<void> {
    await this.closeClients();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The text a call of a tool is answered with, or its error. */
export async function said(client: RawClient, name: string, given: object = {}): Promise<string> {
  const answer = (await client.request("tools/call", { name, arguments: given })) as {
    result?: { content: { text: string }[] };
    error?: { message: string };
  };
  return answer.result?.content[0]?.text ?? `error ${answer.error?.message}`;
}

export async function toolNames(client: RawClient): Promise<string[]> {
  const { result } = (await client.request("tools/list")) as { result: { tools: { name: string }[] } };
  return result.tools.map(({ name }) => name).sort();
}
