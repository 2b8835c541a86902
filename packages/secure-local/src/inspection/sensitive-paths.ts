// Knows the files that hold secrets, by how people and attackers write their paths.

/** Files whose content is a secret by itself. */
const SENSITIVE: readonly string[] = [
  ...[
    ".ssh",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "id_dsa",
    "authorized_keys",
    ".gnupg",
    "/etc/passwd",
    "/etc/shadow",
    "/etc/sudoers",
  ],
  ...[
    ".aws/credentials",
    ".aws/config",
    ".azure/",
    "application_default_credentials",
    ".config/gcloud",
    ".netrc",
    ".git-credentials",
  ],
  ...[
    "mcp.json",
    "mcp_config",
    "claude_desktop_config",
    ".claude.json",
    ".claude/",
    ".cursor/",
    ".codeium/",
    ".codex/",
    "mcp_settings",
  ],
  ...[
    "keychain-db",
    "login.keychain",
    "wallet.dat",
    "wallet.json",
    "metamask",
    ".bash_history",
    ".zsh_history",
    ".psql_history",
  ],
  ...[
    "cookies.sqlite",
    "logins.json",
    "key4.db",
    "/proc/self/environ",
    ".docker/config.json",
    ".vault-token",
    ".pgpass",
    "ntds.dit",
  ],
];
/** Files that usually hold secrets, and that honest tools read too. */
const MILD: readonly string[] = [
  ...[
    ".kube/config",
    "kubeconfig",
    ".npmrc",
    ".pypirc",
    "credentials.json",
    "secrets.json",
    "secrets.yaml",
    "secrets.yml",
  ],
  ...["secrets.toml", "service-account.json", ".pem", ".p12", ".pfx", ".keystore", "terraform.tfstate", ".htpasswd"],
];

/** @param word Lower case. */
export function isSensitivePath(word: string): boolean {
  return word.length > 3 && SENSITIVE.some((part) => word.includes(part));
}

export function isPlainSecretFile(word: string): boolean {
  return isEnvironmentFile(word) || (word.length > 4 && MILD.some((part) => word.includes(part)));
}

function isEnvironmentFile(word: string): boolean {
  const name = word.slice(word.lastIndexOf("/") + 1);
  return name === ".env" || name.startsWith(".env.");
}
