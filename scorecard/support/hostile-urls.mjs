// URLs that mean another host than they seem to: spellings of addresses, tricks with users, slashes, dots and letters.

/** Addresses nobody may reach, as four numbers. */
const TARGETS = [
  [127, 0, 0, 1],
  [10, 0, 0, 1],
  [169, 254, 169, 254],
  [192, 168, 1, 1],
  [172, 16, 0, 1],
  [0, 0, 0, 0],
  [100, 100, 100, 200],
  [168, 63, 129, 16],
];

/** Ways to write one IPv4 address that some reader understands. */
export function spellingsOf([a, b, c, d]) {
  const number = ((a * 256 + b) * 256 + c) * 256 + d;
  const octal = (n) => `0${n.toString(8)}`;
  const hex = (n) => `0x${n.toString(16)}`;
  const pair = (high, low) => (high * 256 + low).toString(16);
  const dotted = [a, b, c, d].join(".");
  return [
    ...[dotted, String(number), hex(number), octal(number)],
    ...[[a, b, c, d].map(octal).join("."), [a, b, c, d].map(hex).join("."), `${octal(a)}.${b}.${hex(c)}.${d}`],
    ...[`${a}.${b * 65_536 + c * 256 + d}`, `${a}.${b}.${c * 256 + d}`, `${hex(a)}.${b * 65_536 + c * 256 + d}`],
    ...[`000${a}.${b}.${c}.${d}`, `${dotted}.`, `${octal(a)}.${octal(b)}.${c}.${d}`],
    ...[wide(dotted), circled(dotted), dotted.replaceAll(".", "\u3002"), dotted.replaceAll(".", "\uff0e")],
    ...[dotted.replaceAll(".", "%2e"), [...dotted].map((one) => `%${one.charCodeAt(0).toString(16)}`).join("")],
    ...[`[::ffff:${dotted}]`, `[::ffff:${pair(a, b)}:${pair(c, d)}]`, `[0:0:0:0:0:ffff:${dotted}]`, `[::${dotted}]`],
    ...[`[64:ff9b::${dotted}]`, `[2002:${pair(a, b)}:${pair(c, d)}::1]`, `[::ffff:0:${dotted}]`],
    ...[`[2001:0:${pair(a, b)}:${pair(c, d)}::1]`, `[2001:db8::5efe:${dotted}]`, `[2a00:1450::5efe:${dotted}]`],
    ...[`[2001:0:808:808:0:0:${pair(255 - a, 255 - b)}:${pair(255 - c, 255 - d)}]`, `[2a00:1450::200:5efe:${dotted}]`],
  ];
}

const wide = (text) => [...text].map((one) => String.fromCodePoint(one.codePointAt(0) + 0xfee0)).join("");
const circled = (text) =>
  text.replaceAll(/[0-9]/g, (digit) => String.fromCodePoint(digit === "0" ? 0x24ea : 0x245f + Number(digit)));

/** Tricks by which a URL seems to be of `good` and is of `bad`, or the other way round. */
export function tricks(good, bad) {
  return [
    ...[
      `https://${good}@${bad}/`,
      `https://${good}:x@${bad}/`,
      `https://${good}%40${bad}/`,
      `https://x@${bad}#@${good}/`,
    ],
    ...[`https://${bad}\\@${good}/`, `https://${good}\\@${bad}/`, `https://${bad}?@${good}`, `https://${bad}#${good}`],
    ...[`https:\\\\${bad}\\`, `https:///${bad}/`, `https:${bad}`, `https:/${bad}`, `https:////${bad}/`, `//${bad}/`],
    ...[`https://${bad}:443/`, `https://${bad}:80/`, `https://${bad}:22/`, `http://${bad}:6379/`, `http://${bad}/`],
    ...[`https://${good}.${bad}/`, `https://${bad}.${good}/`, `https://${good}:443@${bad}:443/`, ` https://${bad}/`],
    ...[`https://${bad}\t/`, `ht\ntps://${bad}/`, `https://${good}\u0000.${bad}/`, `https://${good}%00.${bad}/`],
    ...[`https://${good}\u200b/`, `https://${good}./`, `https://${good}../`, `https://.${good}/`, `https://${good}-/`],
    ...[`gopher://${bad}/`, `file://${bad}/etc/passwd`, `ftp://${bad}/`, `dict://${bad}:11211/`, `ldap://${bad}/`],
    ...[
      `javascript://${bad}/`,
      `data:text/html,${bad}`,
      `blob:https://${bad}/`,
      `ws://${bad}/`,
      `unix:/var/run/x.sock`,
    ],
    ...[`view-source:https://${bad}/`, `jar:https://${bad}!/`, `netdoc:///etc/passwd`, `https:///etc/passwd`],
  ];
}

/** Names that lead somebody to this machine or its neighbours. */
const NAMES = [
  ...["localhost", "LOCALHOST", "localhost.", "localhost.localdomain", "a.localhost", "ip6-localhost", "loopback"],
  ...["127.0.0.1.nip.io", "10.0.0.1.sslip.io", "localtest.me", "metadata.google.internal", "metadata", "kubernetes"],
  ...["kubernetes.default.svc", "host.docker.internal", "gateway.docker.internal", "instance-data", "broadcasthost"],
  ...[
    "xn--localhost-.com",
    "ｌｏｃａｌｈｏｓｔ",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "local\u00adhost",
    "127.0.0.1%00.example.com",
    "router",
    "fritz.box",
  ],
];

/** More than 400 URLs, none of which is of `good`. */
export function hostileUrls(good) {
  const spelled = TARGETS.flatMap((target) => spellingsOf(target).map((host) => `https://${host}/`));
  const named = NAMES.map((name) => `https://${name}/`);
  const tricky = ["127.0.0.1", "169.254.169.254", "[::1]", "localhost"].flatMap((bad) => tricks(good, bad));
  return [...spelled, ...named, ...tricky];
}
