// T19: mix-up of authorization servers, forged answers, pages that are no pages.
import { authorize, flowAttacks, ISSUER, virtualWeb } from "../support/virtual-web.mjs";
import { refusal } from "../report/own-faults.mjs";

export const goal = { id: "T19", title: "Mix-up of issuers, injected authorization pages", atLeast: 110 };

const EVIL = "https://evil.example";
const STOPS = /^AUTH_/;

/** What comes back to the client instead of the issuer's answer. */
const CALLBACKS = {
  "another state": { state: "stolen" },
  "no state": { state: null },
  "an empty state": { state: "" },
  "another issuer": { iss: EVIL },
  "no issuer though promised": { iss: null },
  "the issuer with a slash": { iss: `${ISSUER}/` },
  "the issuer in capitals": { iss: ISSUER.toUpperCase() },
  "the issuer with a port": { iss: `${ISSUER}:443` },
  "the issuer and more": { iss: `${ISSUER}.evil.example` },
  "no code": { code: null },
  "an empty code": { code: "" },
  "a refusal": { error: "access_denied", code: null },
  "a refusal of another issuer": { error: "access_denied", code: null, iss: EVIL },
  "a refusal with another state": { error: "server_error", code: null, state: "x" },
  "a code and an error": { error: "access_denied" },
};
const PKCE = {
  absent: undefined,
  plain: ["plain"],
  "a text": "S256",
  empty: [],
  lower: ["s256"],
  object: { S256: true },
};
/** Tokens the client cannot use, or was not asked for. */
const TOKENS = {
  "no token": { access_token: undefined },
  "a token of two lines": { access_token: "a\r\nX-Injected: 1" },
  "a token that is a number": { access_token: 7 },
  "another type": { token_type: "MAC" },
  "no type": { token_type: undefined },
  "an empty token": { access_token: "" },
};
/** Pages that would start something else than a web page. */
const PAGES = [
  ...["javascript:alert(document.domain)", "file:///etc/passwd", "data:text/html,<script>1</script>", "vbscript:x"],
  ...[
    "ms-msdt:/id PCWDiagnostic",
    "smb://evil.example/x",
    "\\\\evil.example\\x",
    "$(touch /tmp/owned)",
    "`id`",
    "x;id",
  ],
  ...["calc.exe", "-https://as.example/", "--help", "mailto:a@b", "tel:1", "", "ssh://-oProxyCommand=x/"],
];
/** Marks by which a page's text could become a command for a shell. */
const COMMANDS = [
  "$(id)",
  "`id`",
  "&calc",
  "|id",
  ";id",
  '"&calc&"',
  "'$(id)'",
  "%0acalc",
  "^&calc",
  "{id}",
  "<x>",
  " -x",
  "\nid",
  "\0",
];

export async function run(report, parts) {
  const attack = flowAttacks(report, parts, ({ name, web, error }) => {
    for (const url of web.opened)
      if (!url.startsWith(`${ISSUER}/authorize?`)) report.sideEffect(`${name}: opened ${url}`);
    return STOPS.test(String(error?.code)) || String(error);
  });
  report.kind("answers of another issuer, state or page");
  for (const [name, callback] of Object.entries(CALLBACKS)) {
    await attack(`the answer with ${name}`, { callback });
    if (name.includes("though promised")) continue;
    const quiet = { authorization_response_iss_parameter_supported: false };
    await attack(`the answer with ${name}, no issuer promised`, { callback, metadata: quiet });
  }
  report.kind("an authorization server without PKCE");
  for (const [name, methods] of Object.entries(PKCE))
    await attack(`PKCE: ${name}`, { metadata: { code_challenge_methods_supported: methods } });
  report.kind("answers with a token that is none");
  for (const [name, token] of Object.entries(TOKENS)) await attack(name, { token });
  report.kind("pages that are no web pages");
  for (const page of PAGES) await attack(`the page ${page}`, { metadata: { authorization_endpoint: page } });
  report.kind("another server's endpoints and clients");
  for (const endpoint of ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
    for (const at of [
      `${EVIL}/x`,
      `${ISSUER}.evil.example/x`,
      `https://as.example@evil.example/x`,
      "https://as.example:8443/x",
    ])
      await attack(`${endpoint} at ${at}`, { metadata: { [endpoint]: at } });
  await attack(
    "a client registered elsewhere",
    {},
    { preRegistered: { issuer: EVIL, clientId: "c", clientSecret: "operator-secret" } },
  );
  await browsers(report, parts);
  await report.benign("an honest answer", async () => (await authorize(parts, virtualWeb())).error === undefined);
  await report.benign("an answer without an issuer where none is promised", async () => {
    const web = virtualWeb({
      callback: { iss: null },
      metadata: { authorization_response_iss_parameter_supported: false },
    });
    return (await authorize(parts, web)).error === undefined;
  });
}

/** The opener gets a web page or nothing, as one argument without a character any shell reads. */
async function browsers(report, { openBrowser }) {
  const started = [];
  const start = async (command, args) => void started.push([command, ...args]);
  report.kind("pages that a shell or a program would act on");
  for (const platform of ["linux", "darwin", "win32"]) {
    for (const page of PAGES.filter((one) => !/^https?:/.test(one)))
      await report.attack(`${platform} opens ${page}`, async () => {
        started.length = 0;
        const error = await openBrowser(page, { platform, start }).catch(refusal);
        if (started.length > 0) report.sideEffect(`${platform} was given ${page}`);
        return error?.code === "AUTH_BROWSER" || String(error);
      });
    for (const mark of COMMANDS)
      await report.attack(`${platform} opens a page with ${JSON.stringify(mark)}`, async () => {
        started.length = 0;
        await openBrowser(`https://as.example/authorize?state=${mark}`, { platform, start });
        const page = started[0]?.at(-1);
        return (started.length === 1 && /^https:\/\/[\w\-.~:/?#[\]@!&*+,;=%]+$/.test(page)) || String(page);
      });
    await report.benign(`${platform} opens a page`, async () => {
      started.length = 0;
      const page = "https://as.example/authorize?a=b%20c&d=e";
      await openBrowser(page, { platform, start });
      return started[0].at(-1) === page;
    });
  }
}
