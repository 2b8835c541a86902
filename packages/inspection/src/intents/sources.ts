// What orders to the model are after: files, credentials, conversations, people, work.
import type { Concept, SourceName } from "./concept.js";

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
