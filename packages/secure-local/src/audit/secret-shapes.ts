// Knows secrets by their own look: the tokens whose issuers gave them a shape.

/**
 * What a token of each issuer looks like. Every shape begins with something fixed or bounds its repeats, so that looking for
 * all of them stays linear. A shape must fit nothing that people write for other reasons.
 */
export const SECRET_SHAPES: readonly (readonly [issuer: string, shape: string])[] = [
  ["Age identity", "AGE-SECRET-KEY-1[A-Z0-9]{50,60}"],
  ["Airtable", "pat[A-Za-z0-9]{14}\\.[a-f0-9]{64}"],
  ["Alibaba Cloud", "LTAI[A-Za-z0-9]{17,21}"],
  ["Anthropic", "sk-ant-[\\w-]{20,200}"],
  ["Asana", "[12]/\\d{16}:[a-f0-9]{32}"],
  ["Atlassian", "ATATT3[\\w=-]{50,300}"],
  ["AWS access key", "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"],
  ["Azure client secret", "[\\w.~-]{3}8Q~[\\w.~-]{31,34}"],
  ["Azure storage", "AccountKey=[A-Za-z0-9+/]{86}=="],
  ["Bitbucket", "ATBB[A-Za-z0-9]{32}"],
  ["Braintree", "access_token\\$(?:production|sandbox)\\$[a-z0-9]{16}\\$[a-f0-9]{32}"],
  ["Brevo", "xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"],
  ["Buildkite", "bkua_[a-f0-9]{40}"],
  ["CircleCI", "CCIPAT_\\w{22}_[a-f0-9]{40}"],
  ["Clojars", "CLOJARS_[a-z0-9]{60}"],
  ["Cloudflare origin", "v1\\.0-[a-f0-9]{24}-[a-f0-9]{146}"],
  ["Contentful", "CFPAT-[\\w-]{43}"],
  ["crates.io", "cio[A-Za-z0-9]{32}(?!\\w)"],
  ["Databricks", "dapi[a-f0-9]{32}"],
  ["DigitalOcean", "do[opr]_v1_[a-f0-9]{64}"],
  ["Discord bot", "[MNO][A-Za-z0-9_-]{23,27}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,40}"],
  ["Discord webhook", "discord(?:app)?\\.com/api/webhooks/\\d{17,20}/[\\w-]{60,80}"],
  ["Docker", "dckr_(?:pat|oat)_[\\w-]{27,40}"],
  ["Doppler", "dp\\.(?:pt|st|sa|ct|scim|audit)\\.[A-Za-z0-9._-]{40,80}"],
  ["Duffel", "duffel_(?:test|live)_[\\w=-]{43}"],
  ["EasyPost", "EZ[AT]K[A-Za-z0-9]{54}"],
  ["Facebook", "EAA[A-Za-z0-9]{90,250}"],
  ["Figma", "fig[dou]_[\\w-]{40,60}"],
  ["Flutterwave", "FLWSECK(?:_TEST)?-[a-z0-9-]{12,50}"],
  ["Fly.io", "fo1_[\\w-]{43}"],
  ["Fly.io macaroon", "fm[12][ar]?_[A-Za-z0-9+/=]{60,600}"],
  ["GitHub", "gh[pousr]_[A-Za-z0-9]{36,255}"],
  ["GitHub fine-grained", "github_pat_\\w{22,255}"],
  ["GitLab", "gl(?:pat|dt|rt|ptt|cbt|soat|ft|agent|oas|imt|ffct)-[\\w.-]{20,100}"],
  ["Google API", "AIza[\\w-]{35}"],
  ["Google OAuth", "ya29\\.[\\w-]{20,300}"],
  ["Google OAuth client", "GOCSPX-[\\w-]{20,40}"],
  ["Grafana", "gl(?:sa_[A-Za-z0-9]{32}_[a-f0-9]{8}|c_[A-Za-z0-9+/=]{32,400})"],
  ["Groq", "gsk_[A-Za-z0-9]{40,60}"],
  ["Heroku", "HRKU-AA[\\w-]{50,70}"],
  ["Hugging Face", "hf_[A-Za-z0-9]{30,50}"],
  ["JFrog", "(?:AKCp[A-Za-z0-9]{60,80}|cmVmd[A-Za-z0-9]{59})"],
  ["LangSmith", "lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"],
  ["Linear", "lin_(?:api|oauth)_[A-Za-z0-9]{30,70}"],
  ["Mailchimp", "[a-f0-9]{32}-us\\d{1,2}(?!\\w)"],
  ["Mailgun", "key-[a-f0-9]{32}(?!\\w)"],
  ["Netlify", "nf[pcobu]_[A-Za-z0-9]{36}"],
  ["New Relic", "NR(?:AK|AL|II|JS)-[A-Za-z0-9-]{19,32}"],
  ["Notion", "(?:ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43})"],
  ["npm", "npm_[A-Za-z0-9]{36}"],
  ["NuGet", "oy2[a-z0-9]{43}(?!\\w)"],
  ["OpenAI", "sk-(?:proj|svcacct|admin)-[\\w-]{20,200}"],
  ["OpenAI and its kin", "sk-(?=[\\w-]{0,60}\\d)[A-Za-z0-9]{8}[\\w-]{12,200}"],
  ["OpenRouter", "sk-or-v1-[a-f0-9]{64}"],
  ["OpenShift", "sha256~[\\w-]{43}"],
  ["Perplexity", "pplx-[A-Za-z0-9]{40,60}"],
  ["Plaid", "access-(?:sandbox|production|development)-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"],
  ["PlanetScale", "pscale_(?:tkn|oauth|pw)_[\\w.=-]{32,64}"],
  ["Postman", "PMAK-[a-f0-9]{24}-[a-f0-9]{34}"],
  ["Prefect", "pnu_[a-z0-9]{36}"],
  ["Pulumi", "pul-[a-f0-9]{40}"],
  ["PyPI", "pypi-[\\w-]{50,250}"],
  ["Razorpay", "rzp_(?:live|test)_[A-Za-z0-9]{14,24}"],
  ["ReadMe", "rdme_[a-z0-9]{70}"],
  ["Replicate", "r8_[A-Za-z0-9]{30,45}"],
  ["Resend", "re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"],
  ["RubyGems", "rubygems_[a-f0-9]{48}"],
  ["SendGrid", "SG\\.[\\w-]{16,32}\\.[\\w-]{16,64}"],
  ["Sentry", "sntry(?:s_[\\w+/=]{40,300}|u_[a-f0-9]{64})"],
  ["Shippo", "shippo_(?:live|test)_[a-f0-9]{40}"],
  ["Shopify", "shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"],
  ["Slack", "xox[abeoprs]-[A-Za-z0-9-]{15,250}"],
  ["Slack app", "xapp-\\d-[A-Za-z0-9-]{13,250}"],
  ["Slack webhook", "hooks\\.slack\\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,100}"],
  ["SonarQube", "sq[apu]_[a-f0-9]{40}"],
  ["Square", "(?:sq0(?:atp|csp)-[\\w-]{22,43}|EAAA[\\w-]{60})"],
  ["Stripe", "[srp]k_(?:live|test)_[A-Za-z0-9]{16,120}"],
  ["Stripe webhook", "whsec_[A-Za-z0-9+/=]{24,80}"],
  ["Supabase", "(?:sbp_[a-f0-9]{40}|sb_secret_[\\w-]{30,60})"],
  ["Tailscale", "tskey-[a-z]{2,20}-[A-Za-z0-9]{6,30}-[A-Za-z0-9]{16,60}"],
  ["Telegram bot", "\\d{8,10}:AA[\\w-]{32,33}"],
  ["Terraform", "[A-Za-z0-9]{14}\\.atlasv1\\.[\\w-]{60,80}"],
  ["Twilio", "SK[0-9a-f]{32}(?![A-Za-z0-9])"],
  ["Twitter", "A{20,24}[A-Za-z0-9%]{60,120}"],
  ["Typeform", "tfp_[\\w.=-]{40,60}"],
  ["Vault", "hv[sbr]\\.[\\w-]{24,200}"],
  ["xAI", "xai-[A-Za-z0-9]{60,90}"],
  ["JSON Web Token", "eyJ[\\w-]{10,2000}\\.eyJ[\\w-]{10,8000}(?:\\.[\\w-]{10,1000})?"],
];

/** Made when a text has a run that could be one: most starts see none. */
let patterns: { readonly any: RegExp; readonly glued: RegExp } | undefined;

function shapes(): { readonly any: RegExp; readonly glued: RegExp } {
  if (patterns === undefined) {
    const all = SECRET_SHAPES.map(([, shape]) => shape).join("|");
    // Where another token has just ended is as good a beginning as any.
    patterns = { any: new RegExp(`(?<![A-Za-z0-9_])(?:${all})`, "g"), glued: new RegExp(all, "y") };
  }
  return patterns;
}

/** The least length of a shape. */
const LEAST = 20;
/** Characters of which shapes consist: only unbroken runs of these are looked at more closely. */
const IN_SHAPE = new Uint8Array(128);
for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~+/=:$%-")
  IN_SHAPE[character.charCodeAt(0)] = 1;

/** The text with every token of a known shape replaced; the same string when there is none. */
export function replaceShapes(text: string, replacement: string): string {
  let out = "";
  let position = 0;
  for (let from = nextRun(text, 0); from < text.length;) {
    const to = runEnd(text, from);
    const run = text.slice(from, to);
    const { any } = shapes();
    any.lastIndex = 0;
    if (any.test(run)) {
      out += text.slice(position, from) + withoutTokens(run, replacement);
      position = to;
    }
    from = nextRun(text, to);
  }
  return position === 0 ? text : out + text.slice(position);
}

function withoutTokens(run: string, replacement: string): string {
  let out = "";
  let position = 0;
  const { any, glued } = shapes();
  any.lastIndex = 0;
  for (let match = any.exec(run); match !== null; match = any.exec(run)) {
    out += run.slice(position, match.index);
    position = match.index;
    do {
      out += replacement;
      position += match[0].length;
      glued.lastIndex = position;
      match = glued.exec(run);
    } while (match !== null);
    any.lastIndex = position;
  }
  return out + run.slice(position);
}

/**
 * Where the next run of at least `LEAST` characters begins; the text's length when there is none. Where a run could end at
 * the earliest is looked at first: most texts break there or just before, so that few characters are looked at at all.
 */
function nextRun(text: string, from: number): number {
  let start = from;
  while (start + LEAST <= text.length) {
    let back = start + LEAST - 1;
    while (back >= start && isInShape(text, back)) back -= 1;
    if (back < start) return start;
    start = back + 1;
  }
  return text.length;
}

function runEnd(text: string, from: number): number {
  let end = from + LEAST;
  while (end < text.length && isInShape(text, end)) end += 1;
  return end;
}

function isInShape(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code < 128 && IN_SHAPE[code] === 1;
}
