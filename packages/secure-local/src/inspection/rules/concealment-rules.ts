// Texts that want something kept from the person the model works for, or done without asking them.
import type { Rule } from "./rule.js";

const SOFTENERS = [
  "raw|internal|ids|id|uuid|uuids|json|technical|api|error|errors|stack|database|metadata|syntax|urls|token|tokens|schema|names|identifiers",
];

export const CONCEALMENT_RULES: readonly Rule[] = [
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
      "user|human doesn't|needn't|shouldn't|mustn't|won't ..2 need|know|see|notice ..3 know|told|informed|aware|about|this|it",
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
