// What every command is for, in one place: the help texts, the completion scripts and the man page are made of it.
import { existsSync } from "node:fs";
import { join } from "node:path";

/** One command, or one action of a command such as `policy check`. */
export interface CommandPage {
  /** As it is typed: `policy check`. */
  readonly name: string;
  /** What follows the name. */
  readonly usage: string;
  /** One line. */
  readonly about: string;
  /** More, where a line is too short. */
  readonly details?: string;
  /** Names of options it has beside those of every command. */
  readonly options?: readonly string[];
  /** Command lines after the program's name, each with what it does. */
  readonly examples: readonly (readonly [line: string, does: string])[];
}

/** Where the pages of the documentation are: beside the program that was installed, or in the repository. */
export const DOCUMENTATION: string =
  ["docs", "../../../../docs"]
    .map((folder) => join(import.meta.dirname, folder, "README.md"))
    .find((page) => existsSync(page)) ?? "the folder dist/docs of the package";

const POLICY = "--policy";
const TARGET: readonly string[] = [
  "--config",
  "--env",
  "--header",
  "--token",
  "--token-file",
  "--revision",
  "--timeout",
];
const LIMITS: readonly string[] = ["--max-message-mb", "--max-members"];
const LISTEN: readonly string[] = ["--port", "--host", "--public-host", "--origin", "--no-auth"];

const SHARE: readonly string[] = ["--redis", "--share-key", "--prefix"];

export const TARGET_TEXT =
  "TARGET is a URL, the name of a server in a configuration file (.mcp.json, VS Code, Claude, Cursor, Codex), or a command after -- at the end.";

export const COMMAND_PAGES: readonly CommandPage[] = [
  {
    name: "serve",
    usage: "",
    about: "Serve AI clients over HTTP on this machine, and print how to connect them",
    details:
      "Listens on 127.0.0.1:3333 and asks for a bearer token, which is made once and kept in a file only you can read.",
    options: [
      POLICY,
      "--profile",
      "--audit",
      ...LISTEN,
      "--socket",
      "--rate",
      "--tokens",
      "--sse",
      "--quiet",
      "--verbose",
      "--console",
      ...SHARE,
      "--address",
    ],
    examples: [
      ["serve", "serve on port 3333"],
      ["serve --port 8080 --policy team.yaml", "another port, another policy"],
      ["serve --public-host mcp.example.com", "behind a proxy of that name"],
      ["serve --socket /run/user/1000/mcp.sock", "a Unix socket for you alone"],
      ["serve --redis redis://10.0.0.2 --address tcp://10.0.0.5:3101", "one of many processes behind a balancer"],
      ["serve --profile work", "that part of the policy alone; without it each profile has its path, as /mcp/work"],
    ],
  },
  {
    name: "attach",
    usage: "",
    about: "Be, on stdin and stdout, the server that serve runs: what a client starts, so that all share its servers",
    details:
      "Finds the running serve of the same policy by a Unix socket that only you can open. When serve is started anew, a session goes on with the next request.",
    options: [POLICY, "--profile"],
    examples: [
      ["attach", "in a client's configuration, while serve runs"],
      ["attach --profile work", "the profile work of that server"],
    ],
  },
  {
    name: "tools",
    usage: "[TARGET]",
    about: "List the tools the policy allows, with their limits, or the tools of another server",
    options: [POLICY, "--profile", ...TARGET, ...LIMITS],
    examples: [
      ["tools", "what your client would see"],
      ["tools github", "the tools of a server from your client's configuration"],
    ],
  },
  {
    name: "call",
    usage: "[TARGET] NAME [ARGUMENTS]",
    about: "Call a tool; ARGUMENTS is one JSON object or key=value pairs",
    details:
      "key=@FILE takes the value from a file. Of TARGET, a tool that may destroy something is called after you agree; of this program and of the servers of the policy, the policy says what you are asked. What a server asks you is asked in the terminal. A server of the policy is started for each call, which takes a while by npx; serve keeps it running.",
    options: [POLICY, "--profile", "--audit", "--yes", "--save-images", ...TARGET, ...LIMITS],
    examples: [
      ["call calculate 'expression=2 + 3 * 4'", "a tool of this program"],
      ["call read_file path=~/notes/plan.txt", "as your client would, under the same policy"],
      ["call https://host/mcp search query=news", "a tool of another server"],
    ],
  },
  {
    name: "read",
    usage: "[TARGET] URI",
    about: "Read a resource",
    options: [POLICY, ...TARGET, ...LIMITS],
    examples: [["read server://info", "a resource of this program"]],
  },
  {
    name: "prompt",
    usage: "[TARGET] NAME [ARGUMENTS]",
    about: "Get a prompt",
    options: [POLICY, ...TARGET, ...LIMITS],
    examples: [["prompt code_review code='x = 1'", "a prompt of this program"]],
  },
  {
    name: "approve",
    usage: "[remembered | take-back ID]",
    about: "Show the calls that wait for your approval, and take your answers",
    details: "remembered: answers that let calls pass for a time; take-back ID, or all: such calls ask again",
    examples: [["approve", "leave it open in a terminal while your client works"]],
  },
  {
    name: "console",
    usage: "",
    about: "Watch calls, answer questions and check the log in the browser; prints an address of this machine",
    options: [POLICY, "--audit", "--port", "--open"],
    examples: [["console --open", "on a port that is free, opened in your browser"]],
  },
  {
    name: "status",
    usage: "",
    about: "Show what is in force here: policy, audit log, token, sandbox, plugins, clients, versions",
    details:
      "The exit code is 0 when all is well, notes aside, and 1 when something that is wanted here does not work.",
    options: [POLICY, "--audit"],
    examples: [["status", ""]],
  },
  {
    name: "policy init",
    usage: "[FILE]",
    about: "Ask what an AI client may do, and write the policy that allows it",
    details: "Without FILE it writes to the place where every command looks for a policy.",
    options: ["--preset", "--yes"],
    examples: [
      ["policy init", "ask, and write the policy that every command reads"],
      ["policy init work.yaml --preset read-only --yes", "without questions"],
    ],
  },
  {
    name: "policy check",
    usage: "[FILE]",
    about: "Say whether a policy can be used, every fault in it, and what in it is probably not meant",
    options: [POLICY, "--strict"],
    examples: [
      ["policy check", "the policy in force"],
      ["policy check work.yaml --strict", "in CI: notes are failures, too"],
    ],
  },
  {
    name: "policy show",
    usage: "[FILE]",
    about: "Print the policy in full, with presets and defaults filled in",
    options: [POLICY],
    examples: [["policy show", ""]],
  },
  {
    name: "policy map",
    usage: "[FILE]",
    about: "Draw what a client may reach: folders, hosts, commands, databases, plugins",
    options: [POLICY, "--output", "--force"],
    examples: [
      ["policy map", "in the terminal"],
      ["policy map --output reach.svg", "as a picture"],
    ],
  },
  {
    name: "policy explain",
    usage: "QUESTION",
    about: "Say which rule decides about a call, a URL, a path or a command",
    details:
      "QUESTION is NAME [ARGUMENTS], call NAME [ARGUMENTS], fetch URL, read PATH, write PATH, run [--] COMMAND…, prompt NAME [ARGUMENTS] or resource URI.",
    options: [POLICY, "--profile"],
    examples: [
      ["policy explain read ~/notes/plan.txt", "may this file be read?"],
      ["policy explain run -- git log --oneline", "may this command run?"],
    ],
  },
  {
    name: "policy test",
    usage: "FILE",
    about: "Check that calls are allowed and denied as a file of cases says",
    options: [POLICY],
    examples: [["policy test cases.yaml", ""]],
  },
  {
    name: "policy import",
    usage: "vscode FILE [SERVER]",
    about: "Print the policy that equals the sandbox block of a VS Code configuration",
    examples: [["policy import vscode .vscode/mcp.json", ""]],
  },
  {
    name: "policy export",
    usage: "vscode [FILE]",
    about: "Print the sandbox block of VS Code that equals a policy",
    options: [POLICY],
    examples: [["policy export vscode", ""]],
  },
  {
    name: "audit query",
    usage: "[KEY=VALUE…] [WORD…]",
    about: "Show the calls on record, one line each: time, client, tool, object, outcome, rule",
    details:
      "Keys: tool, server, client, principal, profile, kind, outcome, method, policy, connection, id (* stands for anything), decision=allowed|denied, since, until. A bare WORD must appear somewhere. --json prints the records as they are.",
    options: [POLICY, "--audit", "--since"],
    examples: [
      ["audit query --since 24h decision=denied", "what was denied since yesterday"],
      ["audit query tool=read_file secret", "reads of anything with secret in its record"],
    ],
  },
  {
    name: "audit tail",
    usage: "[KEY=VALUE…] [WORD…]",
    about: "Show the newest calls, and each new one as it ends",
    options: [POLICY, "--audit", "--since"],
    examples: [["audit tail", ""]],
  },
  {
    name: "audit report",
    usage: "[KEY=VALUE…] [WORD…]",
    about: "Write the log as one HTML file to look at and to send: timeline, clients, tools, denials, reach",
    options: [POLICY, "--audit", "--since", "--output", "--force"],
    examples: [["audit report --since 7d --output week.html", "the last seven days"]],
  },
  {
    name: "audit verify",
    usage: "[FILE | FOLDER]",
    about: "Check that no record was changed, removed or added since it was written",
    details:
      "Of a FOLDER with the logs of all processes of a server, that none is missing or cut either: by what they say of each other, and with --redis by what they have signed there. With --redis alone, of the folder of the log in use.",
    options: [POLICY, "--audit", ...SHARE],
    examples: [
      ["audit verify", "the log in use, with its older files and checkpoints"],
      ["audit verify logs/ --redis redis://10.0.0.2", "the logs of all processes that share there"],
    ],
  },
  {
    name: "audit archive",
    usage: "FOLDER",
    about: "Verify the log, and move its full files to a folder for good, so that what is left still verifies",
    details:
      "Leaves a signed word of what was moved, in FILE.archived beside the log. Interrupted, it goes on when it is run again.",
    options: [POLICY, "--audit"],
    examples: [["audit archive /mnt/archive", "then, as long as it lies there: audit verify /mnt/archive/audit.log"]],
  },
  {
    name: "audit restored",
    usage: "WHY",
    about: "Accept that the log was put back from a copy of an earlier time, and that its newer records are lost",
    details:
      "Says what is lost; with --yes it is accepted, by a record in the log and a signed word in FILE.restored beside it. audit verify says so from then on. A changed log is not accepted. Stop the servers before.",
    options: [POLICY, "--audit", "--yes"],
    examples: [
      ['audit restored "disk of 3 May replaced"', "what would be accepted"],
      ['audit restored "disk of 3 May replaced" --yes', "and accept it"],
    ],
  },
  {
    name: "servers list",
    usage: "",
    about: "Say of each server of the policy whether it is approved, what its tools cost a model, and how it runs",
    options: [POLICY, "--json"],
    examples: [["servers list", ""]],
  },
  {
    name: "servers add",
    usage: "NAME URL, or NAME -- COMMAND…",
    about:
      "Write another server into the policy, start it once in the sandbox, show what it offers and ask for approval",
    details:
      "A folder or file of the command may be read. --env KEY takes the value from this environment, and it is kept in a file of its own as every secret.",
    options: [POLICY, "--env", "--header"],
    examples: [
      ["servers add notes -- npx -y @modelcontextprotocol/server-filesystem@2026.7.10 /srv/notes", ""],
      ["servers add board --env BOARD_KEY -- node /home/ada/mcp/board.mjs", "a variable of yours that it needs"],
      ["servers add tickets https://tickets.example/mcp", ""],
    ],
  },
  {
    name: "servers import",
    usage: "[CLIENT | FILE]",
    about: "Bring the servers that clients on this machine have under the policy, their secrets out of the files",
    options: [POLICY, "--yes"],
    examples: [
      ["servers import", "those of every client"],
      ["servers import cursor", ""],
    ],
  },
  {
    name: "install",
    usage: "CLIENT",
    about: "Tell a client of this program: shows the change, keeps a dated copy of its file and the comments in it",
    details:
      "CLIENT is claude-desktop, claude-code, cursor, vscode, windsurf, codex, gemini, zed, cline, roo, kilo, copilot, opencode or continue.",
    options: [POLICY, "--profile", "--attach", "--move", "--print", "--yes"],
    examples: [
      ["install cursor --attach --profile work", "the profile work of the server that serve runs"],
      ["install claude-desktop --move", "with the servers it has brought under the policy"],
      ["install --print", "what belongs into the file of each client"],
    ],
  },
  {
    name: "uninstall",
    usage: "CLIENT",
    about: "Undo install: the client's file is byte by byte as it was",
    examples: [["uninstall claude-desktop", ""]],
  },
  {
    name: "servers review",
    usage: "[NAME]",
    about: "Show what of the servers is not as you approved it, and approve it server by server",
    options: [POLICY, "--full", "--yes", "--digest", "--only", "--json"],
    examples: [
      ["servers review", "asks in a terminal, server by server; v shows the whole of one"],
      ["servers review notes --full", "in a terminal too shows the whole before it asks"],
      ["servers review notes --yes --digest 1f0c…", "elsewhere: the digest stands at the end of what it shows"],
      ["servers review --json", "in a continuous integration: fails while something waits"],
    ],
  },
  {
    name: "servers show",
    usage: "NAME",
    about: "Show what of a server was approved",
    options: [POLICY, "--json"],
    examples: [["servers show notes", ""]],
  },
  {
    name: "servers test",
    usage: "NAME",
    about: "Look for faults in a server, in its sandbox",
    options: [POLICY],
    examples: [["servers test notes", ""]],
  },
  {
    name: "servers login",
    usage: "NAME",
    about: "Log in at a remote server whose entry says login: oauth, in your browser",
    options: [POLICY],
    examples: [["servers login tickets", ""]],
  },
  {
    name: "servers logout",
    usage: "NAME",
    about: "Delete the tokens of a remote server",
    options: [POLICY],
    examples: [["servers logout tickets", ""]],
  },
  {
    name: "servers restart",
    usage: "NAME",
    about: "End the processes of a server, forget what failed, and start it",
    options: [POLICY, "--json"],
    examples: [["servers restart notes", ""]],
  },
  {
    name: "servers stop",
    usage: "NAME",
    about: "End a server in the processes that run now, until it is restarted; enabled: false keeps it off for good",
    options: [POLICY, "--json"],
    examples: [["servers stop notes", ""]],
  },
  {
    name: "servers logs",
    usage: "NAME",
    about: "Show what a server said on its standard error, and when it began and ended",
    options: [POLICY],
    examples: [["servers logs notes", ""]],
  },
  {
    name: "servers run",
    usage: "NAME",
    about: "Start a server in its sandbox, on this standard input and output",
    options: [POLICY, "--audit"],
    examples: [["servers run notes", ""]],
  },
  {
    name: "servers remove",
    usage: "NAME",
    about: "Take a server and its approval away",
    options: [POLICY],
    examples: [["servers remove notes", ""]],
  },
  {
    name: "plugins list",
    usage: "",
    about: "Start the plugins of the policy, and say how each of them is",
    options: [POLICY],
    examples: [["plugins list", ""]],
  },
  {
    name: "plugins lock",
    usage: "[NAME]",
    about: "Show what of the plugins is not as you approved it, and approve what was shown",
    options: [POLICY, "--yes", "--digest", "--only"],
    examples: [
      ["plugins lock weather", "asks in a terminal"],
      ["plugins lock weather --yes --digest 1f0c…", "elsewhere: the digest stands at the end of what it shows"],
    ],
  },
  {
    name: "plugins new",
    usage: "NAME [js|ts|python|sh]",
    about: "Write a plugin that works, with a test",
    examples: [["plugins new weather python", ""]],
  },
  {
    name: "plugins hash",
    usage: "PATH",
    about: "Print the hash by which a policy pins a plugin",
    examples: [["plugins hash ./weather", ""]],
  },
  {
    name: "sandbox",
    usage: "-- COMMAND…",
    about: "Run a command in the sandbox, with what the policy allows and nothing else",
    details:
      "sandbox --config FILE NAME runs a server of a VS Code configuration in the sandbox its own block describes.",
    options: [POLICY, "--audit", "--env", "--config"],
    examples: [["sandbox -- npx -y some-server", "in a client's configuration, in place of npx -y some-server"]],
  },
  {
    name: "list",
    usage: "",
    about: "Show every server that the clients on this machine are configured with, and whether it works",
    options: ["--config", "--timeout", ...LIMITS],
    examples: [["list", ""]],
  },
  {
    name: "inspect",
    usage: "[TARGET]",
    about: "Show what a server is, which protocol versions it speaks, and all it offers",
    options: [POLICY, ...TARGET, ...LIMITS],
    examples: [["inspect -- npx -y @modelcontextprotocol/server-everything", ""]],
  },
  {
    name: "doctor",
    usage: "[TARGET]",
    about: "Say what is wrong with a server and what to do; without TARGET, what this machine lacks",
    options: [POLICY, "--audit", "--strict", "--ignore", ...SHARE, "--tokens", "--profile", ...TARGET, ...LIMITS],
    examples: [
      ["doctor --redis redis://10.0.0.2", "whether a Redis is fit for what processes share"],
      ["doctor", "what this machine lacks, and the command that mends it"],
      ["doctor -- node server.js", "a server of yours"],
    ],
  },
  {
    name: "bridge",
    usage: "URL | -- COMMAND…",
    about: "Connect a client that starts programs to a server at a URL, or a program to clients that speak HTTP",
    options: [...LISTEN, "--shared", ...TARGET, ...LIMITS],
    examples: [
      ["bridge https://host/mcp", "in a client's configuration: that server as a program"],
      ["bridge -- node server.js", "that program over HTTP"],
    ],
  },
  {
    name: "record",
    usage: "FILE TARGET",
    about: "Be the server TARGET for a client, and write all that is said into FILE",
    options: ["--append", "--force", "--url", "--audit", POLICY, ...TARGET],
    examples: [["record session.jsonl --append -- node server.js", "in a client's configuration"]],
  },
  {
    name: "replay",
    usage: "FILE [TARGET]",
    about: "Be the recorded server, or with TARGET the recorded client, and compare the answers",
    options: ["--strict", "--url", ...TARGET],
    examples: [["replay session.jsonl -- node server.js", "does it still answer like that?"]],
  },
  {
    name: "trust",
    usage: "NAME",
    about: "Allow a server of a folder's configuration file, after showing all it would do",
    options: ["--config"],
    examples: [["trust local-tools", ""]],
  },
  {
    name: "migrate",
    usage: "DIR",
    about: "Bring a server of the official SDK over, by the imports of its sources or to our own API",
    details:
      "Rewrites what TypeScript and JavaScript below DIR import of the official SDK to @secure-local/mcp/compat, in place. With --own it rewrites the registrations, handlers and results instead, so that the server needs nothing of the SDK. Says with the line what it leaves to you, and then ends with exit code 1. Commit before.",
    options: ["--own"],
    examples: [["migrate src", "then: install @secure-local/mcp from its tarball, build, test"]],
  },
  {
    name: "completion",
    usage: "bash|zsh|fish",
    about: "Print the script that completes commands and options in your shell",
    examples: [
      ["completion bash > ~/.local/share/bash-completion/completions/mcp-secure-local", ""],
      ["completion fish > ~/.config/fish/completions/mcp-secure-local.fish", ""],
    ],
  },
  {
    name: "help",
    usage: "[COMMAND…]",
    about: "Explain a command; help man prints all of it as a man page",
    examples: [["help policy check", ""]],
  },
];
