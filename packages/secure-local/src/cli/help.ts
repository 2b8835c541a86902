// The text of --help.

export const HELP = `mcp-secure-local: safe tools for an AI client, under one policy that denies what it does not name

  mcp-secure-local                        serve an AI client (when stdin is a pipe); in a terminal: how to connect one
  mcp-secure-local serve                  serve over HTTP on this machine, and print how to connect clients
  mcp-secure-local tools                  the tools the policy allows, with their limits
  mcp-secure-local call NAME [ARGUMENTS]  call a tool; ARGUMENTS is a JSON object or key=value pairs
  mcp-secure-local approve                show the calls that wait for your consent, and take your answers
  mcp-secure-local policy init [FILE]     ask what a client may do, and write the policy that allows it
  mcp-secure-local policy check [FILE]    say whether a policy can be used, or every fault in it
  mcp-secure-local policy show [FILE]     the policy in full, defaults filled in
  mcp-secure-local policy explain CALL    which rule decides: NAME [ARGUMENTS], fetch URL, read PATH, run COMMAND…
  mcp-secure-local policy test FILE       whether calls are allowed and denied as a file of cases says
  mcp-secure-local policy import vscode FILE, export vscode: from and to the sandbox block of VS Code
  mcp-secure-local plugins list           the plugins of the policy, and how they are
  mcp-secure-local plugins lock [NAME]    approve what they offer now; shows what changed before
  mcp-secure-local plugins new NAME [js|ts|python|sh], hash PATH: write a plugin that works; the hash to pin one by
  mcp-secure-local sandbox -- COMMAND …   run a command behind the wall, with what the policy allows
  mcp-secure-local sandbox --config FILE NAME   run a server of VS Code's with sandboxEnabled, under its own sandbox block
  mcp-secure-local audit verify [FILE]    check that nobody changed the audit log, its full files and checkpoints
  mcp-secure-local audit query [WORD…]    records: tool=NAME since=24h decision=denied principal=… or words in them
  mcp-secure-local audit tail [WORD…]     the newest records, and each new one as it is written

Any other server: TARGET is a URL, the name of a server in a configuration file, or -- COMMAND… at the end
  mcp-secure-local list                         every configured server of every client here, and how it is
  mcp-secure-local inspect TARGET               what it is, speaks and offers
  mcp-secure-local tools TARGET                 its tools
  mcp-secure-local call TARGET NAME [ARGUMENTS] calls a tool; asks first when it may destroy something
  mcp-secure-local read TARGET URI              reads a resource
  mcp-secure-local prompt TARGET NAME [ARGUMENTS]
  mcp-secure-local doctor TARGET                what is wrong with it, and what to do; fails when it breaks clients
  mcp-secure-local bridge URL                   a server for a client that starts programs only: the one at that URL
  mcp-secure-local bridge -- COMMAND …          serves a program on stdio over HTTP; --shared: one for all sessions
  mcp-secure-local record FILE TARGET           a server for a client: the target, with all that is said in FILE
  mcp-secure-local replay FILE [TARGET]         acts as the recorded server; with TARGET as the client, and compares
  mcp-secure-local trust NAME                   allows a server of a folder's file, after showing all it would do

Options
  --policy FILE   the policy (else MCP_SECURE_LOCAL_POLICY, else the built-in one)
  --audit FILE    the audit log (else MCP_SECURE_LOCAL_AUDIT, else the policy's, else one in your state folder)
  --port N        serve: the port (else MCP_SECURE_LOCAL_PORT, else 3333; 0: one that is free)
  --host ADDRESS  serve: the address (else MCP_SECURE_LOCAL_HOST, else 127.0.0.1: this machine only)
  --socket PATH   serve: a Unix socket instead, for its owner only
  --rate N        serve: requests a second one caller may send (else 100; ten times that at once)
  --sse           serve: the old HTTP+SSE transport as well, at /sse
  --no-auth       serve: let every program on this machine in without the token
  --origin URL    serve, bridge: let pages of this origin call (several times)
  --quiet         serve: do not print the configuration, which holds the token
  --preset NAME   policy init: build on offline, read-only or developer
  --yes           policy init, call: ask nothing
  --json          answer in JSON; errors of other servers too, on stderr
  --config FILE   the file with the named server (else your own, then the folder's)
  --env K=V       a variable of the command; --header 'N: v', --token T or --token-file F: sent to the URL
  --max-message-mb N, --max-members N: take longer messages of a server; --save-images DIR: of call's answer
  --url URL       record, replay: the target
  --strict        replay: in the recorded order only; doctor: fail for whatever is found
  --ignore CHECK  doctor: leave a check out (several times)
  --append        record: add to the recording that is there; --force: replace it
  --revision DATE the only revision to speak
  --timeout N     seconds a server may take to answer
  --version       the version of this program
  --help          this text

A server reads its policy again when the file changes, and when it gets SIGHUP.
Exit codes: 0 done, 1 failed, 2 wrong command line or policy, 3 authorization needed,
4 no server there, 5 the tool failed or does not exist.`;
