// What is to be done, and where things are to go.
import type { Concept, DeedName } from "./concept.js";

/** Deeds and their targets. */
export const DEEDS: Readonly<Record<DeedName, Concept>> = {
  read: {
    words: `read open look grab fetch cat load locate retrieve collect gather obtain scan harvest print dump extract inspect access consult
      acquire capture pull echo peek learn search rummage peruse sift note+down jot trawl examine`,
  },
  give: {
    words: `put pass hand include attach add append insert place supply fill quote mention weave embed encode paste enclose carry bring enter populate
      prefix concatenate state copy submit give write tuck slip stash disclose reveal surrender provide belong feed tell drop squeeze fold merge insert attach relay-in tack supplement accompany record pour`,
  },
  send: {
    words: `send forward upload post mirror transmit relay email mail push submit deliver bcc cc ship replicate invite leak exfiltrate
      beacon share stream land wire divert redirect copy export dispatch funnel pipe hand-over ferry smuggle surrender deposit siphon`,
    phrases: [
      "hand|pass|turn ..2 over|on|along",
      "goes|go|gone ..1 straight|directly|along|also",
      "blind|carbon copy",
      "copy|copies of ..6 to|at|with",
      "picks|pick it|them ..0 up",
    ],
  },
  argument: {
    words:
      "argument parameter param field property sidenote sidecar metadata subject+line user-agent query+string user+agent payload box slot",
    phrases: [
      "in|into ..2 line|slot|box|column|option|options",
      "in|into|as|to|via|through|under|inside ..3 $argument",
      "in|into|as|to the ..1 query|title|comment|subject|filename|note|answer|tag|tags|reply|hint|extra",
    ],
  },
  address: {
    words: "webhook bucket pastebin paste+site subdomain ftp sftp",
    phrases: ["@url|@email|@host"],
  },
  stranger: {
    words: `third-party third+party outsider partner foreign collector attacker stranger elsewhere public+folder public+repository public+channel
      remote+server sponsor off-site outside+party external+party external+server external+service external+address our+server our+endpoint our+service our+team our+job our+system  contractor counterparty affiliate broker advertiser intake isp-helpdesk`,
    phrases: [
      "everybody|everyone|all ..3 contacts|list|address+book",
      "our ..2 team|partner|partners|server|intake|address|account|mailbox|lawyers|support|side|shop",
      "through us",
    ],
  },
  run: {
    words: "execute nohup sudo backdoor listener",
    phrases: [
      "root|admin ..1 access",
      "force|forces ..3 push|merge|through",
      "carry|carries|carried ..2 out",
      "try ..4 passwords|one+after+another|until",
      "open|opens ..2 port|shell|tunnel",
      "root|admin|administrator|superuser ..1 rights|privileges|permissions|access",
      "start|starts|spawn|spawns ..2 shell|listener|server|daemon|terminal",
      "@script",
      "run|launch|start|invoke|evaluate|source|pipe ..5 script|command|program|helper|binary|@url|code|payload|snippet|installer",
      "install|installing ..6 globally|helper|package|extension|update|@url|first|root|service",
      "npm|pip|brew|apt i|install",
      "curl|wget|bash|nc|powershell|chmod|sh ..3 @url|-*|*.sh|777|@host",
      "as root|administrator",
      "carry|carried ..2 out",
      "do|does|follow|obey ..2 what|whatever|as ..2 it|result|they|says",
      "work through",
    ],
  },
  destroy: {
    words: `wipe erase destroy chmod uninstall shred revert`,
    phrases: [
      "drop|drops ..4 schema|table|database|branch|index|named",
      "unlock|unlocks|open|opens ..3 door|doors|gate|lock|account",
      "remove|removes|disable ..3 check|checks|guard|warning|warnings|test|tests",
      "turn|turns|switch|switches|take ..1 off|down ..5 vpn|protection|endpoint|proxy|alerts|encryption|backup",
      "stop|kill|end|terminate ..2 any|all|every|whatever",
      "delete|empty|remove|drop|purge|revoke ..3 bucket|folder|directory|database|table|branch|file|files|history|backups|repository|logs|cluster|account|infra|./*|~/*|/*",
      "turn|turns|switch|switches|disable|disables|stop|kill ..4 firewall|selinux|antivirus|logging|monitoring|sandbox|protection|two-factor|mfa|verification|checks|audit",
      "grant|grants|give|assign ..4 access|admin|rights|permission|permissions|role|ownership",
      "accept ..4 terms|conditions|licence|license|agreement",
    ],
  },
  persist: {
    words:
      "cron crontab authorized_keys bashrc zshrc startup+folder login+item scheduled+task autostart launchagent launch+agent start-up systemd+unit git+hook",
    phrases: ["$startfile"],
  },
};
