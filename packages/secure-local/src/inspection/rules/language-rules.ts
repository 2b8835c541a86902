// The plainest orders of the other families in the languages most models know as well as English.
import type { Rule } from "./rule.js";

export const LANGUAGE_RULES: readonly Rule[] = [
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
