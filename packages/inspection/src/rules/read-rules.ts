// Runs every rule of phrases over the sentences of one text.
import { type InspectionRule, type TextFinding, excerptOf } from "../texts/finding.js";
import {
  type CompiledPhrase,
  compilePhrase,
  findPhrase,
  isMentioned,
  type Match,
  type Names,
} from "../texts/phrase.js";
import type { Sentence } from "../texts/words.js";
import { ACTION_RULES, ADDRESS_RULES, REACH_RULES } from "./action-rules.js";
import { CONCEALMENT_RULES, MALICE_RULES, SECRET_RULES } from "./secret-rules.js";
import { OVERRIDE_RULES, SHADOWING_RULES, TIME_BOMB_RULES } from "./override-rules.js";

// The plainest orders of the other families in the languages most models know as well as English.

const LANGUAGE_RULES: readonly InspectionRule[] = [
  {
    id: "override.translated",
    tier: "hard",
    about: "It tells the model, in another language, to ignore its instructions.",
    phrases: [
      "ignoriere|ignorieren|vergiss|vergessen|missachte|missachten ..4 alle|vorherigen|vorherige|bisherigen|obigen|deine|ihre ..3 anweisungen|anweisung|instruktionen|regeln|vorgaben|befehle",
      "ignore|ignorez|oublie|oubliez ..4 toutes|tous|les|tes|vos ..4 instructions|consignes|directives|règles|regles|ordres ..2 précédentes|precedentes|antérieures|ci-dessus|système|@end",
      "ignora|ignore|olvida|olvide|ignorar ..4 todas|las|tus|sus|anteriores|previas ..4 instrucciones|indicaciones|reglas|órdenes|ordenes|directrices",
      "ignora|dimentica|ignorare ..4 tutte|le|tue|precedenti ..4 istruzioni|regole|direttive|indicazioni",
      "ignore|ignorar|esqueça|esqueca|desconsidere ..4 todas|as|suas|anteriores ..4 instruções|instrucoes|regras|diretrizes",
      "игнорируй|игнорируйте|забудь|забудьте ..4 все|предыдущие|прежние|свои ..3 инструкции|указания|правила|команды",
      "negeer|vergeet ..4 alle|vorige|eerdere|bovenstaande ..3 instructies|aanwijzingen|regels",
      "zignoruj|ignoruj|zapomnij ..4 wszystkie|poprzednie|wcześniejsze ..3 instrukcje|polecenia|zasady",
    ],
  },
  {
    id: "concealment.translated",
    tier: "hard",
    about: "It wants, in another language, something kept from the user.",
    phrases: [
      "sage|erzähle|erzähl|verrate|erwähne|informiere|teile ..6 dem|den|der ..1 benutzer|nutzer|anwender ..4 nicht|nichts|niemals",
      "ne dis|dites|mentionne|mentionnez|révèle|révélez|informe|informez|signale|signalez ..1 pas|rien|jamais ..6 utilisateur|l'utilisateur|à+l'utilisateur",
      "no ..2 digas|diga|menciones|mencione|reveles|informes|informe|le+digas ..6 usuario|al+usuario",
      "non ..2 dire|dirlo|menzionare|rivelare|informare ..4 utente|all'utente|l'utente",
      "não ..2 diga|conte|mencione|revele|informe ..4 usuário|usuario|utilizador",
      "не ..2 говори|говорите|сообщай|сообщайте|упоминай|рассказывай ..4 пользователю|юзеру",
    ],
  },
];

/** The same in scripts without blanks between words: looked for as they stand. */
export const UNSPACED_ORDERS: readonly {
  readonly id: string;
  readonly about: string;
  readonly texts: readonly string[];
}[] = [
  {
    id: "override.translated",
    about: "It tells the model, in another language, to ignore its instructions.",
    texts: [
      "忽略之前",
      "忽略以上",
      "忽略所有",
      "忽略先前",
      "无视之前",
      "无视以上",
      "無視之前",
      "忽略前面",
      "以前の指示を無視",
      "前の指示を無視",
      "これまでの指示を無視",
      "上記の指示を無視",
      "すべての指示を無視",
      "이전 지시",
      "이전의 모든 지시",
      "모든 지시를 무시",
      "تجاهل جميع التعليمات",
      "تجاهل التعليمات",
      "התעלם מכל ההוראות",
      "पिछले निर्देशों को अनदेखा",
      "पिछले सभी निर्देश",
    ],
  },
  {
    id: "concealment.translated",
    about: "It wants, in another language, something kept from the user.",
    texts: [
      "不要告诉用户",
      "不要告知用户",
      "不要向用户",
      "別告訴用戶",
      "不要告訴使用者",
      "ユーザーに言わない",
      "ユーザーには言わない",
      "ユーザーに伝えない",
      "ユーザーに知らせない",
      "사용자에게 말하지",
      "사용자에게 알리지",
      "لا تخبر المستخدم",
      "אל תספר למשתמש",
      "उपयोगकर्ता को मत बता",
      "उपयोगकर्ता को न बता",
    ],
  },
];

interface Compiled {
  readonly rule: InspectionRule;
  /** Which of the rules it is. */
  readonly at: number;
  readonly phrases: readonly CompiledPhrase[];
  readonly near: readonly CompiledPhrase[] | undefined;
  readonly with: readonly CompiledPhrase[] | undefined;
  readonly unless: readonly CompiledPhrase[];
}

const RULES: readonly InspectionRule[] = [
  ...OVERRIDE_RULES,
  ...CONCEALMENT_RULES,
  ...SECRET_RULES,
  ...SHADOWING_RULES,
  ...TIME_BOMB_RULES,
  ...ACTION_RULES,
  ...ADDRESS_RULES,
  ...REACH_RULES,
  ...LANGUAGE_RULES,
  ...MALICE_RULES,
];

/** A phrase that a rule has; which one it is decides which rules and phrases come first. */
interface Opening {
  readonly at: number;
  readonly rule: Compiled;
  readonly phrase: CompiledPhrase;
}

/** For each word the phrases that it can begin. */
interface Book {
  readonly byWord: ReadonlyMap<string, readonly Opening[]>;
  /** Those that begin with a kind of word. */
  readonly always: readonly Opening[];
}

/** A sentence, and the phrases of one rule that may stand in it. */
interface Place {
  readonly index: number;
  readonly phrases: CompiledPhrase[];
}

let book: Book | undefined;

/** A sign and the sentence it was found in, counted from 0. */
interface SpokenSign extends TextFinding {
  readonly sentence: number;
}

/** The signs of each rule that fits, in the order of the rules; each once. */
export function readRules(sentences: readonly Sentence[], names: Names): SpokenSign[] {
  book ??= bookOf(RULES.map(compileRule));
  const places = new Map<Compiled, Place[]>();
  for (const [index, sentence] of sentences.entries())
    for (const { rule, phrase } of openingsIn(sentence, book)) {
      const known = places.get(rule);
      const last = known?.at(-1);
      if (known === undefined) places.set(rule, [{ index, phrases: [phrase] }]);
      else if (last?.index === index) last.phrases.push(phrase);
      else known.push({ index, phrases: [phrase] });
    }
  const inOrder = [...places].sort(([one], [other]) => one.at - other.at);
  const signs = inOrder.flatMap(([rule, where]) => firstHit(rule, where, sentences, names) ?? []);
  const cues = readCues(sentences);
  return cues === undefined ? signs : [...signs, cues];
}

/** What may stand in a sentence, in the order of the rules and of their phrases. */
function openingsIn(sentence: Sentence, { byWord, always }: Book): Opening[] {
  const found = new Set(always);
  for (const { text } of sentence) for (const opening of byWord.get(text) ?? []) found.add(opening);
  return [...found].sort((one, other) => one.at - other.at);
}

function bookOf(rules: readonly Compiled[]): Book {
  const byWord = new Map<string, Opening[]>();
  const always: Opening[] = [];
  const openings = rules.flatMap((rule) => rule.phrases.map((phrase) => ({ rule, phrase })));
  for (const [at, { rule, phrase }] of openings.entries()) {
    const opening = { at, rule, phrase };
    if (phrase.first === undefined) always.push(opening);
    for (const word of phrase.first ?? []) {
      const known = byWord.get(word);
      if (known === undefined) byWord.set(word, [opening]);
      else known.push(opening);
    }
  }
  return { byWord, always };
}

function compileRule(rule: InspectionRule, at: number): Compiled {
  return {
    rule,
    at,
    phrases: rule.phrases.map(compilePhrase),
    near: rule.near?.map(compilePhrase),
    with: rule.with?.map(compilePhrase),
    unless: (rule.unless ?? []).map(compilePhrase),
  };
}

function firstHit(
  rule: Compiled,
  places: readonly Place[],
  sentences: readonly Sentence[],
  names: Names,
): SpokenSign | undefined {
  for (const { index, phrases } of places) {
    const sentence = sentences[index] ?? [];
    const match = matchOf(rule, phrases, sentence, names);
    if (match === undefined || !holds(rule, sentences, index, names)) continue;
    const words = sentence.slice(Math.max(0, match.start - 3), match.end + 6).map(({ text }) => text);
    const { id, tier, about } = rule.rule;
    return { id, tier, about, excerpt: excerptOf(words.join(" ")), sentence: index };
  }
  return undefined;
}

function matchOf(
  { rule }: Compiled,
  phrases: readonly CompiledPhrase[],
  sentence: Sentence,
  names: Names,
): Match | undefined {
  for (const phrase of phrases) {
    for (let from = 0; from < sentence.length;) {
      const match = findPhrase(phrase, sentence, names, from);
      if (match === undefined) break;
      if (rule.evenMentioned === true || !isMentioned(sentence, match)) return match;
      from = match.start + 1;
    }
  }
  return undefined;
}

function holds(rule: Compiled, sentences: readonly Sentence[], index: number, names: Names): boolean {
  const sentence = sentences[index] ?? [];
  const stands = (phrases: readonly CompiledPhrase[], where: Sentence): boolean =>
    phrases.some((phrase) => findPhrase(phrase, where, names) !== undefined);
  if (stands(rule.unless, sentence)) return false;
  if (rule.with !== undefined && !stands(rule.with, sentence)) return false;
  const { near } = rule;
  if (near === undefined) return true;
  return sentences.slice(Math.max(0, index - 1), index + 2).some((each) => stands(near, each));
}

// Weighs weak words that honest descriptions seldom have together in one sentence: who acts, whose things, what kind, where to, how pressing.

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
function readCues(sentences: readonly Sentence[]): (TextFinding & { readonly sentence: number }) | undefined {
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
