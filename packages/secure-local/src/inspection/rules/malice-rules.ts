// Tools that say of themselves that they attack: nothing is hidden in them, but a person should know before a model has them at hand.
import type { Rule } from "./rule.js";

const GUARDS =
  "authentication|security|antivirus|edr|logging|scanning|whitelisting|restrictions|protections|protection|sandbox|waf|uac|amsi|selinux|apparmor|checking|integrity|mfa|hooks|tcc|nfs|firewall|applocker|defender|event+tracing|allowlisting|detection|upload";
const LOOT =
  "credentials|credential|passwords|password|secrets|hashes|lsass|sam|shadow|keychain|keyring|kwallet|tickets|tokens|cookies|private+keys|api+keys|ntds.dit|pmkid|handshakes|autofill|browser+history|process+memory";

/** Whoever watches for attacks has to name them. */
const STUDIES =
  "monitor|monitors|score|scores|search|searches|analytics|threat|threats|malware|urls|blocklist|denylist|scan|scans|detector|detect|detects|check|checks|filter|guard|alert|alerts|report|reports|audit|policy|rules";

export const MALICE_RULES: readonly Rule[] = [
  {
    id: "malice.theft",
    tier: "soft",
    about: "It says that it takes what belongs to others.",
    phrases: [
      "exfiltrate|exfiltrates|exfiltrating|exfiltrated|exfiltration",
      "stolen ..1 data|files|credentials|documents|tokens|keys|records",
      "^ ..0 steal|steals|exfil|siphon|siphons",
      `dump|dumps|harvest|harvests|harvesting|sniff|sniffs|grab|grabs|crack|cracks|cracking ..5 ${LOOT}|hash|key|service+tickets`,
      `^ ..0 extract|extracts|decrypt|decrypts|capture|captures ..5 ${LOOT}`,
      "optional ..2 credential|token|secret|password|key|data|sensitive ..3 harvesting|extraction|collection|theft|copying|dump",
      "keystrokes|keylogger|keylogging|spyware|mimikatz|bloodhound",
      "pass|overpass the hash|ticket",
      "golden|silver|kerberos ..1 ticket|tickets ..2 @end|offline|forging",
      "covert ..2 channel|timing|exfiltration|transfer",
      "lsb|inaudible",
      "hide|hides|hiding ..3 data|activity|exfiltrated|secret ..6 in|within|with",
    ],
    unless: ["not|never|without|no ..3 exfiltration|stolen|password|passwords|credentials|tokens|secrets", STUDIES],
  },
  {
    id: "malice.attack",
    tier: "soft",
    about: "It says that it attacks systems or people.",
    phrases: [
      "^ ..0 exploit|exploits|abuse|abuses|hijack|hijacks|jailbreak|jailbreaks",
      "exploit|exploits|exploiting ..6 vulnerability|escalation|root|privilege|misconfiguration|condition",
      "inject|injects|embed|embeds|create|creates|write|writes|install|installs|plant|upload|uploads|overwrite|add|adds|run|runs|via|through|deploy|deploys|with|as ..5 malicious",
      "reverse|bind|web shell|shells",
      "shellcode|rootkit|ransomware|backdoor|backdoors|botnet|trojan|petitpotam|zerologon|printnightmare|dcsync|seimpersonateprivilege",
      "fork bomb|bombs",
      "privilege escalation|elevation",
      `bypass|bypasses|bypassing|evade|evades ..5 ${GUARDS}`,
      "brute force|forces|forcing|forced",
      "bruteforce|brute-force|bruteforces",
      "password|credential spray|spraying|stuffing",
      "sql|ldap|xpath|nosql|command|code|template|ognl|xxe|xslt|language|object|dll|process|apc ..1 injection|hollowing ..4 attack|technique|in|via|to|on|for|@end",
      "inject|injects ..4 keystrokes|code|dll|shellcode|library|payload|queries|arguments|values",
      "deserialization|symlink|relay|confusion|forgery|poisoning|spray|phishing ..2 attack|attacks|page|kit",
      "perform|performs|launch|launches|conduct|execute|executes ..5 attack",
      "attack|attacks ..1 accounts|users|servers|hosts|vault|password|systems",
      "escape|escapes ..2 container|chroot|sandbox|virtual|vm|jail|hypervisor",
      "hijack|hijacks|hijacking|hijacked|man-in-the-middle|impersonate|impersonates ..6 session|token|thread|socket|dll|path|object|search|service|persistence|account|privileged|unix",
      "tamper|tampers ..3 log|logs|evidence|records",
      "to|for ..3 poison|spoof|impersonate ..4 users|hosts|requests|llmnr|dns|arp",
      "relay|forge|forges|spoof|spoofs ..3 credentials|captured|ntlm|authentication|token|tokens|identity",
      "to ..2 attacker|attacker-controlled",
      "exhaust|exhausts ..4 quota|inodes|memory|process|disk|table",
      "^ ..0 privesc|cmdi|recon|c2 ..0 *",
    ],
    unless: [
      "lets+you ..2 test|simulate",
      "prevent|prevents|detection|protect|protects|block|blocks|against|mitigate|avoid|known|published",
      STUDIES,
    ],
  },
];
