// How orders put themselves in the place of others: of rules, of the user, of other tools.
import type { Concept, TakeoverName } from "./concept.js";

/** What is set aside, and what takes its place. */
export const TAKEOVER: Readonly<Record<TakeoverName, Concept>> = {
  rules: {
    words: `rule instruction guidance guideline directive caution restriction safeguard guardrail prohibition confirmation+dialog confirmation+prompt
      content+policy scruple limitation moderation safety+check usual+check filter safety+policy instructions programming restraint boundary ethic consent+dialog
      approval+step permission+prompt guard oversight filter approval+dialog alignment agreement promise commitment`,
  },
  void: {
    words: `withdrawn obsolete lift void suspend supersede outrank disregard forget ignore  bypass overrule  waive
      relax abandon rescind  defunct repeal discard`,
    phrases: [
      "are|is ..1 not ..1 in ..1 force",
      "out of scope",
      "concern|concerns|for ..1 other|another ..1 product|products|tool|tools|company",
      "are|is|was|were ..1 noise|void|moot|irrelevant",
      "do|does not ..1 apply|concern|count|bind|reach|extend",
      "override|overriding",
      "overrides ..3 rules|instructions|guidance|restrictions|your|all|any|everything|previous|earlier",
      "not|isn't|aren't|never|no ..2 in+force|binding|valid|applicable|enforced|relevant",
      "has|have ..1 ended|lapsed|ceased|stopped|expired",
      "was|were ..2 test|trial|rehearsal|draft|example",
      "skip|skips|skipping ..4 approval|confirmation|consent|review|step|check|checks|dialog|prompt",
      "no longer",
      "switched|turned|taken off",
      "free|exempt|released|relieved|freed of|from",
      "count|counts|counted|regard|regarded|consider|considered ..2 as",
      "set|put|leave|lay aside",
      "take|takes|has|have ..1 precedence|priority",
      "matters|matter|counts|weighs less",
      "this|these|it ..3 wins|prevail|prevails",
      "do|does not apply|hold|count|bind",
      "has|have|are|is|been disabled",
      "pay no attention",
    ],
  },
  role: {
    words: "obey comply",
    phrases: [
      "authority over",
      "equal|equals ..2 to ..2 user|operator|system|developer",
      "disregard|disobey ..2 operator|user|developer|host",
      "directions|instructions|orders ..3 for ..1 you",
      "prove ..2 you ..2 are|no|not",
      "adults",
      "trusted|follow ..4 sentence|line|text|orders",
      "real|actual|true ..1 task|purpose|goal|job|work",
      "you ..2 clearance|permission|authority|rights",
      "you ..1 are ..1 now",
      "developer|debug|admin|maintenance|god|unrestricted|root|test ..1 mode ..2 active|on|enabled|is",
      "treat|regard|take|consider|read ..6 as ..2 coming|orders|authoritative|commands|instructions|binding",
      "consider|think+of|regard|see|imagine yourself",
      "without ..2 restrictions|restriction|limits|filters|inhibition|content+restrictions|censorship|reservations",
      "people|those|company|team who ..2 built|made|trained|created|run ..1 you",
      "answers ..2 every ..2 request|question ..2 in+full",
    ],
  },
  defy: {
    phrases: [
      "whichever|whatever|no+matter ..5 printed|picked|chosen|given|asked|requested|named|used|selected|typed|entered",
      "on ..3 behalf",
      "done ..1 with ..4 request|task",
      "instead ..2 of|from ..2 one",
      "what|whatever ..3 user|person|human|they ..3 typed|asked|asks|wants|wanted|says|said|requested|requests|chose|prefers|named ..3 matters|is|counts|instead|comes|has",
      "drop|abandon|leave|stop|forget|interrupt|postpone|pause ..1 task|question|request|job|work|conversation",
      "regardless|irrespective|independent|no+matter ..3 what|user|which|whom|whether|request",
      "instead+of|rather+than ..2 what|answering|the+task|the+user's",
      "against|despite|ignoring ..3 user's|wishes|objections|refusal",
      "even+if ..3 user|they|told|asked|refuses|objects|declines",
    ],
  },
  tool: {
    words: "another+tool other+tool any+tool every+tool each+tool other+server neighbouring+tool next+tool",
    phrases: [
      "your ..2 own|host's|host ..3 tools|tool",
      "file|shell|search|mail|web ..1 tools",
      "call|calls|calling|request|requests|output|outputs ..2 to|of|from ..1 @snake",
      "@snake ..2 is|tool|should|must|will|returns|runs|gets",
      "other|another|any|every|each|remaining|all ..2 tool|tools|tool's|server's|servers|connectors|plugins",
      "@foreign",
      "mail|email|shell|payment|file|files|browser|search|terminal|editor|database|git|messaging|transfer|banking|calendar|writing|deploy ..1 tool|tools",
      "tool|tools ..2 of|from ..3 server|servers|editor|host|vendor",
    ],
  },
  change: {
    words: `swap prefix replace discard stale decorative outdated unreliable prefer preference instead broken buggy bug substitute supersede supplant tamper
      rewrite differently obsolete`,
    phrases: [
      "come|comes|go|goes|runs|run ..2 through|via|over ..1 here|this|us",
      "are|is ..1 broken|unavailable|unsafe|outdated",
      "out of date",
      "rather than",
      "in place of",
      "come|go here",
      "must|should|has+to ..2 be|carry|contain|go|use|start|end",
    ],
  },
};
