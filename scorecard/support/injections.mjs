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
    env: [["-S", run], ["-i", "touch", mark], [`--split-string=${run}`], ["--chdir=/"], ["-C", "/"]],
  };
}
