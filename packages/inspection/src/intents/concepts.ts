// Tells which concepts of the vocabulary a sentence speaks of. One pass over its words.
import type { ConceptName } from "./concept.js";
import { type CompiledPhrase, compilePhrase, type Names, standsAt } from "../texts/phrase.js";
import type { Sentence } from "../texts/words.js";
import { VOCABULARY } from "./vocabulary.js";

// Brings the forms of an English word together: a table of words must not need "hand", "hands", "handed" and "handing".

const DOUBLED = /([bdgklmnprt])\1$/;

/** Not a word of the language: only equal for the forms of one. Shorter words are left alone. */
export function stemOf(word: string): string {
  const plain = word.endsWith("'s") || word.endsWith("s'") ? word.slice(0, word.lastIndexOf("'")) : word;
  if (plain.length < 4) return plain;
  return withoutEnding(plain).replace(/e$/, "");
}

function withoutEnding(word: string): string {
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  if (word.endsWith("ied") && word.length > 4) return `${word.slice(0, -3)}y`;
  if (word.endsWith("ing") && word.length > 5) return word.slice(0, -3).replace(DOUBLED, "$1");
  if (word.endsWith("ed") && word.length > 4 && !word.endsWith("eed")) return word.slice(0, -2).replace(DOUBLED, "$1");
  if (/(?:ss|x|ch|sh)es$/.test(word)) return word.slice(0, -2);
  if (word.endsWith("s") && !/(?:ss|us|is)$/.test(word)) return word.slice(0, -1);
  return word;
}

// The vocabulary in the languages most models know as well as English: beginnings of words, and in scripts without blanks the words themselves.

/** German, French, Spanish, Portuguese, Italian, Dutch, Polish, Turkish, Russian. */
const BEGINNINGS: Partial<Record<ConceptName, string>> = {
  file: `schlüsselbund privatschlüssel clé+privée clés+privées llave+privada llaves+privadas clave+privada claves+privadas chave+privada chaves+privadas
    chiav+privat privé-sleutel klucz+prywatn anahtarlar закрыт+ключ приват+ключ приватн+ключ ключ+ssh privaten+schlüssel private+schlüssel geheim+schlüssel ssh-schlüssel clé+ssh clave+ssh chiave+ssh chave+ssh schlüsselpaar portefeuille monedero`,
  credential: `passwort passwörter kennwort kennwörter zugangsdaten anmeldedaten zugriffsschlüssel geheimnis contraseñ credencial senhas senha credenciais
    credenzial identifiants mots+de+passe mot+de+passe jeton wachtwoord inloggegevens hasło hasła hasło poświadcze parol şifre парол учётн+данн учетн+данн токен
    секрет claves clés api-schlüssel sitzungscookie cookies sitzungstoken api-key zugangstoken clé+api clave+api chave+de+api chiave+api jeton+d'accès token+de+acceso klucz+api api-ключ ключи`,
  environment: `umgebungsvariable variables+d'environnement variable+d'environnement variables+de+entorno variáveis+de+ambiente variabili+d'ambiente
    omgevingsvariabel zmienn+środowisk ortam+değişken переменн+окружен .env-datei`,
  talk: `gespräch unterhaltung chatverlauf nachrichtenverlauf conversación conversacion conversa conversazione gesprek rozmow konuşma переписк
    разговор диалог беседа беседу историю+чата historique+de l'historique historial chat-verlauf verlauf+der historique historia+rozmowy messages+précédents mensajes+anteriores mensagens+anteriores messaggi+precedenti nachrichten+des dialogverlauf всю+переписку сообщения+пользователя`,
  prompt: `systemprompt systemnachricht systemanweisung prompt+système invite+système prompt+del+sistema prompt+do+sistema systeemprompt системн+промпт
    системн+подсказ message+système instructions+système mensaje+del+sistema mensagem+do+sistema messaggio+di+sistema system-prompt istruzioni+di+sistema systembefehl komunikat+systemowy системное+сообщение instrukcje+systemowe sistem+istemi`,
  person: `kreditkarte kontonummer adressbuch kontakte personalausweis carte+bancaire carnet+d'adresses tarjeta+de+crédito contactos número+de+cuenta
    cartão+de contatos carta+di+credito rubrica kontakty банковск+карт контакт+пользователя паспорт kreditkartennummer adressen+der fotos+des numéro+de+carte datos+personales dados+pessoais dati+personali dane+osobowe личные+данные personenbezogene`,
  read: `lies lese lesen öffne öffnen hole sammle lis lisez récupère récupérez ouvre ouvrez collecte lee leer abre obtén recoge leia abra colete leggi apri
    raccogli lees haal przeczytaj otwórz oku topla прочитай прочти прочитайте открой собери считай извлеки hol besorge suche+nach durchsuche prends cherche fouille toma busca recupera procure pegue cerca prendi zoek haal+op znajdź pobierz bul bak найди возьми загляни скопируй`,
  give: `übergib übergebe übergeben füge hänge trage gib schreibe setze joins joignez ajoute ajoutez mets passe inclus pon pasa incluye añade agrega
    adjunta inclua adicione anexe passa allega includi aggiungi inserisci voeg dołącz wstaw przekaż yaz ekle передай передайте добавь вставь укажи впиши вложи häng hänge+an pack packe nenne zitiere gib+an cite citez donne donnez fournis indique mete coloca escribe cita facilita coloque cite escreva metti scrivi cita fornisci geef zet vermeld podaj wklej dodaj zacytuj koy gir belirt вставляй приложи процитируй назови запиши`,
  send: `schicke schick sende senden leite übermittle lade+hoch envoie envoyez envoyer transmets transfère transférez envía envia enviar reenvía reenvia
    envie encaminhe invia inoltra manda verstuur stuur wyślij prześlij gönder ilet отправь отправьте отправляй перешли пересылай перешлите отошли mail+an leite+weiter weiterleiten lade+auf kopie copie+à copie+cachée mets+en+copie mande manda+una llevar+copia copia+oculta copia+a cópia+oculta cópia+para copia+nascosta copia+conoscenza kopię+do udw przekaż+dalej kopya ekleyerek копию+на скрытую+копию слать пришли`,
  argument: `feld parameter argument paramètre champ parámetro campo argumento parâmetro parametro veld parametr pole alanı alanına параметр поле аргумент`,
  untold: `ohne+den+benutzer ohne+den+nutzer nichts+davon nichts+erfahren nicht+erfahren sag+dem+nutzer+nicht verschweige sans+prévenir sans+avertir sans+en+parler
    sans+le+dire ne+dis+rien n'en+parle sin+avisar sin+decir no+se+lo no+le+digas sem+avisar sem+contar não+diga não+conte senza+avvisar senza+dirlo
    non+dirlo zonder+te bez+wiedzy nie+mów söyleme haber+vermeden не+сообщай не+говори не+упоминай не+рассказывай без+ведома benutzer+nicht+mit
    nutzer+nicht+mit nutzer+nichts benutzer+nichts sans+rien+dire sans+demander sin+preguntar sin+informar sem+informar sem+perguntar senza+chiedere senza+informare zonder+vragen zonder+de bez+pytania bez+informowania nie+informuj bildirmeden sormadan не+уведомляй без+уведомления ничего+не+говори ohne+zu+fragen ohne+nachfrage ohne+es nicht+erwähnen davon+nichts ne+le+dis ne+mentionne`,
  quiet: `heimlich unbemerkt stillschweigend secrètement discrètement secretamente silenciosamente em+segredo segretamente di+nascosto stiekem potajemnie
    gizlice тайно незаметно скрытно втайне молча`,
  rules: `anweisung vorgabe regeln instruktion richtlinie consigne instruccion instrucción directrices reglas instrução instruções regras istruzion regole
    direttive instructies aanwijzing regels instrukcj polecenia zasady talimat kural указани инструкц правил команд ограничен beschränkung einschränkung datenschutz sicherheitsregel restrictions+de règles règle restricciones normas restrições restrizioni norme beperking ograniczenia wytyczne kısıtlama kuralları запрет политик`,
  void: `ignorier vergiss missacht gelten+nicht gilt+nicht hinfällig oublie oubliez ignore+les ignorez tiens+plus+compte ne+tenez olvida ignora ignore+as
    desconsidere esqueça esqueca dimentica negeer vergeet zignoruj zapomnij yok+say unut dikkate+alma забудь забудьте игнориру отмен недействительн aufgehoben ne+valent+pas ne+s'appliquent+plus ne+s'applique+plus ya+no+valen ya+no+aplican quedan+anuladas não+valem+mais não+se+aplicam non+valgono+più gelden+niet nie+obowiązują geçersiz сняты снято больше+не+действуют не+действуют не+действует aufheben`,
  pressed: `bevor zuerst immer unbedingt zusätzlich vorher avant d'abord toujours antes siempre primero sempre prima+di voordat altijd zawsze önce прежде
    сначала всегда обязательно перед davor jedes+mal jede+mail chaque cada каждый каждое każdy ogni her elk`,
  addressed: `assistent assistant-ki nutzer benutzer anwender l'utilisateur utilisateur usuario usuário utilizador utente gebruiker użytkownik kullanıcı
    пользовател`,
};

/** Chinese, Japanese, Korean; a word may stand anywhere. */
const UNSPACED: Partial<Record<ConceptName, string>> = {
  file: `私钥 密钥 私鑰 密鑰 钥匙串 秘密鍵 鍵ファイル 개인키 비밀키 助记词 私有密钥 秘钥 ssh密钥 秘密の鍵`,
  credential:
    "密码 密碼 口令 凭证 凭据 憑證 令牌 apiキー パスワード 認証情報 トークン クッキー 비밀번호 암호 자격증명 토큰 api키 cookie apikey api密钥",
  environment: "环境变量 環境變數 環境変数 환경변수",
  talk: `对话记录 對話記錄 聊天记录 聊天記錄 对话内容 对话历史 会話履歴 会話の 会話全体 대화 채팅기록 对话 聊天 會話 やり取り 履歴 대화내용`,
  prompt: "系统提示 系統提示 系统指令 システムプロンプト システムメッセージ 시스템프롬프트",
  person: "通讯录 银行卡 身份证 联系人 個人情報を 連絡先 クレジットカード 연락처 신용카드",
  read: "读取 讀取 打开 收集 获取 読み取 読み込 読んで 集めて 取得し 읽어 읽고 수집",
  give: `放进 放入 填入 写入 附在 附上 添加到 作为参数 放到 入れて 含めて 渡して 書き込 添付して 넣어 넣으 포함 첨부 전달 传给 传入 交给 加入到 寫入 添え 記載して 注入`,
  send: `发送到 发送给 发到 发给 上传到 转发 發送到 上傳 抄送 送信して 送って 転送 アップロードして 보내 전송 업로드 传给 传送 寄给 外部服务器 外部サーバー 送る 送れ 외부`,
  argument: "参数 參數 字段 欄位 引数 パラメータ フィールド 인수 매개변수 필드",
  untold: `不要告诉 不要告知 不要让用户 不要向用户 不告诉用户 无需告知 无需通知 不要提及 不必告诉 瞒着用户 別告訴 不要告訴 知らせない 伝えない 言わない 教えない 気づかれ
    말하지 알리지 모르게 언급하지 对用户保密 保密 用户不知道 不让用户 ユーザーに内緒 内緒 비밀로`,
  quiet: "悄悄 偷偷 暗中 秘密地 后台静默 こっそり 密かに ひそかに 몰래 은밀히",
  rules: "指示 指令 规则 規則 限制 ルール 制限 지시 규칙 제한",
  void: `忽略 无视 無視 忘记 忘記 不再适用 作废 忘れて 従わない 무시 잊어 따르지 优先于 よりこの 優先し 優先して 우선하`,
  pressed: `首先 必须 必須 总是 每次 调用前 使用前 回答前 まず 必ず 使う前 毎回 먼저 반드시 항상 전에 每次 之前 の前に`,
};

interface Longer {
  readonly name: ConceptName;
  readonly rest: readonly string[];
}

/** What a word may begin, by its stem or as it stands. */
interface Book {
  readonly single: ReadonlyMap<string, readonly ConceptName[]>;
  readonly longer: ReadonlyMap<string, readonly Longer[]>;
  readonly phrases: ReadonlyMap<string, readonly (readonly [ConceptName, CompiledPhrase])[]>;
  /** Phrases that begin with a kind of word. */
  readonly anywhere: readonly (readonly [ConceptName, CompiledPhrase])[];
  /** Words of other languages by their first letters, each with what follows. */
  readonly foreign: ReadonlyMap<string, readonly Foreign[]>;
  readonly unspaced: readonly (readonly [ConceptName, string])[];
}

interface Foreign {
  readonly name: ConceptName;
  readonly beginnings: readonly string[];
}

/** Letters by which words of other languages are looked up: the shortest have no more. */
const FOREIGN_KEY = 2;
/** Words of plain letters up to this length are compared whole: English has words that begin like them. */
const LONGEST_WHOLE = 5;
/** Of other languages only forms are known that order something. */
const ORDERED: ReadonlySet<ConceptName> = new Set(["read", "give", "send", "void"]);
/** Ways to hide that are words by themselves. */
const OPPOSABLE: ReadonlySet<ConceptName> = new Set(["quiet", "lie"]);
const NEGATIONS: ReadonlySet<string> = new Set(["not", "never", "don't", "instead of", "rather than"]);
const PLAIN = /^[a-z]*$/;
const UNSPACED_SCRIPT = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

let book: Book | undefined;

/** The concepts a sentence speaks of, each with the place of its first word. */
export function conceptsOf(sentence: Sentence, names: Names): ReadonlyMap<ConceptName, number> {
  book ??= bookOf();
  const stems = sentence.map(({ text }) => stemOf(text));
  const found = new Map<ConceptName, number>();
  const add = (name: ConceptName, at: number): void => void (found.has(name) || found.set(name, at));
  const addForeign = (name: ConceptName, at: number): void => {
    add(name, at);
    if (ORDERED.has(name)) add("imperative", at);
  };
  for (const [at, { text }] of sentence.entries()) {
    const stem = stems[at] ?? "";
    for (const name of book.single.get(stem) ?? []) if (!OPPOSABLE.has(name) || !isOpposed(sentence, at)) add(name, at);
    for (const { name, rest } of book.longer.get(stem) ?? [])
      if (rest.every((each, index) => stems[at + 1 + index] === each)) add(name, at);
    for (const phrases of [book.phrases.get(text) ?? [], book.anywhere])
      for (const [name, phrase] of phrases)
        if (!found.has(name) && standsAt(phrase, sentence, at, names)) add(name, at);
    for (const { name, beginnings } of book.foreign.get(text.slice(0, FOREIGN_KEY)) ?? [])
      if (beginnings.every((each, index) => isForm(sentence[at + index]?.text ?? "", each))) addForeign(name, at);
    if (UNSPACED_SCRIPT.test(text))
      for (const [name, part] of book.unspaced) if (text.includes(part)) addForeign(name, at);
  }
  return found;
}

/** Whether the word at a place is said not to be done: "never silently" and "do not invent" are the opposite of hiding. */
function isOpposed(sentence: Sentence, at: number): boolean {
  const [second, first] = [sentence[at - 2], sentence[at - 1]];
  if (first === undefined || first.pause) return false;
  // As in "never guess or invent".
  if (first.text === "or") return NEGATIONS.has(sentence[at - 3]?.text ?? "");
  return NEGATIONS.has(first.text) || NEGATIONS.has(`${second?.text ?? ""} ${first.text}`);
}

/** A short word stands as it is; a longer one has endings. */
function isForm(text: string, beginning: string): boolean {
  return (
    text === beginning || ((beginning.length > LONGEST_WHOLE || !PLAIN.test(beginning)) && text.startsWith(beginning))
  );
}

function bookOf(): Book {
  const single = new Map<string, ConceptName[]>();
  const longer = new Map<string, Longer[]>();
  const phrases = new Map<string, (readonly [ConceptName, CompiledPhrase])[]>();
  const anywhere: (readonly [ConceptName, CompiledPhrase])[] = [];
  for (const [key, concept] of Object.entries(VOCABULARY)) {
    const name = key as ConceptName;
    for (const term of (concept.words ?? "").trim().split(/\s+/)) {
      const [first = "", ...rest] = term.split("+").map(stemOf);
      if (rest.length === 0) push(single, first, name);
      else push(longer, first, { name, rest });
    }
    for (const phrase of (concept.phrases ?? []).map(compilePhrase)) {
      if (phrase.first === undefined) anywhere.push([name, phrase]);
      for (const word of phrase.first ?? []) push(phrases, word, [name, phrase] as const);
    }
  }
  return { single, longer, phrases, anywhere, foreign: foreignWords(), unspaced: unspacedWords() };
}

function foreignWords(): ReadonlyMap<string, readonly Foreign[]> {
  const foreign = new Map<string, Foreign[]>();
  for (const [name, terms] of Object.entries(BEGINNINGS))
    for (const term of terms.trim().split(/\s+/))
      push(foreign, term.slice(0, FOREIGN_KEY), { name: name as ConceptName, beginnings: term.split("+") });
  return foreign;
}

function unspacedWords(): readonly (readonly [ConceptName, string])[] {
  return Object.entries(UNSPACED).flatMap(([name, terms]) =>
    terms
      .trim()
      .split(/\s+/)
      .map((term) => [name as ConceptName, term] as const),
  );
}

function push<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}
