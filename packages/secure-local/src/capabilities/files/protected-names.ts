// The names no tool reaches whatever the policy allows, each with the reason: they hold secrets, or make other programs run things.

/** One protected thing: names one below the other, as they may stand anywhere in a path; `*` at the end of the last one is any rest. */
interface ProtectedGroup {
  readonly reason: string;
  readonly names: readonly string[];
}

export const PROTECTED_NAMES: readonly ProtectedGroup[] = [
  {
    reason: "environment files hold secrets",
    names: [".env*"],
  },
  {
    reason: "it holds keys or credentials",
    names: [
      ...[".ssh", ".gnupg", ".password-store", ".pki", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.kdbx"],
      ...[".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".config/hub", ".config/op", ".boto"],
      ...[".s3cfg", ".oci", ".vault-token", ".terraformrc", ".terraform.d", ".databrickscfg", ".config/rclone"],
      ...[".netrc", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".pip/pip.conf", ".config/pip"],
      ...[".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".bundle/config", ".m2/settings.xml"],
      ...[".composer/auth.json", ".nuget/nuget.config", ".gradle/gradle.properties", ".htpasswd", ".pgpass", ".my.cnf"],
      ...[".git-credentials", ".config/git/credentials", ".local/share/keyrings", "library/keychains", ".vnc"],
    ],
  },
  {
    reason: "it holds the sessions and passwords of a browser",
    names: [
      ...[".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/bravesoftware"],
      ...["library/application support/google/chrome", "library/application support/firefox", "library/cookies"],
      ...["appdata/local/google/chrome", "appdata/roaming/mozilla", "appdata/roaming/microsoft/credentials"],
    ],
  },
  {
    reason: "git runs what it says",
    names: [
      ...[".git/config", ".git/config.worktree", ".git/config.lock", ".git/hooks", ".git/modules", ".git/worktrees"],
      ...[".git/info/attributes", ".gitconfig", ".gitmodules", ".config/git"],
    ],
  },
  {
    reason: "shells run it when they start",
    names: [
      ...[".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".login", ".logout"],
      ...[".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".shrc"],
      ...[".config/fish", ".config/nushell", ".inputrc", ".pam_environment", ".xprofile", ".xinitrc", ".xsession"],
      ...[".xsessionrc", ".oh-my-zsh", "microsoft.powershell_profile.ps1", "microsoft.vscode_profile.ps1"],
      ...["etc/profile", "etc/profile.d", "etc/bash.bashrc", "etc/zsh", "etc/environment"],
    ],
  },
  {
    reason: "another program runs what it says when it starts",
    names: [
      ...[".config/autostart", ".config/systemd", ".config/environment.d", "library/launchagents", ".ripgreprc"],
      ...["library/launchdaemons", ".vimrc", ".gvimrc", ".exrc", ".nvimrc", ".config/nvim", ".vim", ".emacs"],
      ...[".emacs.d", ".config/emacs", ".tmux.conf", ".config/tmux", ".screenrc", ".gdbinit", ".lldbinit", ".pythonrc"],
      ...[".curlrc", ".wgetrc", ".direnvrc", ".config/direnv", ".pythonstartup", "start menu/programs/startup"],
      ...["etc/cron*", "etc/systemd", "etc/init.d", "etc/rc.local", "etc/ld.so.preload", "var/spool/cron"],
    ],
  },
  {
    reason: "it keeps what was typed, passwords among it",
    names: [
      ...[".bash_history", ".zsh_history", ".zhistory", ".histfile", ".history", ".sh_history", ".ash_history"],
      ...[
        ".python_history",
        ".node_repl_history",
        ".psql_history",
        ".mysql_history",
        ".sqlite_history",
        ".rediscli_history",
      ],
      ...[".irb_history", ".lesshst", ".viminfo", "consolehost_history.txt"],
    ],
  },
  {
    reason: "AI clients and editors start programs it names",
    names: [
      ...[
        ".mcp.json",
        "mcp.json",
        "mcp_config.json",
        "mcp_settings.json",
        "mcp-config.json",
        "cline_mcp_settings.json",
      ],
      ...["claude_desktop_config.json", ".claude.json", ".claude", ".cursor", ".vscode", ".vscode-server", ".idea"],
      ...[
        ".windsurf",
        ".codeium",
        ".continue",
        ".gemini",
        ".codex",
        ".zed",
        ".config/zed",
        ".fleet",
        ".amazonq",
        ".roo",
      ],
      ...[".kiro", ".lmstudio", ".copilot", ".config/goose", ".config/github-copilot", ".config/claude", ".junie"],
      ...[".aider.conf.yml", ".devcontainer", ".devcontainer.json", ".opencode", ".config/opencode"],
    ],
  },
  {
    reason: "it holds the passwords and rights of this machine",
    names: [
      ...["etc/shadow*", "etc/gshadow*", "etc/sudoers*", "etc/ssh", "etc/ssl/private", "etc/security"],
      ...["run/secrets", "system32/config"],
    ],
  },
];

/** Folders at the very beginning of a path that are no files but doors into the kernel. */
export const KERNEL_FOLDERS: readonly string[] = ["proc", "sys", "dev"];
