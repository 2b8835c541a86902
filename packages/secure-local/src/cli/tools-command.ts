// `mcp-secure-local tools [TARGET]`: lists the tools the policy allows, with their limits, or those of another server.
import { noAudit } from "../audit/event-text.js";
import { seconds } from "../guard/compiled-policy.js";
import { loadPolicy } from "../policy/load-policy.js";
import { forTool } from "../policy/policy.js";
import { SecureServer } from "../server/secure-server.js";
import { type CommandLine, inUse, UsageError } from "./command-line.js";
import { namesTarget } from "./remote/find-target.js";
import { withheldServers } from "./server-state.js";
import { ownPlaces, pluginFolders, policyFile, programVersion } from "./settings.js";
import { startPlugins } from "./started-plugins.js";
import { complain, ExitCode, fitted, outputWidth, print, printJson, styled } from "./terminal.js";

const NONE =
  "The policy allows no tool that has anything to work on. mcp-secure-local policy check says what is missing in it, and mcp-secure-local doctor what is missing on this machine.";

/** Characters of a description that tell something in the narrowest terminal. */
const LEAST = 30;

export async function toolsCommand(line: CommandLine): Promise<number> {
  if (namesTarget(line, 0)) return (await import("./remote/inspect-command.js")).remoteTools(line);
  if (line.words.length > 0)
    throw new UsageError(`tools takes no "${line.words[0]}"; to call a tool: mcp-secure-local call NAME`);
  const policy = await loadPolicy(policyFile(line), line.profile);
  const kept = { own: ownPlaces(line), ...pluginFolders() };
  const secure = new SecureServer({ policy, audit: noAudit, version: programVersion(), ...kept, say: complain });
  if (policy.plugins.load.size + policy.servers.size > 0) await startPlugins(secure);
  const offered = [...secure.tools(), ...secure.serverTools()];
  await secure.stop();
  const tools = offered.map(({ name, description, input }) => ({
    name,
    description,
    rateLimit: forTool(policy.tools.rateLimits, name),
    timeoutMs: forTool(policy.tools.timeoutsMs, name),
    input,
  }));
  if (line.json) {
    printJson(tools);
    return ExitCode.Ok;
  }
  for (const { name, why } of withheldServers(policy))
    complain(
      `The server ${name} is withheld: ${why}. Look at it: mcp-secure-local servers review ${name}${inUse(line)}`,
    );
  const { load } = policy.plugins;
  if (tools.length === 0)
    print(load.size === 0 ? NONE : `${NONE} mcp-secure-local plugins list${inUse(line)} says how the plugins are.`);
  const columns = outputWidth() ?? 0;
  const width = Math.max(0, ...tools.map(({ name }) => name.length));
  for (const { name, description, rateLimit, timeoutMs } of tools) {
    const limits = styled("dim", `(${rateLimit} a minute, ${seconds(timeoutMs)} each)`);
    const about =
      outputWidth() === undefined
        ? description
        : fitted(firstSentence(description), Math.max(LEAST, columns - width - 2));
    print(
      `${styled("bold", name.padEnd(width))}  ${about}${outputWidth() === undefined ? " " : `\n${" ".repeat(width)}  `}${limits}`,
    );
  }
  return ExitCode.Ok;
}

function firstSentence(text: string): string {
  return /^.*?[.!?](?= |$)/s.exec(text)?.[0] ?? text;
}
