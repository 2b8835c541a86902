// The names no tool reaches whatever the policy allows, as classes: what other programs read without being told, and what holds secrets.
//
// A line of a class has names and the page of a program's own documentation that says it reads them. Names are written as
// `fold-name.ts` makes them. Several below one another may stand anywhere in a path; `~/` in front binds them to the home folder,
// `/` to the root; `*` is any rest. A line that begins with `!` is protected from being read where its class is not.

export interface NameClass {
  readonly id: string;
  readonly title: string;
  /** Why, in a refusal. */
  readonly reason: string;
  /** `write`: it may be read, and is neither written nor removed. */
  readonly from: From;
  readonly lines: string;
}

export type From = "write" | "read and write";

/** What the names of a path say about it. */
export interface Protection {
  /** The class of names (`protected-names.ts`), `kernel`, or `own` for the program's own files. */
  readonly class: string;
  /** `write`: it may be read, and is neither written nor removed. */
  readonly from: From;
  readonly rule: string;
}

export const OWN: Protection = Object.freeze({
  class: "own",
  from: "read and write",
  rule: "built-in protection of this program's own files",
});

export const PROGRAM: Protection = Object.freeze({
  class: "own",
  from: "write",
  rule: "built-in protection of this program's own code, and of Node",
});

export const STARTED: Protection = Object.freeze({
  class: "own",
  from: "write",
  rule: "built-in protection of what the policy starts, or shows to every program, without a hash (sha256)",
});

export interface ProtectedName {
  readonly name: string;
  readonly from: From;
  readonly source: string;
  /** Fits names that are meant for everybody all the same. */
  readonly unless: RegExp | undefined;
}

/** Folders at the very beginning of a path that are no files but doors into the kernel. */
export const KERNEL_FOLDERS: readonly string[] = ["proc", "sys", "dev"];

/** The class whose files nobody but the reader of git history reads. */
export const GIT_STORE = "git-store";

/** The class of folders programs are started from: their links lead to what people work on. */
export const COMMANDS = "commands";

/** Certificates and public keys, by the words people give them. */
const PUBLIC =
  /^(?!.*(?:priv|secret))(?:.*[-_.])?(?:ca|cacerts?|certs?|certificates?|(?:full)?chain|bundle|crl|csr|pub|public|pubkey|public[-_]?key)(?:[-_.]?\d*)\.(?:pem|key)$/;
/** What stands in repositories for everybody to copy and fill in: names, and no values. */
const EXAMPLE = /^\.env(?:\.[\w-]+)?\.(?:example|sample|template|dist)$/;
const UNLESS: ReadonlyMap<string, RegExp> = new Map([
  [".env*", EXAMPLE],
  ["*.pem", PUBLIC],
  ["*.key", PUBLIC],
]);
const LINE = /^(! )?([^<]+) <([^<>]+)>$/;

/** The names of a class, one by one. */
export function namesIn({ from, lines }: NameClass): ProtectedName[] {
  return lines
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [, both, names, source] = LINE.exec(line.trim()) as unknown as [string, string | undefined, string, string];
      const kept: From = both === undefined ? from : "read and write";
      return names.split(", ").map((name) => ({ name, from: kept, source, unless: UNLESS.get(name) }));
    });
}

export const NAME_CLASSES: readonly NameClass[] = [
  {
    id: "environment",
    title: "Environment files",
    reason: "environment files hold secrets",
    from: "read and write",
    lines: `
      .env* <https://direnv.net/man/direnv.1.html>
    `,
  },
  {
    id: "keys",
    title: "Keys and key stores",
    reason: "it holds keys or credentials",
    from: "read and write",
    lines: `
      .ssh, id_rsa*, id_dsa*, id_ecdsa*, id_ed25519* <https://man.openbsd.org/ssh.1#FILES>
      .gnupg <https://www.gnupg.org/documentation/manuals/gnupg/GPG-Configuration.html>
      *.pem, *.key <https://www.rfc-editor.org/rfc/rfc7468>
      *.p12, *.pfx <https://docs.openssl.org/master/man1/openssl-pkcs12/>
      *.jks, *.keystore, *.bks <https://docs.oracle.com/en/java/javase/21/docs/specs/man/keytool.html>
      *.p8 <https://developer.apple.com/documentation/appstoreconnectapi/creating-api-keys-for-app-store-connect-api>
      *.ppk <https://the.earth.li/~sgtatham/putty/latest/htmldoc/AppendixC.html>
      .config/sops, .sops, *.agekey, library/application support/sops <https://getsops.io/docs/>
      age/keys.txt, .config/age, .age <https://github.com/FiloSottile/age#readme>
      *.kdbx, *.kdb <https://keepassxc.org/docs/KeePassXC_UserGuide>
      .password-store <https://www.passwordstore.org/>
      .local/share/keyrings, .gnome2/keyrings <https://wiki.gnome.org/Projects/GnomeKeyring>
      .local/share/kwalletd, .kde/share/apps/kwallet <https://docs.kde.org/stable5/en/kwalletmanager/kwallet5/>
      library/keychains <https://support.apple.com/guide/keychain-access/welcome/mac>
      microsoft/credentials, microsoft/protect, microsoft/vault <https://learn.microsoft.com/windows/win32/seccng/cng-dpapi>
      .pki <https://chromium.googlesource.com/chromium/src/+/main/docs/linux/cert_management.md>
      *.ovpn <https://openvpn.net/community-docs/community-articles/openvpn-2-6-manual.html>
      /etc/wireguard, /etc/openvpn, /etc/ssl/private, /etc/letsencrypt <https://man7.org/linux/man-pages/man8/wg-quick.8.html>
      wallet.dat, .bitcoin, .electrum, .ethereum, .monero, .config/solana <https://github.com/bitcoin/bitcoin/blob/master/doc/files.md>
      .config/bitwarden*, .lpass, .local/share/lpass, .config/keybase <https://bitwarden.com/help/cli/>
      .config/op, .op <https://developer.1password.com/docs/cli/config-directories/>
    `,
  },
  {
    id: "credentials",
    title: "Passwords and tokens of tools",
    reason: "it holds keys or credentials",
    from: "read and write",
    lines: `
      .netrc, _netrc <https://www.gnu.org/software/inetutils/manual/html_node/The-_002enetrc-file.html>
      .git-credentials, .config/git/credentials <https://git-scm.com/docs/git-credential-store>
      .config/gh, .config/hub, github cli/hosts.yml <https://cli.github.com/manual/gh_auth_login>
      .config/glab-cli <https://docs.gitlab.com/editor_extensions/gitlab_cli/>
      .aws <https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html>
      .azure <https://learn.microsoft.com/cli/azure/azure-cli-configuration>
      .config/gcloud, appdata/roaming/gcloud, .boto <https://cloud.google.com/docs/authentication/application-default-credentials>
      application_default_credentials.json, credentials.json, client_secret*.json, service-account*.json, service_account*.json <https://developers.google.com/workspace/guides/create-credentials>
      .kube <https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/>
      .docker, .dockercfg <https://docs.docker.com/reference/cli/docker/login/>
      .config/containers, /run/containers, /run/user/*/containers <https://github.com/containers/image/blob/main/docs/containers-auth.json.5.md>
      .config/helm, .helm, .config/argocd <https://helm.sh/docs/helm/helm/>
      *.tfstate, *.tfstate.backup, .terraformrc, terraform.rc, .terraform.d <https://developer.hashicorp.com/terraform/language/state/sensitive-data>
      .pulumi/credentials.json <https://www.pulumi.com/docs/iac/concepts/state-and-backends/>
      .vault-token, .vault <https://developer.hashicorp.com/vault/docs/commands/token-helper>
      .oci, .databrickscfg, .databricks, .bluemix, .snowflake, .snowsql <https://docs.oracle.com/en-us/iaas/Content/API/Concepts/sdkconfig.htm>
      .config/doctl, library/application support/doctl <https://docs.digitalocean.com/reference/doctl/how-to/install/>
      .fly <https://fly.io/docs/flyctl/auth-login/>
      .config/stripe <https://docs.stripe.com/stripe-cli>
      com.vercel.cli, .now/auth.json <https://vercel.com/docs/project-configuration/global-configuration>
      .supabase, supabase/access-token <https://supabase.com/docs/reference/cli/supabase-login>
      .wrangler, .config/.wrangler, .cloudflared <https://developers.cloudflare.com/workers/wrangler/commands/>
      .heroku, .config/heroku, .local/share/heroku <https://devcenter.heroku.com/articles/authentication>
      .config/netlify, .netlify, library/preferences/netlify <https://docs.netlify.com/cli/get-started/>
      .railway, .render, .config/scw, .config/hcloud, .config/linode-cli, .linode-cli, .vultr-cli.yaml, .config/civo, .civo.json <https://docs.railway.com/reference/cli-api>
      .ngrok, .ngrok2, .config/ngrok, library/application support/ngrok <https://ngrok.com/docs/agent/config/>
      .config/configstore, firebase-tools.json <https://github.com/yeoman/configstore#readme>
      .circleci/cli.yml, .travis, .sentryclirc, .datadogrc, .config/.jira, .dogrc <https://docs.sentry.io/cli/configuration/>
      .s3cfg, .config/rclone, .rclone.conf, .mc/config.json, .config/restic, .passwd-s3fs <https://rclone.org/docs/#config-string>
      huggingface/token, huggingface/stored_tokens, .huggingface, .kaggle, .config/kaggle, .modal.toml, .config/wandb <https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables>
      .config/openai, .openai, .config/anthropic, .anthropic, io.datasette.llm, .config/aichat, .config/shell_gpt <https://llm.datasette.io/en/stable/setup.html>
      .npmrc, npmrc, .yarnrc, .yarnrc.yml, .config/pnpm, .config/npm <https://docs.npmjs.com/cli/configuring-npm/npmrc>
      .pypirc, .pip, pip.conf, pip.ini, .config/pip, .config/pypoetry, library/application support/pypoetry <https://pip.pypa.io/en/stable/topics/configuration/>
      .condarc, .mambarc, .config/conda <https://docs.conda.io/projects/conda/en/stable/user-guide/configuration/use-condarc.html>
      .cargo/credentials, .cargo/credentials.toml <https://doc.rust-lang.org/cargo/reference/config.html#credentials>
      .gem/credentials, .local/share/gem/credentials <https://guides.rubygems.org/api-key-scopes/>
      .bundle/config, .config/bundle <https://bundler.io/man/bundle-config.1.html>
      .composer/auth.json, .config/composer <https://getcomposer.org/doc/articles/authentication-for-private-packages.md>
      .nuget/nuget.config, .config/nuget, appdata/roaming/nuget <https://learn.microsoft.com/nuget/reference/nuget-config-file>
      .m2/settings.xml, .m2/settings-security.xml <https://maven.apache.org/settings.html>
      .gradle/gradle.properties <https://docs.gradle.org/current/userguide/build_environment.html>
      .sbt/.credentials, .sbt/credentials, .ivy2/.credentials, .ivy2/credentials <https://www.scala-sbt.org/1.x/docs/Publishing.html#Credentials>
      pub-tokens.json, .config/dart, .pub-cache/credentials.json, .hex <https://dart.dev/tools/pub/cmd/pub-token>
      .pgpass, pgpass.conf, .pg_service.conf <https://www.postgresql.org/docs/current/libpq-pgpass.html>
      .my.cnf, .mylogin.cnf, .mysql <https://dev.mysql.com/doc/refman/8.4/en/option-files.html>
      .cassandra, .cqlshrc, .mongodb, .config/redis, .rediscli_auth <https://cassandra.apache.org/doc/latest/cassandra/managing/tools/cqlsh.html>
      .htpasswd, .htdigest <https://httpd.apache.org/docs/current/programs/htpasswd.html>
      .subversion, appdata/roaming/subversion <https://svnbook.red-bean.com/en/1.7/svn.advanced.confarea.html>
      .hgrc, mercurial.ini, .config/hg <https://www.mercurial-scm.org/doc/hgrc.5.html>
      .fetchmailrc, .msmtprc, .config/msmtp, .mbsyncrc, .config/isyncrc, .offlineimaprc, .config/offlineimap, .getmail, .authinfo* <https://www.gnu.org/software/emacs/manual/html_mono/auth.html>
      .muttrc, .mutt, .config/mutt, .neomuttrc, .config/neomutt, .config/aerc <https://neomutt.org/guide/configuration.html>
      .weechat, .config/weechat, .irssi, .config/hexchat, .purple <https://weechat.org/files/doc/weechat/stable/weechat_user.en.html>
      .filezilla, .config/filezilla, .ncftp, .lftprc, .lftp, .config/lftp, .smbcredentials <https://lftp.yar.ru/lftp-man.html>
      .vnc, .config/tigervnc, .config/remmina, .local/share/remmina <https://tigervnc.org/doc/vncpasswd.html>
      .streamlit/secrets.toml, usersecrets, local.settings.json, config/secrets.yml, .secrets <https://docs.streamlit.io/develop/concepts/connections/secrets-management>
      .jupyter, .local/share/jupyter/runtime, library/jupyter/runtime <https://docs.jupyter.org/en/stable/use/jupyter-directories.html>
      state.vscdb* <https://code.visualstudio.com/docs/configure/settings-sync>
    `,
  },
  {
    id: "browsers",
    title: "Profiles of browsers and of programs made of one",
    reason: "it holds the sessions and passwords of a browser",
    from: "read and write",
    lines: `
      .mozilla, .thunderbird, .librewolf, .waterfox, .zen, .tor-browser, mozilla/firefox, library/application support/firefox, library/thunderbird, appdata/roaming/mozilla, appdata/roaming/thunderbird <https://support.mozilla.org/kb/profiles-where-firefox-stores-user-data>
      .config/google-chrome*, .config/chromium*, .config/bravesoftware, .config/microsoft-edge*, .config/vivaldi*, .config/opera*, .config/arc <https://chromium.googlesource.com/chromium/src/+/main/docs/user_data_dir.md>
      library/application support/google/chrome*, library/application support/chromium, library/application support/bravesoftware, library/application support/microsoft edge*, library/application support/arc, library/safari, library/cookies <https://chromium.googlesource.com/chromium/src/+/main/docs/user_data_dir.md>
      appdata/local/google/chrome*, appdata/local/chromium, appdata/local/bravesoftware, appdata/local/microsoft/edge* <https://chromium.googlesource.com/chromium/src/+/main/docs/user_data_dir.md>
      .config/slack, .config/discord, .config/signal, .config/element, .config/teams*, .config/skype*, .config/microsoft, .config/spotify, .config/postman, .config/insomnia, .config/obsidian, .config/bitwarden <https://www.electronjs.org/docs/latest/api/app#appgetpathname>
      .local/share/telegramdesktop, .local/share/evolution, .config/evolution, .config/goa-1.0 <https://wiki.gnome.org/Projects/GnomeOnlineAccounts>
      .var/app/*/config, .var/app/*/data, snap/*/common/.mozilla, snap/*/common/chromium <https://docs.flatpak.org/en/latest/sandbox-permissions.html>
    `,
  },
  {
    id: "histories",
    title: "Histories of what was typed",
    reason: "it keeps what was typed, passwords among it",
    from: "read and write",
    lines: `
      .bash_history*, .zsh_history*, .zhistory, .histfile, .history, .sh_history, .ash_history, .ksh_history, .zsh_sessions, fish_history, .local/share/fish, nushell/history.*, .local/share/xonsh, .local/share/atuin, .local/share/mcfly <https://www.gnu.org/software/bash/manual/html_node/Bash-History-Facilities.html>
      consolehost_history.txt <https://learn.microsoft.com/powershell/module/psreadline/about/about_psreadline>
      .python_history*, .node_repl_history, .ts_node_repl_history, .irb_history, .irb-history, .pry_history, .local/share/pry, .php_history, .rhistory, .octave_hist, .ghc/ghci_history, ghci_history, .utop-history, .lua_history, .julia/logs, .scala_history, .jshell_history, .deno_history.txt, .bc_history, .gdb_history <https://nodejs.org/api/repl.html#persistent-history>
      .psql_history*, .mysql_history, .mariadb_history, .sqlite_history, .rediscli_history, .dbshell, .mongosh, .mongodb/mongosh, .mycli-history, .litecli, .config/pgcli/history, .config/litecli/history, .duckdb_history, .cassandra/cqlsh_history, .influx_history, .clickhouse-client-history <https://www.postgresql.org/docs/current/app-psql.html>
      .lesshst, .local/state/lesshst, .viminfo, .local/state/nvim/shada, .local/share/nvim/shada, .wget-hsts, .recently-used*, recently-used.xbel <https://neovim.io/doc/user/starting.html#shada>
    `,
  },
  {
    id: "rights",
    title: "Passwords and rights of the machine",
    reason: "it holds the passwords and rights of this machine",
    from: "read and write",
    lines: `
      etc/shadow*, etc/gshadow*, etc/sudoers*, etc/security, /etc/passwd-, /etc/doas.conf <https://man7.org/linux/man-pages/man5/shadow.5.html>
      etc/ssh, etc/ssl/private, .rhosts, .shosts, hosts.equiv, shosts.equiv <https://man.openbsd.org/sshd.8#FILES>
      .k5login, .k5users, *.keytab, krb5cc_* <https://web.mit.edu/kerberos/krb5-latest/doc/user/user_config/k5login.html>
      run/secrets, system32/config <https://docs.docker.com/engine/swarm/secrets/>
    `,
  },
  {
    id: "git",
    title: "What git runs",
    reason: "git runs what it says",
    from: "read and write",
    lines: `
      .git/config, .git/config.worktree, .git/config.lock, .gitconfig, .gitconfig.*, .gitconfig-*, .config/git <https://git-scm.com/docs/git-config#FILES>
      .git/hooks <https://git-scm.com/docs/githooks>
      .git/modules, .git/worktrees <https://git-scm.com/docs/gitrepository-layout>
      .git/info/attributes <https://git-scm.com/docs/gitattributes>
      .gitmodules <https://git-scm.com/docs/gitmodules>
    `,
  },
  {
    id: GIT_STORE,
    title: "Git's own files: nobody's but the reader of git history",
    reason: "git takes its configuration and hooks from there, and keeps every version of protected files in it",
    from: "read and write",
    lines: `
      .git, git~1, git~2, git~3, git~4 <https://git-scm.com/docs/gitrepository-layout>
    `,
  },
  {
    id: "version-control",
    title: "Other version control",
    reason: "version control runs what it says and keeps every version of protected files in it",
    from: "read and write",
    lines: `
      .hg <https://www.mercurial-scm.org/doc/hgrc.5.html>
      .svn <https://svnbook.red-bean.com/en/1.7/svn.developer.insidewc.html>
      .bzr, .bazaar, .config/breezy <https://www.breezy-vcs.org/doc/en/user-reference/configuration-help.html>
      .jj, .jjconfig.toml, .config/jj <https://docs.jj-vcs.dev/latest/config/>
      .sl, .slconfig <https://sapling-scm.com/docs/introduction/>
      _darcs, .darcs, .pijul, .config/pijul, .fslckout, _fossil_, .fossil <https://darcs.net/manual/bigpage.html>
      .repo/repo, .repo/manifests.git, .repoconfig <https://gerrit.googlesource.com/git-repo/+/HEAD/docs/internal-fs-layout.md>
    `,
  },
  {
    id: "hooks",
    title: "Hooks of version control",
    reason: "version control runs it at the next commit",
    from: "write",
    lines: `
      .husky <https://typicode.github.io/husky/how-to.html>
      .pre-commit-config.yaml, .pre-commit-config.yml, prek.toml <https://pre-commit.com/#adding-pre-commit-plugins-to-your-project>
      lefthook.*, .lefthook.*, lefthook-local.*, .lefthook-local.*, .lefthook, .lefthook-local <https://lefthook.dev/configuration/>
      .overcommit.yml, .local-overcommit.yml, .git-hooks <https://github.com/sds/overcommit#readme>
      .githooks, .captainhook <https://git-scm.com/docs/git-config#Documentation/git-config.txt-corehooksPath>
      .simple-git-hooks.*, simple-git-hooks.* <https://github.com/toplenboren/simple-git-hooks#readme>
      .lfsconfig <https://github.com/git-lfs/git-lfs/blob/main/docs/man/git-lfs-config.adoc>
      .huskyrc*, husky.config.* <https://github.com/typicode/husky/tree/v4.3.8#readme>
      .lintstagedrc*, lint-staged.config.* <https://github.com/lint-staged/lint-staged#configuration>
      .rusty-hook.toml, .cargo-husky <https://github.com/rhysd/cargo-husky#readme>
      hk.pkl <https://hk.jdx.dev/configuration.html>
      captainhook.json, grumphp.yml, grumphp.yml.dist <https://docs.captainhook.info/configure.html>
    `,
  },
  {
    id: "shells",
    title: "Start files of shells",
    reason: "shells run it when they start",
    from: "read and write",
    lines: `
      .bashrc, .bash_profile, .bash_login, .bash_logout, .profile, etc/profile, etc/profile.d, etc/bash.bashrc, etc/bashrc <https://www.gnu.org/software/bash/manual/html_node/Bash-Startup-Files.html>
      .bash_aliases, .bash_functions, /etc/skel <https://manpages.debian.org/bookworm/bash/bash.1.en.html>
      .bash_completion, .bash_completion.d, .local/share/bash-completion, .config/bash_completion <https://github.com/scop/bash-completion#faq>
      .bashrc.d, .bashrc.local, .profile.d, .zshrc.d, .zshrc.local <https://src.fedoraproject.org/rpms/bash>
      .liquidpromptrc, .config/liquidpromptrc <https://liquidprompt.readthedocs.io/en/stable/config.html>
      .zshrc, .zshenv, .zprofile, .zlogin, .zlogout, .config/zsh, etc/zsh, etc/zshenv, etc/zshrc, etc/zprofile, .zcompdump* <https://zsh.sourceforge.io/Doc/Release/Files.html>
      .oh-my-zsh, .zprezto, .zpreztorc, .zinit, .zplug, .antigen, .antidote, .zim, .zimrc, .p10k.zsh, .fzf.bash, .fzf.zsh <https://github.com/ohmyzsh/ohmyzsh/wiki>
      .zsh, .zfunc, .zsh_plugins.txt, .zsh_aliases, .spaceshiprc.zsh <https://antidote.sh/usage>
      .bash_it, .oh-my-bash, .bash_prompt, .git-completion.bash, .git-prompt.sh, .fzf <https://bash-it.readthedocs.io/en/latest/>
      .aliases, .exports, .functions <https://github.com/mathiasbynens/dotfiles#readme>
      .iterm2_shell_integration.* <https://iterm2.com/documentation-shell-integration.html>
      google-cloud-sdk/*.inc <https://cloud.google.com/sdk/docs/install>
      .thefuck, .config/thefuck <https://github.com/nvbn/thefuck#settings>
      .config/fish, .local/share/fish/vendor_conf.d, /etc/fish <https://fishshell.com/docs/current/language.html#configuration-files>
      .kshrc, .mkshrc, .shrc, .shinit, .yashrc, .yash_profile, .config/yash <https://man.openbsd.org/ksh.1#FILES>
      .login, .logout, .cshrc, .tcshrc, .cshdirs, /etc/csh*, /etc/csh.login <https://manpages.debian.org/bookworm/tcsh/tcsh.1.en.html#FILES>
      .config/nushell, library/application support/nushell <https://www.nushell.sh/book/configuration.html>
      .config/elvish, .elvish, .xonshrc, .config/xonsh, .rcrc, .esrc <https://elv.sh/ref/command.html>
      microsoft.powershell_profile.ps1, microsoft.vscode_profile.ps1, microsoft.powershellise_profile.ps1, profile.ps1, .config/powershell, documents/powershell, documents/windowspowershell <https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_profiles>
      .inputrc, etc/inputrc <https://www.gnu.org/software/bash/manual/html_node/Readline-Init-File.html>
      .pam_environment, etc/environment <https://man7.org/linux/man-pages/man5/pam_env.conf.5.html>
      .xprofile, .xinitrc, .xserverrc, .xsession, .xsessionrc, .gnomerc <https://www.x.org/releases/current/doc/man/man1/xinit.1.xhtml>
    `,
  },
  {
    id: "clients",
    title: "AI clients and agents",
    reason: "AI clients and editors start programs it names",
    from: "read and write",
    lines: `
      .mcp.json, mcp.json, mcp_config.json, mcp_settings.json, mcp-config.json, mcp-servers.json, mcp_servers.json <https://modelcontextprotocol.io/docs/develop/connect-local-servers>
      .claude, .claude.json, .config/claude, .claude-plugin, claude_desktop_config.json <https://code.claude.com/docs/en/settings>
      .cursor, .cursor-server <https://docs.cursor.com/context/model-context-protocol>
      .windsurf, .windsurf-server, .codeium <https://docs.windsurf.com/windsurf/cascade/mcp>
      .cline, cline_mcp_settings.json, .roo <https://docs.cline.bot/mcp/configuring-mcp-servers>
      .continue, .continuerc.json <https://docs.continue.dev/customize/deep-dives/configuration>
      .gemini, .qwen <https://github.com/google-gemini/gemini-cli/blob/main/docs/get-started/configuration.md>
      .codex <https://github.com/openai/codex/blob/main/docs/config.md>
      .copilot, .config/github-copilot, .github/hooks <https://docs.github.com/copilot/concepts/agents/coding-agent/about-hooks>
      .opencode, .config/opencode, .local/share/opencode, opencode.json, opencode.jsonc <https://opencode.ai/docs/config/>
      .config/goose <https://block.github.io/goose/docs/guides/config-file>
      .aider.conf.yml, .aider.model.settings.yml <https://aider.chat/docs/config/aider_conf.html>
      .amazonq, .kiro <https://docs.aws.amazon.com/amazonq/latest/qdeveloper-ug/command-line-mcp-configuration.html>
      .config/crush, .crush.json, crush.json, .config/amp, .amp, .factory, .trae, .augment, .junie, .lmstudio, .warp, .tabnine <https://github.com/charmbracelet/crush#configuration>
      .crush, .grok, .iflow, .vibe, .codebuddy, .antigravity, .config/antigravity <https://github.com/charmbracelet/crush#configuration>
      .clinerules/hooks <https://docs.cline.bot/features/hooks>
      .openhands/setup.sh, .openhands/pre-commit.sh <https://docs.openhands.dev/openhands/usage/customization/repository>
      .container-use/environment.json, conductor.json, .superset/config.json <https://docs.conductor.build/core/conductor-json>
      gptme.toml, .config/gptme, .config/mcphub <https://gptme.org/docs/config.html>
    `,
  },
  {
    id: "editors",
    title: "Editors that start programs for a folder",
    reason: "AI clients and editors start programs it names",
    from: "read and write",
    lines: `
      .vscode, .vscode-server, .vscode-server-insiders, .vscode-remote, .vscode-insiders, .vscode-oss, .vscodium-server <https://code.visualstudio.com/docs/debugtest/tasks>
      .devcontainer, .devcontainer.json <https://containers.dev/implementors/spec/>
      .idea, .fleet <https://www.jetbrains.com/help/idea/run-debug-configuration.html>
      .zed, .config/zed <https://zed.dev/docs/tasks>
      .vimrc, .gvimrc, .exrc, .vim, _vimrc, _gvimrc, _exrc, vimfiles, .config/vim <https://vimhelp.org/starting.txt.html#initialization>
      .nvimrc, .nvim.lua, .config/nvim <https://neovim.io/doc/user/options.html#'exrc'>
      .emacs, .emacs.el, .emacs.d, .config/emacs <https://www.gnu.org/software/emacs/manual/html_node/emacs/Init-File.html>
    `,
  },
  {
    id: "editor-settings",
    title: "Settings of editors",
    reason: "an editor runs what it says",
    from: "write",
    lines: `
      .config/code/user, .config/code - oss/user, .config/code - insiders/user, .config/vscodium/user, .config/cursor/user, .config/windsurf*/user, .config/kiro/user, .config/trae/user, .config/antigravity/user <https://code.visualstudio.com/docs/configure/settings#_settings-file-locations>
      library/application support/code*/user, library/application support/vscodium/user, library/application support/cursor/user, library/application support/windsurf*/user, appdata/roaming/code*/user, appdata/roaming/vscodium/user, appdata/roaming/cursor/user, appdata/roaming/windsurf*/user <https://code.visualstudio.com/docs/configure/settings#_settings-file-locations>
      *.code-workspace <https://code.visualstudio.com/docs/editing/workspaces/multi-root-workspaces>
      .theia, .gitpod.yml, .gitpod, .codesandbox, .idx, .replit <https://theia-ide.org/docs/user_getting_started/>
      .config/jetbrains, .local/share/jetbrains, library/application support/jetbrains, appdata/roaming/jetbrains, .ideavimrc, .run <https://www.jetbrains.com/help/idea/directories-used-by-the-ide-to-store-settings-caches-plugins-and-logs.html>
      .local/share/nvim, .vim/plugin, .lvimrc, .local.vimrc <https://neovim.io/doc/user/starting.html#standard-path>
      .dir-locals.el, .dir-locals-2.el, .spacemacs, .spacemacs.d, .doom.d, .config/doom, .gnus, .gnus.el <https://www.gnu.org/software/emacs/manual/html_node/emacs/Directory-Variables.html>
      *.sublime-project, .config/sublime-text*, library/application support/sublime text*, appdata/roaming/sublime text* <https://www.sublimetext.com/docs/projects.html>
      .helix, .config/helix <https://docs.helix-editor.com/configuration.html>
      .nanorc, .config/nano, .config/micro, .config/kak, .joerc, .jedrc, .config/lapce*, .config/geany, .config/kate, .atom, .pulsar <https://www.nano-editor.org/dist/latest/nanorc.5.html>
      .externaltoolbuilders <https://help.eclipse.org/latest/topic/org.eclipse.platform.doc.user/concepts/concepts-exttools.htm>
      .vs, .nova <https://learn.microsoft.com/visualstudio/ide/customize-build-and-debug-tasks-in-visual-studio>
      .ycm_extra_conf.py <https://github.com/ycm-core/YouCompleteMe#option-2-provide-the-flags-manually>
      .bsp <https://build-server-protocol.github.io/docs/overview/server-discovery>
      hie.yaml <https://haskell-language-server.readthedocs.io/en/latest/configuration.html>
      .clj-kondo/hooks, .luarc.json, .luarc.jsonc, .lintr, .solargraph.yml, .sourcekit-lsp, omnisharp.json, .factorypath <https://github.com/clj-kondo/clj-kondo/blob/master/doc/hooks.md>
      .selected_editor <https://manpages.debian.org/bookworm/sensible-utils/select-editor.1.en.html>
    `,
  },
  {
    id: "package-managers",
    title: "Package managers and build tools",
    reason: "a package manager runs it, or takes programs from where it says",
    from: "write",
    lines: `
      node_modules/mcp-secure-local, node_modules/.bin/mcp-secure-local*, node_modules/@opentelemetry <https://docs.npmjs.com/cli/commands/npx>
      .npm-init.js, .npm/_npx <https://docs.npmjs.com/cli/commands/npm-init>
      .yarn/releases, .yarn/plugins, .yarn/sdks, .config/yarn <https://yarnpkg.com/configuration/yarnrc#yarnPath>
      .pnpmfile.cjs, .pnpmfile.mjs, .pnpmfile.js, pnpmfile.js, .local/share/pnpm <https://pnpm.io/pnpmfile>
      .pnp.cjs, .pnp.js, .pnp.loader.mjs, .pnp.data.json <https://yarnpkg.com/features/pnp>
      .node_modules, .node_libraries <https://nodejs.org/api/modules.html#loading-from-the-global-folders>
      .bazelrc, *.bazelrc, .bazeliskrc, .bazelversion, tools/bazel <https://bazel.build/run/bazelrc>
      .buckconfig, .buckconfig.local, .buckconfig.d <https://buck2.build/docs/concepts/buckconfig/>
      pants.toml, .pants.rc, .pants.bootstrap <https://www.pantsbuild.org/stable/reference/global-options>
      bunfig.toml, .bunfig.toml, .bun <https://bun.sh/docs/runtime/bunfig>
      .deno <https://docs.deno.com/runtime/reference/cli/install/>
      .pydistutils.cfg <https://setuptools.pypa.io/en/latest/deprecated/distutils/configfile.html>
      uv.toml, .config/uv <https://docs.astral.sh/uv/concepts/configuration-files/>
      poetry.toml, .config/pdm, pdm.toml, .config/hatch <https://python-poetry.org/docs/configuration/>
      .cargo/config, .cargo/config.toml, .cargo/env*, .cargo/bin <https://doc.rust-lang.org/cargo/reference/config.html>
      .rustup, rust-toolchain, rust-toolchain.toml <https://rust-lang.github.io/rustup/overrides.html#the-toolchain-file>
      .gemrc, gemrc, .bundle/plugin, .gem <https://guides.rubygems.org/command-reference/#gem-environment>
      nuget.config, .dotnet/tools <https://learn.microsoft.com/nuget/consume-packages/configuring-nuget-behavior>
      .mvn, .mavenrc <https://maven.apache.org/configure.html>
      .m2/extensions.xml <https://maven.apache.org/configure.html>
      ~/perl5 <https://metacpan.org/pod/local::lib>
      .gradle/init.gradle, .gradle/init.gradle.kts, .gradle/init.d <https://docs.gradle.org/current/userguide/init_scripts.html>
      .sbt, .sbtopts, .sbtrc, .ammonite, .lein, .clojure, .config/clojure, .boot <https://www.scala-sbt.org/1.x/docs/Global-Settings.html>
      .config/go/env, library/application support/go/env, appdata/roaming/go/env <https://pkg.go.dev/cmd/go#hdr-Environment_variables>
      ~/go/bin <https://go.dev/doc/code#Command>
      .cabal, .config/cabal, .stack, .ghcup, .opam, .cpan, .cpanm, .luarocks, .config/luarocks, .mix, .swiftpm, .nimble <https://cabal.readthedocs.io/en/stable/config.html>
      .config/homebrew, .homebrew, .config/nix, .config/nixpkgs, .nixpkgs, .nix-profile, .config/guix <https://docs.brew.sh/Manpage#environment>
      .nix-defexpr, .nix-channels <https://nix.dev/manual/nix/latest/command-ref/files/channels>
      .config/ccache, .ccache, ccache.conf, .distcc <https://ccache.dev/manual/latest.html#_configuration>
      .ansible.cfg, .ansible, .vagrant.d, .packer.d <https://docs.ansible.com/ansible/latest/reference_appendices/config.html>
      .terraform <https://developer.hashicorp.com/terraform/cli/init>
      .local/share/helm, .krew <https://helm.sh/docs/topics/plugins/>
      .rpmmacros, .rpmrc <https://rpm-software-management.github.io/rpm/manual/macros.html>
      .dupload.conf <https://manpages.debian.org/bookworm/dupload/dupload.conf.5.en.html>
      .makepkg.conf, .config/pacman, .quiltrc, .devscripts, .sbuildrc, .pbuilderrc, .gbp.conf <https://manpages.debian.org/bookworm/quilt/quilt.1.en.html#CONFIGURATION_FILE>
    `,
  },
  {
    id: "version-managers",
    title: "Version managers and environments of folders",
    reason: "shells source it, or take programs from where it says",
    from: "write",
    lines: `
      .nvm, .fnm, .local/share/fnm, .volta, .n, .nodenv, .nodebrew <https://github.com/nvm-sh/nvm#readme>
      .pyenv, .rbenv, .rvm, .rvmrc, .goenv, .phpenv, .plenv, .perlbrew, .jenv, .tfenv, .gvm, .chruby <https://github.com/pyenv/pyenv#readme>
      .sdkman, .sdkmanrc <https://sdkman.io/usage>
      .asdf, .asdfrc, .tool-versions <https://asdf-vm.com/manage/configuration.html>
      mise.toml, .mise.toml, mise.local.toml, .mise.local.toml, mise.*.toml, .mise.*.toml, .mise, .config/mise*, .local/share/mise, .rtx.toml <https://mise.jdx.dev/configuration.html>
      .proto, .prototools, .aqua, .local/share/aquaproj-aqua, .pixi, .local/share/rtx, .flox, .devbox, .hermit <https://moonrepo.dev/docs/proto/config>
      .autoenv* <https://github.com/Tarrasch/zsh-autoenv#readme>
      .distroboxrc, .config/distrobox <https://distrobox.it/usage/distrobox-create/>
      ! .direnvrc, .config/direnv, .local/share/direnv <https://direnv.net/man/direnv.1.html>
      pyvenv.cfg <https://docs.python.org/3/library/site.html>
    `,
  },
  {
    id: "start-files",
    title: "Start files of languages, consoles and tools",
    reason: "another program runs what it says when it starts",
    from: "write",
    lines: `
      ! .pythonrc, .pythonrc.py, .pythonstartup, .python_startup, .pdbrc, .pdbrc.py <https://docs.python.org/3/library/pdb.html>
      sitecustomize*, usercustomize*, site-packages/*.pth, dist-packages/*.pth <https://docs.python.org/3/library/site.html>
      .ipython, ipython_config.py, .ptpython, .config/ptpython, .bpython, .config/bpython <https://ipython.readthedocs.io/en/stable/interactive/tutorial.html#startup-files>
      .irbrc, _irbrc, irb.rc, .config/irb, .pryrc, .config/pry, .rdbgrc, .rdbgrc.rb, .byebugrc <https://docs.ruby-lang.org/en/master/IRB.html>
      .rprofile, rprofile.site, .rdata <https://stat.ethz.ch/R-manual/R-devel/library/base/html/Startup.html>
      ! .renviron, renviron.site <https://stat.ethz.ch/R-manual/R-devel/library/base/html/Startup.html>
      .psqlrc*, psqlrc, psqlrc.conf <https://www.postgresql.org/docs/current/app-psql.html>
      .sqliterc, .config/sqlite3, .duckdbrc, .mongorc.js, .mongoshrc.js, .myclirc, .config/pgcli, .config/litecli, .usqlrc <https://www.sqlite.org/cli.html#command_line_options>
      ! .gdbinit, .gdbearlyinit, .config/gdb <https://sourceware.org/gdb/current/onlinedocs/gdb.html/Startup.html>
      *-gdb.py, *-gdb.gdb, *-gdb.scm <https://sourceware.org/gdb/current/onlinedocs/gdb.html/objfile_002dgdbdotext-file.html>
      ! .lldbinit* <https://lldb.llvm.org/man/lldb.html#configuration-files>
      .perldb, perldb.ini <https://perldoc.perl.org/perldebug#Debugger-Customization>
      .proverc <https://perldoc.perl.org/prove#.proverc>
      .radare2rc, .config/radare2 <https://book.rada.re/configuration/initial_scripts.html>
      .csirc, .swank.lisp, .ghc.environment.* <https://wiki.call-cc.org/man/5/Using%20the%20interpreter>
      .sage, .mathematica, .wolfram, .matlab, startup.m, profile.do, .mapleinit, .config/gap, .gap <https://www.mathworks.com/help/matlab/ref/startup.html>
      ! .odbc.ini, .odbcinst.ini <https://www.unixodbc.org/odbcinst.html>
      .config/pkcs11 <https://p11-glue.github.io/p11-glue/p11-kit/manual/config-locations.html>
      .guile, .ghci, .ghc, .config/ghc, .haskeline, .ocamlinit, .config/ocaml, .config/utop, .utoprc, .erlang, .config/erlang, .iex.exs, .julia/config <https://downloads.haskell.org/ghc/latest/docs/users_guide/ghci.html#the-ghci-and-haskeline-files>
      .sbclrc, .clisprc, .clisprc.lisp, .eclrc, .ccl-init.lisp, .cmucl-init.lisp, .racketrc, .config/racket, .schemerc <https://www.sbcl.org/manual/#Initialization-Files>
      .octaverc, .scilab, .maxima, maxima-init.*, .gprc, .gnuplot, .config/gnuplot, .groovy, .tclshrc, .wishrc, .expect.rc, .config/psysh, .psysh.php, .user.ini <https://docs.octave.org/latest/Startup-Files.html>
      .latexmkrc, latexmkrc, texmf.cnf <https://ctan.org/pkg/latexmk>
      ! .curlrc, _curlrc, .config/curlrc, .wgetrc, .wget2rc, .aria2, .config/aria2, .config/yt-dlp*, yt-dlp.conf, .config/youtube-dl <https://curl.se/docs/manpage.html#-K>
      ! .tmux.conf, .tmux, .config/tmux, .screenrc, .byobu, .config/byobu, .config/zellij <https://man.openbsd.org/tmux.1#FILES>
      .lesskey, .less, .config/lesskey, .lessfilter <https://man7.org/linux/man-pages/man1/lesskey.1.html>
      ! .ripgreprc, .ackrc, .config/bat, .tigrc, .config/tig, .config/lazygit, .popt, .mailcap, .config/starship.toml <https://github.com/BurntSushi/ripgrep/blob/master/GUIDE.md#configuration-file>
      .config/ranger, .config/lf, .config/nnn, .config/vifm, .vifm, .config/mc, .mc, .config/broot, .config/yazi <https://github.com/ranger/ranger/blob/master/doc/ranger.pod>
      .config/qutebrowser, .config/luakit, .config/sxiv <https://qutebrowser.org/doc/help/configuring.html>
      .config/neofetch, .conkyrc, .config/conky, .config/espanso, .config/k9s <https://espanso.org/docs/configuration/basics/>
      .tmuxinator, .config/tmuxinator, .tmuxp, .config/tmuxp <https://tmuxp.git-pull.com/configuration/>
      .local/share/jupyter/kernels <https://docs.jupyter.org/en/latest/use/jupyter-directories.html>
      .config/inkscape/extensions, .config/calibre/plugins <https://inkscape.gitlab.io/extensions/documentation/>
      .config/chezmoi, .config/yadm, .config/topgrade*, .mrconfig <https://www.chezmoi.io/reference/configuration-file/>
      .forward, .procmailrc, .qmail*, .mailfilter, .mailrc <https://www.postfix.org/local.8.html>
      .newsboat, .config/newsboat, .notmuch-config, .config/notmuch, .vdirsyncer, .config/vdirsyncer <https://newsboat.org/releases/2.36/docs/newsboat.html>
      .config/mpv, .mpv, .mplayer, .asoundrc, .config/pulse, .config/pipewire, .config/wireplumber <https://mpv.io/manual/stable/#files>
      .config/gimp, .gimp-2.8, .config/libreoffice, .config/blender, .config/freecad, .freecad, .local/share/freecad <https://docs.blender.org/manual/en/latest/advanced/blender_directory_layout.html>
      .local/share/gstreamer-1.0, .ladspa, .lv2, .vst, .vst3, .clap <https://lv2plug.in/pages/filesystem-hierarchy-standard.html>
      .config/kitty, .config/alacritty, .config/wezterm, .wezterm.lua, .config/ghostty, .config/foot, .config/terminator, .hyper.js, .xresources, .xdefaults <https://sw.kovidgoyal.net/kitty/conf/>
    `,
  },
  {
    id: COMMANDS,
    title: "Folders that programs are started from",
    reason: "programs are started from there by their names alone",
    from: "write",
    lines: `
      ~/bin, .local/bin, .local/sbin, /usr/bin, /usr/sbin, /bin, /sbin, /usr/local/bin, /usr/local/sbin, /opt/homebrew/bin <https://www.freedesktop.org/software/systemd/man/latest/file-hierarchy.html>
      .local/lib, /usr/lib, /lib, /lib64, /usr/local/lib <https://docs.python.org/3/library/site.html>
    `,
  },
  {
    id: "autostart",
    title: "What the desktop and the system start",
    reason: "the system starts what it says",
    from: "write",
    lines: `
      ! .config/autostart, .config/autostart-scripts, .kde/autostart, /etc/xdg/autostart <https://specifications.freedesktop.org/autostart-spec/latest/>
      .local/share/applications, .config/mimeapps.list, .config/user-dirs.dirs, .local/share/mime <https://specifications.freedesktop.org/desktop-entry-spec/latest/>
      .local/share/dbus-1, /etc/dbus-1 <https://dbus.freedesktop.org/doc/dbus-daemon.1.html>
      .local/share/thumbnailers, .local/share/nautilus-python, .local/share/vulkan, .config/vulkan, .local/share/flatpak <https://docs.flatpak.org/en/latest/sandbox-permissions.html>
      .config/*-flags.conf <https://wiki.archlinux.org/title/Chromium#Making_flags_persistent>
      ! .config/systemd, .local/share/systemd, etc/systemd <https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html>
      ! .config/environment.d, .config/user-tmpfiles.d, .config/upstart <https://www.freedesktop.org/software/systemd/man/latest/environment.d.html>
      ! library/launchagents, library/launchdaemons, library/startupitems, library/loginitems <https://developer.apple.com/library/archive/documentation/MacOSX/Conceptual/BPSystemStartup/Chapters/CreatingLaunchdJobs.html>
      ! start menu/programs/startup, system32/tasks <https://learn.microsoft.com/windows/win32/shell/csidl>
      ! etc/cron*, etc/anacrontab, var/spool/cron, var/spool/at, /var/spool/anacron, .crontab <https://man7.org/linux/man-pages/man5/crontab.5.html>
      ! etc/init.d, etc/rc.local, etc/ld.so.preload <https://man7.org/linux/man-pages/man8/ld.so.8.html>
      /etc/ld.so.conf*, /etc/rc*, /etc/inittab, /etc/init <https://man7.org/linux/man-pages/man8/ldconfig.8.html>
      /etc/pam.d, /etc/udev, /etc/polkit-1, /etc/apt, /etc/modprobe.d, /etc/modules*, /etc/binfmt.d, /etc/update-motd.d, /etc/logrotate.d, /etc/acpi, /etc/x11, /etc/default, /etc/sysctl*, /etc/passwd, /etc/group <https://man7.org/linux/man-pages/man8/pam.8.html>
      /etc/network, /etc/networkmanager, /etc/ppp, /etc/dhcp <https://networkmanager.dev/docs/api/latest/NetworkManager-dispatcher.html>
      .config/i3, .i3, .config/sway, .config/hypr, .config/bspwm, .config/sxhkd, .config/awesome, .config/qtile, .xmonad, .config/xmonad, .config/openbox, .fluxbox, .config/river, .config/niri, .config/labwc, .config/herbstluftwm, .fvwm, .icewm <https://i3wm.org/docs/userguide.html#_automatically_starting_applications_on_i3_startup>
      .config/polybar, .config/waybar, .config/eww, .config/rofi, .config/dunst, .config/swaync, .config/xfce4, .config/lxsession, .config/plasma-workspace, .local/share/plasma, .local/share/gnome-shell, .config/gtk-3.0, .gtkrc-2.0 <https://github.com/Alexays/Waybar/wiki/Module:-Custom>
      .config/thunar, .local/share/nautilus/scripts, .local/share/nemo/actions, .local/share/nemo/scripts, .local/share/kio/servicemenus <https://docs.xfce.org/xfce/thunar/custom-actions>
      .local/share/kwin/scripts, .local/share/cinnamon, .config/kglobalshortcutsrc, .config/swayidle, .config/mako, .config/wlogout <https://develop.kde.org/docs/plasma/kwin/>
      .xbindkeysrc*, .xscreensaver, .twmrc, .ctwmrc, .jwmrc, .sawfish, .stumpwmrc, .stumpwm.d, .config/spectrwm, .spectrwm.conf, .config/leftwm, .config/wayfire.ini, .config/weston.ini, .config/autorandr, .config/kanshi <https://www.x.org/releases/current/doc/man/man1/twm.1.xhtml>
      .hammerspoon, .phoenix.js, .yabairc, .skhdrc, .config/yabai, .config/skhd, .config/karabiner, library/services, library/scripts, library/quicklook, library/input methods <https://www.hammerspoon.org/go/>
    `,
  },
];
