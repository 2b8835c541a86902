// `mcp-secure-local list`: every server that the clients on this machine are configured with, and how each of them is.
import { ConnectError, LocalError } from "@secure-local/mcp/client/node";
import { cleanLine } from "../../guard/cleaning/clean-text.js";
import { everyServer, type Listed, targetFor } from "@secure-local/mcp-tools/configured-servers";
import { openClient, targetText } from "@secure-local/mcp-tools/target";
import { type CommandLine, UsageError } from "../command-line.js";
import { clientTokensFile, programVersion } from "../settings.js";
import { ExitCode, print, printJson, showProgress, styled } from "../terminal.js";
import { changeableBy, failureCode, inOptions } from "../failure.js";
import { inSandbox } from "./find-target.js";
import { isTrusted, shellWord, untrustedServer, TRUSTED } from "./folder-trust.js";
import { interruptible, limitsOf, timeoutMs } from "./with-client.js";

/** Programs that are started at once: each may install itself first. */
const AT_ONCE = 4;
/** Milliseconds one server may take in all. A first start by npx takes up to half a minute. */
const PATIENCE_MS = 30_000;
/** More than anybody has; what is beyond is counted. */
const MOST_SERVERS = 500;

type Health = "ok" | "failed" | "login needed" | "disabled" | "not allowed" | "broken";

/** The keys of `list --json`. */
interface Row {
  readonly name: string;
  readonly client: string;
  readonly file: string;
  readonly health: Health;
  /** What is wrong, and what to do. */
  readonly reason?: string;
  readonly target?: string;
  readonly server?: string;
  readonly revision?: string;
  readonly transport?: string;
  readonly tools?: number;
  /** Milliseconds from the start to the list of tools. */
  readonly ms?: number;
}

export async function listCommand(line: CommandLine): Promise<number> {
  if (line.words.length > 0) throw new UsageError(`list takes no "${line.words[0]}"; for one server: inspect NAME`);
  const all = await everyServer({ file: line.config });
  const rows: Row[] = [];
  await interruptible(async (signal) => {
    const waiting = all.slice(0, MOST_SERVERS).entries();
    let done = 0;
    const work = async (): Promise<void> => {
      // One iterator for all of them: each takes the next.
      for (const [at, listed] of waiting) {
        showProgress(`asking ${all.length} servers, ${done} have answered`);
        rows[at] = await rowOf(listed, line, signal);
        signal.throwIfAborted();
        done += 1;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return ExitCode.Ok;
  });
  if (line.json) printJson(rows);
  else show(rows, all.length - rows.length);
  return rows.some(({ health }) => health === "failed" || health === "broken") ? ExitCode.Failed : ExitCode.Ok;
}

async function rowOf({ name, place, found, problem }: Listed, line: CommandLine, signal: AbortSignal): Promise<Row> {
  const base = { name, client: place.client, file: place.path };
  if (found === undefined) return { ...base, health: "broken", reason: problem ?? "" };
  if (found.server.disabled) return { ...base, health: "disabled" };
  try {
    if (place.owner === "folder" && !(await isTrusted(found)))
      return {
        ...base,
        health: "not allowed",
        reason: `a folder's file: mcp-secure-local trust ${shellWord(name)} shows it and asks`,
      };
    const trusted = place.owner === "user" ? {} : { [TRUSTED]: (await untrustedServer(found)).digest };
    const target = inSandbox(await targetFor(found, { consent: () => Promise.resolve() }), trusted);
    const shown = { ...base, target: targetText(target) };
    return { ...shown, ...(await healthOf(target, line, signal)) };
  } catch (error) {
    if (!(error instanceof Error) || failureCode(error) === undefined) throw error;
    return { ...base, health: "broken", reason: inOptions(error.message, await changeableBy(["list"])) };
  }
}

async function healthOf(
  target: Parameters<typeof openClient>[0],
  line: CommandLine,
  interrupted: AbortSignal,
): Promise<Pick<Row, "health" | "reason" | "server" | "revision" | "transport" | "tools" | "ms">> {
  const started = performance.now();
  const most = timeoutMs(line) ?? PATIENCE_MS;
  const signal = AbortSignal.any([interrupted, AbortSignal.timeout(most)]);
  try {
    const client = await openClient(target, {
      clientInfo: { name: "mcp-secure-local", version: programVersion() },
      // Nobody is sent to a page by a list.
      person: { tokensFile: clientTokensFile(), show: undefined },
      ...limitsOf(line),
      ...{ timeoutMs: most, maxTimeoutMs: most, connectTimeoutMs: most, signal },
      ...{ reconnect: false, cache: false, verdicts: false, validateOutput: "off" },
    });
    try {
      const { server, revision, transport, capabilities } = client;
      const tools = capabilities.tools === undefined ? [] : await client.tools().all();
      const ms = Math.round(performance.now() - started);
      return { health: "ok", server: `${server.name} ${server.version}`, revision, transport, tools: tools.length, ms };
    } finally {
      await client.close();
    }
  } catch (error) {
    if (interrupted.aborted || !(error instanceof Error)) throw error;
    if (signal.aborted)
      return { health: "failed", reason: `no answer within ${most / 1000} s; --timeout SECONDS waits longer` };
    const code = failureCode(error);
    if (code === undefined && !(error instanceof ConnectError) && !(error instanceof LocalError)) throw error;
    const login = code === ExitCode.Unauthorized;
    return {
      health: login ? "login needed" : "failed",
      reason: inOptions(error.message, await changeableBy(["list"])),
    };
  }
}

function show(rows: readonly Row[], more: number): void {
  if (rows.length === 0) print("No client on this machine has a server configured.");
  const files = new Map<string, Row[]>();
  for (const row of rows) files.set(row.file, [...(files.get(row.file) ?? []), row]);
  for (const [file, listed] of files) {
    print(`${styled("bold", listed[0]?.client ?? "")} ${styled("dim", cleanLine(file))}`);
    for (const row of listed) print(rowText(row));
  }
  if (more > 0) print(`and ${more} more, which were not looked at`);
}

const COLOURS = {
  ok: "green",
  failed: "red",
  broken: "red",
  "login needed": "yellow",
  disabled: "dim",
  "not allowed": "yellow",
} as const;
const LONGEST_REASON = 300;

function rowText({ name, health, reason, server, revision, tools, ms }: Row): string {
  const facts = server === undefined ? [] : [server, revision ?? "", `${tools ?? 0} tools`, `${ms ?? 0} ms`];
  const [first = ""] = (reason ?? "").split("\n");
  const told = first.length > LONGEST_REASON ? `${first.slice(0, LONGEST_REASON)}…` : first;
  const words = cleanLine([...facts, told].filter((each) => each !== "").join("  "));
  return `  ${styled(COLOURS[health], health.padEnd(12))}  ${name === "" ? "the whole file" : cleanLine(name)}  ${words}`.trimEnd();
}
