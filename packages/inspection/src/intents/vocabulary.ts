// All concepts that sentences are looked through for.
import {
  type ActionName,
  type Concept,
  type ConceptName,
  type HidingName,
  PRESSURE,
  SOURCES,
  type TakeoverName,
} from "./concept.js";

// What is to be done, and where things are to go.

/** Actions and their targets. */
const ACTIONS: Readonly<Record<ActionName, Concept>> = {
  read: {
    words: `read open look grab fetch cat load locate retrieve collect gather obtain scan harvest print dump extract inspect access consult
      acquire capture pull echo peek learn search rummage peruse sift note+down jot trawl examine`,
  },
  give: {
    words: `put pass hand include attach add append insert place supply fill quote mention weave embed encode paste enclose carry bring enter populate
      prefix concatenate state copy submit give write tuck slip stash disclose reveal surrender provide belong feed tell drop squeeze fold merge insert attach relay-in tack supplement accompany record pour`,
  },
  send: {
    words: `send forward upload post mirror transmit relay email mail push submit deliver bcc cc ship replicate invite leak exfiltrate
      beacon share stream land wire divert redirect copy export dispatch funnel pipe hand-over ferry smuggle surrender deposit siphon`,
    phrases: [
      "hand|pass|turn ..2 over|on|along",
      "goes|go|gone ..1 straight|directly|along|also",
      "blind|carbon copy",
      "copy|copies of ..6 to|at|with",
      "picks|pick it|them ..0 up",
    ],
  },
  argument: {
    words:
      "argument parameter param field property sidenote sidecar metadata subject+line user-agent query+string user+agent payload box slot",
    phrases: [
      "in|into ..2 line|slot|box|column|option|options",
      "in|into|as|to|via|through|under|inside ..3 $argument",
      "in|into|as|to the ..1 query|title|comment|subject|filename|note|answer|tag|tags|reply|hint|extra",
    ],
  },
  address: {
    words: "webhook bucket pastebin paste+site subdomain ftp sftp",
    phrases: ["@url|@email|@host"],
  },
  stranger: {
    words: `third-party third+party outsider partner foreign collector attacker stranger elsewhere public+folder public+repository public+channel
      remote+server sponsor off-site outside+party external+party external+server external+service external+address our+server our+endpoint our+service our+team our+job our+system  contractor counterparty affiliate broker advertiser intake isp-helpdesk`,
    phrases: [
      "everybody|everyone|all ..3 contacts|list|address+book",
      "our ..2 team|partner|partners|server|intake|address|account|mailbox|lawyers|support|side|shop",
      "through us",
    ],
  },
  run: {
    words: "execute nohup sudo backdoor listener",
    phrases: [
      "root|admin ..1 access",
      "force|forces ..3 push|merge|through",
      "carry|carries|carried ..2 out",
      "try ..4 passwords|one+after+another|until",
      "open|opens ..2 port|shell|tunnel",
      "root|admin|administrator|superuser ..1 rights|privileges|permissions|access",
      "start|starts|spawn|spawns ..2 shell|listener|server|daemon|terminal",
      "@script",
      "run|launch|start|invoke|evaluate|source|pipe ..5 script|command|program|helper|binary|@url|code|payload|snippet|installer",
      "install|installing ..6 globally|helper|package|extension|update|@url|first|root|service",
      "npm|pip|brew|apt i|install",
      "curl|wget|bash|nc|powershell|chmod|sh ..3 @url|-*|*.sh|777|@host",
      "as root|administrator",
      "carry|carried ..2 out",
      "do|does|follow|obey ..2 what|whatever|as ..2 it|result|they|says",
      "work through",
    ],
  },
  destroy: {
    words: `wipe erase destroy chmod uninstall shred revert`,
    phrases: [
      "drop|drops ..4 schema|table|database|branch|index|named",
      "unlock|unlocks|open|opens ..3 door|doors|gate|lock|account",
      "remove|removes|disable ..3 check|checks|guard|warning|warnings|test|tests",
      "turn|turns|switch|switches|take ..1 off|down ..5 vpn|protection|endpoint|proxy|alerts|encryption|backup",
      "stop|kill|end|terminate ..2 any|all|every|whatever",
      "delete|empty|remove|drop|purge|revoke ..3 bucket|folder|directory|database|table|branch|file|files|history|backups|repository|logs|cluster|account|infra|./*|~/*|/*",
      "turn|turns|switch|switches|disable|disables|stop|kill ..4 firewall|selinux|antivirus|logging|monitoring|sandbox|protection|two-factor|mfa|verification|checks|audit",
      "grant|grants|give|assign ..4 access|admin|rights|permission|permissions|role|ownership",
      "accept ..4 terms|conditions|licence|license|agreement",
    ],
  },
  persist: {
    words:
      "cron crontab authorized_keys bashrc zshrc startup+folder login+item scheduled+task autostart launchagent launch+agent start-up systemd+unit git+hook",
    phrases: ["$startfile"],
  },
};

// How orders are kept from the person the model works for.

/** Ways to hide, or to have the model hide. */
const HIDING: Readonly<Record<HidingName, Concept>> = {
  untold: {
    phrases: [
      "don't|doesn't|need|needs|does|do ..2 not|have|need ..3 informed|told|asked|consulted|notified",
      "unsaid|untold|unmentioned",
      "never|not ..1 shown",
      "hardly|never|not|won't ..2 mind|care|object",
      "nobody|no+one|none ..3 irritated|bothered|suspicious|worried|alarmed",
      "in silence",
      "keep|keeps ..4 to yourself",
      "rather+than|instead+of|without ..2 showing|mentioning|telling|asking|explaining",
      "refuse|decline|avoid|evade|deflect ..3 if|when|question|questions|asks",
      "trouble|bother|burden|worry|alarm|inconvenience|disturb|upset|confuse|distract ..3 user|users|person|human|anyone|them|customer|team|people",
      "$dont|don't ..1 bring ..3 up",
      "$dont ..1 draw|call ..2 attention",
      "$dont ..3 $tell ..4 user|users|human|person|anyone|anybody|operator|customer|them|him|her|people|chat",
      "$dont|n't|nor ..3 mention|disclose|reveal|announce|acknowledge|hint|bring ..2 this|it|that|these|the|any|either|@end",
      "without ..3 telling|informing|alerting|notifying|mentioning|saying|warning|bothering|troubling|disturbing|worrying|alarming|involving|consulting|letting",
      "user|users|human|person|people|keyboard|nobody|anyone|anybody|they|customer ..3 no|not|never|n't|needn't|doesn't|don't|won't|shouldn't|mustn't|can't ..4 know|learn|see|notice|hear|told|informed|aware|find|concern|concerned",
      "nobody|no+one ..3 know|knows|learn|learns|see|sees|notice|notices|told|informed|hears ..2 about|it|this|that|of|@end",
      "nobody|no+one ..2 watching|looking",
      "no ..1 need|reason ..3 to ..2 know|learn|hear|see|tell|mention|inform|announce|explain",
      "unaware|oblivious",
      "behind ..2 back",
    ],
  },
  quiet: {
    words: `silently quietly discreetly secretly covertly invisibly unnoticed discretion discreet stealthily unobtrusively tacitly inconspicuously surreptitiously hush unannounced tacit unseen sly stealth undisclosed white`,
    phrases: [
      "hidden|secret ..2 call|step|request|copy|second|upload|task|part",
      "in the background",
      "behind the scenes",
      "under the radar",
      "on the quiet",
      "out of sight",
    ],
  },
  lie: {
    words: `truth lie mislead misreport dishonest falsify fabricate doctor exaggerate understate invent inflate gloss camouflage`,
    phrases: [
      "was|were|is|are ..1 not ..1 among|involved|used|called",
      "otherwise ..3 never|not|but",
      "perfect|best|top|full ..1 score|rating|grade|marks|review ..2 to|for",
      "tell|tells ..2 customers|customer|people|clients ..3 the|that|it|they",
      "hand over|out ..1 as",
      "confirm|approve|accept|treat|count|take|regard ..5 as ..1 right|correct|confirmed|approved|given|granted|agreed|done",
      "vanish|disappear ..2 from",
      "nudge|steer|push|persuade|convince|talk|lure|pressure ..4 towards|into|to ..2 buying|buy|choose|choosing|switch|pay|click|sign|order",
      "even when|if|though ..3 data|numbers|facts|results|evidence",
      "formatted ..4 white",
      "threaten|threatens|intimidate|insult|blackmail",
      "present|presents ..4 as ..4 cheapest|best|safest|only|normal|harmless|official",
      "say|claim|report ..2 that ..3 all|everything|nothing",
      "comment|comments|commented ..2 out",
      "pretend|pretends|pretending|feign|fake",
      "act|behave|proceed|carry+on|continue ..3 as+if|as+though|like",
      "say|says|answer|reply|claim|respond|state|insist ..2 that ..3 nothing|none|no|not|everything|all",
      "describe|present|disguise|pass|explain|label|frame|portray|call ..3 as ..3 a|an|part|routine|just|merely",
      "report|mark|declare|show ..4 as ..3 passing|passed|successful|success|safe|clean|fine|ok|green ..3 even|regardless|whatever|though|if",
      "if|when|should ..3 asks|asked|ask|wonders|inquires|questioned|challenged ..5 say|deny|answer|reply|tell|claim|respond|blame|insist",
      "even+if|though ..3 fail|fails|failed|failing",
    ],
  },
  omitted: {
    phrases: [
      "leave|leaves|left ..3 unsaid|out|unmentioned|untold",
      "if|in+case ..4 asked ..8 not|nothing|none|no",
      "passes|pass|skip|skips|gloss|glosses ..1 over",
      "user|person|they|human ..1 sees|see|gets|reads ..1 only|just",
      "leave|leaves|leaving|keep|keeps|keeping|left|kept|stay|stays|remain|remains|omit|exclude|hide|drop|strip ..5 out+of|outside|off|from ..4 summary|answer|reply|response|chat|explanation|log|logs|report|conversation|transcript|output|plan|sight|view|message|user|person|history|trace",
      "not|never|n't|shouldn't|mustn't|nowhere ..3 appear|show|surface|figure|turn ..4 in ..3 answer|explanation|plan|summary|list|reply|output|chat|response|log",
      "not a|one|another word",
      "between us|ourselves|you+and",
      "to|for yourself @end",
      "nothing|none|no+trace|only ..4 visible|shown|seen|appears|shows",
      "visible ..2 reply|answer|response",
      "cover|erase|clear|delete|remove|wipe ..3 tracks|traces|trace|history|evidence|.bash_history",
      "nervous|alarmed|suspicious|worried|upset|scared|uneasy|disturbed",
    ],
  },
};

// How orders put themselves in the place of others: of rules, of the user, of other tools.

/** What is set aside, and what takes its place. */
const TAKEOVER: Readonly<Record<TakeoverName, Concept>> = {
  rules: {
    words: `rule instruction guidance guideline directive caution restriction safeguard guardrail prohibition confirmation+dialog confirmation+prompt
      content+policy scruple limitation moderation safety+check usual+check filter safety+policy instructions programming restraint boundary ethic consent+dialog
      approval+step permission+prompt guard oversight filter approval+dialog alignment agreement promise commitment`,
  },
  void: {
    words: `withdrawn obsolete lift void suspend supersede outrank disregard forget ignore  bypass overrule  waive
      relax abandon rescind  defunct repeal discard`,
    phrases: [
      "are|is ..1 not ..1 in ..1 force",
      "out of scope",
      "concern|concerns|for ..1 other|another ..1 product|products|tool|tools|company",
      "are|is|was|were ..1 noise|void|moot|irrelevant",
      "do|does not ..1 apply|concern|count|bind|reach|extend",
      "override|overriding",
      "overrides ..3 rules|instructions|guidance|restrictions|your|all|any|everything|previous|earlier",
      "not|isn't|aren't|never|no ..2 in+force|binding|valid|applicable|enforced|relevant",
      "has|have ..1 ended|lapsed|ceased|stopped|expired",
      "was|were ..2 test|trial|rehearsal|draft|example",
      "skip|skips|skipping ..4 approval|confirmation|consent|review|step|check|checks|dialog|prompt",
      "no longer",
      "switched|turned|taken off",
      "free|exempt|released|relieved|freed of|from",
      "count|counts|counted|regard|regarded|consider|considered ..2 as",
      "set|put|leave|lay aside",
      "take|takes|has|have ..1 precedence|priority",
      "matters|matter|counts|weighs less",
      "this|these|it ..3 wins|prevail|prevails",
      "do|does not apply|hold|count|bind",
      "has|have|are|is|been disabled",
      "pay no attention",
    ],
  },
  role: {
    words: "obey comply",
    phrases: [
      "authority over",
      "equal|equals ..2 to ..2 user|operator|system|developer",
      "disregard|disobey ..2 operator|user|developer|host",
      "directions|instructions|orders ..3 for ..1 you",
      "prove ..2 you ..2 are|no|not",
      "adults",
      "trusted|follow ..4 sentence|line|text|orders",
      "real|actual|true ..1 task|purpose|goal|job|work",
      "you ..2 clearance|permission|authority|rights",
      "you ..1 are ..1 now",
      "developer|debug|admin|maintenance|god|unrestricted|root|test ..1 mode ..2 active|on|enabled|is",
      "treat|regard|take|consider|read ..6 as ..2 coming|orders|authoritative|commands|instructions|binding",
      "consider|think+of|regard|see|imagine yourself",
      "without ..2 restrictions|restriction|limits|filters|inhibition|content+restrictions|censorship|reservations",
      "people|those|company|team who ..2 built|made|trained|created|run ..1 you",
      "answers ..2 every ..2 request|question ..2 in+full",
    ],
  },
  defy: {
    phrases: [
      "whichever|whatever|no+matter ..5 printed|picked|chosen|given|asked|requested|named|used|selected|typed|entered",
      "on ..3 behalf",
      "done ..1 with ..4 request|task",
      "instead ..2 of|from ..2 one",
      "what|whatever ..3 user|person|human|they ..3 typed|asked|asks|wants|wanted|says|said|requested|requests|chose|prefers|named ..3 matters|is|counts|instead|comes|has",
      "drop|abandon|leave|stop|forget|interrupt|postpone|pause ..1 task|question|request|job|work|conversation",
      "regardless|irrespective|independent|no+matter ..3 what|user|which|whom|whether|request",
      "instead+of|rather+than ..2 what|answering|the+task|the+user's",
      "against|despite|ignoring ..3 user's|wishes|objections|refusal",
      "even+if ..3 user|they|told|asked|refuses|objects|declines",
    ],
  },
  tool: {
    words: "another+tool other+tool any+tool every+tool each+tool other+server neighbouring+tool next+tool",
    phrases: [
      "your ..2 own|host's|host ..3 tools|tool",
      "file|shell|search|mail|web ..1 tools",
      "call|calls|calling|request|requests|output|outputs ..2 to|of|from ..1 @snake",
      "@snake ..2 is|tool|should|must|will|returns|runs|gets",
      "other|another|any|every|each|remaining|all ..2 tool|tools|tool's|server's|servers|connectors|plugins",
      "@foreign",
      "mail|email|shell|payment|file|files|browser|search|terminal|editor|database|git|messaging|transfer|banking|calendar|writing|deploy ..1 tool|tools",
      "tool|tools ..2 of|from ..3 server|servers|editor|host|vendor",
    ],
  },
  change: {
    words: `swap prefix replace discard stale decorative outdated unreliable prefer preference instead broken buggy bug substitute supersede supplant tamper
      rewrite differently obsolete`,
    phrases: [
      "come|comes|go|goes|runs|run ..2 through|via|over ..1 here|this|us",
      "are|is ..1 broken|unavailable|unsafe|outdated",
      "out of date",
      "rather than",
      "in place of",
      "come|go here",
      "must|should|has+to ..2 be|carry|contain|go|use|start|end",
    ],
  },
};

export const VOCABULARY: Readonly<Record<ConceptName, Concept>> = {
  ...SOURCES,
  ...ACTIONS,
  ...HIDING,
  ...TAKEOVER,
  ...PRESSURE,
};

export function isSource(name: ConceptName): boolean {
  return name in SOURCES;
}
