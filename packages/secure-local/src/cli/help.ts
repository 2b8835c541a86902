// The text of --help.

export const HELP = `mcp-secure-local: safe tools for an AI client, under one policy that denies what it does not name

  mcp-secure-local                        serve an AI client (when stdin is a pipe); in a terminal: how to connect one
  mcp-secure-local serve                  serve over HTTP on this machine, and print how to connect clients
  mcp-secure-local tools                  the tools the policy allows, with their limits
  mcp-secure-local call NAME [ARGUMENTS]  call a tool; ARGUMENTS is a JSON object or key=value pairs
  mcp-secure-local policy check [FILE]    say whether a policy can be used, or every fault in it
  mcp-secure-local policy show [FILE]     the policy in full, defaults filled in
  mcp-secure-local audit verify [FILE]    check that nobody changed the audit log

Options
  --policy FILE   the policy (else MCP_SECURE_LOCAL_POLICY, else the built-in one)
  --audit FILE    the audit log (else MCP_SECURE_LOCAL_AUDIT, else the policy's, else one in your state folder)
  --port N        serve: the port (else MCP_SECURE_LOCAL_PORT, else 3333; 0: one that is free)
  --host ADDRESS  serve: the address (else MCP_SECURE_LOCAL_HOST, else 127.0.0.1: this machine only)
  --socket PATH   serve: a Unix socket instead, for its owner only
  --sse           serve: the old HTTP+SSE transport as well, at /sse
  --no-auth       serve: let every program on this machine in without the token
  --quiet         serve: do not print the configuration, which holds the token
  --json          tools, call, policy show: answer in JSON
  --version       the version of this program
  --help          this text

A server reads its policy again when it gets SIGHUP.
Exit codes: 0 done, 1 failed, 2 wrong command line or policy, 5 the tool failed or does not exist.`;
