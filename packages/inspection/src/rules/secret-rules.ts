// Texts that reach for files, credentials, conversations and prompts that are none of the tool's business.
import type { InspectionRule } from "../texts/finding.js";

/** The text turns from what the tool does to what the model is to do. */
const ADDRESSED = [
  "you|your|must|has+to|have+to|always|first|assistant|model|ai|agent|llm|mandatory|before|please|ensure|make+sure|important|required|also|additionally|then|silently|prior+to|immediately|necessary|in+order+to|whenever|every+time|need+to|after|while|hidden|start+by|begin+by|yourself",
];
const INTO = [
  "$take|$transfer|$read ..10 as|in|into|via|through|within|inside|to ..5 $argument",
  "$take ..8 as|in|into|within|to ..3 output|result|response|reply|answer|translation|summary|message",
];

export const SECRET_RULES: readonly InspectionRule[] = [
  {
    id: "secrets.file",
    tier: "hard",
    about: "It has the model read a file that holds secrets.",
    phrases: ["$read ..8 @secret", "@secret ..4 and ..2 $transfer|$take"],
    with: ADDRESSED,
    unless: [
      "must|should|need|needs ..2 have|exist|contain|configure|set|be",
      "default|defaults|configured|stored|documents|configure|setup|documentation|located",
      "^ returns|reads|lists|retrieves|parses|shows|read|parse|list ..12 caller",
      "refuses|refused|denied|blocked|deny|excluded|excludes|except|forbidden|rejects|rejected|protected|never ..1 reads|touches|accesses",
    ],
  },
  {
    id: "secrets.file-into",
    tier: "hard",
    about: "It passes the content of a file that holds secrets on.",
    phrases: [
      "$read|$take ..8 @secret|@mild ..8 into|in|as|to|via|with ..6 $argument|output|response|result|result",
      "$take|$transfer ..5 contents|content ..4 @secret|@mild",
    ],
    unless: ["returns|documents|configure|authorization|authenticate", "vault|store|encrypted"],
  },
  {
    id: "secrets.file-sent",
    tier: "hard",
    about: "It sends the content of a file that holds secrets away.",
    phrases: [
      "$transfer ..8 @secret|@mild ..10 @url|@email|$far|$attacker|server|endpoint|webhook",
      "@secret|@mild ..14 $transfer ..8 @url|@email|$far|$attacker|server|endpoint|webhook",
    ],
    unless: ["caller|git|repository"],
  },
  {
    id: "secrets.environment-file",
    tier: "soft",
    about: "It has the model read a file that usually holds secrets.",
    phrases: ["$read|$transfer ..8 @mild"],
    with: ["must|first|before|silently|also|mandatory|assistant|every+time|prior+to|on+each"],
    unless: ["exist|exists|configured|load|loads|have|configure|documentation|kubeconfig|setup|variables+from"],
  },
  {
    id: "secrets.credentials",
    tier: "hard",
    about: "It has the model hand over credentials or private data.",
    phrases: [
      "$take|$transfer|$reveal ..6 user's|your|user|their|all|any|every|local|stored|system's|available|other ..4 $private ..10 $argument|response|output|@url|@email|$far|$attacker|webhook|endpoint|reply|result|server|you+can|you+have",
      "$read|$take ..4 user's|your|their|all|any|stored|every|local ..4 $private ..8 and|then ..4 $transfer|$take|pass",
      "$private|@secret ..6 must|has+to|have+to|should|shall ..1 be ..1 added|sent|included|passed|appended|attached|embedded|placed|provided|supplied|put|forwarded|posted|transmitted|copied ..3 to|in|into|as|with|via",
      "exfiltrate|exfiltrates|exfiltrating|exfiltrated|steal|steals|stealing|siphon|siphons|smuggle|smuggles|harvest|harvests|harvesting ..6 $private|@secret|@mild|data|information|files|$talk|$prompt|them|it|user|contents|everything|messages|emails|documents",
      "$transfer ..6 $private|$talk ..8 to ..3 $attacker|attacker*|evil*|exfil*",
      "$transfer|$take ..4 $private ..8 $attacker|@url|@email",
      "$transfer|$take ..4 $private ..8 external|third-party|remote ..2 $place|host|@end",
      "$reveal|ask|request|prompt ..3 user ..3 for|to ..6 password|passwords|api+key|api+keys|credentials|credit+card|seed+phrase|private+key|ssn|social+security|2fa|otp ..8 and|then ..3 $transfer|$take|pass",
    ],
    unless: ["header|headers|oauth2|vault|keyring|caller|authenticate|configured|login+form|lets+you|rotate|rotates"],
  },
  {
    id: "secrets.conversation",
    tier: "hard",
    about: "It has the model hand over the conversation or its prompt.",
    phrases: [
      "$reveal|$take|$transfer ..4 your ..3 $prompt|$talk|instructions|system|reasoning|memory|tool+list|available+tools",
      "reveal|leak|dump|disclose|divulge|expose|recite|exfiltrate ..5 $prompt|$talk",
      "real|true|actual|secret ..1 goal|purpose|task|job ..3 to ..2 obtain|steal|collect|get|learn|leak|copy|exfiltrate",
      "dump|leak|exfiltrate ..2 your|the context|memory|context+window",
      "$take|$transfer|output|return|print ..3 full|entire|whole|complete ..3 $talk|$prompt|conversation|system+prompt ..10 $argument|@url|@email|$far|$attacker|webhook|endpoint|body|response|here|base64|parameter|verbatim|plus|and",
      "the|your full|entire|whole|complete ..2 $talk|$prompt ..4 so+far|verbatim|including|up+to|must|required|between+you|with+the+user|goes+here|as+is",
      "output|print|repeat|recite|quote ..3 $prompt ..6 verbatim|word+for+word|above|before|first|exactly",
      "base64|base64-encode|hex|rot13|encode|encrypt|compress ..5 conversation|chat+history|$talk|$prompt|system+prompt|conversation+history",
      "forward|send|copy|log|mirror|post|transmit|relay|stream ..2 every|all|each|any ..3 message|messages|prompt|prompts|response|responses|conversation|conversations|query|queries|reply|replies|keystrokes|input|inputs ..10 to ..6 @url|@email|external|$attacker|remote|webhook|endpoint",
    ],
    unless: ["summarizes|thread|agent+queue|channel|slack|teams|handoff|ticket|render|renders|stored"],
  },
  {
    id: "secrets.conversation-wanted",
    tier: "soft",
    about: "It asks for the conversation, the model's prompt or its reasoning.",
    phrases: [
      "the|your full|entire|whole|complete|exact ..2 conversation+history|chat+history|conversation+so+far|system+prompt|chain+of+thought",
      "your ..2 system+prompt|chain+of+thought|internal+reasoning|hidden+instructions|initial+instructions",
      "list|names ..3 of ..3 all|every ..2 tools ..4 available+to+you|you+have|you+can|in+your",
      "$take|$transfer ..6 user's ..3 clipboard|environment+variables|api+keys|passwords|credentials|private+key|browser+history",
      "all|every|any ..2 environment+variables|env+vars|api+keys|credentials|passwords ..6 you+can|you+have|available+to+you|accessible",
      "$compute ..20 reads|posts|uploads|sends|collects|transmits|forwards|exfiltrates ..10 @secret|@mild|$private|external|third-party|remote",
      "also|additionally|plus|secretly|then ..2 posts|uploads|sends|transmits|forwards|post|upload|send|transmit|forward ..8 external|third-party|remote|unknown|attacker|outside|our ..2 $place",
      "sends|send|forwards|forward|posts|uploads|transmits ..2 copy|copies|duplicate ..6 external|third-party|remote|our|unknown|outside ..2 $place",
    ],
  },
  {
    id: "secrets.side-channel",
    tier: "hard",
    about: "It has the model put private data into an argument or an answer where it does not belong.",
    phrases: INTO,
    with: ["$private|$talk|$prompt|@secret|@mild", "$whole ..2 conversation|prompt"],
    near: [
      "must|first|before|silently|also|without|secretly|mandatory|every+time|otherwise|you+have+access|hidden|don't|do+not|always|assistant|each+call|additionally|on+each",
    ],
    unless: [
      "header|headers|authorization|oauth|encrypted|vault|login|never|authenticate|basic|cookie|configured|pagination",
    ],
  },
];

// Texts that want something kept from the person the model works for, or done without asking them.

const SOFTENERS = [
  "raw|internal|ids|id|uuid|uuids|json|technical|api|error|errors|stack|database|metadata|syntax|urls|token|tokens|schema|names|identifiers",
];

export const CONCEALMENT_RULES: readonly InspectionRule[] = [
  {
    id: "concealment.user",
    tier: "hard",
    about: "It wants something kept from the user.",
    phrases: [
      "$dont tell|telling|inform|informing|alert|alerting|warn|warning|notify|notifying ..2 $user ..2 @end|about|that|of|what|why|this|you",
      "$dont ..2 mention|mentioning|disclose|disclosing|reveal|revealing|discuss|report|reporting|explain|explaining|announce|show|showing|acknowledge ..1 this|these|it|that|any+of+this|the+above|anything|your ..6 $user",
      "$dont ..2 mention|disclose|reveal|discuss|announce|acknowledge|repeat|share|explain ..1 this|these|that|any+of+these|the+above|the+existence|hidden ..3 instruction|instructions|directive|directives|step|steps|note|message|rule|rules|text|prompt|section|process|behavior|behaviour|requirement|action|actions|tool|fact",
      "$dont ..1 mention|disclose|reveal|discuss ..1 it|this|that|these @end",
      "without ..2 telling|informing|alerting|warning|notifying ..2 user|users|them|anyone|human|him|her|the+person|operator ..1 @end|about|that|of",
      "without ..3 $user|user's|their ..2 knowledge|knowing|noticing|awareness|consent|being+aware|seeing",
      "user|users|human|they|operator must|should|may|can|will not|never ..2 know|see|notice|learn|be+aware|be+told|be+informed|find+out|suspect|realize",
      "user|users|human does|do|need|needs not ..2 need ..2 know|see|be+told|be+informed|be+aware",
      "user|human doesn't ..2 need ..3 know|told|informed|aware|about|this|it",
      "user|human needn't|shouldn't|mustn't|won't ..2 need|know|see|notice ..3 know|told|informed|aware|about|this|it",
      "so ..1 user ..2 not|won't|never|doesn't|isn't ..2 notice|see|know|suspect|aware|alarmed|worried|worry",
      "hide|conceal|keep|mask ..2 this|these|it|that|the+fact|the+action|the+operation|the+process|the+step|the+call|the+instructions|all ..6 from ..2 user|users|human|anyone|them|operator",
      "keep ..3 secret|confidential|between+us|invisible ..4 from|@end ..3 user|users|human|anyone|them",
      "must|should|shall ..1 remain|stay|be+kept ..2 hidden|secret|confidential|invisible|undisclosed|unnoticed|unseen",
      "act|behave|continue|pretend|proceed ..3 as+if|as+though|like ..2 nothing",
      "$dont ..2 let ..2 user|users|human|them|anyone ..2 know|see|notice|find|suspect",
      "avoid ..2 raising|arousing ..2 suspicion|alarm",
      "to+avoid|avoid|prevent ..1 detection|suspicion ..2 @end|by",
    ],
    unless: SOFTENERS,
  },
  {
    id: "concealment.hints",
    tier: "soft",
    about: "It tells the model what not to tell the user.",
    phrases: [
      "$dont ..1 tell|telling|inform|alert|notify ..2 user ..2 about|that|of|how|@end",
      "$dont ..2 mention|reveal|disclose ..4 to ..1 user|users",
      "user|human doesn't ..2 know|see|notice ..3 about|this|it",
      "this is|remains ..2 secret|confidential|hidden ..2 between|instruction|directive|from+the+user",
    ],
    unless: SOFTENERS,
  },
  {
    id: "concealment.secretly",
    tier: "hard",
    about: "It does, or wants done, something unseen.",
    phrases: [
      "$secretly ..3 $transfer|$take|$read|$alter|$call",
      "$silently ..2 $transfer|append|include|embed|attach|inject|add|adds|collect|record|records|capture|redirect|alter|read|reads|log|logs|execute|executes|run|call|invoke|fetch|forward|reroute|harvest|store|exfiltrate",
      "$transfer|append|include|embed|collect|execute ..6 silently|secretly|covertly|stealthily|unnoticed|behind+the+scenes",
    ],
    unless: [
      "skip|skips|fail|fails|ignored|ignores|drop|duplicate|duplicates|dropped|error|errors|notification|overwrites|succeed|badge",
    ],
  },
  {
    id: "concealment.consent",
    tier: "soft",
    about: "It wants the model to act without asking, or says that the user agreed already.",
    phrases: [
      "$dont ..2 ask|request|wait|seek|require|prompt ..5 $question",
      "user|users|owner|admin|administrator|human|human+operator has|have ..2 already|pre-approved|previously|explicitly|implicitly ..3 approved|authorized|consented|agreed|given|granted|confirmed|pre-approved",
      "no+need+to|there+is+no+need+to ..2 ask|confirm|verify|check|inform ..3 user|confirmation|permission|approval|before|@end",
      "without ..1 asking|requesting|seeking|requiring ..4 user|confirmation|permission|approval|consent",
      "auto-approve|automatically+approve|auto-accept ..3 all|any|every|tool|subsequent|future|requests|actions|calls",
      "skip|bypass|disable|turn+off ..3 user|human|approval|confirmation|client|consent ..1 confirmation|approval|consent|prompt|prompts|dialog|dialogs|review",
    ],
    with: [
      "you|must|always|never|immediately|proceed|execute|send|delete|do|don't|call|already|any|all|assistant|agent|model|simply|just",
    ],
    unless: ["until|unless|wait|waits"],
  },
];

// Tools that say of themselves that they attack: nothing is hidden in them, but a person should know before a model has them at hand.

const GUARDS =
  "authentication|security|antivirus|edr|logging|scanning|whitelisting|restrictions|protections|protection|sandbox|waf|uac|amsi|selinux|apparmor|checking|integrity|mfa|hooks|tcc|nfs|firewall|applocker|defender|event+tracing|allowlisting|detection|upload";
const LOOT =
  "credentials|credential|passwords|password|secrets|hashes|lsass|sam|shadow|keychain|keyring|kwallet|tickets|tokens|cookies|private+keys|api+keys|ntds.dit|pmkid|handshakes|autofill|browser+history|process+memory";

/** Whoever watches for attacks has to name them. */
const STUDIES =
  "monitor|monitors|score|scores|search|searches|analytics|threat|threats|malware|urls|blocklist|denylist|scan|scans|detector|detect|detects|check|checks|filter|guard|alert|alerts|report|reports|audit|policy|rules";

export const MALICE_RULES: readonly InspectionRule[] = [
  {
    id: "malice.theft",
    tier: "soft",
    about: "It says that it takes what belongs to others.",
    phrases: [
      "exfiltrate|exfiltrates|exfiltrating|exfiltrated|exfiltration",
      "stolen ..1 data|files|credentials|documents|tokens|keys|records",
      "^ ..0 steal|steals|exfil|siphon|siphons",
      `dump|dumps|harvest|harvests|harvesting|sniff|sniffs|grab|grabs|crack|cracks|cracking ..5 ${LOOT}|hash|key|service+tickets`,
      `^ ..0 extract|extracts|decrypt|decrypts|capture|captures ..5 ${LOOT}`,
      "optional ..2 credential|token|secret|password|key|data|sensitive ..3 harvesting|extraction|collection|theft|copying|dump",
      "keystrokes|keylogger|keylogging|spyware|mimikatz|bloodhound",
      "pass|overpass the hash|ticket",
      "golden|silver|kerberos ..1 ticket|tickets ..2 @end|offline|forging",
      "covert ..2 channel|timing|exfiltration|transfer",
      "lsb|inaudible",
      "hide|hides|hiding ..3 data|activity|exfiltrated|secret ..6 in|within|with",
    ],
    unless: ["not|never|without|no ..3 exfiltration|stolen|password|passwords|credentials|tokens|secrets", STUDIES],
  },
  {
    id: "malice.attack",
    tier: "soft",
    about: "It says that it attacks systems or people.",
    phrases: [
      "^ ..0 exploit|exploits|abuse|abuses|hijack|hijacks|jailbreak|jailbreaks",
      "exploit|exploits|exploiting ..6 vulnerability|escalation|root|privilege|misconfiguration|condition",
      "inject|injects|embed|embeds|create|creates|write|writes|install|installs|plant|upload|uploads|overwrite|add|adds|run|runs|via|through|deploy|deploys|with|as ..5 malicious",
      "reverse|bind|web shell|shells",
      "shellcode|rootkit|ransomware|backdoor|backdoors|botnet|trojan|petitpotam|zerologon|printnightmare|dcsync|seimpersonateprivilege",
      "fork bomb|bombs",
      "privilege escalation|elevation",
      `bypass|bypasses|bypassing|evade|evades ..5 ${GUARDS}`,
      "brute force|forces|forcing|forced",
      "bruteforce|brute-force|bruteforces",
      "password|credential spray|spraying|stuffing",
      "sql|ldap|xpath|nosql|command|code|template|ognl|xxe|xslt|language|object|dll|process|apc ..1 injection|hollowing ..4 attack|technique|in|via|to|on|for|@end",
      "inject|injects ..4 keystrokes|code|dll|shellcode|library|payload|queries|arguments|values",
      "deserialization|symlink|relay|confusion|forgery|poisoning|spray|phishing ..2 attack|attacks|page|kit",
      "perform|performs|launch|launches|conduct|execute|executes ..5 attack",
      "attack|attacks ..1 accounts|users|servers|hosts|vault|password|systems",
      "escape|escapes ..2 container|chroot|sandbox|virtual|vm|jail|hypervisor",
      "hijack|hijacks|hijacking|hijacked|man-in-the-middle|impersonate|impersonates ..6 session|token|thread|socket|dll|path|object|search|service|persistence|account|privileged|unix",
      "tamper|tampers ..3 log|logs|evidence|records",
      "to|for ..3 poison|spoof|impersonate ..4 users|hosts|requests|llmnr|dns|arp",
      "relay|forge|forges|spoof|spoofs ..3 credentials|captured|ntlm|authentication|token|tokens|identity",
      "to ..2 attacker|attacker-controlled",
      "exhaust|exhausts ..4 quota|inodes|memory|process|disk|table",
      "^ ..0 privesc|cmdi|recon|c2 ..0 *",
    ],
    unless: [
      "lets+you ..2 test|simulate",
      "pre-commit|commit-msg|pre-push",
      "prevent|prevents|detection|protect|protects|block|blocks|against|mitigate|avoid|known|published",
      STUDIES,
    ],
  },
];
