// Texts that tell the model to drop its instructions, to take on others, or to be somebody else.
import type { Rule } from "./rule.js";

export const OVERRIDE_RULES: readonly Rule[] = [
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
      "treat|regard|consider|interpret|take any|all|every|its|the|these|anything|instructions ..8 as ..5 command|commands|instruction|instructions|authorized|trusted|system+message|directive|directives|order|orders|authoritative",
      "obey|comply+with|carry+out ..3 whatever|any|all|every|subsequent|new|these|the ..4 instruction|instructions|command|commands|request|requests|directive|directives|orders",
      "follow|execute|perform|obey ..3 instructions|commands|directives ..4 embedded|hidden|contained|inside|found ..3 in|inside|within|page|content|result|response|text|document|file|output|comments|it",
      "must|will|shall|should comply with ..2 all|any|every|subsequent|the|these ..3 request|requests|commands|instructions|directives",
      "execute ..3 command|commands|code|script ..2 supplied|provided|contained|found ..6 no+confirmation|without+confirmation|without+asking",
    ],
    unless: ["$dont ..2 follow|execute|obey|perform|treat|trust|carry+out"],
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
