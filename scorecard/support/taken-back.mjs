// What a policy takes back while it is in use: from servers that run, from who is subscribed, and from who calls while nothing can be recorded.
import { readFileSync, writeFileSync } from "node:fs";

/** Each section that is a part of how a server is held. */
const NARROWER = {
  "filesystem.denied_paths": (folder) => `filesystem: { denied_paths: ["${folder}/x"] }`,
  "filesystem.denied_write_paths": (folder) => `filesystem: { denied_write_paths: ["${folder}/x"] }`,
  "filesystem.read_only": () => "filesystem: { read_only: true }",
  "network.offline": () => "network: { offline: true }",
  "network.denied_endpoints": () => 'network: { denied_endpoints: [{ host: "one.example" }] }',
  "network.blocked_ports": () => "network: { blocked_ports: [8443] }",
  "network.allow_dns": () => "network: { allow_dns: false }",
  "network.dns_allowlist": () => 'network: { dns_allowlist: ["two.example"] }',
  "a preset": () => "extends: offline",
  "the log, which nobody sees": (folder) => `audit: { log_file: "${folder}/audit.log" }`,
  "a secret, whose file nobody sees": (folder) => `secrets: { key: { from: "file:${folder}/key", hosts: [] } }`,
};
/** What is judged at each request. */
const ASKED_LATER = {
  "tools.denied": () => 'output: { max_bytes: 4096 }\nresources: { denied: ["note://b"] }',
  menu: () => "menu: full",
  output: () => "output: { max_bytes: 8192 }",
  "a comment": () => "# nothing",
};

const ALLOWED = `tools: { allowed: ["every__*"] }\nprompts: { allowed: ["every__*"] }`;
const RESOURCES = 'resources: { allowed: ["note://*", "memo://*"] }';

async function served(parts, { body, entry = "", revision }) {
  const fleet = new parts.Fleet();
  fleet.make("every", () => parts.everyKind());
  const policy = await fleet.policy(body, { every: entry.replaceAll("FOLDER", fleet.folder) });
  await fleet.approve(policy);
  await fleet.serve(policy);
  return { fleet, file: policy.file, peer: await fleet.client(revision) };
}

const GRANTS =
  ', filesystem: { readable_paths: ["FOLDER/**"] }, network: { allowed_endpoints: [{ host: one.example, ports: [443, 8443] }] }';

/** A server that runs goes on with nothing that it was started by and would not be any more. */
export async function takenFromServers(report, parts) {
  report.kind("what a reload takes back from a server that runs", { found: "attack" });
  for (const revision of ["2025-11-25", "2026-07-28"]) {
    const startsAfter = async (change) => {
      const { fleet, file, peer } = await served(parts, { body: `${ALLOWED}\nsandbox: none`, entry: GRANTS, revision });
      try {
        const call = () => peer.request("tools/call", { name: "every__num", arguments: {} });
        await call();
        const text = readFileSync(file, "utf8");
        writeFileSync(file, text.replace("\nservers:", `\n${change(fleet.folder)}\nservers:`));
        fleet.secure.reload(await parts.loadPolicy(file));
        await call();
        return fleet.starts.length;
      } finally {
        await fleet.close();
      }
    };
    for (const [section, change] of Object.entries(NARROWER))
      await report.attack(`${section}, in ${revision}`, async () => (await startsAfter(change)) > 1 || "it runs on");
    for (const [section, change] of Object.entries(ASKED_LATER))
      await report.benign(
        `${section}, in ${revision}`,
        async () => (await startsAfter(change)) === 1 || "it was ended",
      );
  }
}

const SUBSCRIBING = {
  "2024-11-05": (uri) => ["resources/subscribe", { uri }],
  "2025-11-25": (uri) => ["resources/subscribe", { uri }],
  "2026-07-28": (uri) => ["subscriptions/listen", { notifications: { resourceSubscriptions: [uri] } }],
};
const UPDATED = "notifications/resources/updated";
const TAKING = {
  "not allowed any more": "resources: { allowed: [] }",
  "denied by name": `resources: { allowed: ["note://*", "memo://*"], denied: ["note://a", "memo://7"] }`,
  "denied by a beginning": `resources: { allowed: ["note://*", "memo://*"], denied: ["note://*", "memo://*"] }`,
  "asked about from now on": `${RESOURCES}\napprovals: [{ approve: all }]`,
};

/** Nobody is told of what they could not subscribe to any more. */
export async function takenFromSubscribers(report, parts) {
  report.kind("news of what a reload takes back", { found: "attack" });
  for (const [revision, wanted] of Object.entries(SUBSCRIBING))
    for (const uri of ["note://a", "memo://7"])
      for (const [how, change] of Object.entries(TAKING)) {
        const { fleet, file, peer } = await served(parts, {
          body: `${ALLOWED}\n${RESOURCES}\nsandbox: none`,
          revision,
        });
        try {
          const [method, params] = wanted(uri);
          const asked = peer.request(method, params).catch(() => undefined);
          if (method === "resources/subscribe") await asked;
          else await peer.next((each) => each.method === "notifications/subscriptions/acknowledged");
          writeFileSync(file, readFileSync(file, "utf8").replace(RESOURCES, change));
          fleet.secure.reload(await parts.loadPolicy(file));
          await report.attack(`${uri} is ${how}, in ${revision}`, async () => {
            fleet.secure.server.resourceUpdated(uri);
            // Two requests later all that was sent has come.
            for (let turn = 0; turn < 2; turn += 1) await peer.request("tools/list", {});
            return !peer.messages.some((each) => each.method === UPDATED) || "told of it";
          });
        } finally {
          await fleet.close();
        }
      }
}

const REACHING = {
  "tools/call": { name: "every__num", arguments: {} },
  "prompts/get": { name: "every__pr", arguments: { q: "x" } },
  "resources/read": { uri: "note://a" },
  "resources/subscribe": { uri: "note://a" },
  "subscriptions/listen": { notifications: { resourceSubscriptions: ["note://a", "memo://7"] } },
  "completion/complete": { ref: { type: "ref/resource", uri: "memo://{id}" }, argument: { name: "id", value: "a" } },
};

/** Whatever reaches a server: nothing of it is sent while it cannot be on record. */
export async function unrecorded(report, parts) {
  report.kind("a request that reaches a server while the log is away", { found: "attack" });
  for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
    for (const [method, params] of Object.entries(REACHING)) {
      if ((method === "subscriptions/listen") !== (revision === "2026-07-28") && /subscri/.test(method)) continue;
      const { fleet, peer } = await served(parts, { body: `${ALLOWED}\n${RESOURCES}\nsandbox: none`, revision });
      try {
        fleet.audit.failure = new Error("the disk is full");
        await report.attack(`${method}, in ${revision}`, async () => {
          const said = [peer.request(method, params).then(JSON.stringify, String)];
          if (method === "subscriptions/listen")
            said.push(peer.next((each) => each.method?.startsWith("notifications/")).then(() => "it has begun"));
          const answer = await Promise.race(said);
          return (/Not run/.test(answer) && fleet.starts.length === 0) || answer;
        });
      } finally {
        await fleet.close();
      }
    }
}
