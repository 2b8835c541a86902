// Texts that have the model run commands, change what starts by itself, or hear of messages meant for it alone.
import type { InspectionRule } from "../texts/finding.js";

export const ACTION_RULES: readonly InspectionRule[] = [
  {
    id: "actions.command",
    tier: "hard",
    about: "It has the model run a command that has nothing to do with the call.",
    phrases: [
      "must|first|always|also|silently|secretly|please|you+should|before|then ..5 execute|run|invoke|paste|type ..4 $shell",
      "execute|run ..3 following|this ..2 command|script|code ..6 first|before|silently|on|in ..2 user's|your|their|the|host|terminal|shell|machine",
      "execut*|run|runs|running ..2 arbitrary ..2 shell|commands|code|system|os ..4 without ..3 sandbox|validation|confirmation|restriction|restrictions|user|consent|approval",
      "download|fetch|install|curl|wget ..6 @url ..8 and|then ..2 execute|run|install|eval|source|pipe",
      "disable|turn+off|stop|kill|uninstall|tamper+with ..4 antivirus|firewall|logging|auditing|audit+log|audit+logs|security+software|monitoring|edr|defender|selinux|sandbox ..6 first|before|silently|then|must|so|to",
      "delete|wipe|erase|destroy|remove|shred|encrypt ..3 all|every|entire|whole ..4 files|file|home|disk|drive|documents|backups|databases|tables ..6 workspace|user's|home|computer|system|machine|silently|without",
    ],
    unless: ["lets+you|allows+you|tool+to|can+be+used|ability"],
  },
  {
    id: "actions.persistence",
    tier: "hard",
    about: "It has the model change what programs or assistants read at their start.",
    phrases: [
      "add|append|write|save|insert|store|put|modify|update|edit|install|inject|create|copy ..10 to|into|in|a|an|the ..4 $startfile",
    ],
    with: [
      "must|always|first|then|also|you|silently|so+that|every+time|assistant|without|ensure|before|secretly|don't",
    ],
    unless: ["lets+you|generates|generate|creates|requires", "if+you+want|optional|optionally|user+asks|user+wants"],
  },
  {
    id: "actions.message",
    tier: "soft",
    about: "It addresses the model with a message apart from the description.",
    phrases: [
      "note|message|memo|notice|reminder|directive|hint ..1 to|for ..3 $named_model",
      "attention|dear|hey|hello ..1 $named_model @end",
      "assistant|agent|model|ai|llm must|shall ..2 always|never|first|also|not|silently|immediately|now",
      "if|when you ..2 are ..3 ai|llm|language+model|assistant|agent|chatbot",
      "this ..3 instruction|directive|step|requirement ..2 is ..2 mandatory|non-negotiable|overriding",
    ],
    unless: [
      "without|until ..3 user|user's ..4 approval|confirmation|confirmed|approved",
      "until ..5 instruction|instructions|word|answer|request ..1 from ..1 user",
    ],
  },
  {
    id: "actions.hidden-message",
    tier: "hard",
    about: "It holds instructions that announce themselves as hidden.",
    phrases: [
      "hidden|secret|covert|concealed|undisclosed|invisible|internal ..1 directive|directives|instruction|instructions|command|commands|task|objective|agenda|note+to|message+to|prompt+injection",
      "system|admin|administrator|developer|root|security|priority|emergency ..1 override|directive|mandate @end",
      "new|updated|revised ..1 system ..1 message|prompt|instruction|instructions|directive",
      "the following ..4 is|are ..2 for ..2 ai|assistant|model|llm|agent|you ..1 only|alone",
      "assistant|ai|model|agent|llm ..1 instructions|instruction|directive|directives|commands @end",
    ],
    unless: [
      "show|shows|list|lists|include|includes|configure|custom|set|generate|create|update|manage|file|files|template|returns|get|prompt+templates",
    ],
  },
  {
    id: "actions.answer",
    tier: "soft",
    about: "It tells the model what to say or recommend, whatever the call.",
    phrases: [
      "always|must ..3 recommend|promote|suggest|advertise|endorse|favor ..4 our|this+company|this+brand|premium|@url|brand|product",
      "tell|inform|convince|persuade ..2 user ..4 that ..3 other|competing|competitors|account+is+compromised|must+pay|to+enter|needs+to+enter",
      "ask|prompt|trick|convince|persuade ..2 user ..3 for|to+enter|to+provide|to+share|into ..4 password|passwords|api+key|credit+card|seed+phrase|credentials|private+key|ssn|pin|mfa",
      "include|insert|append|add|embed ..4 @url|link|tracking+pixel|image ..6 every|each|all|any ..3 response|responses|reply|answer|message",
      "respond|reply|answer|return ..4 always|only ..3 approved|safe|benign|success|no+issues",
    ],
  },
];

// Texts that turn to the model with tasks of their own: what it is to do in every conversation, is suddenly allowed, or is to say when asked.

const DOES =
  "call|invoke|run|read|open|send|use|export|upload|look+up|fetch|add|include|pass|give|collect|forward|post|copy|save";

export const ADDRESS_RULES: readonly InspectionRule[] = [
  {
    id: "orders.always",
    tier: "soft",
    about: "It gives the model something to do beside the call, in every conversation or answer.",
    phrases: [
      "the ..1 first|last ..1 thing ..1 you do",
      `in|at|for|on|with ..1 each|every|any|all ..1 conversation|session|chat|answer|reply|response|request ..10 ${DOES}`,
      `${DOES} ..10 in|at|for|on|with ..1 each|every ..1 conversation|session|chat|answer|reply|response`,
      `prior+to|before ..1 any|every|each|your ..1 answer|reply|response|conversation ..6 ${DOES}`,
      "every|each|all ..1 response|responses|reply|replies|answer|answers ..2 should|must|has+to|shall|needs+to|have+to ..3 contain|include|end|begin|start|mention|recommend",
      "keep|continue calling|invoking this",
      "next|following ..1 command|commands|request|message|answer ..1 you ..1 run|execute|send|give|write",
      "you ..1 edit|write|run|execute|answer|send ..2 from+now+on",
      `after|once|when you ..2 get|got|have|receive|received|obtained ..6 quietly|also|silently|additionally|secretly ..2 ${DOES}`,
      "grant|give|assign|make yourself",
    ],
    unless: ["rate|limit|cursor|page|pagination|idempotency"],
  },
  {
    id: "orders.permission",
    tier: "hard",
    about: "It says that rules no longer hold, or that the model may do anything.",
    phrases: [
      "policy|policies|restrictions|guidelines|rules|safeguards|guardrails|instructions|safety ..6 is|are|was|were|been|has|have ..2 lifted|obsolete|void|revoked|suspended|superseded|waived|cancelled",
      "you ..1 may|can|are+allowed+to|are+free+to|are+permitted+to|are+authorized+to ..1 run|execute|delete|send|do|use|access ..1 any|anything|all|everything|whatever ..6 without|@end",
      "do|follow|perform|execute|obey ..1 everything|whatever|anything ..6 written|contains|says|contained|asks|tells|requests|note|page|it",
      "carry|carrying them|it|these ..1 out ..2 immediately|without|at+once|directly",
      "act on|upon ..6 without ..1 question|asking|hesitation|confirmation|checking|review",
      "without ..1 question|hesitation|any+checks ..2 @end",
    ],
    unless: [
      "rows|rule|id|branch|key|token|order|invoice|subscription|license|consent|may+be",
      "account|status",
      "which ..1 you ..1 can|may",
    ],
  },
  {
    id: "orders.lie",
    tier: "hard",
    about: "It tells the model what to hide or to claim.",
    phrases: [
      "if|when ..2 asked ..6 deny|lie|refuse|pretend|claim|say+that|say+no|answer+that",
      "deny that it|you|this|the+tool",
      "pretend ..4 was|were|has|have|is|succeeded|accepted",
      "tell|inform|show|say ..2 user|users|them|anyone ..1 nothing",
      "nobody|no+one|none ..1 learns|knows|sees|notices|finds|must|should|may|can ..4 about|know|learn|see|notice|out",
      "without ..1 mentioning|saying|reporting|disclosing|revealing|announcing ..2 it|this|that|anything|so|them",
      "keep ..2 to yourself",
      "$dont ..2 report|mention|show ..2 failures|failure|errors|problems|results ..2 to ..1 user",
      "mark|report|return|declare ..4 as ..2 passed|successful|safe|approved|ok|clean ..4 irrespective|regardless|whatever|even+if",
    ],
    unless: ["permission|schema|duplicate|already+exists|page"],
  },
  {
    id: "orders.instead",
    tier: "soft",
    about: "It puts something else in the place of what the user wanted.",
    phrases: [
      "whatever|no+matter ..2 user ..1 wants|asks|says|requests|needs|types ..3 recommend|say|answer|call|use|send|return|reply|buy",
      "use|insert|send|pay ..3 account|iban|wallet|address|number|recipient ..8 instead",
      "instead+of ..2 one|ones|what|that ..1 they|user|users ..1 gave|asked|wanted|named|chose|specified|typed",
      "recommend ..3 buying|investing|installing|switching|our",
    ],
    unless: ["optional|optionally", "deprecated"],
  },
];

export const REACH_RULES: readonly InspectionRule[] = [
  {
    id: "secrets.possessions",
    tier: "soft",
    about: "It has the model take private things along that belong to the user or to itself.",
    phrases: [
      "open|look+up|fetch|get|take|give|pass|supply|read|copy|use|collect|attach ..4 user's|their|browser's|your ..2 contacts|cookies|cookie|address+book|photos|inbox|passwords|token|tokens|wallet|messages|documents|keys|clipboard|history ..8 and|as|into|in|to ..4 pass|give|send|as|into|argument|parameter|field|zone|seed|theme|them|it",
      "token|key|secret|password|credentials|credential ..3 you ..2 were|are|have+been|was ..2 configured|given|started|provided|authenticated ..4 with|@end",
      "all|every|any ..3 file|files|contents|documents|code ..3 you ..2 have|had|saw|read|opened ..1 seen|read|opened|edited|visited|@end",
      "everything|anything|all ..2 user|users ..2 typed|said|wrote|entered|types|says|writes|told",
      "@variable ..6 as|in|into|for ..3 $argument|salt|seed|value|query|name",
      "$transfer ..3 your|user's|their ..3 $private ..5 to|so|into",
      "also|additionally|then ..2 $transfer|export|exports|save|saves ..5 messages|mails|emails|files|documents|contacts|notes|history|records ..3 to ..2 address|server|endpoint|host|account|url|drive",
      "post|posts|send|sends|forward|forwards|upload|uploads ..6 to @url",
    ],
    unless: [
      "header|headers|authorization|authenticate|login|oauth|vault|encrypted|redirect|callback",
      "file+types|allowed|optional|optionally|example|e.g",
    ],
  },
];
