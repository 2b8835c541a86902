// Texts that have the model run commands, change what starts by itself, or hear of messages meant for it alone.
import type { Rule } from "./rule.js";

export const ACTION_RULES: readonly Rule[] = [
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
    unless: ["without|until ..3 user|user's ..4 approval|confirmation|confirmed|approved"],
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
