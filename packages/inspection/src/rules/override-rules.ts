// Texts that tell the model to drop its instructions, to take on others, or to be somebody else.
import type { InspectionRule } from "../texts/finding.js";

/** How to use something is told in instructions too; whoever calls orders by that name is still reported. */
const USAGE = "usage|setup|set-up|installation|getting-started ..1 instructions|instruction";

export const OVERRIDE_RULES: readonly InspectionRule[] = [
  {
    id: "override.usage",
    tier: "soft",
    about: "It has the model follow instructions that are not in the description.",
    phrases: [`follow|execute|perform|obey ..3 ${USAGE} ..4 embedded|hidden|contained|inside|found|returned ..3 *`],
  },
  {
    id: "override.instructions",
    tier: "hard",
    about: "It tells the model to ignore instructions it was given.",
    phrases: [
      "$ignore ..3 $before|all|your|system|safety|initial|original|existing|developer|any+other ..3 instruction|instructions|prompt|prompts|directive|directives|directions|guardrails|guidelines|safeguards|programming|training|orders|commands",
      "$ignore ..3 $before|your|safety|system|developer|all+prior|all+other|all+your ..3 rules|constraints|restrictions|policy|policies|limitations|context|conversation|messages|information|tool+descriptions|filters",
      "$ignore ..2 developer's|provider's|vendor's|operator's|user's|client's|host's ..3 instruction|instructions|prompt|rules|guidelines|directives|policy|policies",
      "$ignore ..3 instructions|guidelines|rules|directives|policy|prompt of ..2 your|provider|system|developer|operator|vendor|host|client|user",
      "$void ..3 your|the+model's|the+assistant's|the+ai's|model|assistant|ai|proxy's|llm ..3 $safety",
      "$void ..2 $before|all+prior|all+previous ..3 $instructions",
      "disregard|ignore|override|bypass ..2 safety|security|ethical|content ..2 guidelines|policy|policies|guardrails|safeguards|protocols|restrictions|instructions",
      "$ignore ..1 everything|anything|whatever|all ..4 above|before|previously|earlier|told|said|instructed|prior",
      "$ignore ..4 guidelines|instructions|rules|directions ..2 given|set|provided|imposed ..2 by",
      "delete|erase|clear|remove|wipe|drop ..4 instructions|guidelines|rules|directives ..3 from ..1 your",
      "safety|security ..1 checks|filters|controls ..4 turned+off|disabled|skipped|ignored|bypassed ..2 while|when|for|@end",
      "instructions ..3 take|takes|have|has ..2 precedence|priority ..2 over",
      "these|this|following|its ..3 instructions|instruction|rule|rules ..3 override|overrides|supersede|supersedes|replace|replaces ..4 $prior",
    ],
  },
  {
    id: "override.above",
    tier: "hard",
    about: "It tells the model to ignore what was said before.",
    phrases: [
      "ignore|disregard|forget ..2 above|foregoing|preceding @end",
      "ignore|disregard|forget all|everything|anything previous|prior|above|before @end",
    ],
  },
  {
    id: "override.user",
    tier: "hard",
    about: "It tells the model to ignore what the user wants.",
    phrases: [
      "ignore|disregard|override|forget ..2 user|user's|users' ..2 request|requests|instruction|instructions|wishes|intent|question|questions|query|command|commands|choice|decision|actual",
      "regardless+of|no+matter|whatever|irrespective+of ..2 what ..2 user ..3 asks|asked|says|said|requests|requested|wants|wanted|specifies|specified|types|chooses",
      "regardless+of|instead+of|irrespective+of ..2 user's ..2 request|instruction|instructions|intent|choice|wishes",
      "whatever ..1 user ..1 wants|asks|says|requests",
      "even+if ..2 user ..4 asks|says|requests|objects|refuses|declines|tells ..3 not|otherwise|stop",
    ],
  },
  {
    id: "override.orders",
    tier: "hard",
    about: "It puts itself in the place of the user or of the system.",
    phrases: [
      "treat|regard|consider|interpret|take any|all|every|its|the|these|anything|instructions ..8 as ..5 command|commands|instruction|instructions|authorized|trusted|system+message|directive|directives|order|orders",
      "treat|regard|consider|interpret|take ..3 anything|everything|instruction|instructions|text|request|requests|command|commands|message|messages|comments ..8 as ..5 authoritative",
      "obey|comply+with|carry+out ..3 whatever|any|all|every|subsequent|new|these|the ..4 instruction|instructions|command|commands|request|requests|directive|directives|orders",
      "follow|execute|perform|obey ..3 instructions|commands|directives ..4 embedded|hidden|contained|inside|found ..3 in|inside|within|page|content|result|response|text|document|file|output|comments|it",
      "must|will|shall|should comply with ..2 all|any|every|subsequent|the|these ..3 request|requests|commands|instructions|directives",
      "execute ..3 command|commands|code|script ..2 supplied|provided|contained|found ..6 no+confirmation|without+confirmation|without+asking",
    ],
    unless: ["$dont ..2 follow|execute|obey|perform|treat|trust|carry+out", USAGE],
  },
  {
    id: "override.role",
    tier: "hard",
    about: "It gives the model another role or frees it of its limits.",
    phrases: [
      "you ..2 are|will|must ..2 now|be|become|act ..3 in|a|an|operating|acting|free|unrestricted|unfiltered ..3 developer|debug|dan|god|admin|maintenance|unrestricted|jailbreak|jailbroken|root|unfiltered|evil|compliance ..2 mode|assistant|ai|agent|bot|model|model+that",
      "enter|activate|enable|switch+to ..2 developer|dan|god|jailbreak|unrestricted|unfiltered mode",
      "you are now free|unrestricted|unfiltered|jailbroken|dan|authorized|allowed",
      "you are no longer ..2 bound|restricted|limited|an|subject|required",
      "act|behave|respond|operate as ..2 unrestricted|unfiltered|jailbroken|uncensored|root",
      "without|no|any ..2 safety|ethical|moral|content ..1 checks|filters|restrictions|limits|limitations|constraints|considerations",
      "pretend ..3 to+be|you+are|that+you ..8 no|without|unrestricted|not ..3 restrictions|rules|limits|limitations|guidelines|bound|filters",
    ],
    unless: ["$call|block|disable|setting|flag|harm* ..3 category|threshold|model"],
  },
  {
    id: "override.persistence",
    tier: "hard",
    about: "It wants to go on acting on the model after the call.",
    phrases: [
      "from now on ..8 you|always|forward|every|all|include|treat|respond|answer|add|append|send|use|whenever|must|each|any",
      "for ..2 rest|remainder|duration of ..2 this|the|our ..1 conversation|session|chat|interaction",
      "in|for|with|to|on ..1 all|every|any|each ..1 future|subsequent|following|later|other ..2 responses|response|messages|conversation|conversations|replies|reply|interactions|answers|sessions|tool+calls",
      "remember|memorize|keep+in+mind|save ..6 for ..3 all|every|future ..2 sessions|conversations|interactions|responses|chats",
      "^ ..0 always respond|reply|answer ..3 with|as|in|by",
    ],
    with: [
      "must|always|you|forward|include|treat|add|append|send|recommend|remember|respond|reply|answer|insert|mention|never|assistant|model|ai|whenever|use|call",
    ],
    unless: [
      "default|defaults|setting|settings|preference|preferences|rule|cached|cache|reuse|stored|id|filter|format",
    ],
  },
];

// Texts that talk about other tools: change how they are used, take their place, or come before them.

export const SHADOWING_RULES: readonly InspectionRule[] = [
  {
    id: "shadowing.behaviour",
    tier: "hard",
    about: "It changes how another tool behaves or is used.",
    phrases: [
      "$alter ..3 $behaviour ..3 of ..3 @foreign|other+tools|all+other|any+other|another+tool|all+tools|every+tool",
      "$alter ..3 @foreign ..2 tool|tool's ..2 $behaviour",
      "whenever|when|if|once|every+time|each+time|any+time|before|after|while|as+soon+as ..6 @foreign ..3 is|are|gets|has+been ..3 $called ..25 $imperative",
      "whenever|when|if|every+time|each+time|any+time|before|while ..3 $calling ..3 @foreign ..20 $imperative",
      "@foreign ..3 must|should|has+to|needs+to ..2 always|first|only|never|instead|be ..6 bcc|cc|sent|redirected|replaced|routed|preceded|called+with|set",
      "route|redirect|reroute|divert|channel ..1 all|any|every ..4 requests|calls|traffic|operations|invocations|queries ..5 here|this|through|to+this|via",
      "replace|ignore|discard|override ..2 its|their|the|any|that+tool's ..3 output|outputs|result|results|response|responses ..6 with|from|of ..6 this+tool|this|here|ours|value+returned",
      "instead+of|rather+than ..2 $calling ..2 @foreign ..12 always|must|never",
      "in+place+of|as+a+replacement+for|impersonates|masquerades ..4 @foreign|official|built-in|legitimate",
    ],
  },
  {
    id: "shadowing.recipient",
    tier: "hard",
    about: "It changes who gets messages, money or data.",
    phrases: [
      "bcc|bcc'd|bcc'ed|bcced|cc'd|blind+copy|blind-copy|carbon+copy ..8 @email",
      "add|include|insert|put ..3 @email ..6 bcc|cc|recipient|recipients",
      "@email ..6 bcc|bcc'd|bcced|blind-copied|cc'd",
      "always|also|must|additionally|silently|secretly|copy|copies|please ..6 $transfer|cc|bcc|loop ..12 @email",
      "$transfer ..6 copy|copies|duplicate|transcript|summary|log ..8 @email",
      "let @email ..2 know",
      "loop ..2 @email|in ..4 @email|on",
      "cc|bcc @email",
      "$transfer ..2 all|every|each|any ..4 emails|messages|payments|mail|transactions|funds|files ..4 to ..4 @email|@url|attacker*|wallet",
      "regardless|instead|whatever ..8 recipient|destination|account ..6 @email|user|specified|requested",
    ],
    unless: [
      "lets+you",
      "optional|optionally",
      "branch|page|url|subscription|webhook|e.g|for+example|example|format|such+as",
    ],
  },
  {
    id: "shadowing.reroute",
    tier: "hard",
    about: "It changes where something goes that another tool sends.",
    phrases: [
      "reroute|redirect|change|replace|substitute|swap|set|overwrite ..3 destination|recipient|payee|beneficiary|receiving|receiver ..3 account|address|wallet|iban|number|email|field|to|with",
    ],
    with: ["always|first|silently|secretly|before|whatever|regardless|whenever|when|every|all|any|must|automatically"],
    unless: ["lets+you", "optional|optionally", "branch|page|url|subscription|webhook|e.g|for+example"],
  },
  {
    id: "shadowing.distrust",
    tier: "soft",
    about: "It speaks against another tool or forbids its use.",
    phrases: [
      "@foreign ..3 tool ..4 returns|gives|is|produces|provides ..3 incomplete|wrong|outdated|incorrect|unreliable|broken|unsafe|insecure|compromised|inaccurate|malicious|stale",
      "$dont ..2 use|call|invoke|trust|using|calling ..3 any+other|other+tools|another+tool|other ..2 tool|tools|server|servers",
      "supersede|supersedes|takes+precedence+over|take+precedence+over|takes+priority+over|overrides|shadows ..3 all|any|every|other ..3 tool|tools|servers",
      "supersedes|overrides|shadows|hijacks|intercepts ..2 @foreign",
      "always|must|only|exclusively ..3 use|prefer|choose|select|call|invoke|pick ..2 this ..4 instead+of|over|rather+than|in+preference ..4 any|all|every|other ..3 tool|tools|server|servers|alternatives|alternative",
      "always|must|only|exclusively ..3 use|prefer|choose|select|call|invoke|pick ..2 this ..4 before ..3 any|all|every|other ..1 other|another|request|answer|message",
      "this ..3 must|should ..1 always ..2 be ..2 called|used|invoked|chosen|selected|preferred|run ..5 first|before+any|before+every|instead|over ..5 other|any|tool|tools|request|message",
      "before|prior+to ..2 $calling|execute|answering ..6 $call this ..1 tool|function ..6 and|then|first",
      "before|prior+to ..2 $calling ..2 any|every|all ..2 other ..3 tool|tools ..8 must|always|first|call|this",
    ],
    unless: [
      "deprecated|legacy|obsolete|older|changelog|renamed",
      "until ..6 from|of|by ..1 user",
      "until ..3 user",
      // Which tool of a server comes first is said of it in these words, with nothing to be handed over.
      "call this to learn|understand|discover|see ..1 which|what|how",
      "at the beginning|start of ..1 session|conversation|task @end",
    ],
  },
  {
    id: "shadowing.call",
    tier: "soft",
    about: "It has the model call another tool that is not one of this server.",
    phrases: [
      "after|before|when|whenever|every+time|each+time ..3 $calling ..2 this|it ..8 must|always|immediately|automatically|should|first|also ..4 $call ..3 @foreign",
      "must|always|immediately|automatically ..3 call|invoke|execute|trigger ..3 @peer ..3 first|with|before|afterwards|after|tool|and",
      "call|invoke|use|run ..2 @foreign ..4 with ..6 @url|contents|content|conversation|complete|full",
    ],
    unless: ["deprecated|legacy|obsolete|renamed"],
  },
  {
    id: "shadowing.replaces",
    tier: "hard",
    about: "It wants to be used in the place of another server's tool, or whenever that one is.",
    phrases: [
      "instead+of|rather+than|in+place+of ..2 @peer ..3 always|must|only|use|call",
      "always|must|only ..4 instead+of|rather+than|in+place+of ..3 @peer",
      "never|not|stop|avoid ..1 use|using|call|calling|invoke|invoking ..2 @peer",
      "after|before|every|each|whenever ..4 @peer ..4 call|use|invoke|run ..2 this",
    ],
    unless: ["deprecated|legacy|obsolete|renamed"],
  },
  {
    id: "shadowing.peer",
    tier: "soft",
    about: "It names a tool of another server.",
    phrases: [
      "$call|$calling|$alter|before|after|when|whenever|with|instead+of|via|like|the ..4 @peer",
      "@peer ..4 tool|first|before|is|must|should|returns|instead",
    ],
    unless: ["deprecated|legacy|obsolete|renamed"],
  },
];

export const TIME_BOMB_RULES: readonly InspectionRule[] = [
  {
    id: "rug-pull.after-approval",
    tier: "hard",
    about: "It says that it will do something else once it was approved.",
    phrases: [
      "once|after|upon|following|when|until|post-approval|as+soon+as ..6 $approved ..14 will|it|begin|begins|start|starts|this|a|activates|activate ..10 arbitrary|silently|secretly|exfiltrat*|upload|uploads|clipboard|ssh|$private|malicious|hidden|payload|harvest|steal|shell|unrestricted",
      "behave|behaves|acts|act|appears|appear|remains|looks ..2 benign|benignly|normal|normally|innocent|innocently|harmless|harmlessly|safe|safely ..4 during|until|while|before|at+first|initially|for+the+first",
      "activate|activates|triggers|enables|unlock|unlocks|run|runs|starts|begins ..6 exfiltration|data-exfiltration|payload|backdoor|malicious|hidden ..8 after|once|only|later|when",
      "swap|swaps|swapped|replace|replaces|replaced|change|changes|changed|switch|switches|switched ..8 post-approval|after+approval|after+review|once+approved|when+approved",
      "later|future|next|subsequent ..2 version|update|release ..6 will ..4 silently|secretly|upload|exfiltrate|steal|read|add+a+directive|activate|enable",
      "after|on|from ..2 first|second|third|fourth|fifth|tenth|n|several|10 ..2 calls|call|invocation|invocations|uses|runs|use ..4 it|this|will|on ..4 start|starts|begin|begins|switch|switches|silently|changes|behaves",
    ],
    with: [
      "approv*|post-approval|review|version|update|release|installed|trusted|accepted|calls|call|invocations|uses|runs|later|until|during|first",
    ],
    unless: [
      "requires|require|re-approval|legitimate|pull+request|merge|merged",
      "cached|cache|rate|paginated|limit|retries|empty",
    ],
  },
];
