// Many processes with one token file: however they need a token, the authorization server is asked once.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { repeated } from "../support/soak.js";
import { type Mock, mockAuthorization } from "./support/mock-authorization.js";

const PROCESSES = repeated(3, 12);
const SOURCES = join(import.meta.dirname, "../../src/entries");
const PROGRAM = join(import.meta.dirname, "fixtures/sharing-process.mjs");

let folder: string;
let library: string;

/** The library as one file, from the sources: other processes know nothing of the test runner's own loader. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "shared-file-"));
  library = join(folder, "library.mjs");
  const entry = join(folder, "entry.mjs");
  const lines = ["auth-client", "auth-client-node"].map(
    (name) => `export * from ${JSON.stringify(join(SOURCES, `${name}.ts`))};`,
  );
  await writeFile(entry, lines.join("\n"));
  const build = await rolldown({ input: entry, platform: "node", external: /^node:/ });
  await build.write({ file: library, format: "esm", codeSplitting: false });
  await build.close();
});

afterAll(() => rm(folder, { recursive: true }));

/** Starts all of them and waits until each is ready for the word. Gives what lets all call at once, and tells what each got. */
async function startAll(mock: Mock, file: string): Promise<() => Promise<string[]>> {
  const children = Array.from({ length: PROCESSES }, () =>
    spawn(process.execPath, [PROGRAM, library, mock.serverUrl, file], { stdio: ["pipe", "pipe", "inherit"] }),
  );
  onTestFinished(() => {
    for (const child of children) child.kill("SIGKILL");
  });
  const lines = children.map((child) => createInterface({ input: child.stdout }));
  const next = async (): Promise<string[]> => (await Promise.all(lines.map((line) => once(line, "line")))).flat();
  expect(await next()).toEqual(all("ready"));
  return async () => {
    const answers = next();
    for (const child of children) child.stdin.write("go\n");
    return answers;
  };
}

async function tokensOf(
  file: string,
  mock: Mock,
): Promise<{ expiresAt: number; accessToken: string; refreshToken: string }> {
  const { servers } = JSON.parse(await readFile(file, "utf8")) as { servers: Record<string, { tokens: never }> };
  return (servers[mock.serverUrl] as { tokens: never }).tokens;
}

const grants = (mock: Mock): (string | null)[] => mock.to("/token").map(({ form }) => form.get("grant_type"));
const all = (text: string): string[] => Array.from({ length: PROCESSES }, () => text);

it(
  "authorizes once, refreshes once when the token is refused, and once when it has ended",
  { timeout: 60_000 },
  async () => {
    const mock = await mockAuthorization({ lifeSeconds: 3600 });
    const file = join(folder, "tokens", "tokens.json");
    const callAll = await startAll(mock, file);
    expect(await callAll()).toEqual(all("status 200"));
    expect(grants(mock)).toEqual(["authorization_code"]);

    mock.tokens.clear();
    expect(await callAll()).toEqual(all("status 200"));
    expect(grants(mock)).toEqual(["authorization_code", "refresh_token"]);

    const text = await readFile(file, "utf8");
    const { expiresAt } = await tokensOf(file, mock);
    await writeFile(file, text.replace(String(expiresAt), "1"));
    mock.tokens.clear();
    expect(await callAll()).toEqual(all("status 200"));
    expect(grants(mock)).toEqual(["authorization_code", "refresh_token", "refresh_token"]);

    expect(mock.refreshTokens.has((await tokensOf(file, mock)).refreshToken)).toBe(true);
    expect(await readdir(join(folder, "tokens"))).toEqual(["tokens.json"]);
  },
);
