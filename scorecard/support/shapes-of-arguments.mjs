// Arguments in other shapes than a condition of consent was written for, and things that a profile leaves out by another door.

/** Shapes in which a tool may take what stands under `files.path`. */
const SHAPES = {
  "a list of objects": (path) => ({ files: [{ path }] }),
  "a list in a list": (path) => ({ files: [[{ path: "/srv/free" }, { path }]] }),
  "a list of lists": (path) => ({ files: [{ path: [["/srv/free", path]] }] }),
  "the short form": (path) => ({ files: path }),
  "a list of the short form": (path) => ({ files: ["/srv/free", path] }),
  "JSON in a text": (path) => ({ files: JSON.stringify({ path }) }),
  "a name with a dot": (path) => ({ "files.path": path }),
  "an object in its place": (path) => ({ files: { path: { name: path } } }),
  "many before it": (path) => ({ files: [...Array.from({ length: 999 }, () => ({ path: "/srv/free" })), { path }] }),
};
/** Several paths in one text. */
const LISTS = [":", ",", ";", "\n", "\r\n", "|", ", ", " ; "];
const HOSTS = {
  "a URL": (host) => `https://${host}/x`,
  "a URL with a user": (host) => `http://a:b@${host}:8080/x`,
  brackets: (host) => `[${host}]`,
  "a fragment": (host) => `${host}#`,
  "a query": (host) => `${host}?x`,
  "a path": (host) => `${host}/..`,
  "a share": (host) => `\\\\${host}\\share`,
  "no scheme": (host) => `//${host}/x`,
  "slashes of both kinds": (host) => `/\\${host}`,
  "a user": (host) => `a@${host}`,
};

export async function shapes(report, { parsePolicy, approvalNeed }) {
  report.kind("a condition on an argument, passed by its shape", { found: "attack" });
  const policyOf = (when) =>
    parsePolicy(`version: "1.0"\napprovals: [{ approve: all, when: ${JSON.stringify(when)} }]\n`, { file: "p.yaml" });
  const asks = async (when, given) =>
    approvalNeed(await policyOf(when), { tool: "x", destructive: false, arguments: given }) !== undefined;
  for (const path of ["/srv/kept/a", "/srv/kept", "/srv/free/../kept/a", "kept/a", "~/a"])
    for (const [name, shape] of Object.entries(SHAPES))
      await report.attack(`${path} in ${name}`, () => asks({ "files.path": "/srv/kept/**" }, shape(path)));
  for (const between of LISTS)
    for (const path of ["/srv/kept/a", "~/kept/a"])
      await report.attack(`${path} behind ${JSON.stringify(between)}`, () =>
        asks({ path: "/srv/kept/**" }, { path: `/srv/free${between}${path}` }),
      );
  for (const host of ["a.intern.example", "A.Intern.Example", "a.intern.example."])
    for (const [name, spelt] of Object.entries(HOSTS))
      await report.attack(`${host} as ${name}`, () => asks({ host: "*.intern.example" }, { host: spelt(host) }));
  for (const [name, shape] of Object.entries(SHAPES))
    if (!/short|JSON|in its place/.test(name))
      await report.benign(name, async () => !(await asks({ "files.path": "/srv/kept/**" }, shape("/srv/free/a"))));
}

/** What reads a file by itself, by the door of a resource. */
export async function otherDoors(report, { parsePolicy, profiledPolicy, decide }) {
  report.kind("what a profile leaves out, by another door", { found: "attack" });
  const text = `version: "1.0"
resources: { allowed: ["file:///*", "git:///*", "db://*", "note://*"] }
tools: { allowed: [calculate, read_file, list_directory, query_database] }
profiles:
  low: { tools: { allowed: [calculate] } }
  less: { tools: { denied: [read_file, query_database] } }
  listed: { tools: { allowed: [list_directory] } }
  files: { tools: { allowed: [read_file, list_directory] } }
`;
  const policy = await parsePolicy(text, { file: "p.yaml" });
  const uris = ["file:///a", "FILE:///a/b", "file:///{+path}", "git:///a?ref=x", "db://sales/t", "DB://sales/{table}"];
  for (const profile of ["low", "less", "listed"])
    for (const uri of uris) {
      const own = profiledPolicy(policy, profile);
      await report.attack(`${uri} for ${profile}`, () => !decide(own, { kind: "resource", uri }).allowed);
      const completed = { kind: "completion", of: "resource", name: uri };
      await report.attack(`${uri} completed for ${profile}`, () => !decide(own, completed).allowed);
    }
  const files = profiledPolicy(policy, "files");
  for (const uri of ["file:///a", "git:///a", "note://a"])
    await report.benign(`${uri} for files`, () => decide(files, { kind: "resource", uri }).allowed);
}
