// What a concept is, one thing a sentence can say with all the ways to say it, and the concepts of pressure and of what
// orders are after.
export interface Concept {
  /** Any form of a word; words that belong together are joined by a plus sign. */
  readonly words?: string;
  /** As the rules write them. */
  readonly phrases?: readonly string[];
}

/** What an order is after. */
type SourceName = "file" | "credential" | "environment" | "talk" | "prompt" | "person" | "work";

/** What is to be done, and where things are to go. */
export type ActionName = "read" | "give" | "send" | "argument" | "address" | "stranger" | "run" | "destroy" | "persist";

/** How it is hidden. */
export type HidingName = "untold" | "quiet" | "lie" | "omitted";

/** What is set aside, and what takes its place. */
export type TakeoverName = "rules" | "void" | "role" | "defy" | "tool" | "change";

/** How a sentence is said. */
type PressureName =
  | "trigger"
  | "authority"
  | "pressed"
  | "reason"
  | "imperative"
  | "addressed"
  | "guarded"
  | "configured"
  | "owner"
  | "wanted"
  | "whole";

export type ConceptName = SourceName | ActionName | HidingName | TakeoverName | PressureName;

// What orders to the model are after: files, credentials, conversations, people, work.

/** Things a description has no business with unless they are what the tool is about. */
export const SOURCES: Readonly<Record<SourceName, Concept>> = {
  file: {
    words: `keychain keyring ssh+folder ssh+directory ssh+key private+key signing+key key+file key+pair saved+login saved+logins saved+password
      stored+password password+manager password+store password+vault wallet seed+phrase recovery+phrase recovery+code mnemonic master+password shell+history command+history
      git+credentials certificate+store secret+store dotfile dotfiles login+keychain cloud+credentials kube+config browser+profile id_rsa keystore truststore gpg+key pgp+key encryption+key signing+certificate ssh+config vault+file cloud+key deploy+key host+key`,
    phrases: [
      "first|any|every|each|newest ..1 file ..3 ~/*|home|.ssh|/etc*|/home*",
      "contents|content|text|lines ..2 of ..3 ~/*|/etc*|/home/*|/root*|/users/*",
      "secret|private ..1 key|keys|certificate",
      "key|keys|config|configuration|credentials ..1 file|files",
      "@secret|@mild",
      "key|keys ..6 sign|signs|signed ..2 commits|releases|packages|tags",
    ],
  },
  credential: {
    words: `credential password passphrase passcode secret api+key apikey access+key access+token bearer+token auth+token session+token refresh+token
      session+cookie cookie secret+key login+data otp one-time+code pin+code authentication+code authentication+token logon token sessionid
      security+answer master+key service+account license+key passkey pat personal+access+token encryption+passphrase backup+code pin cvv session+id authenticator+code two-factor+code connection+string publish+token deployment+secret long-lived+key deployment+key account+password pass+code login+cookie keys+and+tokens stored+key saved+key hard-coded+key pass-through+token`,
    phrases: [
      "token|key|cookie ..4 assistant|agent|model|you|service ..3 used|uses|holds|has",
      "cookie ..2 and ..1 all",
      "key|keys|token ..4 you ..3 find|have|hold|know|stumble|come",
      "find|hunt|look|search ..4 key|keys|tokens|logins",
      "@variable",
      "key|keys ..4 your|the ..3 host|application|client|configuration|configured",
    ],
  },
  environment: {
    words: `environment+variable env+var env+variable process+environment printenv environ os.environ process's+environment`,
    phrases: [
      "environment|variables ..2 of ..3 process|shell|host|machine|session",
      "what ..2 path|home|env ..3 contain|contains|hold",
      "env @end",
    ],
  },
  talk: {
    words: `chat+history chat+log message+history earlier+turn previous+turn past+turn prior+turn word+for+word previous+message earlier+message prior+message past+message user+message earlier+session previous+session past+session chat+context session+memory recent+message`,
    phrases: [
      "preceding|foregoing|above|earlier ..2 exchange|exchanges|conversation|messages|dialogue|turns|discussion",
      "exchange|exchanges ..2 with ..2 user|person|human",
      "entire|whole|full|complete|past|previous|earlier|recent|current|ongoing|our|your ..2 conversation|dialogue|dialog|chat|transcript|discussion|exchange",
      "conversation|dialogue|dialog|chat|discussion|exchange ..2 so+far|history|log|record|verbatim|content|contents|transcript|until",
      "conversation|dialogue|transcript|chat ..6 as|into|to|in ..4 $argument",
      "record|copy|log|transcript ..2 of ..2 the|this|our|your ..1 conversation|chat|dialogue|dialog|session",
      "sentence|sentences|words|question|questions|request|prompt ..3 they|user|person ..2 typed|wrote|said|asked|gave",
      "all|everything|anything ..2 you ..2 know|remember|learned|noticed|heard|saw",
      "things|lines|questions|sentences ..2 user|person|human ..1 wrote|said|asked|typed",
      "memory ..2 of|from ..2 earlier|previous|past|sessions",
      "everything|anything|all|whatever|things ..4 said|typed|wrote|written|entered|discussed|spoken|exchanged|told|asked|mentioned",
      "messages|turns|words ..4 exchanged|so+far|between|preceding|up+to",
      "what ..3 user|person|human|they ..3 said|typed|wrote|asked|last|told|says|types",
      "user|person|human ..2 last ..1 typed|said|wrote|asked",
      "user|person|human|customer ..2 says|said|typed|writes|types|wrote|spoken|mentioned",
      "read|written|said ..4 so+far",
    ],
  },
  prompt: {
    words: `system+prompt system+message system+instruction preamble initial+prompt hidden+prompt chain+of+thought chain-of-thought private+thought
      developer+message developer+prompt setup+text setup+message hidden+instruction internal+instruction internal+reasoning inner+monologue
      tool+list tool+definition opening+message base+instruction operating+instruction briefing safety+note`,
    phrases: [
      "what|everything ..2 developers|developer|makers|operator|vendor|provider|host ..3 told|said|asked|gave|instructed",
      "told ..3 not ..1 to ..1 reveal|share|show|tell",
      "policies|policy|rules ..3 given|set|received ..2 elsewhere|before|earlier|else",
      "your|the ..2 briefing|brief|setup",
      "recite|recount ..3 your|the",
      "instructions|rules|guidance|orders|brief ..2 from ..2 developer|operator|host|vendor|provider|maker|company",
      "instructions|rules|guidance|guidelines|orders|text|message ..3 given|told|handed|supplied|set|precedes|preceding|provided ..4 operator|developer|you|provider|host|vendor|first",
      "what ..1 you ..1 were|have+been ..1 told|given|instructed|asked",
      "tools ..3 you ..2 have|can|know|see|use",
      "your ..3 configuration|instructions|prompt|setup|tools|reasoning|thoughts|memory|guidelines|preamble|programming|settings",
      "normally|usually ..2 keep|withhold|hide|conceal",
    ],
  },
  person: {
    words: `contact address+book phone+number card+number card+digit card+detail account+number passport birthday birthdate date+of+birth social+security ssn
      medical+record health+record salary home+address postal+address personal+data personal+detail personal+information private+message private+data private+document inbox
      browsing+history browser+history clipboard keystroke bank+detail bank+account iban
      mailbox sensitive+data sensitive+information confidential+data confidential+information customer+data customer+record internal+document internal+note company+document
      identity+document tax+number insurance+number whereabouts calendar+access calendar+entry mailbox surname maiden+name location+history payslip salary diary calendar browsing+habit visited+site employee+data bank+statement account+balance home+address fingerprint diary home+addresses shopping+habit real+name family+member health+data medical+data religion sexual+orientation patient+data net+worth pay+slip photo+library family+photo face children picture+library recordings`,
    phrases: [
      "user's ..1 contacts|friends|family|photos|pictures",
      "appointments ..2 with",
      "numbers|details|data ..2 on|in ..3 documents|cards|passports|statements",
      "sites|pages ..3 visited",
    ],
  },
  work: {
    words: `source+code working+tree working+copy whole+repository entire+repository private+repository codebase backup open+file open+document diff
      project+file local+file user+file home+directory home+folder desktop documents+folder download+folder original+document file+tree
      workspace+file uncommitted+change shell+output terminal+output hidden+folder hidden+file`,
    phrases: [
      "parts|part|pieces|all|most ..3 repository|codebase|workspace|project",
      "files|file|documents|code|contents ..4 user's|you ..3 opened|read|edited|seen|working|touched",
      "user's ..2 files|documents|data|projects|machine|disk",
    ],
  },
};

// How orders are pressed, timed and justified, whom they address, and what speaks for a harmless sentence.

/** The manner of a sentence. */
export const PRESSURE: Readonly<Record<PressureName, Concept>> = {
  trigger: {
    phrases: [
      "at night|midnight|noon",
      "in maintenance",
      "in case",
      "later|afterwards|eventually ..3 when|once",
      "future|later|subsequent|following|coming ..2 calls|call|sessions|conversations|bookings|requests|messages",
      "third|second|fourth|fifth|tenth|next|last|n-th ..2 time|call|use|invocation|run",
      "not ..2 first ..1 time|call",
      "from|after ..2 second|third|first|fourth|fifth ..2 call|use|onward|time",
      "should|when|whenever|once|if|as+soon+as|wait+until|after ..2 user|person|customer|conversation|somebody|someone|they ..4 mentions|mention|says|said|asks|types|leaves|left|talks|writes|moved|is|goes|has",
      "wait until",
      "on mondays|tuesdays|wednesdays|thursdays|fridays|weekends|saturday|sunday",
      "nobody|no+one ..2 watching|looking|around",
      "at zero|midnight|night",
      "if|when ..3 working ..1 directory|folder|tree",
      "each|every time",
      "as+long+as|while ..3 this|it ..3 loaded|available|attached|installed|connected|active|listed|there|on",
      "with this ..2 attached|loaded|installed|connected|available",
    ],
  },
  authority: {
    words: `compliance legal+department security+team administrator it+department head+office regulator sysadmin lawyer clearance headquarters boss manager supervisor`,
    phrases: [
      "admin|administrator|boss|manager|owner|ceo|support ..2 confirmed|said|decided|agreed|wants|asked",
      "research+team|data+team|analytics+team|our+analysts|our+lawyers",
      "head office",
      "approval|consent|permission ..4 given|granted|exists|covers|implied",
      "have|has ..1 cleared|okayed|ruled|instructed|ordered",
      "is|are ..1 expected ..1 by",
      "wants|asks|demands ..3 assistants|assistant|agents|agent",
      "per|by|from ..2 security|legal|policy|admin|management|compliance|company|corporate|regulation",
      "has|have ..1 approved|authorised|authorized|decided|agreed|permitted|signed+off|granted|cleared",
      "message|notice|order|announcement|memo|update ..2 from|by|of ..2 platform|admin|administrator|operator|security|system|vendor|management|team",
      "legal|policy|law|regulation|regulations|gdpr|audit ..1 requires|require|demands|prescribes|obliges",
      "licensing|license|identity|integrity|eligibility ..1 check|verification",
    ],
  },
  pressed: {
    words: "must always mandatory beforehand kindly immediately obligatory whenever invariably",
    phrases: [
      "unless|until ..2 caller|you|assistant ..2 has|have ..1 first",
      "beforehand|first|previously",
      "kindly ..1 asked",
      "each|every|all ..3 also",
      "has|have to ..1 be",
      "while ..2 you ..1 are|edit|editing|work",
      "along the way",
      "in addition",
      "before|prior+to ..2 you|any|every|each|using|calling|use|reply|replying|answering|boxing|first|responding",
      "make sure|certain",
      "be sure to",
      "have|has|needs|need to",
      "no ..2 confirmation|approval|permission ..2 @end|required|needed|necessary",
      "no point in",
      "without ..2 asking|confirmation|hesitation|delay|approval|permission|prompting|being+asked",
      "go ahead",
      "each|every ..1 time|call|request|message|answer|reply|script|one",
      "also|additionally|as+well @end",
      "^ ..0 first|always|never|also|then|kindly|please",
      "first @end",
      "in full",
    ],
  },
  reason: {
    phrases: [
      "fails|fail|errors|stops|breaks ..4 unless|until|without",
      "since|because|as|thus|therefore|hence",
      "so that",
      "otherwise|or+else|depends+on|depend+on|relies+on|hinges+on|unlocked+by|unlocks",
      "will|would|does|do not|n't ..1 work|function|answer|respond",
      "works|work|runs|performs ..1 best|better|faster|properly|correctly ..2 when|if|with",
      "to ..2 speed|keep|make|improve|calibrate|unlock|seed|warm|verify|prove|identify|personalise|personalize|authenticate|authorise|authorize|match|ensure",
      "for ..2 better|best|accurate|context-aware|improved|optimal|faster|quality|telemetry|audit|auditing|compliance|diagnostics|personalised|personalized|rounding|calibration",
      "you ..1 will|can ..1 get|have|obtain ..2 better|more|faster",
      "rejects|refuses|needs|wants|expects|requires ..2 callers|a|the|its|to",
      "calibrated|seeded|unlocked|keyed|salted",
      "uses|use them|it|this to",
    ],
  },
  imperative: {},
  addressed: {
    words: "you your yourself assistant model agent llm ai chatbot language+model copilot claude gpt gemini",
  },
  guarded: {
    words: "mask redact anonymize anonymise encrypt sanitize sanitise sandbox opt-in confirm",
    phrases: [
      "key|keys|password|passwords|token|secret|credentials|account ..2 is|are ..1 not|never",
      "can|could|may|is|are ..1 be|been ..1 ignored|skipped|overridden|disabled|suppressed",
      "ignore|ignores|ignored ..2 case|whitespace|leading|trailing|errors|error|accents|duplicates|files|missing|comments|information|words|sign",
      "$dont ..2 proceed|continue|start|begin|go ..6 until|unless|without",
      "$dont ..1 skip|bypass|ignore|override",
      "$dont|no ..2 include|includes|store|stored|share|log|commit|paste|expose|contain|hardcode|pass|put|send|return|returned|read|leave|leaves|print|hold ..6 password|passwords|secret|secrets|token|tokens|key|keys|credentials|data|values|numbers|code|personal|sensitive|files",
      "secrets|passwords|tokens|values|keys|credentials|data ..3 never|not|replaced|hidden|masked|redacted|omitted|excluded",
      "no|without secrets|passwords|credentials|tokens",
      "ask|asks|consult|tell|warn ..1 user",
      "wait|waits|waiting ..3 user|approval|confirmation",
      "user ..2 has|explicitly ..2 approved|confirmed|agreed|said|asked|requested|consented|given",
      "only ..3 if|when|after|once ..3 user|asked|requested|confirmed",
      "user's ..1 approval|consent|permission|confirmation|request",
      "do|does not use|call ..2 this|for|if|unless|when",
    ],
  },
  configured: {
    words:
      "default authenticate authorization header oauth login sign-in install setup optional deprecated documentation environment",
    phrases: [
      "must|should ..1 have ..2 read|called|run|fetched|opened|listed",
      "each ..1 entry|item|element|row|result",
      "includes|include ..2 name|type|id|the",
      "use this ..2 tool|when|whenever|for",
      "requires|require|needs|need ..4 key|keys|token|credentials|account|login|installed|permission|permissions|scope|scopes|mounts|mounted",
      "must|should|needs|has+to ..2 be|exist|have ..2 set|exist|configured|installed|valid|running|unique|existing|provided|one|called|absolute|mounted",
      "comes|come|taken|read|loaded|obtained|derived ..2 from",
      "if ..3 not|omitted|given|provided|set|true|false|specified",
      "set ..2 to true|false",
      "example|e.g|for+example|such+as|see|format",
      "list|lists|array|id|ids|number|name|type|one ..1 of",
    ],
  },
  owner: {
    words:
      "user user's person owner customer traveller visitor student patient employee colleague reader guest author human client maintainer colleague someone somebody",
    phrases: ["person|people|human|whoever ..2 using|behind|at|in+front"],
  },
  wanted: {
    phrases: [
      "is|are ..2 needed|required|wanted|expected|welcome|appreciated|interesting",
      "has|have|needs|need|wants|want|likes ..1 to ..1 see|know|receive|get|hold|have|learn",
      "must|should|shall ..1 receive|hold|contain|carry|see|know|accompany|include|travel",
      "goes|go|travel|travels|belongs|belong|lands ..1 to|in|into|along|with|there|here",
      "accompanied by|with",
      "of interest",
      "wants|needs|expects|likes|prefers ..1 a|an|the|your|all|it",
      "it|that would|will be ..1 nice|kind|helpful|best|good",
      "feel free|welcome to",
    ],
  },
  whole: {
    words: "entire verbatim unshortened unabridged unfiltered unredacted uncut whole everything",
    phrases: [
      "last ..1 ten|twenty|fifty|hundred|few",
      "anything|whatever",
      "list|lists ..2 of ..1 all",
      "in full",
      "the|its|your full|complete",
      "word for word",
      "from ..2 beginning|start|first",
      "so far",
      "including|plus|together+with",
      "all|any ..2 of|the|its|other|users|that",
    ],
  },
};
