// Looks for phrases in sentences: sequences of words with room for others between them. Linear in the length of the text.
import type { Sentence } from "./words.js";

// The classes of words that the phrases of the rules name with `$`.

/** Every form is written out: the phrases tell "reads" from "read". Words that belong together are joined by a plus sign. */
const WORDS: Readonly<Record<string, string>> = {
  ignore: `
    ignore ignores ignoring disregard disregards disregarding forget forgetting discard abandon don't+follow do+not+follow
    stop+following no+longer+follow set+aside pay+no+attention+to do+not+obey do+not+apply`,
  void: `
    override overriding bypass bypassing circumvent evade violate break suspend disable ignore ignoring disregard drop remove
    lift`,
  prior: `
    previous previously prior preceding earlier above foregoing aforementioned past former initial original all any every your
    system safety existing other current developer security`,
  before: `
    previous previously prior preceding earlier above foregoing aforementioned`,
  instructions: `
    instruction instructions prompt prompts directive directives guideline guidelines guardrail guardrails safeguard safeguards
    programming directions training commands orders rules constraints restrictions`,
  safety: `
    guideline guidelines guardrail guardrails safeguard safeguards safety ethics ethical programming alignment restrictions
    limitations content+policy training rules policies policy filters constraints instructions`,
  must: `
    must always first required mandatory need+to needs+to have+to has+to should shall make+sure ensure be+sure don't+forget
    do+not+forget remember+to immediately please necessary obligatory important critical crucial`,
  model: `
    assistant ai llm model agent claude gpt chatgpt copilot cursor gemini you language+model chatbot`,
  named_model: `
    assistant assistants ai llm llms model models agent agents claude gpt chatgpt copilot gemini language+model chatbot`,
  user: `
    user users human anyone anybody person operator owner people customer developer`,
  tell: `
    tell telling inform informing notify notifying alert alerting warn warning mention mentioning disclose disclosing reveal
    revealing announce report reporting acknowledge show showing discuss explain explaining`,
  not: `
    not don't dont never without avoid refrain+from mustn't shouldn't nor cannot doesn't won't no+need+to`,
  dont: `
    do+not don't dont never must+not mustn't should+not shouldn't shall+not avoid refrain+from under+no+circumstances not+to
    no+need+to`,
  secretly: `
    secretly covertly stealthily surreptitiously clandestinely furtively`,
  silently: `
    silently quietly discreetly invisibly unnoticed in+the+background behind+the+scenes secretly covertly`,
  transfer: `
    send sends sending post posts upload uploads uploading forward forwards forwarding transmit transmits transmitting relay
    relays submit submits email emails mail mails exfiltrate exfiltrates leak leaks copy copies push pushes report reports
    deliver share shares ship ships beacon beacons stream streams pipe pipes dispatch mirror mirrors replicate bcc bcc'd sent
    posted uploaded forwarded transmitted shared emailed copied`,
  take: `
    append appends include includes add adds embed embeds embedding attach attaches insert inserts inject injects put place pass
    passes passing provide supply paste encode encodes hide write store record records capture captures collect collects gather
    log logs concatenate prepend fill populate return`,
  read: `
    read reads reading opening collecting gathering copying uploading sending adding loading fetching open opens load loads cat access accesses fetch fetches retrieve retrieves get gets grab grabs obtain
    collect collects extract extracts copy copies dump dumps scan gather gathers include includes attach attaches append appends
    paste harvest locate find search+for contents+of content+of call+read_file supply provide submit embed embeds print return
    lookup`,
  private: `
    credential credentials password passwords passphrase passphrases api+key api+keys apikey apikeys access+key access+keys
    private+key private+keys ssh+key ssh+keys secret+key secret+keys secrets access+token access+tokens auth+token auth+tokens
    session+token session+tokens oauth+token oauth+tokens bearer+token cookies session+cookies environment+variables
    environment+variable env+vars env+variables environment+vars process+environment clipboard seed+phrase recovery+phrase
    mnemonic keychain browser+history credit+card card+numbers social+security personal+data private+data sensitive+data
    sensitive+information confidential+data personal+information private+files aws+credentials keystrokes login+data
    private+repository private+repositories private+messages salary salaries medical+records tokens internal+documents
    configuration+files`,
  talk: `
    conversation conversations conversation+history chat+history chat+log chat+logs message+history chat+transcript chat+context
    context+window dialogue dialog+history previous+messages prior+messages all+messages user's+messages user+messages
    user's+prompt user's+prompts user's+question user+prompts user's+query user's+queries interaction+history user's+request
    full+context entire+context chain+of+thought chain-of-thought conversation+so+far`,
  prompt: `
    system+prompt system+prompts system+message system+instructions initial+prompt initial+instructions hidden+instructions
    developer+message developer+prompt internal+instructions original+instructions hidden+prompt instructions+verbatim
    system+instruction`,
  whole: `
    full entire whole complete all hidden exact verbatim internal secret`,
  reveal: `
    reveal reveals leak leaks dump dumps expose disclose divulge output print repeat recite echo display show share return
    include append send forward copy quote state summarize paste provide attach embed pass`,
  far: `
    external remote third-party third+party outside off-site offsite unknown foreign unauthorized untrusted undisclosed hidden
    our attacker's attacker-controlled attacker malicious adversary rogue hostile c2 command-and-control public`,
  place: `
    server servers endpoint endpoints host hosts url address service services site api webhook location domain collector inbox
    account party parties analytics bucket recipient system destination party's machine drop channel logger website ip listener
    s3`,
  attacker: `
    attacker attacker's attackers adversary adversary's attacker-controlled hacker exfil collector c2 command-and-control
    dead+drop drop+server evil rogue`,
  argument: `
    parameter parameters argument arguments field fields param params sidenote side-note sidecar input header variable metadata
    property notes context comment comments feedback query+string user-agent filename subject footer`,
  call: `
    call calls invoke run use execute trigger query`,
  calling: `
    using calling invoking running executing use call invoke run sending+via sending+with`,
  called: `
    called used invoked executed run triggered selected available requested present`,
  alter: `
    modify modifies modifying change changes changing alter alters override overrides intercept intercepts hijack hijacks
    redirect redirects rewrite rewrites augment augments replace replaces reroute reroutes tamper manipulate manipulates affects
    extends patch patches wrap wraps supersedes supersede`,
  behaviour: `
    behavior behaviour output outputs result results response responses parameters arguments recipient recipients destination
    usage operation instructions semantics calls requests description definition implementation`,
  imperative: `
    must always first should change set send add use replace reroute append include redirect instead forward copy bcc bcc'd cc
    also call never ignore insert modify route read pass`,
  question: `
    confirmation confirming permission consent approval authorization verification verify confirm approve`,
  shell: `
    shell+command shell+commands bash command+line terminal shell following+command following+commands following+code
    following+script this+command commands+below command+below os+commands system+commands`,
  startfile: `
    claude.md agents.md gemini.md .cursorrules .cursor/rules .windsurfrules copilot-instructions.md .bashrc ~/.bashrc .zshrc
    ~/.zshrc .profile ~/.profile .bash_profile ~/.bash_profile crontab cron+job authorized_keys ~/.ssh/authorized_keys
    launchagents systemd startup+scripts startup+script git+hook git+hooks pre-commit mcp.json ~/.cursor/mcp.json shell+profile
    login+items registry+run+key memory+file`,
  approved: `
    approved approval approving accepted trusted reviewed review installed whitelisted allowlisted vetted authorized`,
  compute: `
    adds add multiplies multiply subtracts divides calculates calculate computes sums uppercases lowercases converts convert
    formats format translates translate reverses sorts rounds counts weather forecast joke fact quote horoscope trivia dice
    random validates spellchecks capitalizes trims encodes hashes timezone temperature rot13 greets greeting`,
};

/** The members of each class. */
const CLASSES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(WORDS).map(([name, words]) => [name, words.trim().split(/\s+/)]),
);

// Knows the files that hold secrets, by how people and attackers write their paths.

/** Files whose content is a secret by itself. */
const SENSITIVE: readonly string[] = [
  ...[
    ".ssh",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "id_dsa",
    "authorized_keys",
    ".gnupg",
    "/etc/passwd",
    "/etc/shadow",
    "/etc/sudoers",
  ],
  ...[
    ".aws/credentials",
    ".aws/config",
    ".azure/",
    "application_default_credentials",
    ".config/gcloud",
    ".netrc",
    ".git-credentials",
  ],
  ...[
    "mcp.json",
    "mcp_config",
    "claude_desktop_config",
    ".claude.json",
    ".claude/",
    ".cursor/",
    ".codeium/",
    ".codex/",
    "mcp_settings",
  ],
  ...[
    "keychain-db",
    "login.keychain",
    "wallet.dat",
    "wallet.json",
    "metamask",
    ".bash_history",
    ".zsh_history",
    ".psql_history",
  ],
  ...[
    "cookies.sqlite",
    "logins.json",
    "key4.db",
    "/proc/self/environ",
    ".docker/config.json",
    ".vault-token",
    ".pgpass",
    "ntds.dit",
  ],
];
/** Files that usually hold secrets, and that honest tools read too. */
const MILD: readonly string[] = [
  ...[
    ".kube/config",
    "kubeconfig",
    ".npmrc",
    ".pypirc",
    "credentials.json",
    "secrets.json",
    "secrets.yaml",
    "secrets.yml",
  ],
  ...["secrets.toml", "service-account.json", ".pem", ".p12", ".pfx", ".keystore", "terraform.tfstate", ".htpasswd"],
];

/** @param word Lower case. */
function isSensitivePath(word: string): boolean {
  return word.length > 3 && SENSITIVE.some((part) => word.includes(part));
}

function isPlainSecretFile(word: string): boolean {
  return isEnvironmentFile(word) || (word.length > 4 && MILD.some((part) => word.includes(part)));
}

function isEnvironmentFile(word: string): boolean {
  const name = word.slice(word.lastIndexOf("/") + 1);
  return name === ".env" || name.startsWith(".env.");
}

/**
 * A phrase as rules write it: words apart from each other by blanks, `a|b` for either, `a+b` for words that belong together, a `*` at the
 * end for any ending, `$name` for a class of the lexicon, `..N` for up to N words between, `@url`, `@email`, `@host`, `@secret`, `@mild`, `@variable`,
 * `@script`, `@snake`, `@foreign` and `@peer` (names of tools) for words of that kind, `^` for the beginning of a sentence, `@end` for its end or a pause.
 */
export type Phrase = string;

/** Where a phrase stands in a sentence: its first word and the one behind its last. */
export interface Match {
  readonly start: number;
  readonly end: number;
}

interface Step {
  readonly gap: number;
  readonly options: readonly Option[];
  /** Words that options begin with: at any other word only the `loose` ones can fit. */
  readonly starters: ReadonlySet<string>;
  /** Options that look at more than a whole word. */
  readonly loose: readonly Option[];
}

/** How many words it takes at a place: 0 when it does not fit, -1 when it fits and takes none. */
type Option = (sentence: Sentence, at: number, names: Names) => number;

/** What the things around a text are called: a word that looks like a name may be one of them. */
export interface Names {
  /** Tools beside it, and parameters of its own: naming them is what descriptions do. */
  readonly own: ReadonlySet<string>;
  /** Tools of other servers that are no word of a language. */
  readonly peers: ReadonlySet<string>;
}

export const NO_NAMES: Names = { own: new Set(), peers: new Set() };

export interface CompiledPhrase {
  readonly fromStart: boolean;
  /** Words one of which has to be there for it to begin; undefined when others can begin it too. */
  readonly first: ReadonlySet<string> | undefined;
  readonly steps: readonly Step[];
}

const URL_WORD = /^(?:https?|wss?|ftp):\/\/|^(?:www\.)/;
const EMAIL_WORD = /^[^@\s]{1,64}@[a-z0-9-]{1,63}\.[a-z0-9.-]{2,}$/;
/** snake_case that begins with what tools do: parameters are called otherwise. */
const NAME_WORD =
  /^(?:get|list|send|read|write|create|delete|update|search|query|fetch|transfer|execute|run|call|post|add|remove|make|set|find|pay|book|upload|download|deploy|move|edit|open|check)_[a-z0-9_]{1,60}$/;

/** An address without a scheme: a number, or a name under a domain that no file's name ends with. */
const HOST_WORD =
  /^(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[a-z0-9-]{1,63}\.){1,5}(?:com|net|org|io|example|dev|app|co|xyz|info|biz|cloud|site|online|top|ru|cn|cc|to|me|invalid|test))(?:[:/]|$)/;

const SNAKE_WORD = /^[a-z]{2,30}(?:_[a-z0-9]{1,30}){1,5}$/;
const SCRIPT_WORD = /[\w-]\.(?:sh|ps1|bat|exe|vbs)$/;

/** What variables are called that hold secrets. */
const VARIABLE_WORD = /^[a-z0-9]{1,20}_[a-z0-9_]{0,30}(?:secret|token|key|password)$/;

const KINDS: Readonly<Record<string, Option>> = {
  "@url": (sentence, at) => (URL_WORD.test(word(sentence, at)) ? 1 : 0),
  "@email": (sentence, at) => (EMAIL_WORD.test(word(sentence, at)) ? 1 : 0),
  "@host": (sentence, at) => (HOST_WORD.test(word(sentence, at)) ? 1 : 0),
  "@snake": (sentence, at, { own }) => (isSnake(word(sentence, at), own) ? 1 : 0),
  "@script": (sentence, at) => (SCRIPT_WORD.test(word(sentence, at)) ? 1 : 0),
  "@secret": (sentence, at) => (isSensitivePath(word(sentence, at)) ? 1 : 0),
  "@mild": (sentence, at) => (isPlainSecretFile(word(sentence, at)) ? 1 : 0),
  "@variable": (sentence, at) => (VARIABLE_WORD.test(word(sentence, at)) ? 1 : 0),
  "@foreign": (sentence, at, names) => (isForeign(sentence, at, names) ? 1 : 0),
  "@peer": (sentence, at, { own, peers }) => (peers.has(word(sentence, at)) && !own.has(word(sentence, at)) ? 1 : 0),
  "@end": (sentence, at) =>
    at >= sentence.length || sentence[at - 1]?.pause === true || AND.has(word(sentence, at)) ? -1 : 0,
};
const AND: ReadonlySet<string> = new Set(["and", "then", "or", "but"]);

function isSnake(text: string, own: ReadonlySet<string>): boolean {
  return SNAKE_WORD.test(text) && !own.has(text);
}

/** A name that is none of the server's own. */
function isForeign(sentence: Sentence, at: number, { own, peers }: Names): boolean {
  const text = word(sentence, at).replace("()", "");
  return text !== "" && !own.has(text) && (peers.has(text) || NAME_WORD.test(text));
}

function word(sentence: Sentence, at: number): string {
  return sentence[at]?.text ?? "";
}

export function compilePhrase(phrase: Phrase): CompiledPhrase {
  const steps: Step[] = [];
  let gap = 0;
  let fromStart = false;
  for (const part of phrase.split(" ")) {
    if (part === "^") fromStart = true;
    else if (part.startsWith("..")) gap = Number(part.slice(2));
    else {
      steps.push(stepOf(gap, part.split("|")));
      gap = 0;
    }
  }
  return { fromStart, first: firstWords(steps), steps };
}

function firstWords([first]: readonly Step[]): ReadonlySet<string> | undefined {
  return first === undefined || first.loose.length > 0 ? undefined : first.starters;
}

function stepOf(gap: number, texts: readonly string[]): Step {
  const options: Option[] = [];
  const loose: Option[] = [];
  const groups: Group[] = [];
  for (const part of inGroups(texts)) {
    const option = typeof part === "function" ? part : part.option;
    options.push(option);
    if (typeof part === "function" || part.loose) loose.push(option);
    if (typeof part !== "function") groups.push(part);
  }
  const [only] = groups;
  const starters = only !== undefined && groups.length === 1 ? only.starters : startersOf(groups);
  return { gap, options, starters, loose };
}

/** Words either of which will do. */
interface Group {
  readonly option: Option;
  readonly starters: ReadonlySet<string>;
  /** One of them has an open end. */
  readonly loose: boolean;
}

/** What the texts stand for, in their order; whole words beside each other are one group. */
function inGroups(texts: readonly string[]): (Option | Group)[] {
  const parts: (Option | Group)[] = [];
  let words: string[] = [];
  for (const text of [...texts, ""]) {
    if (PLAIN_WORD.test(text)) {
      words.push(text);
      continue;
    }
    if (words.length > 0) parts.push(newGroup(words));
    words = [];
    if (text !== "") parts.push(KINDS[text] ?? (text.startsWith("$") ? classGroup(text) : newGroup([text])));
  }
  return parts;
}

const PLAIN_WORD = /^[^@$+*]+$/;
/** Classes stand in hundreds of phrases, and are the same in all of them. */
const CLASS_GROUPS: Map<string, Group> = new Map();

function classGroup(text: string): Group {
  const known = CLASS_GROUPS.get(text);
  if (known !== undefined) return known;
  const members = CLASSES.get(text.slice(1));
  if (members === undefined) throw new Error(`There is no class ${text}.`);
  const group = newGroup(members);
  CLASS_GROUPS.set(text, group);
  return group;
}

function newGroup(terms: readonly string[]): Group {
  if (terms.every((term) => PLAIN_WORD.test(term))) {
    const starters = new Set(terms);
    return { option: (sentence, at) => (starters.has(word(sentence, at)) ? 1 : 0), starters, loose: false };
  }
  const starters = new Set(terms.map((term) => term.split("+", 1)[0] ?? ""));
  return { option: wordsOption(terms), starters, loose: terms.some((term) => term.endsWith("*")) };
}

function startersOf(groups: readonly Group[]): ReadonlySet<string> {
  return new Set(groups.flatMap(({ starters }) => [...starters]));
}

/** Looks single words up, and tries prefixes and longer terms one by one. */
function wordsOption(terms: readonly string[]): Option {
  const single = new Set(terms.filter((term) => !term.includes("+") && !term.endsWith("*")));
  const prefixes = terms.filter((term) => term.endsWith("*")).map((term) => term.slice(0, -1));
  const longer = new Map<string, string[][]>();
  for (const term of terms.filter((each) => each.includes("+"))) {
    const [first = "", ...rest] = term.split("+");
    longer.set(first, [...(longer.get(first) ?? []), rest]);
  }
  return (sentence, at) => {
    const text = word(sentence, at);
    if (text === "") return 0;
    for (const rest of longer.get(text) ?? [])
      if (rest.every((each, index) => word(sentence, at + 1 + index) === each)) return rest.length + 1;
    return single.has(text) || prefixes.some((prefix) => text.startsWith(prefix)) ? 1 : 0;
  };
}

/** The first place in a sentence where the phrase stands, from the word `from` on. */
export function findPhrase(
  { fromStart, steps }: CompiledPhrase,
  sentence: Sentence,
  names: Names = NO_NAMES,
  from = 0,
): Match | undefined {
  const last = fromStart ? Math.min(1, sentence.length) : sentence.length;
  for (let start = from; start < last; start += 1) {
    const end = endOf(steps, sentence, start, names);
    if (end !== undefined) return { start, end };
  }
  return undefined;
}

/** Whether the phrase stands there, beginning with the word `at`. */
export function standsAt({ fromStart, steps }: CompiledPhrase, sentence: Sentence, at: number, names: Names): boolean {
  return !(fromStart && at > 0) && endOf(steps, sentence, at, names) !== undefined;
}

/** Each step takes the nearest word that fits; so a step is never tried twice at a place. */
function endOf(steps: readonly Step[], sentence: Sentence, start: number, names: Names): number | undefined {
  let at = start;
  for (let index = 0; index < steps.length; index += 1) {
    const step = steps[index] as Step;
    const reach = index === 0 ? 0 : step.gap;
    let taken = 0;
    let skipped = 0;
    for (; skipped <= reach && taken === 0; skipped += 1) taken = takenBy(step, sentence, at + skipped, names);
    if (taken === 0) return undefined;
    at += skipped - 1 + Math.max(0, taken);
  }
  return at;
}

/** By the first of its options that fits there. */
function takenBy({ starters, options, loose }: Step, sentence: Sentence, at: number, names: Names): number {
  const candidates = starters.has(word(sentence, at)) ? options : loose;
  for (let index = 0; index < candidates.length; index += 1) {
    const taken = (candidates[index] as Option)(sentence, at, names);
    if (taken !== 0) return taken;
  }
  return 0;
}

// Tells words that are talked about from words that are meant: a tool that detects orders to the model has to name them.

const DETECTS =
  "detect|detects|detecting|detection|scan|scans|scanning|scanner|flag|flags|flagging|check|checks|checking|analyze|analyzes|analyse|analyses|analyzing|identify|identifies|identifying|block|blocks|blocking|prevent|prevents|preventing|filter|filters|filtering|recognize|recognizes|catch|catches|classify|classifies|guard|guards|protect|protects|audit|audits|find|finds|spot|spots|monitor|monitors|warns|warn|look+for|looks+for|alert|alerts|report|reports|refuses|refuse|rejects|reject|sanitize|sanitizes|strip|strips|redact|redacts|mask|masks|search+for|searches+for|searches|removes|test|tests|simulate|simulates|score|scores|rates|evaluate|evaluates|label|labels|grep|greps";
const TOPIC =
  "injection|injections|attempt|attempts|pattern|patterns|phrase|phrases|prompt|prompts|jailbreak|jailbreaks|malicious|attack|attacks|attacker|whether|tries|suspicious|threat|threats|dangerous|leaked|poisoning|poisoned|payload|payloads|unsafe|exfiltration|exposed|if+a|when+a|if+the|if+any";

/** What makes the words behind it a mention. */
const FRAMES = [
  `${DETECTS} ..8 ${TOPIC}`,
  `${DETECTS} ..6 input|inputs|text|texts|content|messages|tools|descriptions|requests|commands|responses|files|documents|strings|code ..1 that|which|where|containing|telling|asking|trying|attempting|like|such`,
  "such+as|for+example|for+instance|phrase|phrases|patterns+like|examples+include|examples+are|example+strings|attacks+like|text+like|prompts+like|messages+like|commands+like",
  "contains|containing ..3 phrase|string|words|pattern|patterns",
  "expected|sample|mock|example|fake|canned|dummy|fixture|illustrative ..1 output|outputs|response|responses|reply|replies|input|inputs|string|strings|text|payload|payloads|message @end",
  "returns|training|example|adversarial ..2 text|texts|prompts|samples|strings @end",
  "documentation|docs|readme|article|articles|changelog|tutorial ..4 explaining|explains|shows|show|lists|notes|describes|says|about|on|with",
  "explains|explaining|describes|describing|teaches ..5 how|why|what|prompt|such|attacks",
  "whether ..3 a|an|the|some|any ..2 prompt|tool|text|user|message|mail|email|site|link|file|program|request|attacker|description|input|page|document|plugin ..2 tries|asks|attempts|tells|contains|says|wants",
  "audit|audits|scan|scans|check|checks|search|searches|inspect|inspects|review|reviews|test|tests|watch|watches ..6 for",
  "examples|samples|collection|list ..1 of ..2 attacks|attack|injection|injections|prompts|commands|orders",
  "prevent|prevents|protect|protects|against|guards|defends|blocks ..4 from|against|trying|attempts|injection",
].map((phrase) => compilePhrase(phrase));

/** Said of the words afterwards. */
const DISCLAIMERS = [
  "is|are|as ..2 illustrative|example|examples|flagged|detected|blocked|rejected|refused|test|denied|logged|shown|quoted|reported",
  "not+an+instruction|only+as+a+detection|only+as+content|for+display|never+executed",
].map((phrase) => compilePhrase(phrase));

/** Words before a match in which a frame may stand. */
const FRAME_REACH = 18;

/** Behind one of these the description turns to the model, whatever it talked about before. */
const TURNS: ReadonlySet<string> = new Set([
  "then",
  "must",
  "you",
  "always",
  "also",
  "please",
  "before",
  "afterwards",
  "instead",
  "finally",
  "first",
  "immediately",
  "additionally",
]);

/** Whether the words of a match are talked about. Only words of the same sentence can say so. */
export function isMentioned(sentence: Sentence, { start, end }: Match): boolean {
  const before = sentence.slice(Math.max(0, start - FRAME_REACH), start);
  const quoted = sentence.slice(start, end).some((word) => word.quoted);
  if (FRAMES.some((frame) => frames(frame, before, quoted))) return true;
  return quoted && DISCLAIMERS.some((words) => findPhrase(words, sentence.slice(end)) !== undefined);
}

/** A frame reaches up to the end of what it quotes, and not past a turn to the model. */
function frames(frame: CompiledPhrase, before: Sentence, quoted: boolean): boolean {
  const found = findPhrase(frame, before);
  if (found === undefined) return false;
  const between = before.slice(found.end);
  if (!quoted && between.some((word) => word.quoted)) return false;
  return quoted || !between.some(({ text }) => TURNS.has(text));
}
