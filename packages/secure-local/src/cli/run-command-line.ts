// Runs one command line: finds the command, loads what it needs and nothing else, and says what went wrong.
import { serveStdio } from "@secure-local/mcp/stdio";
import { type CommandLine, nearest, readCommandLine, refuseForeign, UsageError } from "./command-line.js";
import { ownPlaces, pluginFolders, policyFile, programVersion } from "./settings.js";
import { clearProgress, complain, endWithReader, ExitCode, InterruptedError, print, tell } from "./terminal.js";
import { type AuditLog, DeferredStart } from "../audit/audit-log.js";
import { loadPolicy } from "../policy/load-policy.js";
import { telemetry } from "../observe/open-telemetry.js";
import { tuneEngine } from "../server/engine.js";
import { followPolicyFile } from "../server/follow-policy-file.js";
import { SecureServer } from "../server/secure-server.js";
import { ControlDoor } from "./approval-channels.js";
import { auditKeeper, logPlaces, openAudit } from "./open-audit.js";

type Command = (line: CommandLine) => Promise<number>;

const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve-http-command.js")).serveHttpCommand,
  attach: async () => (await import("./attach-command.js")).attachCommand,
  tools: async () => (await import("./tools-command.js")).toolsCommand,
  call: async () => (await import("./remote/remote-call.js")).callCommand,
  approve: async () => (await import("./approve-command.js")).approveCommand,
  console: async () => (await import("./console-command.js")).consoleCommand,
  inspect: async () => (await import("./remote/inspect-command.js")).inspectCommand,
  read: async () => (await import("./remote/remote-call.js")).readCommand,
  prompt: async () => (await import("./remote/remote-call.js")).promptCommand,
  record: async () => (await import("./remote/record-command.js")).recordCommand,
  list: async () => (await import("./remote/list-command.js")).listCommand,
  bridge: async () => (await import("./remote/bridge-command.js")).bridgeCommand,
  trust: async () => (await import("./remote/folder-trust.js")).trustCommand,
  replay: async () => (await import("./remote/record-command.js")).replayCommand,
  doctor: async () => (await import("./remote/doctor-command.js")).doctorCommand,
  plugins: async () => (await import("./plugins-command.js")).pluginsCommand,
  servers: async () => (await import("./servers-command.js")).serversCommand,
  install: async () => (await import("./install-command.js")).installCommand,
  uninstall: async () => (await import("./install-command.js")).uninstallCommand,
  sandbox: async () => (await import("./sandbox-command.js")).sandboxCommand,
  policy: async () => (await import("./policy-command.js")).policyCommand,
  status: async () => (await import("./status-command.js")).statusCommand,
  completion: async () => (await import("./completion-command.js")).completionCommand,
  help: async () => (await import("./help.js")).helpCommand,
  migrate: async () => (await import("./migrate-command.js")).migrateCommand,
  audit: async () => (await import("./audit-command.js")).auditCommand,
};

async function run(argv: readonly string[]): Promise<number> {
  const line = readCommandLine(argv);
  const [word, ...words] = line.words;
  if (!line.help) refuseForeign(line, word);
  // Serving is what has to be ready at once, so it comes first and needs nothing that is loaded later.
  const wantsText = line.version || line.help || word !== undefined || line.json;
  if (!wantsText && !process.stdin.isTTY) return await serveCommand(line);
  if (word !== "serve" || line.help || line.version) endWithReader();
  if (line.version) {
    tell(line, { version: programVersion() }, programVersion());
    return ExitCode.Ok;
  }
  if (line.help) {
    return await (await import("./help.js")).helpCommand(line);
  }
  if (word === undefined) {
    if (line.json) throw new UsageError("--json belongs to a command, as in mcp-secure-local tools --json");
    print((await import("./welcome.js")).welcome(undefined, undefined, line.policy));
    return ExitCode.Ok;
  }
  if (!Object.hasOwn(COMMANDS, word)) {
    const near = nearest(word, Object.keys(COMMANDS));
    const tool = /^[a-z]+(?:_+[a-z]+)+$|^calculate$/.test(word)
      ? `; to call a tool: mcp-secure-local call ${word}`
      : "";
    throw new UsageError(`there is no command "${word}"${near || tool || "; see mcp-secure-local help"}`);
  }
  const command = await COMMANDS[word]!();
  const work = (): Promise<number> => command({ ...line, words });
  return await (endsInOrder(word, words) ? work() : untilInterrupted(work));
}

/** Commands that end what they have begun by themselves when Ctrl-C is pressed, or pass it on to what they run. */
const IN_ORDER: ReadonlySet<string> = new Set([
  ...["serve", "attach", "bridge", "console", "record", "replay", "sandbox", "approve"],
  ...["call", "read", "prompt", "inspect", "list", "doctor"],
]);

function endsInOrder(word: string, [action = ""]: readonly string[]): boolean {
  return IN_ORDER.has(word) || (word === "servers" && ["run", "test"].includes(action));
}

/** Ctrl-C gives the work up: with the process end the programs it has started. @throws InterruptedError */
async function untilInterrupted(work: () => Promise<number>): Promise<number> {
  let giveUp!: (error: InterruptedError) => void;
  const interrupted = new Promise<never>((_resolve, reject) => (giveUp = reject));
  const stop = (): void => giveUp(new InterruptedError("interrupted"));
  process.once("SIGINT", stop);
  try {
    return await Promise.race([work(), interrupted]);
  } finally {
    clearProgress();
    process.removeListener("SIGINT", stop);
  }
}

/** The exit code. Every error ends here, as lines on stderr or with --json as one object there. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  try {
    return await run(argv);
  } catch (error) {
    return tellAnyFailure(error, argv);
  }
}

/** Says what went wrong, as the command line wants to be told: also one that cannot be read. `before`: words before those of the error. */
export async function tellAnyFailure(error: unknown, argv: readonly string[], before = ""): Promise<number> {
  const options = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv;
  const { changeableBy, tellFailure } = await import("./failure.js");
  const by = await changeableBy(wordsOf(argv));
  return tellFailure(error, { json: options.includes("--json"), debug: options.includes("--debug"), by, before });
}

function wordsOf(argv: readonly string[]): readonly string[] {
  try {
    return readCommandLine(argv).words;
  } catch {
    // What it says of itself names no option of any command.
    return [];
  }
}

// Serves an AI client over stdin and stdout.

/** Resolves when the client has gone. @throws PolicyError, AuditError before anything is served */
async function serveCommand(line: CommandLine): Promise<number> {
  const file = policyFile(line);
  const policy = await loadPolicy(file, line.profile);
  const audit = await openAudit(line, policy, say);
  const version = programVersion();
  const late = new DeferredStart(audit);
  const door = new ControlDoor(say);
  const secure = new SecureServer({
    policy,
    audit: late,
    version,
    say,
    tellPrinted: line.debug,
    own: [...ownPlaces(line), ...logPlaces(line, policy)],
    ...pluginFolders(),
    channel: door.channel,
    telemetry: await telemetry(version, say),
  });
  const stopFollowing = followPolicyFile(secure, file, {
    say,
    adopt: auditKeeper(audit, line, { policy, say }),
  });
  tuneEngine();
  secure.starting();
  const serving = await serveStdio(secure.server);
  late.after(() => secure.start());
  door.open({ secure, version, auditFile: audit.file, audit, transport: "stdio" });
  await serving.closed;
  await door.close();
  stopFollowing();
  await secure.stop();
  // A handler that does not listen to its signal must not keep the process from following its client.
  process.exit(await closed(audit));
}

async function closed(audit: AuditLog): Promise<number> {
  try {
    await audit.close();
    return ExitCode.Ok;
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return ExitCode.Failed;
  }
}

function say(text: string): void {
  complain(`mcp-secure-local: ${text}`);
}
