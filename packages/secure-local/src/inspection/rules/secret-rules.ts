// Texts that reach for files, credentials, conversations and prompts that are none of the tool's business.
import type { Rule } from "./rule.js";

/** The text turns from what the tool does to what the model is to do. */
const ADDRESSED = [
  "you|your|must|has+to|have+to|always|first|assistant|model|ai|agent|llm|mandatory|before|please|ensure|make+sure|important|required|also|additionally|then|silently|prior+to|immediately|necessary|in+order+to|whenever|every+time|need+to|after|while|hidden|start+by|begin+by|yourself",
];
const INTO = [
  "$take|$transfer|$read ..10 as|in|into|via|through|within|inside|to ..5 $argument",
  "$take ..8 as|in|into|within|to ..3 output|result|response|reply|answer|translation|summary|message",
];

export const SECRET_RULES: readonly Rule[] = [
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
