// What every option, exit code and environment variable is for, in one place: help, completion and the man page are made of it.

export interface OptionPage {
  /** What stands after it; absent for a switch. */
  readonly value?: string;
  readonly about: string;
}

export const COMMON_OPTIONS: readonly string[] = ["--json", "--debug", "--help", "--version"];

export const OPTION_PAGES: Readonly<Record<string, OptionPage>> = {
  "--policy": {
    value: "FILE",
    about: "the policy; else MCP_SECURE_LOCAL_POLICY, else the one policy init writes, else the built-in one",
  },
  "--profile": { value: "NAME", about: "the part of the policy that its section profiles gives this name" },
  "--attach": { about: "let the client reach the server that serve runs, which all such clients share" },
  "--audit": {
    value: "FILE",
    about: "the audit log; else MCP_SECURE_LOCAL_AUDIT, else the policy's, else one in your state folder",
  },
  "--port": { value: "N", about: "the port; else MCP_SECURE_LOCAL_PORT, else 3333; 0 takes one that is free" },
  "--host": { value: "ADDRESS", about: "the address; else MCP_SECURE_LOCAL_HOST, else 127.0.0.1 (this machine only)" },
  "--public-host": {
    value: "NAME[:PORT]",
    about:
      "the name of a proxy in front, which clients send as Host (may be repeated); else MCP_SECURE_LOCAL_PUBLIC_HOST",
  },
  "--socket": { value: "PATH", about: "listen on a Unix socket for its owner only" },
  "--rate": { value: "N", about: "requests a second one caller may send (default 100; ten times that at once)" },
  "--tokens": { value: "FILE", about: "people who may call besides you: lines NAME: SHA-256 of a token of theirs" },
  "--redis": {
    value: "URL",
    about: "share with other processes over Redis; else MCP_SECURE_LOCAL_REDIS, which no list of processes shows",
  },
  "--share-key": {
    value: "FILE",
    about: "the key that all processes have; made by serve where there is none (default share-key beside the token)",
  },
  "--address": {
    value: "URL",
    about: "where the other processes reach this one, as tcp://HOST:PORT (default a free port of this machine)",
  },
  "--prefix": { value: "TEXT", about: "what the names of keys in Redis begin with (default mcp)" },
  "--sse": { about: "serve the older HTTP+SSE transport as well, at /sse" },
  "--no-auth": { about: "let every program on this machine in without the token" },
  "--origin": { value: "URL", about: "let web pages of this origin call (may be repeated)" },
  "--quiet": { about: "do not print the client configuration" },
  "--console": { about: "serve the console as well" },
  "--open": { about: "open the page in your browser" },
  "--verbose": { about: "print a line for each call, and what plugins print in it" },
  "--preset": { value: "NAME", about: "build on offline, read-only or developer" },
  "--yes": { about: "do not ask" },
  "--digest": { value: "HASH", about: "approve what this digest was shown of, and nothing else" },
  "--only": { value: "ITEM", about: "approve this alone of what is shown, as in 'tool read' (may be repeated)" },
  "--since": { value: "TIME", about: "from then on: 90m, 24h, 7d, 2026-01-31 or 2026-01-31T12:00:00Z" },
  "--output": { value: "FILE", about: "the file to write" },
  "--force": { about: "replace a file that exists" },
  "--append": { about: "add to the recording that exists" },
  "--config": { value: "FILE", about: "the configuration file with the named server" },
  "--url": { value: "URL", about: "the target" },
  "--env": { value: "KEY=VALUE", about: "a variable of the command (may be repeated)" },
  "--header": { value: "'NAME: VALUE'", about: "a header sent to the URL (may be repeated)" },
  "--token": { value: "TOKEN", about: "a bearer token sent to the URL" },
  "--token-file": { value: "FILE", about: "a file that holds the bearer token" },
  "--revision": { value: "DATE", about: "the only protocol version to speak" },
  "--timeout": { value: "SECONDS", about: "how long a server may take to answer" },
  "--max-message-mb": { value: "N", about: "the longest message to take of a server, in megabytes" },
  "--max-members": { value: "N", about: "the most members a message may have" },
  "--save-images": { value: "FOLDER", about: "write the images and sounds of the answer there" },
  "--full": { about: "show all of it before the question, and not a short list" },
  "--strict": { about: "fail for whatever is found; of replay: take requests in the recorded order only" },
  "--ignore": { value: "CHECK", about: "leave a check out (may be repeated)" },
  "--move": { about: "bring the servers that the client has under the policy, and take them out of its file" },
  "--own": { about: "rewrite to our own API, not the imports alone" },
  "--print": { about: "print what belongs into the client's file, and write nothing" },
  "--shared": { about: "one program for all sessions" },
  "--json": { about: "print JSON; a failure is one JSON object on standard error" },
  "--debug": { about: "show where in the program an error came from, and what plugins print in a call" },
  "--help": { about: "explain the command" },
  "--version": { about: "print the version" },
};

export const EXIT_CODES: readonly (readonly [number, string])[] = [
  [0, "done"],
  [1, "failed, or something was found"],
  [2, "wrong command line, policy or configuration; nothing was started"],
  [3, "authorization is needed"],
  [4, "there is no server, or no protocol version in common"],
  [5, "the tool failed, or what was named does not exist"],
  [130, "interrupted"],
];

export const VARIABLES: readonly (readonly [name: string, about: string])[] = [
  ["MCP_SECURE_LOCAL_POLICY", "the policy file, where --policy is not given"],
  ["MCP_SECURE_LOCAL_AUDIT", "the audit log, where --audit is not given"],
  ["MCP_SECURE_LOCAL_HOST", "the address serve listens on"],
  ["MCP_SECURE_LOCAL_PORT", "the port serve listens on"],
  ["MCP_SECURE_LOCAL_PUBLIC_HOST", "names of a proxy in front of serve, with commas between them"],
  ["MCP_SECURE_LOCAL_TOKEN_FILE", "where the token of serve is kept"],
  ["MCP_SECURE_LOCAL_REDIS", "what processes share over, where --redis is not given"],
  ["MCP_SECURE_LOCAL_CLIENT_TOKENS", "where tokens are kept that other servers gave to this program"],
  ["NO_COLOR, FORCE_COLOR", "no colours; colours although there is no terminal"],
];
