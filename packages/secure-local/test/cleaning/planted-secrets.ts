// Makes secrets of many issuers, and places where people leave them. Deterministic: the same number gives the same secret.

/** A generator of numbers below `n`; small and good enough for letters. */
export type Random = (n: number) => number;

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * n);
  };
}

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = "0123456789";
const HEX = "0123456789abcdef";
const ALNUM = LOWER + LOWER.toUpperCase() + DIGITS;
const UPPER = LOWER.toUpperCase() + DIGITS;
const LOWER_AND_DIGITS = LOWER + DIGITS;
const URL_SAFE = `${ALNUM}-_`;

type Part = string | readonly [characters: string, length: number];

/** By issuer: fixed parts, and characters with their number. Written from the issuers' own descriptions. */
const TOKENS: readonly (readonly [string, ...Part[]])[] = [
  ["aws", "AKIA", [UPPER, 16]],
  ["aws temporary", "ASIA", [UPPER, 16]],
  ["github", "ghp_", [ALNUM, 36]],
  ["github server", "ghs_", [ALNUM, 36]],
  ["github fine", "github_pat_", [ALNUM, 22], "_", [ALNUM, 59]],
  ["gitlab", "glpat-", [URL_SAFE, 20]],
  ["gitlab runner", "glrt-", [URL_SAFE, 20]],
  ["slack", "xoxb-", [DIGITS, 12], "-", [DIGITS, 12], "-", [ALNUM, 24]],
  ["slack app", "xapp-1-", [UPPER, 11], "-", [DIGITS, 13], "-", [HEX, 64]],
  ["slack webhook", "https://hooks.slack.com/services/T", [UPPER, 8], "/B", [UPPER, 8], "/", [ALNUM, 24]],
  ["stripe", "sk_live_", [ALNUM, 24]],
  ["stripe restricted", "rk_live_", [ALNUM, 24]],
  ["stripe webhook", "whsec_", [ALNUM, 32]],
  ["openai project", "sk-proj-", [URL_SAFE, 48]],
  ["openai", "sk-", [ALNUM, 48]],
  ["anthropic", "sk-ant-api03-", [URL_SAFE, 93]],
  ["google api", "AIza", [URL_SAFE, 35]],
  ["google oauth", "ya29.", [URL_SAFE, 60]],
  ["google client", "GOCSPX-", [URL_SAFE, 28]],
  ["npm", "npm_", [ALNUM, 36]],
  ["pypi", "pypi-AgEIcHlwaS5vcmc", [URL_SAFE, 60]],
  ["hugging face", "hf_", [ALNUM, 34]],
  ["sendgrid", "SG.", [URL_SAFE, 22], ".", [URL_SAFE, 43]],
  ["mailgun", "key-", [HEX, 32]],
  ["mailchimp", [HEX, 32], "-us12"],
  ["twilio", "SK", [HEX, 32]],
  ["telegram", [DIGITS, 10], ":AA", [URL_SAFE, 33]],
  ["discord webhook", "https://discord.com/api/webhooks/1", [DIGITS, 17], "/", [URL_SAFE, 68]],
  ["digitalocean", "dop_v1_", [HEX, 64]],
  ["databricks", "dapi", [HEX, 32]],
  ["vault", "hvs.", [URL_SAFE, 60]],
  ["terraform", [ALNUM, 14], ".atlasv1.", [URL_SAFE, 64]],
  ["grafana", "glsa_", [ALNUM, 32], "_", [HEX, 8]],
  ["new relic", "NRAK-", [UPPER, 27]],
  ["sentry user", "sntryu_", [HEX, 64]],
  ["postman", "PMAK-", [HEX, 24], "-", [HEX, 34]],
  ["airtable", "pat", [ALNUM, 14], ".", [HEX, 64]],
  ["notion", "ntn_", [ALNUM, 46]],
  ["figma", "figd_", [URL_SAFE, 43]],
  ["linear", "lin_api_", [ALNUM, 40]],
  ["atlassian", "ATATT3xFfGF0", [URL_SAFE, 180]],
  ["shopify", "shpat_", [HEX, 32]],
  ["square", "sq0atp-", [URL_SAFE, 22]],
  ["docker", "dckr_pat_", [URL_SAFE, 27]],
  ["rubygems", "rubygems_", [HEX, 48]],
  ["supabase", "sbp_", [HEX, 40]],
  ["azure storage", "AccountKey=", [`${ALNUM}+/`, 86], "=="],
  ["azure client", [ALNUM, 3], "8Q~", [ALNUM, 34]],
  ["age", "AGE-SECRET-KEY-1", [UPPER, 58]],
  ["jwt", "eyJhbGciOiJIUzI1NiJ9.eyJ", [URL_SAFE, 60], ".", [URL_SAFE, 43]],
  ["planetscale", "pscale_tkn_", [URL_SAFE, 43]],
  ["fly", "fo1_", [URL_SAFE, 43]],
  ["replicate", "r8_", [ALNUM, 37]],
  ["groq", "gsk_", [ALNUM, 52]],
  ["xai", "xai-", [ALNUM, 80]],
  ["alibaba cloud", "LTAI", [ALNUM, 17]],
  ["asana", "1/", [DIGITS, 16], ":", [HEX, 32]],
  ["bitbucket", "ATBB", [ALNUM, 32]],
  ["braintree", "access_token$production$", [LOWER_AND_DIGITS, 16], "$", [HEX, 32]],
  ["brevo", "xkeysib-", [HEX, 64], "-", [ALNUM, 16]],
  ["buildkite", "bkua_", [HEX, 40]],
  ["circleci", "CCIPAT_", [ALNUM, 22], "_", [HEX, 40]],
  ["clojars", "CLOJARS_", [LOWER_AND_DIGITS, 60]],
  ["cloudflare origin", "v1.0-", [HEX, 24], "-", [HEX, 146]],
  ["contentful", "CFPAT-", [ALNUM, 43]],
  ["crates.io", "cio", [ALNUM, 32]],
  ["discord bot", "M", [ALNUM, 23], ".", [ALNUM, 6], ".", [ALNUM, 27]],
  ["doppler", "dp.pt.", [ALNUM, 40]],
  ["duffel", "duffel_test_", [ALNUM, 43]],
  ["easypost", "EZAK", [ALNUM, 54]],
  ["facebook", "EAA", [ALNUM, 90]],
  ["flutterwave", "FLWSECK-", [LOWER_AND_DIGITS, 12]],
  ["fly.io macaroon", "fm1_", [ALNUM, 60]],
  ["heroku", "HRKU-AA", [ALNUM, 50]],
  ["jfrog", "AKCp", [ALNUM, 60]],
  ["langsmith", "lsv2_pt_", [HEX, 32], "_", [HEX, 10]],
  ["netlify", "nfb_", [ALNUM, 36]],
  ["nuget", "oy2", [LOWER_AND_DIGITS, 43]],
  ["openrouter", "sk-or-v1-", [HEX, 64]],
  ["openshift", "sha256~", [ALNUM, 43]],
  ["perplexity", "pplx-", [ALNUM, 40]],
  ["plaid", "access-sandbox-", [HEX, 8], "-", [HEX, 4], "-", [HEX, 4], "-", [HEX, 4], "-", [HEX, 12]],
  ["prefect", "pnu_", [LOWER_AND_DIGITS, 36]],
  ["pulumi", "pul-", [HEX, 40]],
  ["razorpay", "rzp_live_", [ALNUM, 14]],
  ["readme", "rdme_", [LOWER_AND_DIGITS, 70]],
  ["resend", "re_", [ALNUM, 8], "_", [ALNUM, 24]],
  ["shippo", "shippo_live_", [HEX, 40]],
  ["sonarqube", "sqa_", [HEX, 40]],
  ["tailscale", "tskey-", [LOWER, 2], "-", [ALNUM, 6], "-", [ALNUM, 16]],
  ["twitter", "AAAAAAAAAAAAAAAAAAAA", [ALNUM, 60]],
  ["typeform", "tfp_", [ALNUM, 40]],
];

/** Secrets without a shape, where a name stands before them. */
const CONTEXTS: readonly (readonly [before: string, Part, after: string])[] = [
  ["AWS_SECRET_ACCESS_KEY=", [`${ALNUM}+/`, 40], ""],
  ['"client_secret": "', [URL_SAFE, 40], '",'],
  ["api_key: '", [HEX, 32], "'"],
  ["DB_PASSWORD=", [`${ALNUM}!@#%`, 16], ""],
  ["Authorization: Bearer ", [URL_SAFE, 40], ""],
  ["postgresql://ada:", [ALNUM, 14], "@db.internal:5432/app"],
  ["-----BEGIN RSA PRIVATE KEY-----\n", [`${ALNUM}+/`, 64], "\n-----END RSA PRIVATE KEY-----"],
  ["const token = '", [ALNUM, 40], "';"],
  ["X-Api-Key: ", [ALNUM, 32], ""],
];

export interface Planted {
  readonly kind: string;
  readonly text: string;
  /** What must not be left of it. */
  readonly secret: string;
}

/** `count` planted secrets: every issuer and every context in turn, in different surroundings. */
export function plantedSecrets(count: number, seed: number): Planted[] {
  const random = randomFrom(seed);
  const kinds = TOKENS.length + CONTEXTS.length;
  return Array.from({ length: count }, (_, index) => {
    const kind = index % kinds;
    const token = TOKENS[kind];
    if (token !== undefined) {
      const [name, ...parts] = token;
      const secret = parts.map((part) => written(part, random)).join("");
      return { kind: name, secret: varying(parts, secret), text: surroundings(secret, random) };
    }
    const [before, part, after] = CONTEXTS[kind - TOKENS.length] as (typeof CONTEXTS)[number];
    // A secret without a letter or a digit is none of a machine's.
    const secret = `${written(part, random).slice(0, -2)}a7`;
    return { kind: before, secret, text: `line one\n${before}${secret}${after}\nline three` };
  });
}

function written(part: Part, random: Random): string {
  if (typeof part === "string") return part;
  const [characters, length] = part;
  return Array.from({ length }, () => characters[random(characters.length)]).join("");
}

/** The last part made of characters: fixed parts may stay. */
function varying(parts: readonly Part[], secret: string): string {
  const fixedEnd = typeof parts.at(-1) === "string" ? (parts.at(-1) as string).length : 0;
  const length = (parts.findLast((part) => typeof part !== "string") as readonly [string, number])[1];
  return secret.slice(secret.length - fixedEnd - length, secret.length - fixedEnd);
}

function surroundings(secret: string, random: Random): string {
  const places = [
    (text: string) => text,
    (text: string) => `The key is ${text}, keep it.`,
    (text: string) => `{"value":"${text}"}`,
    (text: string) => `export KEY=${text}\nls`,
    (text: string) => `<a href="?k=${text}">x</a>`,
    (text: string) => `- \`${text}\``,
    (text: string) => `curl -u ${text}: https://api.test/v1`,
    (text: string) => `2026-01-01T00:00:00Z INFO got (${text})`,
  ];
  return places[random(places.length)]!(secret);
}
