// Weighs weak words that honest descriptions seldom have together in one sentence: who acts, whose things, what kind, where to, how pressing.
import { excerptOf, type Sign } from "../finding.js";
import { isMentioned } from "../mention.js";
import { type CompiledPhrase, compilePhrase, findPhrase } from "../phrase.js";
import type { Sentence } from "../words.js";

/** Kinds of weak words. */
const CUES: readonly (readonly string[])[] = [
  // Who is to act: the model instead of the tool.
  [
    "assistant|agent|agents|ai|llm|model|models|chatbot",
    "your ..1 job|task|goal|duty|role",
    "you ..2 must|should|have+to|need+to",
    "please",
    "make+sure|be+sure|ensure|don't+forget",
    "^ ..0 never|always",
  ],
  // Whose things.
  [
    "user's|users'|owner's|customer's|conversation's|client's|your",
    "the|a ..0 user|users|person|owner|customer|human ..3 said|typed|mentions|mentioned|wants|wrote|gave|says|types|has|asks|sees|knows|is|are|need|needs",
  ],
  // What kind of things.
  [
    "$private|@secret|@mild|@variable",
    "$talk|$prompt",
    "recovery ..1 code|codes",
    "password|passwords|credential|credentials|token|tokens|context|memory|environment|instructions|recording|transcript|messages|configuration ..1 directory|folder|@end",
    "safety|security ..1 checks|check|controls|warnings",
    "last|previous|earlier|all|every ..2 messages|commits|emails|conversations|files",
  ],
  // Where to.
  [
    "@url|@email",
    "ftp:*|sftp:*|git@*",
    "mirror|attacker*|evil*|outside|external|elsewhere|sponsor*",
    "metadata|hints|notes|label|comment|context|header ..1 field|argument|parameter|@end",
    "in|into|under ..1 the ..1 result|output|answer|response|reply",
  ],
  // How pressing, and against what.
  [
    "regardless|irrespective|no+matter|even+if|whatever|instead|without",
    "must|required|mandatory|always|never|all+of+them|immediately",
    "turned+off|switched+off|disabled|not+be+bothered|need+not|too|also|additionally|afterwards|as+part+of",
    "to+make ..2 better|faster|sure",
    "before+each|after+each|every+time|each+time|with+each|whenever",
  ],
];

/** Kinds of weak words in one sentence that are too many. */
const TOO_MANY = 4;

let compiled: readonly (readonly CompiledPhrase[])[] | undefined;

/** The first sentence that has too many; undefined when none has. */
export function readCues(sentences: readonly Sentence[]): (Sign & { readonly sentence: number }) | undefined {
  compiled ??= CUES.map((phrases) => phrases.map(compilePhrase));
  const sentence = sentences.findIndex((words) => hasTooMany(compiled ?? [], words));
  const words = sentences[sentence];
  if (words === undefined) return undefined;
  const about = "It speaks to the model about things of the user that others are to get.";
  return {
    id: "orders.cues",
    tier: "soft",
    about,
    excerpt: excerptOf(words.map(({ text }) => text).join(" ")),
    sentence,
  };
}

function hasTooMany(cues: readonly (readonly CompiledPhrase[])[], words: Sentence): boolean {
  let missing = 0;
  for (const cue of cues) {
    if (firstMatch(cue, words) === undefined) missing += 1;
    if (missing > cues.length - TOO_MANY) return false;
  }
  return true;
}

function firstMatch(cue: readonly CompiledPhrase[], words: Sentence) {
  for (const phrase of cue) {
    const match = findPhrase(phrase, words);
    if (match !== undefined && !isMentioned(words, match)) return match;
  }
  return undefined;
}
