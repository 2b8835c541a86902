// T39: consent and denials are about things, not words: whatever links, spellings and clothes a thing comes in, a rule that names it holds.
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clothesOf } from "../support/clothes.mjs";
import { otherDoors, shapes } from "../support/shapes-of-arguments.mjs";
import { leftWhileAsked, leftWhileRecorded } from "../support/servers-over-time.mjs";
import { session, wasDenied, wasRefused, wasServed } from "../support/session.mjs";

export const goal = { id: "T39", title: "Consent and denials about things", atLeast: 1_340 };

export const defences = [
  {
    name: "paths are resolved before conditions are compared",
    file: "secure-local/src/guard/guard.ts",
    find: "leads: options.leads,",
    replace: "leads: options.leads && undefined,",
  },
  {
    name: "a path is compared by the names that mounts give it",
    file: "secure-local/src/capabilities/files/leads-to.ts",
    find: "const others = mounts.namesOf(real).names;",
    replace: "const others = mounts.namesOf(real).names.slice(0, 0);",
  },
  {
    name: "a consent is bound to where a path leads of which nobody is told",
    file: "secure-local/src/guard/approvals/approvals.ts",
    find: "boundPlaces(this.paths ?? [], this.#leads);",
    replace: "ledElsewhere(boundPlaces([], this.#leads).length === 0 ? (this.paths ?? []) : [], this.#leads);",
  },
  {
    name: "what is opened is what was judged, also where that could not be told",
    file: "secure-local/src/capabilities/files/leads-to.ts",
    find: 'const real = leadsTo(path, [])?.real ?? boundTo(path) ?? "";',
    replace:
      "const real = leadsTo(path, [])?.real;\n    if (real === undefined || boundTo(path) === undefined) continue;",
  },
  {
    name: "every path of a command is shown and bound",
    file: "secure-local/src/policy/decide-command.ts",
    find: 'tool === "run_command" ? ofCommand(policy, args) : []',
    replace: "tool === undefined ? ofCommand(policy, args) : []",
  },
  {
    name: "URLs and hosts are compared in every spelling",
    file: "secure-local/src/policy/decide-command.ts",
    find: "const spellings = textSpellings(text, condition.argument, pattern);",
    replace: "const spellings = textSpellings(text, condition.argument, pattern)?.slice(0, 1);",
  },
  {
    name: "members of a URI are looked at in every order",
    file: "secure-local/src/policy/same-uri.ts",
    find: "if (members.length < 2) return [members];",
    replace: "if (members.length < 99) return [members];",
  },
  {
    name: "a URI is denied by what it leads to",
    file: "secure-local/src/server/registrations.ts",
    find: "return linkedDenial(policy, name) ??",
    replace: 'return linkedDenial(policy, "") ??',
  },
  {
    name: "a server hears of no subscription whose caller went away",
    steps: ["leftWhileRecorded"],
    file: "mcp/src/endpoint/call.ts",
    find: "return call.cancellation === undefined ? handler(call) : {};",
    replace: 'return call.cancellation === undefined || call.method !== "" ? handler(call) : {};',
  },
  {
    name: "what a condition is about is looked for in every item of a list",
    steps: ["shapes"],
    file: "secure-local/src/policy/decide-command.ts",
    find: "for (const each of value) waiting.push({ value: each, left });",
    replace: "for (const each of left.length > 0 ? [] : value) waiting.push({ value: each, left });",
  },
  {
    name: "a profile leaves out with a tool what it reads",
    steps: ["otherDoors"],
    file: "secure-local/src/policy/decide.ts",
    find: "return leftOut(profile, denied ?? reader) ?? decision;",
    replace: 'return leftOut(profile, denied ?? reader) && reader === "" ? decision : decision;',
  },
  {
    name: "denied addresses are looked for inside of others",
    file: "secure-local/src/policy/host-matcher.ts",
    find: "for (const form of addressForms(address)) {",
    replace: "for (const form of addressForms(address).slice(0, 1)) {",
  },
];

export async function run(report, parts) {
  const place = realpathSync(mkdtempSync(join(tmpdir(), "things-")));
  try {
    arrange(place);
    await paths(report, parts, place);
    await moving(report, parts, place);
    await untold(report, parts, place);
    await commandPaths(report, parts, place);
    await links(report, parts, place);
    await mounted(report, parts, place);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
  await urls(report, parts);
  await members(report, parts);
  await addresses(report, parts);
  await report.take({ shapes, otherDoors, leftWhileRecorded }, parts);
  await leftWhileAsked(report, parts);
}

function arrange(place) {
  for (const folder of ["protected/deep", "src/deep", "other"]) mkdirSync(join(place, folder), { recursive: true });
  for (const name of ["protected/a", "protected/deep/a", "src/free", "other/a"])
    writeFileSync(join(place, name), "as it was");
  const made = {
    "src/plain": "../protected",
    "src/whole": join(place, "protected"),
    "src/chain": "plain",
    "src/winding": "deep/../../other/../protected",
    "src/file": "../protected/a",
    "src/later": "../protected/later",
    "src/again": "chain/deep/..",
    "src/proc": join("/proc/self/root", place, "protected"),
    rule: "protected",
  };
  for (const [name, target] of Object.entries(made)) symlinkSync(target, join(place, name));
  writeFileSync(join(place, "protected/several"), "as it was");
  linkSync(join(place, "protected/several"), join(place, "src/several"));
}

const LED = [
  "plain/a",
  "whole/a",
  "chain/a",
  "winding/a",
  "file",
  "later",
  "again/a",
  "proc/a",
  "plain/deep/a",
  "chain/deep/new",
];
const SPELT = [
  (path) => path,
  (path) => path.replace(/\/([^/]+)$/, "//$1"),
  (path) => path.replace(/\/([^/]+)$/, "/./$1"),
  (path) => path.replace("/src/", "/src/deep/../"),
  (path) => path.replace("/src/", "//src//"),
];

/** Nobody can be asked, so that a call that needs consent is refused. */
async function paths(report, parts, place) {
  report.kind("a condition on a path, passed by a link", { found: "reader" });
  const rules = [
    `${place}/protected/**`,
    `${place}/rule/**`,
    `${place}/rule/**/a`,
    "**/protected/**",
    "**/protected/*",
  ];
  const tools = {
    write_file: (path) => ({ path, content: "changed" }),
    edit_file: (path) => ({ path, edits: [{ oldText: "as it was", newText: "changed" }] }),
    read_file: (path) => ({ path }),
  };
  for (const rule of rules) {
    const { call, close } = await session(parts, { policy: policyOf(place, `{ path: "${rule}" }`) });
    for (const led of LED.filter((each) => reaches(rule, each)))
      for (const [at, spell] of SPELT.entries())
        for (const [tool, args] of Object.entries(tools))
          await report.attack(`${tool} ${led}, spelling ${at}, rule ${rule.replace(place, "P")}`, async () =>
            wasRefused(await call(tool, args(spell(`${place}/src/${led}`)))),
          );
    for (const free of ["src/free", "other/a"])
      await report.benign(`read_file ${free} under ${rule.replace(place, "P")}`, async () =>
        wasServed(await call("read_file", { path: `${place}/${free}` })),
      );
    await close();
  }
  const { call, close } = await session(parts, { policy: policyOf(place, `{ path: "${place}/protected/**" }`) });
  report.kind("a condition on a path, passed by a second name of the file");
  for (const [tool, args] of Object.entries(tools))
    await report.attack(`${tool} of a hard link`, async () =>
      wasRefused(await call(tool, args(`${place}/src/several`))),
    );
  await close();
  for (const name of ["protected/a", "protected/deep/a", "protected/several"])
    if (readFileSync(join(place, name), "utf8") !== "as it was")
      report.sideEffect(`${name} was changed without consent`);
}

/** Whether the thing behind a link fits a rule, whose last part may be narrower than the folder. */
function reaches(rule, led) {
  if (rule.endsWith("/**/a")) return led.endsWith("a") || led === "file";
  return !rule.endsWith("/*") || !led.includes("deep");
}

function policyOf(place, when) {
  return `version: "1.0"
tools:
  allowed: [write_file, edit_file, read_file]
filesystem: { allowed_paths: ["${place}/**"] }
approvals: [{ approve: all, when: ${when}, timeout: 1 }]
`;
}

/** A part of what a condition names, mounted where nothing is asked about: as the kernel tells of it. */
async function mounted(report, { parsePolicy, approvalNeed, leadsToBy, Mounts }, place) {
  report.kind("a condition on a path, passed by a mount of a folder below it", { found: "attack" });
  const asked = async (pattern, shown, at, path) => {
    const lines = ["20 1 8:1 / /", `21 20 8:1 ${shown} ${at}`];
    const mounts = new Mounts(() => lines.map((line) => `${line} rw - ext4 /dev/x rw\n`).join(""));
    const text = `version: "1.0"\napprovals: [{ approve: all, when: { path: "${pattern}" } }]\n`;
    const policy = await parsePolicy(text, { file: "p.yaml" });
    const call = { tool: "x", destructive: false, arguments: { path }, leads: leadsToBy(mounts) };
    return approvalNeed(policy, call) !== undefined;
  };
  const patterns = [`${place}/protected/**`, `${place}/rule/**`, `${place}/src/chain/**`, "**/protected/**"];
  for (const pattern of patterns)
    for (const shown of ["protected", "protected/deep", "protected/deep/er/still"])
      for (const at of ["alias", "src/alias", "other/deep/alias"])
        for (const below of ["/a", "/new/file"])
          await report.attack(`${shown} at ${at}${below} under ${pattern.replace(place, "P")}`, () =>
            asked(pattern, `${place}/${shown}`, `${place}/${at}`, `${place}/${at}${below}`),
          );
  for (const shown of ["other", "src/deep"])
    await report.benign(`${shown} at alias`, async () => {
      return !(await asked(patterns[0], `${place}/${shown}`, `${place}/alias`, `${place}/alias/a`));
    });
}

async function moving(report, parts, place) {
  report.kind("a link that moves on between question and answer");
  for (const to of ["../protected/deep/a", "../other/a", "../src/free", "nowhere"])
    for (const tool of ["erase", "count"])
      await report.attack(`${tool}: asked about one file, then the link leads to ${to}`, async () => {
        const server = await parts.approvingServer(`  - { approve: all, when: { path: "${place}/protected/**" } }`);
        const link = join(place, "src/moving");
        rmSync(link, { force: true });
        symlinkSync("../protected/a", link);
        const swap = () => {
          rmSync(link);
          symlinkSync(to, link);
          return parts.yes();
        };
        const peer = await server.connect(parts.person(swap));
        const got = await peer.request("tools/call", { name: tool, arguments: { path: link } });
        return (server.ran.length === 0 && got.isError === true) || `ran: ${JSON.stringify(server.ran)}`;
      });
}

/** Of a file with several names, and of links in circles, nobody can tell where they lead. */
async function untold(report, parts, place) {
  report.kind("a path of which nobody can tell where it leads, exchanged for another", { found: "attack" });
  const link = join(place, "src/untold");
  const lead = (to) => {
    rmSync(link, { force: true });
    symlinkSync(to, link);
  };
  writeFileSync(join(place, "other/many"), "as it was");
  linkSync(join(place, "other/many"), join(place, "other/many-too"));
  const told = ["../protected/a", "free", "nowhere"];
  const never = ["../protected/several", "../other/many", "untold"];
  for (const from of never)
    for (const to of [...told, ...never].filter((each) => each !== from)) {
      await report.attack(`while it is asked about: from ${from} to ${to}`, async () => {
        const server = await parts.approvingServer("  - { approve: all }");
        lead(from);
        const peer = await server.connect(parts.person(() => (lead(to), parts.yes())));
        const got = await peer.request("tools/call", { name: "erase", arguments: { path: link } });
        return (server.ran.length === 0 && got.isError === true) || `ran: ${JSON.stringify(server.ran)}`;
      });
      await report.attack(`after the yes: from ${from} to ${to}`, async () => {
        lead(from);
        const read = await readAfter(parts, place, { path: link, exchange: () => lead(to) });
        if (read !== undefined) report.sideEffect(`${to} was read`);
        return read === undefined || read;
      });
    }
  await report.benign("a link that stays as it is", async () => {
    lead("free");
    return (await readAfter(parts, place, { path: link, exchange: () => {} })) === "as it was";
  });
}

/** What a tool reads that was allowed to by a person, when something is exchanged as it begins. */
async function readAfter({ SecureServer, MemoryAudit, connectInMemory, ...parts }, place, { path, exchange }) {
  let got;
  const tool = {
    name: "use",
    title: "use",
    description: "use",
    input: { type: "object", properties: { path: { type: "string" } } },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    run: async (args, { files }) => {
      exchange();
      got = await files.read(args.path).then(
        ({ bytes }) => Buffer.from(bytes).toString(),
        () => undefined,
      );
      return "done";
    },
  };
  const text = `version: "1.0"\ntools: { allowed: ["*"] }\nfilesystem: { allowed_paths: ["${place}/**"] }\napprovals: [{ approve: all }]\n`;
  const policy = await parts.parsePolicy(text, { file: "/nowhere/policy.yaml", environment: {} });
  const secure = new SecureServer({ policy, audit: new MemoryAudit(), version: "1.0.0", tools: [tool] });
  const peer = await connectInMemory(secure.server, parts.person(parts.yes));
  await peer.request("tools/call", { name: "use", arguments: { path } });
  return got;
}

/** The ways to write one path among the arguments of a command. */
const WRITTEN = {
  "in full": (place) => [`${place}/src/moving/a`],
  "from the working folder": () => ["src/moving/a"],
  "by a way up": () => ["other/../src/moving/a"],
  "behind a flag": () => ["--from", "src/moving/a"],
  "in a flag": () => ["--from=src/moving/a"],
  "in a flag, in full": (place) => [`--from=${place}/src/moving/a`],
  "after a flag": () => ["--from=other/a", "src/moving/a"],
};

async function commandPaths(report, parts, place) {
  report.kind("a path of a command, by a link that moves on", { found: "attack" });
  const command = `{ name: show, executable: /bin/cat, arguments: [{ path: read, optional: true }],
    flags: [{ flag: --from, path: read }], working_directory: "${place}" }`;
  const lead = (to) => {
    rmSync(join(place, "src/moving"), { force: true });
    symlinkSync(to, join(place, "src/moving"));
  };
  for (const [how, write] of Object.entries(WRITTEN))
    for (const kept of [false, true]) {
      const policy = `version: "1.0"
tools:
  allowed: [run_command]
filesystem: { allowed_paths: ["${place}/**"] }
commands: { allowed: [${command}] }
approvals: [{ approve: [run_command], remember: ${kept ? 10 : "none"} }]
`;
      const asked = [];
      const answer = ({ message, requestedSchema }) => {
        asked.push(message);
        if (!kept) lead("../protected");
        return { action: "accept", content: { decision: requestedSchema.properties.decision.enum.at(-1) } };
      };
      const peer = {
        revision: "2025-11-25",
        capabilities: { elicitation: {} },
        answer: { "elicitation/create": answer },
      };
      await report.attack(`${how}, ${kept ? "after it was remembered" : "while the question waits"}`, async () => {
        lead("../other");
        const { call, close } = await session(parts, { policy, ...peer });
        const args = { command: "show", arguments: write(place) };
        const got = await call("run_command", args);
        if (!asked[0]?.includes(`leads to "${place}/other/a"`)) return `shown: ${asked[0]}`;
        if (kept) {
          lead("../protected");
          await call("run_command", args);
        }
        await close();
        return kept ? asked.length === 2 || "not asked again" : wasRefused(got);
      });
    }
}

async function urls(report, parts) {
  report.kind("a condition on a URL or host, passed by a spelling");
  const asked = async (when, value) => {
    const text = `version: "1.0"\napprovals: [{ approve: all, when: ${JSON.stringify({ to: when })} }]\n`;
    const policy = await parts.parsePolicy(text, { file: "p.yaml" });
    return parts.approvalNeed(policy, { tool: "x", destructive: false, arguments: { to: value } }) !== undefined;
  };
  const hosts = [
    "intern.example",
    "INTERN.Example",
    "intern.example.",
    "ｉntern.example",
    "intern%2eexample",
    "in\ttern.example",
  ];
  const schemes = [
    "https://",
    "HTTPS://",
    " https://",
    "https:",
    "https:\\\\",
    "https:///",
    "https://a@",
    "https://a:b@",
    "https://a%40@",
  ];
  const paths = ["/admin", "/%61dmin", "/./admin", "/x/../admin", "\\admin", "/%2e/admin", "/admin?x#y", "/ad\nmin"];
  for (const host of hosts)
    for (const port of ["", ":443", ":0443"])
      for (const scheme of schemes)
        for (const path of paths.slice(0, scheme === "https://" ? 8 : 2))
          await report.attack(JSON.stringify(scheme + host + port + path), () =>
            asked("https://intern.example/admin*", scheme + host + port + path),
          );
  for (const value of ["2130706433.", "0x7f.1", "127.1", "0177.0.0.1", "127.0.0.1:80", "１２７.0.0.1"])
    for (const [when, text] of [
      ["127.0.0.1", value],
      ["http://127.0.0.1/*", `http://${value.replace(":80", "")}/x`],
    ])
      await report.attack(`${text} under ${when}`, () => asked(when, text));
  for (const value of [
    "xn--bcher-kva.example",
    "BÜCHER.example",
    "bu\u0308cher.example",
    "bücher.example.",
    "b%C3%BCcher.example",
  ])
    await report.attack(`${value} for bücher.example`, () => asked("bücher.example", value));
  for (const value of [
    "https://other.example/admin",
    "https://intern.example.evil/admin",
    "https://intern.example/user",
    "plain words",
  ])
    await report.benign(value, async () => !(await asked("https://intern.example/admin*", value)));
}

async function members(report, parts) {
  report.kind("a denied git URI in another order or clothing of its members", { found: "reader" });
  const denied = ["git:///w/r?path=private*", "git:///w/r?ref=old*", "x://a?b=1&c=2*"];
  const text = `version: "1.0"\nresources: { allowed: ["git:///*", "x://*"], denied: ${JSON.stringify(denied)} }\n`;
  const policy = await parts.parsePolicy(text, { file: "p.yaml" });
  const allowed = (uri) => parts.decide(policy, { kind: "resource", uri }).allowed;
  const refs = ["", "ref=HEAD", "ref=main", "ref=", "ref=a%2Fb"];
  const wanted = ["path=private/a", "path=%70rivate/a", "path=private%2Fa", "path=private", "path=private/"];
  for (const base of ["git:///w/r", "git:///w/r/", "git:///w//r", "GIT:///w/%72", "git:////w/r"])
    for (const ref of refs)
      for (const path of wanted)
        for (const query of [`${ref}&${path}`, `${path}&${ref}`, `&${ref}&&${path}&`, `&&${path}&${ref}`])
          await report.attack(`${base}?${query}`, () => !allowed(`${base}?${query}`));
  for (const query of ["path=x&ref=old", "&path=x&ref=%6fld", "ref=older&path=", "path=&ref=old"])
    await report.attack(`git:///w/r?${query}`, () => !allowed(`git:///w/r?${query}`));
  report.kind("a denied URI of another scheme with its members turned round");
  for (const query of ["c=2&b=1", "b=1&&c=2", "%62=1&c=2", "c=2&b=1&d=3", "d=3&c=2&b=1&e=4", "1&2&3&4&5"])
    await report.attack(`x://a?${query}`, () => !allowed(`x://a?${query}`));
  for (const uri of ["git:///w/r", "git:///w/r?path=public", "git:///w/r?ref=main&path=x/private", "x://a?b=2&c=1"])
    await report.benign(uri, () => allowed(uri));
}

async function links(report, parts, place) {
  report.kind("a denied resource by a link to it");
  new parts.MadeRepository(join(place, "r")).main({ a: "denied", b: "open" });
  symlinkSync("r", join(place, "s"));
  const policy = `version: "1.0"
filesystem: { readable_paths: ["${place}/**"] }
resources: { allowed: ["file:///*", "git:///*"], denied: ["file://${place}/protected/*", "git://${place}/r?path=a*"] }
`;
  const { request, close } = await session(parts, { policy });
  const read = (uri) => request("resources/read", { uri });
  const files = LED.filter((led) => !/later|new/.test(led)).flatMap((led) => [
    `file://${place}/src/${led}`,
    `file://localhost${place}/src/${led}`,
    `file://${place}/%73rc/${led}`,
    `FILE://${place}//src/${led}`,
  ]);
  const repositories = ["?path=a", "?ref=HEAD&path=a", "?&path=a&ref=main"].map((query) => `git://${place}/s${query}`);
  for (const uri of [...files, ...repositories])
    await report.attack(uri.replace(place, "P"), async () => wasDenied(await read(uri)));
  for (const uri of [`file://${place}/src/free`, `git://${place}/s?path=b`])
    await report.benign(uri.replace(place, "P"), async () => wasServed(await read(uri)));
  await close();
}

async function addresses(report, parts) {
  report.kind("a denied address inside of another", { found: "reader" });
  for (const four of [
    [93, 184, 216, 34],
    [8, 8, 4, 4],
    [203, 1, 0, 255],
  ]) {
    const address = four.join(".");
    const text = `version: "1.0"
network:
  allowed_endpoints: [{ host: web.example }]
  allowed_ranges: ["0.0.0.0/0", "::/0"]
  denied_endpoints: [{ host: ${address} }]
`;
    const policy = await parts.parsePolicy(text, { file: "p.yaml" });
    const egress = parts.policyEgress(() => policy);
    for (const clothes of clothesOf(four)) {
      const refused = (answer) => answer.allowed === false;
      await report.attack(`${address} as ${clothes}`, () =>
        refused(parts.decide(policy, { kind: "network", host: clothes, port: 443 })),
      );
      await report.attack(`${address} as an answer ${clothes}`, () =>
        refused(egress({ scheme: "https", host: "web.example", port: 443 }, clothes)),
      );
    }
    await report.benign(
      `another than ${address}`,
      () => parts.decide(policy, { kind: "network", host: "1.1.1.1", port: 443 }).allowed,
    );
  }
}
