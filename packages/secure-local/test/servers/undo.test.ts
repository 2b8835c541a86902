// Whatever happens to a client's file between `install` and `uninstall`, every server that its user had is there afterwards.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { repeated } from "../../../mcp/test/support/soak.js";
import { CLIENT_FILES, type ClientFile, fileOf } from "../../src/cli/client-files.js";
import { editedText, entriesOf } from "../../src/cli/edit-client-file.js";
import { canonicalJson } from "@secure-local/inspection/drift";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { filled } from "../../src/server/open-server.js";
import { Household } from "./household.js";

const house = new Household();
/** A remote server that is there and wants a login: one that cannot be reached stays with its client. */
const far = createServer((_request, response) => void response.writeHead(401).end());
beforeAll(() => new Promise<void>((done) => void far.listen(0, "127.0.0.1", done)));
afterAll(() => {
  far.close();
  return house.close();
});
const around = { folder: house.folder, home: house.folder, platform: process.platform, environment: {} };
const NAME = "secure-local";
const WORDS = ["tickets", "notes", "wiki"];

function clientOf(id: string): ClientFile {
  return CLIENT_FILES.find((each) => each.id === id) as ClientFile;
}

beforeEach(() => {
  for (const name of readdirSync(house.folder)) rmSync(join(house.folder, name), { recursive: true });
  house.write('version: "1.0"\n');
});

/** Numbers below `most` by a seed: the same sequence each time. */
function numbers(seed: number): (most: number) => number {
  let state = seed * 2_654_435_761;
  return (most) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) | 0;
    return ((state ^ (state >>> 13)) >>> 0) % most;
  };
}

/** A client with its user: what the user has, whoever holds it now. */
class Life {
  readonly client: ClientFile;
  readonly file: string;
  readonly below: (most: number) => number;
  /** Contents of entries, as texts. */
  readonly had = new Set<string>();
  readonly told: string[] = [];
  /** The client wrote back an older state of its file, so that something may be there twice. */
  forgot = false;
  #tokens = 0;
  #older = "";

  constructor(id: string, seed: number) {
    this.client = clientOf(id);
    this.file = fileOf(this.client, around);
    this.below = numbers(seed);
    mkdirSync(dirname(this.file), { recursive: true });
    writeFileSync(this.file, this.client.form === "json" ? '{ "theme": "dark" }' : "# mine\n");
  }

  text(): string {
    return readFileSync(this.file, "utf8");
  }

  async entries(): Promise<Map<string, object>> {
    const all = new Map(await entriesOf(this.client, this.text()));
    all.delete(NAME);
    return all;
  }

  async edit(put: ReadonlyMap<string, object>, take: readonly string[] = []): Promise<void> {
    writeFileSync(this.file, await editedText(this.client, this.text(), { put, take }));
  }

  newEntry(): object {
    const token = `Bearer tok-${++this.#tokens}-0123456789`;
    const url = `http://127.0.0.1:${(far.address() as AddressInfo).port}/${this.#tokens}`;
    if (this.client.form === "yaml") return { url, requestOptions: { headers: { Authorization: token } } };
    return this.client.form === "toml"
      ? { url, http_headers: { Authorization: token } }
      : { url, headers: { Authorization: token } };
  }

  async command(...words: string[]): Promise<void> {
    const { code, stderr } = await house.run(words, { cwd: house.folder });
    expect([code, stderr], this.told.join("\n")).toEqual([0, ""]);
  }

  readonly steps: Readonly<Record<string, () => Promise<void>>> = {
    install: () => this.command("install", this.client.id, "--yes"),
    "install again, otherwise": () => this.command("install", this.client.id, "--attach", "--yes"),
    "install --move": () => this.command("install", this.client.id, "--move", "--yes"),
    uninstall: async () => {
      await this.command("uninstall", this.client.id);
      const left = [...(await this.entries()).values()].map(canonicalJson);
      expect(new Set([...left, ...this.had]), this.told.join("\n")).toEqual(new Set(left));
      if (!this.forgot) expect(left.sort(), this.told.join("\n")).toEqual([...this.had].sort());
      expect(this.text()).not.toContain(NAME);
      expect(this.text()).toContain(this.client.form === "json" ? '"dark"' : "# mine");
    },
    "the user adds a server": async () => {
      const name = WORDS.find((word) => !this.names.has(word)) ?? "more";
      await this.put(name, (await this.entries()).get(name));
    },
    "the user changes a server": async () => {
      const all = [...(await this.entries())];
      const [name, before] = all[this.below(all.length)] ?? [];
      if (name !== undefined) await this.put(name, before);
    },
    "the user removes a server": async () => {
      const all = [...(await this.entries())];
      const [name, before] = all[this.below(all.length)] ?? [];
      if (name === undefined) return;
      this.had.delete(canonicalJson(before));
      await this.edit(new Map(), [name]);
    },
    "the user takes our entry out": () => this.edit(new Map(), [NAME]),
    "the client writes its file anew": async () => {
      if (this.client.form === "json")
        writeFileSync(this.file, `${JSON.stringify(JSON.parse(this.text()), null, 4)}\n`);
      else writeFileSync(this.file, `${this.text()}\n`);
    },
    "the client reads its file": async () => {
      this.#older = this.text();
    },
    "the client writes back what it read": async () => {
      if (this.#older === "") return;
      for (const entry of (await this.entries()).values()) this.had.delete(canonicalJson(entry));
      writeFileSync(this.file, this.#older);
      for (const entry of (await this.entries()).values()) this.had.add(canonicalJson(entry));
      this.forgot = true;
    },
  };

  readonly names = new Set<string>();

  async put(name: string, before: object | undefined): Promise<void> {
    this.names.add(name);
    if (before !== undefined) this.had.delete(canonicalJson(before));
    const entry = this.newEntry();
    this.had.add(canonicalJson(entry));
    await this.edit(new Map([[name, entry]]));
    if (this.names.size === WORDS.length) this.names.clear();
  }

  /** Each is in the client's file, or the policy can start it with its secrets. */
  async nothingIsLost(): Promise<void> {
    const policy = await parsePolicy(readFileSync(house.policy, "utf8"), { file: house.policy });
    const held = [...policy.servers.values()].map((grant) => {
      const url = grant.launch.kind === "url" ? grant.launch.url : "";
      return `${url} ${filled(policy, grant, grant.headers)["Authorization"]}`;
    });
    const there = new Set([...(await this.entries()).values()].map(canonicalJson));
    for (const each of this.had) {
      const [url = "", token = ""] = [/http:[^"]+/.exec(each)?.[0], /Bearer [^"]+/.exec(each)?.[0]];
      expect(there.has(each) || held.includes(`${url} ${token}`), `${each} after ${this.told.join("\n")}`).toBe(true);
    }
  }
}

it.each(
  ["cursor", "codex", "continue"].flatMap((id) =>
    Array.from({ length: repeated(8, 25) }, (_, seed) => [id, seed] as const),
  ),
)("%s, life %i: no server of its user is lost", async (id, seed) => {
  const life = new Life(id, seed + 1);
  const names = Object.keys(life.steps);
  for (let step = 0; step < 14; step++) {
    const name = step === 0 ? "the user adds a server" : (names[life.below(names.length)] as string);
    life.told.push(name);
    await life.steps[name]?.();
    await life.nothingIsLost();
  }
  life.told.push("uninstall, the last");
  await life.steps["uninstall"]?.();
});
