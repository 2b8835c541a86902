// Ways to ask for what must not be had: paths, given what lies where.
import type { Tree } from "./tree.js";

/** Encodings of dots and slashes that somebody on the way could decode, and forms of NUL. */
const DOTS = [
  "..",
  "%2e%2e",
  "%252e%252e",
  "..%00",
  "%c0%ae%c0%ae",
  "..;",
  "....",
  "．．",
  "\u2025",
  ".\u200b.",
  "..\u00a0",
];
const SLASHES = ["/", "//", "%2f", "%252f", "\\", "%5c", "%c0%af", "\u2215", "／", "/./", "\\/"];
const SUFFIXES = ["", "\0", "\0.txt", "%00", "/", "/.", "?x", "#x", "::$DATA", ":stream", " ", ".", "\u200b"];

/** Paths that would lead out of the folder if something decoded, normalised or cut them. */
export function traversals({ inside, outside }: Tree): string[] {
  const out = outside.slice(outside.lastIndexOf("/") + 1);
  const climbs = DOTS.flatMap((dots) => SLASHES.map((slash) => `${inside}/${dots}${slash}${out}${slash}secret.txt`));
  const deep = [1, 3, 8, 40].flatMap((n) => [`${"../".repeat(n)}etc/passwd`, `${"..\\".repeat(n)}etc\\passwd`]);
  const ends = SUFFIXES.map((suffix) => `${inside}/../${out}/secret.txt${suffix}`);
  return [...climbs, ...ends, ...deep.map((path) => `${inside}/${path}`), ...absolute(inside, outside)];
}

/** Every form of dots with every form of slash, climbing one and four folders, with every ending. */
export function manyTraversals({ inside, outside }: Tree): string[] {
  const out = outside.slice(outside.lastIndexOf("/") + 1);
  const climb = (dots: string, slash: string, times: number): string => `${dots}${slash}`.repeat(times);
  return DOTS.flatMap((dots) =>
    SLASHES.flatMap((slash) =>
      SUFFIXES.flatMap((suffix) => [
        `${inside}/${climb(dots, slash, 1)}${out}${slash}secret.txt${suffix}`,
        `${inside}/${climb(dots, slash, 9)}${outside.slice(1)}/secret.txt${suffix}`,
      ]),
    ),
  );
}

function absolute(inside: string, outside: string): string[] {
  const secret = `${outside}/secret.txt`;
  return [
    ...[secret, `/${secret}`, `//${secret}`, `/.${secret}`, `/proc/self/root${secret}`, `/proc/1/root${secret}`],
    ...[
      `/proc/self/cwd/../..${secret}`,
      `/dev/fd/0`,
      `/dev/stdin`,
      `/proc/self/environ`,
      `/proc/self/mem`,
      "/dev/zero",
    ],
    ...[`${inside}-twin/secret.txt`, `${inside}/../inside-twin/secret.txt`, `${inside} /secret.txt`, `${inside}.`],
    ...[
      inside.toUpperCase(),
      `${inside.toUpperCase()}/secret.txt`,
      `file://${secret}`,
      `file:${secret}`,
      `\\\\?\\${secret}`,
    ],
    ...[
      "~",
      "~/.ssh/id_rsa",
      "~root/.bashrc",
      "$HOME/.ssh/id_rsa",
      "${HOME}/x",
      "%HOME%",
      "`id`",
      "$(id)",
      "",
      " ",
      ".",
      "..",
    ],
    ...[
      "/",
      "/etc/passwd",
      "/etc/shadow",
      "etc/passwd",
      "C:\\Windows\\win.ini",
      "\\\\server\\share",
      "//server/share/x",
    ],
    ...[
      "\ud800",
      `${inside}/\ud800`,
      `${inside}/${"a/".repeat(3_000)}x`,
      `${inside}/${"x".repeat(300)}`,
      "\0",
      `\0${secret}`,
    ],
  ];
}

/** Names that stay protected inside an allowed folder, each as a file that exists. */
export const PROTECTED: readonly string[] = [
  ...[
    ".env",
    ".env.local",
    ".env.production",
    ".envrc",
    "sub/.env",
    ".ssh/id_ed25519",
    ".ssh/config",
    "id_rsa",
    "id_rsa.pub",
  ],
  ...[
    ".gnupg/secring.gpg",
    ".aws/credentials",
    ".azure/token",
    ".kube/config",
    ".docker/config.json",
    ".netrc",
    ".npmrc",
  ],
  ...[
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".git/config",
    ".git/hooks/pre-commit",
    "sub/.git/config",
    ".gitconfig",
  ],
  ...[".gitmodules", ".git/modules/x/hooks/post-checkout", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv"],
  ...[
    ".config/fish/config.fish",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".viminfo",
    ".vimrc",
    ".tmux.conf",
  ],
  ...[".config/autostart/x.desktop", ".config/systemd/user/x.service", ".mcp.json", "mcp.json", ".cursor/mcp.json"],
  ...[".vscode/mcp.json", ".vscode/settings.json", ".idea/workspace.xml", ".claude/settings.json", ".claude.json"],
  ...["claude_desktop_config.json", ".windsurf/mcp_config.json", ".gemini/settings.json", ".codex/config.toml"],
  ...[".config/gcloud/credentials.db", ".config/gh/hosts.yml", ".cargo/credentials.toml", ".m2/settings.xml", "a.kdbx"],
  ...[".mozilla/firefox/logins.json", ".config/google-chrome/Cookies", ".password-store/x.gpg", ".vault-token"],
  ...["etc/shadow", "etc/sudoers.d/x", ".terraformrc", ".yarnrc.yml", ".my.cnf", ".devcontainer/devcontainer.json"],
];

/** Other spellings of a protected name that some file system takes for it. */
export function spellings(name: string): string[] {
  const parts = name.split("/");
  const last = parts.length - 1;
  const each = (change: (part: string) => string): string => parts.map(change).join("/");
  const ending = (end: string): string => [...parts.slice(0, last), `${parts[last]}${end}`].join("/");
  return [
    name.toUpperCase(),
    each((part) => part.replace(/[a-z]/, (letter) => letter.toUpperCase())),
    each((part) => part.replace(/^\./, ".\u200c")),
    each((part) => part.replaceAll("s", "\u017f").replaceAll("k", "\u212a")),
    each((part) => part.replaceAll("e", "\uff45")),
    ...["\u00df", "\u1e9e"]
      .map((sharp) => each((part) => part.replaceAll("ss", sharp)))
      .filter((each) => each !== name),
    ...[".", " ", "...", " . ", "::$DATA", ":x"].map(ending),
  ];
}

/** Honest names that resemble protected ones. */
export const HONEST: readonly string[] = [
  ...[
    ...["example", "sample", "template", "dist"].flatMap((kind) => [`.env.${kind}`, `.env.test.${kind}`]),
    "environment.ts",
    "env",
    "env.ts",
    "src/env/index.ts",
    "my.env.md",
    ".gitignore",
    ".gitattributes",
    ".github/ci.yml",
  ],
  ...[
    "profile.ts",
    "bashrc.md",
    "history.txt",
    "ssh.md",
    "hooks/pre-commit",
    "config",
    "git/config",
    "aws/credentials.ts",
  ],
  ...[
    ".eslintrc.json",
    ".prettierrc",
    ".editorconfig",
    "package.json",
    "tsconfig.json",
    "Dockerfile",
    "docker/config.json",
  ],
  ...[
    "mcp.ts",
    "claude.md",
    "CLAUDE.md",
    "cursor.css",
    "proc/x.txt",
    "dev/notes.md",
    "sys.py",
    "etc/hosts",
    "a..b.txt",
  ],
  ...[
    "..hidden",
    "...",
    "-rf",
    "--help",
    "$HOME",
    "%2e%2e",
    "a b.txt",
    "ünï/文件.md",
    "x'y\"z.txt",
    "a\\b.txt",
    "#1.md",
  ],
  ...["shadow", "sudoers.md", "security.md", ".nvmrc", ".node-version", ".dockerignore", "id_map.json", "keys.ts"],
];
