// `mcp-secure-local call [TARGET] NAME`: calls a tool of another server, or one of ours through the same guard a client's calls pass.
import { RpcError } from "@secure-local/mcp/server";
import { connectInMemory } from "@secure-local/mcp/testing";
import { cleanText } from "../guard/cleaning/clean-text.js";
import { loadPolicy } from "../policy/load-policy.js";
import { SecureServer } from "../server/secure-server.js";
import { readArguments } from "./call-arguments.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { namesTarget } from "./remote/find-target.js";
import { ownTerminalDesk } from "./desks.js";
import { openAudit } from "./open-audit.js";
import { ownPlaces, pluginFolders, policyFile, programVersion } from "./settings.js";
import { startPlugins } from "./started-plugins.js";
import { complain, ExitCode, print, printJson } from "./terminal.js";

interface Answer {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly isError?: boolean;
}

export async function callCommand(line: CommandLine): Promise<number> {
  if (namesTarget(line, 1)) return (await import("./remote/remote-call.js")).remoteCall(line);
  const [name, ...given] = line.words;
  if (name === undefined) throw new UsageError("call needs the name of a tool; mcp-secure-local tools lists them");
  const policy = await loadPolicy(policyFile(line));
  const audit = await openAudit(line, policy, complain);
  const kept = { own: ownPlaces(line), ...pluginFolders(), desk: ownTerminalDesk() };
  const secure = new SecureServer({ policy, audit, version: programVersion(), say: complain, ...kept });
  // What is built in needs no plugin, and is answered sooner without.
  const plugins = policy.plugins.load.size > 0 && !secure.tools().some((tool) => tool.name === name);
  try {
    if (plugins) await startPlugins(secure);
    const schema = secure.tools().find((tool) => tool.name === name)?.input;
    const params = { name, arguments: readArguments(given, schema) };
    const peer = await connectInMemory(secure.server, {
      client: { name: "mcp-secure-local call", version: programVersion() },
    });
    return show((await peer.request("tools/call", params)) as unknown as Answer, line.json);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    complain(`mcp-secure-local: ${cleanText(error.message)}`);
    return ExitCode.Tool;
  } finally {
    if (plugins) await secure.stop();
    await audit.close();
  }
}

function show(answer: Answer, json: boolean): number {
  const failed = answer.isError === true;
  if (json) printJson(answer);
  else {
    const texts = answer.content.map(({ type, text }) => text ?? `[${type}]`).join("\n");
    (failed ? complain : print)(texts);
  }
  return failed ? ExitCode.Tool : ExitCode.Ok;
}
