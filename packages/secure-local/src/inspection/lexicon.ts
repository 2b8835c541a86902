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
export const CLASSES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(WORDS).map(([name, words]) => [name, words.trim().split(/\s+/)]),
);
