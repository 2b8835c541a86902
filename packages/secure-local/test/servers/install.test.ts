// What `install` writes into the file of each client, what it keeps there, and how `uninstall` undoes it.
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseServersConfig } from "@secure-local/mcp/host";
import { parse } from "smol-toml";
import { afterAll, expect, it } from "vitest";
import { CLIENT_FILES, fileOf } from "../../src/cli/client-files.js";
import { editedText } from "../../src/cli/edit-client-file.js";
import { COMMAND } from "../cli/command.js";
import { Household, tool } from "./household.js";

const house = new Household();
afterAll(() => house.close());
const around = { folder: house.folder, home: house.folder, platform: process.platform, environment: {} };
const launch = { command: process.execPath, args: [COMMAND] };
const NAME = "secure-local";

/** As each client's own documentation writes an entry; both sides of the file are kept. */
const FILES: Readonly<Record<string, string>> = {
  json: `{\r\n\t// kept\r\n\t"MEMBER": {\r\n\t\t"other": { "command": "other", "args": [] } // and this\r\n\t},\r\n\t"theme": "dark",\r\n}\r\n`,
  toml: `# kept\nmodel = "o3"\n\n[mcp_servers.other]\ncommand = "other"\n\n[mcp_servers.other.env]\nA = "1"\n\n[tui]\nx = 1\n`,
  yaml: `# kept\nname: mine\nmcpServers:\n  - name: other\n    command: other\n`,
};

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const install = (...words: string[]): ReturnType<Household["run"]> => house.run(words, { cwd: house.folder });

it.each(CLIENT_FILES.map((client) => [client.id, client] as const))(
  "%s gets an entry that its readers understand, beside all that was there, and gives it back",
  async (id, client) => {
    house.write('version: "1.0"\n');
    const file = fileOf(client, around);
    const before = (FILES[client.form] as string).replace("MEMBER", client.member);
    write(file, before);
    expect(await install("install", id, "--yes")).toMatchObject({ code: 0, stderr: "" });
    const after = readFileSync(file, "utf8");
    for (const line of before.split(/\r?\n/).filter((each) => /kept|theme|model|name: mine|tui/.test(each)))
      expect(after).toContain(line);
    const json = client.form === "json" ? after : client.form === "toml" ? JSON.stringify(parse(after)) : undefined;
    if (json === undefined) expect(after).toMatch(/- name: other[^]*- name: secure-local\n +command: /);
    else {
      const { servers, problems } = parseServersConfig(json, file);
      expect(problems).toEqual([]);
      expect(servers.map(({ name }) => name).sort()).toEqual(["other", NAME]);
      expect(servers.find(({ name }) => name === NAME)).toMatchObject({
        command: launch.command,
        args: [COMMAND, "--policy", house.policy],
      });
    }
    expect((await install("install", id, "--yes")).stdout).toContain("already");
    expect(await install("uninstall", id)).toMatchObject({ code: 0 });
    expect(readFileSync(file, "utf8")).toBe(before);
  },
);

it("shows names of a client's file on one line, without what steers a terminal", async () => {
  house.write('version: "1.0"\n');
  const file = join(house.folder, ".cursor/mcp.json");
  const name = "good\nok  all is well\u001b[2J\u202e\u2028x";
  write(file, JSON.stringify({ mcpServers: { [name]: { command: "other", args: [] } } }));
  const { code, stdout, stderr } = await install("install", "cursor", "--yes");
  expect(code).toBe(0);
  expect(stdout).toContain("Not under the policy: good\\n");
  expect(stdout + stderr).not.toMatch(/^ok {2}all/m);
  expect(stdout + stderr).not.toMatch(/[\u001b\u202e\u2028]/);
  expect(await install("uninstall", "cursor")).toMatchObject({ code: 0 });
});

it("shows the change and writes nothing before a person agrees", async () => {
  const file = join(house.folder, ".cursor/mcp.json");
  write(file, "{}");
  const shown = await install("install", "cursor");
  expect(shown).toMatchObject({ code: 1, stdout: expect.stringContaining('+   "mcpServers": {') as string });
  expect(readFileSync(file, "utf8")).toBe("{}");
});

it("makes a file that was not there, with its folder, and takes both away again", async () => {
  const file = join(house.folder, ".codeium/windsurf/mcp_config.json");
  rmSync(join(house.folder, ".codeium"), { recursive: true, force: true });
  expect(await install("install", "windsurf", "--yes")).toMatchObject({ code: 0 });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await install("uninstall", "windsurf")).toMatchObject({ code: 0 });
  expect(existsSync(join(house.folder, ".codeium"))).toBe(false);
});

it.each([
  ["the only entry", '{\n  "mcpServers": {\n    "web": { "command": "x" },\n  },\n}\n'],
  ["one of two", '{\n  "mcpServers": {\n    "web": { "command": "x" },\n    "other": { "command": "y" },\n  },\n}\n'],
  ["all in one line", '{"mcpServers":{"web":{"command":"x"},}}'],
])("leaves no comma alone where a comma stands behind %s", async (_what, before) => {
  const cursor = CLIENT_FILES.find(({ id }) => id === "cursor")!;
  const edit = { put: new Map([[NAME, { command: "z" }]]), take: ["web"] };
  for (const each of [edit, { ...edit, put: new Map() }]) {
    const after = await editedText(cursor, before, each);
    expect(after).not.toMatch(/(?:^|\{)\s*,/m);
    const { servers, problems } = parseServersConfig(after, "mcp.json");
    expect(problems).toEqual([]);
    expect(servers.map(({ name }) => name)).toEqual([
      ...(before.includes("other") ? ["other"] : []),
      ...each.put.keys(),
    ]);
  }
});

it("takes only its own entry out of a file that was changed since", async () => {
  const file = join(house.folder, ".cursor/mcp.json");
  write(file, '{ "mcpServers": {} }');
  await install("install", "cursor", "--yes");
  writeFileSync(file, readFileSync(file, "utf8").replace("{", '{ "later": true,'));
  const { stdout } = await install("uninstall", "cursor");
  expect(stdout).toContain("was changed since");
  const left = JSON.parse(readFileSync(file, "utf8")) as object;
  expect(left).toEqual({ later: true, mcpServers: {} });
});

it("refuses a file that it cannot read, and one whose servers it would not find again", async () => {
  const [json, toml] = [CLIENT_FILES[0], CLIENT_FILES.find(({ form }) => form === "toml")];
  const edit = { put: new Map([[NAME, launch]]), take: [] };
  await expect(editedText(json as never, '{ "a": ', edit)).rejects.toThrow("line 1");
  await expect(editedText(toml as never, "a = ", edit)).rejects.toThrow("mend it first");
  const inline = 'mcp_servers = { other = { command = "x" } }\n';
  await expect(editedText(toml as never, inline, edit)).rejects.toThrow(/mend it first|by hand/);
});

it("brings servers under the policy with what each has to read, its secrets in files of their own", async () => {
  const program = house.program("web", { tools: [tool("go")] });
  house.write('version: "1.0"\ntools: { allowed: [] }\n');
  write(
    join(house.folder, ".cursor/mcp.json"),
    JSON.stringify({
      mcpServers: {
        "my web": { command: "node", args: [program, "--api-key", "k-0123456789", "--token=t-0123456789", "-v"] },
        named: { command: "npx", args: ["-y", "some-server@1.0.0"], env: { API_TOKEN: "${env:OUTSIDE}", LANG: "de" } },
        far: { url: "http://127.0.0.1:9/mcp", headers: { Authorization: "Bearer far-0123456789", Accept: "x" } },
        off: { command: "x", disabled: true },
      },
    }),
  );
  // Nothing is fetched in a test: these only look like the programs that do.
  for (const program of ["npx", "npm"]) {
    write(join(house.folder, "bin", program), "#!/bin/sh\nexit 1\n");
    chmodSync(join(house.folder, "bin", program), 0o755);
  }
  const env = {
    XDG_CONFIG_HOME: join(house.folder, "config"),
    PATH: `${join(house.folder, "bin")}:${process.env["PATH"] ?? ""}`,
    OUTSIDE: "o-0123456789",
  };
  const ran = await house.run(["servers", "import", "cursor", "--yes"], { env });
  const text = readFileSync(house.policy, "utf8");
  expect(ran.stdout).toContain("my_web");
  // What npm said is the cause: nothing is waited for after it.
  expect(ran.stderr).toContain("named cannot be looked at: npm could not fetch some-server@1.0.0: 1");
  for (const secret of ["k-0123456789", "t-0123456789", "far-0123456789"]) {
    expect(text).not.toContain(secret);
    expect(ran.stdout).not.toContain(secret);
  }
  expect(text).toContain("- --token=${secret:my_web_token}");
  expect(text).toContain("- ${secret:my_web_api_key}");
  expect(text).toContain("API_TOKEN: ${secret:named_api_token}");
  expect(text).toContain("from: env:OUTSIDE");
  // What is fetched once and kept needs no registry when it is started.
  expect(text).not.toContain("registry.npmjs.org");
  expect(ran.stdout).toContain("may reach no host; allow hosts in the policy: servers.named.network.allowed_endpoints");
  expect(text).toMatch(/Authorization: \$\{secret:far_authorization\}\n +Accept: x/);
  expect(text).toMatch(/hosts:\n +- host: 127\.0\.0\.1\n +ports:\n +- 9\n/);
  expect(text).not.toContain("off");
  const secret = join(env.XDG_CONFIG_HOME, "mcp-secure-local/secrets/far_authorization");
  expect(readFileSync(secret, "utf8")).toBe("Bearer far-0123456789");
  expect(statSync(secret).mode & 0o777).toBe(0o600);
  // What is there already is not written twice.
  const again = await house.run(["servers", "import", "cursor", "--yes"], { env });
  expect(again.stdout).toContain("no server to bring under the policy");
});

it("brings no secret of an address into the policy: a password becomes a header, any other keeps its server in the file", async () => {
  house.write('version: "1.0"\ntools: { allowed: [] }\n');
  const file = join(house.folder, ".cursor/mcp.json");
  const KEY = "sk-abcdefgh12345678901234567890";
  const staying = {
    query: "http://127.0.0.1:9/mcp?api_key=q-0123456789",
    token: `http://127.0.0.1:9/mcp?x=${KEY}`,
    path: `http://127.0.0.1:9/${KEY}/mcp`,
    both: "http://ada:b-0123456789@127.0.0.1:9/mcp?access_token=b-0123456789",
  };
  const urls = {
    ...staying,
    plain: "http://127.0.0.1:9/mcp?lang=de",
    user: "http://ada:p%40-0123456789@127.0.0.1:9/mcp",
  };
  const entries = Object.entries(urls).map(([name, url]) => [name, { url }]);
  write(file, JSON.stringify({ mcpServers: Object.fromEntries(entries) as object }));
  const env = { XDG_CONFIG_HOME: join(house.folder, "moved") };
  const ran = await house.run(["servers", "import", "cursor", "--yes"], { env, cwd: house.folder });
  const text = readFileSync(house.policy, "utf8");
  for (const name of Object.keys(staying)) {
    expect(ran.stderr).toMatch(new RegExp(`"${name}" of Cursor is left out: a secret stands in its address`));
    expect(text).not.toContain(`  ${name}:`);
  }
  expect(text).toMatch(
    /url: http:\/\/127\.0\.0\.1:9\/mcp\n +headers:\n +Authorization: \$\{secret:user_authorization\}/,
  );
  expect(text).toContain("url: http://127.0.0.1:9/mcp?lang=de");
  const shown = text + ran.stdout + ran.stderr + (await house.run(["servers", "list"], { env })).stdout;
  for (const secret of ["0123456789", KEY]) expect(shown).not.toContain(secret);
  const secret = join(env.XDG_CONFIG_HOME, "mcp-secure-local/secrets/user_authorization");
  expect(readFileSync(secret, "utf8")).toBe(`Basic ${Buffer.from("ada:p@-0123456789").toString("base64")}`);
  // One that stands in a policy already is shown by nobody.
  house.write(
    'version: "1.0"\nservers: { old: { url: "http://ada:p-0123456789@127.0.0.1:9/mcp?api_key=q-0123456789" } }\n',
  );
  for (const more of [[], ["--json"]]) {
    const { stdout, stderr } = await house.run(["servers", "list", ...more]);
    expect(stdout + stderr).toContain("127.0.0.1:9");
    expect(stdout + stderr).not.toContain("0123456789");
  }
});

it("leaves the entries beside the ones that change as they are written, and takes the indentation of the file", async () => {
  const cursor = CLIENT_FILES.find(({ id }) => id === "cursor") as (typeof CLIENT_FILES)[number];
  const line = (name: string): string => `        "${name}": {"command": "nope", "args": ["a", "b"]}`;
  const before = `{
    "mcpServers": {
${line("first")},
        // about the second
${line("second")},
${line("third")} // stays
    }
}
`;
  const edited = await editedText(cursor, before, {
    take: ["first"],
    put: new Map([[NAME, { command: "x", args: ["y"] }]]),
  });
  expect(edited).toBe(`{
    "mcpServers": {
        // about the second
${line("second")},
${line("third")},
        "secure-local": {
            "command": "x",
            "args": [
                "y"
            ]
        } // stays
    }
}
`);
  expect(await editedText(cursor, before, { take: ["second", "third"], put: new Map() })).toBe(`{
    "mcpServers": {
${line("first")} // stays
    }
}
`);
});
