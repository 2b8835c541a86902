// What each section and key of a policy means: the words of docs/policy-reference.md that the parser cannot tell.
//
// Keys, and what values they take, are asked of the parser itself; one that is missing here, or here and not there, is a fault.

/** For a key: its default, and what it means. */
const endpoint = {
  host: [
    "required",
    "A host name (a dot at its end makes no difference), an address, or `*.example.com` for every host strictly below example.com.",
  ],
  ports: ["443 where allowed, every port where denied", "The ports that are meant."],
  description: ["none", "For people; it has no effect."],
};
const grammar = {
  fixed: ["", "This exact string."],
  enum: ["", "One of these texts."],
  pattern: ["", "A regular expression in RE2's syntax (linear time, no look-around) that the whole text fits."],
  path: ["", "A path that the filesystem section allows to be read, or written."],
  integer: ["", "The lowest and the highest value, as in `[1, 100]`."],
};
const network = {
  mode: ["deny_all", "There is no other mode."],
  offline: ["false", "`true` refuses every host and address, whatever else is allowed."],
  allowed_endpoints: ["[]", "What may be reached."],
  denied_endpoints: ["[]", "What never is; stronger than every permission."],
  allowed_ranges: [
    "[]",
    "Address ranges, as in 10.0.0.0/8, that may be reached at any port that is not blocked. Private addresses have to be named here or as endpoints.",
  ],
  blocked_ports: ["[]", "Ports that are never reached."],
  allow_dns: ["true", "`false` looks no name up, so only addresses can be reached."],
  dns_allowlist: [
    "every allowed name",
    "When present, only these names are looked up. One that is no endpoint may lead into `allowed_ranges`.",
  ],
};
const filesystem = {
  allowed_paths: ["[]", "Patterns of paths that may be read, listed, written and deleted."],
  readable_paths: ["[]", "Patterns of paths that may be read and listed."],
  denied_paths: [
    "[]",
    "Patterns of paths that are never reached, compared without regard to case; a folder with all that lies in it.",
  ],
  denied_write_paths: ["[]", "Patterns of paths that are never written or deleted, compared without regard to case."],
  read_only: ["false", "`true` refuses every write and deletion."],
};
const names = {
  allowed: ["[]", "Names, or beginnings followed by `*`."],
  denied: ["[]", "The same; stronger than `allowed`."],
};

/** By path; `[]` stands for an item of a list, NAME for a name of your own. */
export const SECTIONS = {
  "": {
    title: "The whole file",
    about:
      "One YAML file. Keys that are not listed here are refused, so are aliases, tags and duplicate keys. Paths expand a leading `~` and `${NAME}`; nothing else does.",
    example: "extends: read-only\nmenu: auto",
    keys: {
      version: ["required", "The version of this format.", 'the text "1.0", in quotes'],
      extends: [
        "none",
        "The presets to build on. Lists of the preset and of the file add up; a single value that a preset sets cannot be set otherwise.",
        "offline, read-only, developer, or a list of them",
      ],
      network: ["nothing is reached", "See below."],
      filesystem: ["nothing is reached", "See below."],
      commands: ["nothing is run", "See below."],
      tools: ["none", "See below."],
      resources: ["none", "See below."],
      prompts: ["none", "See below."],
      audit: ["everything is recorded", "See below."],
      approvals: ["[]", "See below.", "a list of mappings"],
      secrets: ["none", "See below.", "a mapping of names to mappings"],
      databases: ["none", "See below.", "a mapping of names to mappings"],
      plugins: ["none", "See below."],
      servers: ["none", "See below.", "a mapping of names to mappings"],
      profiles: ["none", "See below.", "a mapping of names to mappings"],
      menu: [
        "full",
        "`full`: lists show every tool. `search`: they show `search_tools` and `call_tool`, which find and call the others under their own names and rules. `auto`: as `search` where all tools together take more than 12,000 tokens. The two need no line of their own in `tools.allowed`; what denies them makes lists full again.",
      ],
      sandbox: ["required", "See below; a single word is its mode.", "required, none or a mapping"],
      output: ["cleaned", "See below."],
    },
  },
  network: {
    about:
      "What may be reached. A name or address in no list is denied. Plain http is allowed only at endpoints whose port is named.",
    example:
      'network:\n  mode: deny_all\n  offline: false\n  allowed_endpoints:\n    - { host: docs.example.com }\n    - { host: "*.example.org", ports: [443, 8443], description: mirrors }\n  denied_endpoints: [{ host: old.example.org }]\n  allowed_ranges: [192.168.7.0/24]\n  blocked_ports: [22]\n  allow_dns: true\n  dns_allowlist: [docs.example.com, "*.example.org"]',
    keys: network,
  },
  "network.allowed_endpoints[]": { about: "One endpoint; those of `denied_endpoints` look the same.", keys: endpoint },
  filesystem: {
    about:
      "Which files may be reached, wherever a path leads once links are followed. Patterns are absolute: `*` and `?` stay inside one name, `**` alone between slashes stands for any number of folders. A folder without `/**` is the folder alone, and no file in it. Keys, `.env` files, `.ssh`, shell start files, client configurations, the policy and the audit log are out of reach whatever stands here.",
    example:
      'filesystem:\n  allowed_paths: ["~/project/**"]\n  readable_paths: ["~/notes/**"]\n  denied_paths: ["**/*.pem"]\n  denied_write_paths: ["**/dist/**"]\n  read_only: false',
    keys: filesystem,
  },
  commands: {
    about: "What `run_command` and plugins may run, always as an argument vector, never through a shell.",
    example:
      'commands:\n  blocked: [curl]\n  allowed:\n    - name: history\n      executable: /usr/bin/git # sees a repository with sandbox: { git: true }\n      sha256: 0f0e0d0c0b0a09080706050403020100ffeeddccbbaa99887766554433221100\n      arguments:\n        - { fixed: log }\n        - { pattern: "[a-z0-9/]+", optional: true }\n        - { path: read, optional: true, repeat: 3 }\n      flags:\n        - --oneline\n        - { flag: --max-count, integer: [1, 100] }\n        - { flag: --format, enum: [short, full] }\n        - { flag: --output, path: write }\n        - { flag: --color, fixed: never }\n        - { flag: --author, pattern: "[A-Za-z ]+" }\n      env: { LANG: C.UTF-8 }\n      working_directory: ~/project\n      timeout: 10\n      network: { allowed_endpoints: [{ host: github.com }] }\n    - name: choose\n      executable: /usr/bin/choose\n      arguments: [{ enum: [a, b] }, { integer: [1, 9] }]',
    keys: {
      blocked: [
        "[]",
        "Commands that are never run, by their name or the last part of their path; stronger than `allowed`.",
      ],
      allowed: ["[]", "Nothing else is run."],
    },
  },
  "commands.allowed[]": {
    about: "One command and how it may be called.",
    keys: {
      name: ["required", "What it is called by."],
      executable: ["required", "The absolute path of the program.", "an absolute path"],
      sha256: ["any content", "The program is run only while its bytes have this hash."],
      arguments: [
        "none",
        "What may stand at each position, in order. Text that begins with `-` is refused unless it is spelled out.",
      ],
      flags: [
        "none",
        "Options that may stand behind the `fixed` arguments at the beginning, each at most once: a text for a switch, a mapping for one with a value.",
        "a list of flags",
      ],
      env: ["empty", "The whole environment of the process.", "a mapping of names to texts"],
      working_directory: ["an empty folder", "Where it runs.", "an absolute path"],
      timeout: ["30", "Seconds until it is ended."],
      network: ["no network", "As the section of that name; its denials hold as well."],
    },
  },
  "commands.allowed[].arguments[]": {
    about: "One position: exactly one of `fixed`, `enum`, `pattern`, `path` and `integer`.",
    keys: {
      ...grammar,
      repeat: ["1", "The most times it may stand there; only for the last one."],
      optional: ["false", "Whether it may be missing."],
    },
  },
  "commands.allowed[].flags[]": {
    about: "One flag with a value, which follows it or, for flags of more than one letter, stands after `=`.",
    keys: { flag: ["required", "The flag with its dashes."], ...grammar },
  },
  tools: {
    about:
      "Which tools are listed and may be called, and how often and how long. Without `allowed`, the tools that `rate_limits` names are allowed.",
    example:
      'tools:\n  allowed: [calculate, "read_*", web_search]\n  denied: [read_private]\n  rate_limits: { default: 60, web_search: 20 }\n  timeout: 30\n  task_timeout: 600\n  max_output_bytes: 65536\n  web_search: { provider: searxng, endpoint: "http://127.0.0.1:8888/search" }\nnetwork: { allowed_endpoints: [{ host: 127.0.0.1, ports: [8888] }] }',
    keys: {
      ...names,
      rate_limits: [
        "default: 60",
        "Calls a minute, by tool; `default` is for all others. Files, folders, git history and schemas of databases read as resources count as calls of `read_file` and `query_database`. Other resources, prompts and lists count among some 6,000 requests a minute, completions among 600.",
      ],
      timeout: ["30", "Seconds a call may take."],
      timeouts: ["default: 30", "The same, by tool."],
      task_timeout: ["3600", "Seconds a call that became a task may run."],
      max_output_bytes: ["1048576", "The longest result; the same as `output.max_bytes`."],
      web_search: ["DuckDuckGo", "Which page answers searches."],
    },
  },
  "tools.web_search": {
    about: "",
    keys: {
      provider: ["duckduckgo", "Who answers."],
      endpoint: [
        "the provider's own",
        "The URL of the search page; SearXNG has none of its own. The network section must allow it.",
        "an http or https URL",
      ],
    },
  },
  resources: {
    about: "Which resources may be read.",
    example:
      'resources:\n  allowed: ["server://info", "file:///*", "git:///*"]\n  denied: ["file:///home/ada/private*"]',
    keys: names,
  },
  prompts: {
    about: "Which prompts may be used.",
    example:
      "prompts:\n  allowed: [code_review, analyze_logs]\n  denied: [other]\n  analyze_logs: { log_file: /var/log/app.log }",
    keys: { ...names, analyze_logs: ["no log", "See below."] },
  },
  "prompts.analyze_logs": {
    about: "",
    keys: {
      log_file: [
        "none",
        "The log that the prompt embeds. Nothing is read behind a link that a program may exchange.",
        "an absolute path",
      ],
    },
  },
  approvals: {
    about:
      "Which calls a person has to agree to. Every rule that fits counts: the shortest timeout, the narrowest memory (a rule without `remember` remembers nothing), only those who may answer for all of them. No answer is a refusal.",
    example:
      'approvals:\n  - approve: destructive\n    remember: session\n  - approve: tainted\n  - approve: [write_file, "git_*"]\n    when: { path: "/etc/**", mode: "over*", force: true }\n    timeout: 60\n    remember: 10\n    answer_by: [client, terminal]',
    keys: {},
  },
  "approvals[]": {
    about: "",
    keys: {
      approve: [
        "required",
        "`destructive` is every tool that does not say that it only reads or destroys nothing; `tainted` every tool that can send something out, once the session has read private data and texts of strangers. `plugin:NAME` is what that plugin asks the server for in the course of a call, and `run_command` its commands, too. Resources and prompts count as the tool that reads the same thing.",
        "destructive, tainted, all, or a list of names and beginnings of tools",
      ],
      when: [
        "every call",
        "All must match; `a.b` is a nested field, in each item of a list on the way as well. A value that begins with `/`, `~` or `**/` is a path pattern. Ambiguous paths match it, so you are asked, several in one text and texts in the place of an object among them, and so do missing arguments that a tool of ours or of a plugin finds when it runs. Other missing arguments never match. Redirects count as calls of where they lead.",
        "a mapping of arguments to texts with * and ?, numbers, true or false",
      ],
      timeout: ["120", "Seconds until no answer is a refusal."],
      remember: [
        "none",
        "How long the same call of the same tool needs no second approval: not at all, while the client is connected, or for so many minutes.",
      ],
      answer_by: [
        "[client, terminal]",
        "Who may answer: the client's user through elicitation, or the person at a terminal of this machine.",
      ],
    },
  },
  secrets: {
    about:
      "Values that tools and plugins know by name only: they hold a placeholder, and the value goes to its own hosts alone.",
    example:
      'secrets:\n  github:\n    from: env:GITHUB_TOKEN\n    hosts: [api.github.com, { host: github.example.com, ports: [8443] }]\n    header: Authorization\n  maps: { from: env:MAPS_KEY, hosts: [maps.example.com], query: key }\n  login: { from: env:CLIENT_SECRET, hosts: [login.example.com], body: client_secret }\n  sales_url: { from: "file:~/.secrets/sales.url", hosts: [{ host: db.example.com, ports: [5432] }] }',
    keys: {},
  },
  "secrets.NAME": {
    about: "",
    keys: {
      from: ["required", "Where the value is read when it is needed."],
      hosts: [
        "required",
        "The only hosts it is sent to: texts (port 443), or `host` and `ports`. Of a database's secret: the server of its URL, with its port.",
        "a list of hosts",
      ],
      header: [
        "any",
        "The only header it is put in, by the `headers` of a server too. Any header only where neither `query` nor `body` is given.",
      ],
      query: ["none", "The parameter of a URL it is put in."],
      body: [
        "none",
        "The field of a body it is put in, JSON at any depth or a form. `*`: any field, and a body of plain text. See [secrets of plugins](plugins.md#secrets).",
      ],
    },
  },
  databases: {
    about:
      "What `query_database` and `import_csv` may open. Listing a database is enough: its file need not be in `filesystem.readable_paths` or `allowed_paths`, nor the hosts of its secret in `network.allowed_endpoints`. Other tools still cannot read its file. Denials there and the built-in protections still win. The tools must be in `tools.allowed`. Schemas are resources (`db://NAME/schema`, `db://NAME/schema/TABLE`): subscribers hear of a changed schema of an SQLite file at once, and of a server's whenever the policy is loaded anew.",
    example:
      'databases:\n  notes: { file: ~/notes.db, read_only: false, row_limit: 500, timeout: 5 }\n  sales: { secret: sales_url, functions: [format_price, "st_*"], superuser: false }\nsecrets: { sales_url: { from: "env:SALES_URL", hosts: [{ host: db.example.com, ports: [5432] }] } }',
    keys: {},
  },
  "databases.NAME": {
    about: "Either a `file` or a `secret`.",
    keys: {
      file: ["", "An SQLite file.", "an absolute path"],
      secret: [
        "",
        "The name of the secret that holds a `postgresql://` URL. The URL takes `sslmode`, `sslrootcert` and `channel_binding`.",
      ],
      read_only: ["true", "`import_csv` needs `false`."],
      row_limit: ["1000", "The most rows of one answer."],
      timeout: ["10", "Seconds for one statement."],
      functions: [
        "[]",
        "PostgreSQL: functions that statements, and the views and operators they use, may call beside those known to only read. Capitals count. PostgreSQL's own have to be named whole.",
      ],
      superuser: [
        "false",
        "PostgreSQL: `true` takes a role that is a superuser, or may run programs or read or write files on the server. Give it one that may only read instead.",
      ],
    },
  },
  plugins: {
    about: "Which plugins are started. A plugin in the folder that `load` does not name is listed and not started.",
    example:
      'plugins:\n  folder: ~/mcp-plugins\n  load:\n    - name: weather\n      sha256: 0f0e0d0c0b0a09080706050403020100ffeeddccbbaa99887766554433221100\n      network: { allowed_endpoints: [{ host: api.weather.example }] }\n      secrets: [weather_key]\n      accept: [actions.message]\n      storage_kb: 256\n    - name: notes\n      path: /opt/notes\n      enabled: false\n      filesystem: { readable_paths: ["~/notes/**"] }\n      commands: [today]\nsecrets: { weather_key: { from: "env:WEATHER_KEY", hosts: [api.weather.example] } }\ncommands: { allowed: [{ name: today, executable: /bin/date }] }',
    keys: {
      folder: ["none", "Where plugins are that have no `path`.", "an absolute path"],
      load: ["[]", "The plugins to start, and what each may reach."],
    },
  },
  "plugins.load[]": {
    about: "A plugin reaches what stands here and nothing else; what the policy denies is denied to it as well.",
    keys: {
      name: ["required", "The name the plugin gives itself."],
      path: ["the folder and the name", "Its folder or file.", "an absolute path"],
      sha256: [
        "any content",
        "Only content with this hash is started, from a copy of it: see [what is started](plugins.md#what-is-started).",
      ],
      enabled: ["true", "`false` keeps the entry and does not start it."],
      network: ["no network", "As the section of that name."],
      filesystem: ["no files", "As the section of that name."],
      commands: ["[]", "Names from `commands.allowed`."],
      secrets: ["[]", "Names from `secrets`."],
      accept: [
        "[]",
        "Ids of findings in its descriptions that a person has looked at, as `plugins list` shows them; others that are serious keep a tool from being offered.",
        "a list of ids",
      ],
      storage_kb: ["0", "KiB it may keep between its starts."],
    },
  },
  servers: {
    about:
      "Other MCP servers that are offered behind this policy, by name. Each of their tools is called `NAME__TOOL` and passes the same rules as our own. See [servers](gateway.md).",
    example:
      'servers:\n  notes:\n    command: [npx, -y, "@modelcontextprotocol/server-filesystem@2026.7.10", /srv/notes]\n    filesystem: { readable_paths: ["/srv/notes/**"] }\n    network: { allowed_endpoints: [{ host: registry.npmjs.org }] }\n    env: { LOG_LEVEL: info }\n    working_directory: /srv/notes\n    tools: { denied: [move_file] }\n    accept: [intent.order]\n    may_ask: [elicitation, roots]\n    idle: 5\n  tickets:\n    url: https://tickets.example/mcp\n    headers: { Authorization: "Bearer ${secret:tickets}" }\n    enabled: false\nsecrets: { tickets: { from: "env:TICKETS_TOKEN", hosts: [tickets.example] } }',
    keys: {},
  },
  "servers.NAME": {
    about:
      "A command runs in a sandbox and reaches what stands here and nothing else; what the policy denies is denied to it as well. Nothing of a server is offered before it was approved: `servers review NAME`.",
    keys: {
      command: ["none", "A program and its arguments; it or `url` is needed.", "a list of texts"],
      url: ["none", "Where a remote server is.", "a URL"],
      enabled: ["true", "`false` keeps the entry and offers nothing of it."],
      working_directory: ["an empty folder", "Of a command.", "an absolute path"],
      env: [
        "{}",
        "Variables of a command, beside PATH and the like. `${secret:NAME}` stands for the value of a secret.",
      ],
      headers: [
        "{}",
        "Sent to a URL with every request. `${secret:NAME}` as in `env`; the secret's `hosts` must name the host, and its `header`, where it has one, this header.",
      ],
      network: ["no network", "Of a command. As the section of that name."],
      filesystem: ["no files", "Of a command. As the section of that name."],
      tools: [
        "none denied",
        "`denied`: names of its tools, as the server has them or as clients see them, or prefixes of these ending in `*`, that are not offered.",
        "a mapping",
      ],
      accept: ["[]", "Ids of findings that a person has looked at, as `servers review` shows them.", "a list of ids"],
      login: [
        "none",
        "Of a URL. `oauth`: `servers login NAME` opens a browser once, and tokens are kept and renewed.",
        "`oauth`",
      ],
      may_ask: [
        "[elicitation]",
        "What it may ask back in a call: `elicitation` (input of a person), `sampling` (an answer of the client's model), `roots` (the client's folders). Each question says which server asks, and is recorded.",
        "a list of these words",
      ],
      idle: ["15", "Minutes after which a server that nobody calls is stopped."],
    },
  },
  profiles: {
    about:
      "Parts of this policy for some clients, by name: `serve` has each at a path of its own (`/mcp/work`), and `--profile work` takes it everywhere else. A profile never allows what the policy does not.",
    example:
      'servers: { notes: { command: [notes-server] }, tickets: { url: https://tickets.example/mcp } }\nprofiles:\n  work:\n    servers: [tickets]\n    tools: { allowed: ["tickets__*", calculate], denied: [tickets__delete] }\n  home: { servers: [notes] }',
    keys: {},
  },
  "profiles.NAME": {
    about: "What it leaves out is as if the policy did not have it.",
    keys: {
      servers: ["all of them", "Names from `servers`."],
      tools: [
        "all that the policy allows",
        "`allowed` and `denied`: as in the section `tools`, of that which it allows. What a tool leaves out with it are the resources that it reads: `file:` and `git:` for `read_file`, `db:` for `query_database`.",
        "a mapping",
      ],
    },
  },
  sandbox: {
    about: "The sandbox of plugins, commands and servers. `sandbox: none` is short for `mode: none`.",
    example:
      "sandbox:\n  mode: required\n  processes: 32\n  memory_mb: 512\n  cpu_seconds: 30\n  file_mb: 16\n  read_only_paths: [/opt/tools]\n  homes: ~/.mcp/homes\n  git: false",
    keys: {
      mode: [
        "required",
        "`required` starts nothing that cannot be confined; `none` starts it without a sandbox, and the audit log shows that.",
      ],
      processes: ["64", "The most processes at a time in one sandbox."],
      memory_mb: ["1024", "MiB of memory for each process."],
      cpu_seconds: ["60", "Seconds of computing for each process."],
      file_mb: ["64", "MiB of the longest file it may write."],
      read_only_paths: ["[]", "Paths seen inside beside the system's own; no patterns.", "a list of absolute paths"],
      homes: [
        "absent: they vanish",
        "A folder in which each command and plugin has a home of its own, kept from start to start.",
        "an absolute path",
      ],
      git: [
        "false",
        "`true` lets programs inside work with git in granted folders: history is theirs; of its configuration only what makes git run nothing.",
      ],
    },
  },
  output: {
    about: "What is done to every text before a model reads it.",
    example: "output:\n  max_bytes: 262144\n  mark_untrusted: true\n  redact_secrets: true\n  hidden_unicode: strip",
    keys: {
      max_bytes: [
        "1048576",
        "The longest result; the same as `tools.max_output_bytes`. Texts are cut to it. A result that is longer with all its members (numbers, names of members, images, files) by more than an eighth, or 4 KiB, is withheld.",
      ],
      mark_untrusted: ["false", "Texts from outside are marked as such."],
      redact_secrets: ["true", "What looks like a key or password is taken out."],
      hidden_unicode: [
        "strip",
        "What becomes of characters that people do not see: taken out, shown as escapes, or the result is refused.",
      ],
    },
  },
  audit: {
    about: "Calls, denials and faults are recorded whatever stands here.",
    example:
      "audit:\n  log_file: ~/.mcp/audit.log\n  log_level: INFO\n  include: [timestamp, request_id, tool_name, arguments, result_status, execution_time, security_events]\n  results: true\n  rotate_mb: 16\n  checkpoints: { file: /mnt/backup/audit.heads, every_records: 100, every_seconds: 30 }",
    keys: {
      log_file: ["in your state folder", "Where the log is.", "an absolute path"],
      log_level: ["INFO", "How much is recorded of what is not a call, a denial or a fault."],
      include: [
        "all",
        "Which parts a record has.",
        "a list of timestamp, request_id, tool_name, arguments, result_status, execution_time, security_events",
      ],
      results: [
        "false",
        "Whether records say what each call was answered with, as it left: cleaned, its secrets replaced, long texts cut. The console shows it.",
      ],
      rotate_mb: ["64", "MiB after which a new file is begun; the chain goes on in it."],
      checkpoints: ["none", "Signed heads of the chain in a second place."],
    },
  },
  "audit.checkpoints": {
    about: "",
    keys: {
      file: ["required", "Where they are written, best on another disk or for another owner.", "an absolute path"],
      every_records: ["1000", "Records between two of them."],
      every_seconds: ["60", "Seconds between two of them."],
    },
  },
};
