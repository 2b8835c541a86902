// Tells words that are talked about from words that are meant: a tool that detects orders to the model has to name them.
import { type CompiledPhrase, compilePhrase, findPhrase, type Match } from "./phrase.js";
import type { Sentence } from "./words.js";

const DETECTS =
  "detect|detects|detecting|detection|scan|scans|scanning|scanner|flag|flags|flagging|check|checks|checking|analyze|analyzes|analyse|analyses|analyzing|identify|identifies|identifying|block|blocks|blocking|prevent|prevents|preventing|filter|filters|filtering|recognize|recognizes|catch|catches|classify|classifies|guard|guards|protect|protects|audit|audits|find|finds|spot|spots|monitor|monitors|warns|warn|look+for|looks+for|alert|alerts|report|reports|refuses|refuse|rejects|reject|sanitize|sanitizes|strip|strips|redact|redacts|mask|masks|search+for|searches+for|searches|removes|test|tests|simulate|simulates|score|scores|rates|evaluate|evaluates|label|labels|grep|greps";
const TOPIC =
  "injection|injections|attempt|attempts|pattern|patterns|phrase|phrases|prompt|prompts|jailbreak|jailbreaks|malicious|attack|attacks|attacker|whether|tries|suspicious|threat|threats|dangerous|leaked|poisoning|poisoned|payload|payloads|unsafe|exfiltration|exposed|if+a|when+a|if+the|if+any";

/** What makes the words behind it a mention. */
const FRAMES = [
  `${DETECTS} ..8 ${TOPIC}`,
  `${DETECTS} ..6 input|inputs|text|texts|content|messages|tools|descriptions|requests|commands|responses|files|documents|strings|code ..1 that|which|where|containing|telling|asking|trying|attempting|like|such`,
  "such+as|for+example|for+instance|phrase|phrases|patterns+like|examples+include|examples+are|example+strings|attacks+like|text+like|prompts+like|messages+like|commands+like",
  "contains|containing ..3 phrase|string|words|pattern|patterns",
  "expected|sample|mock|example|fake|canned|dummy|fixture|illustrative ..1 output|outputs|response|responses|reply|replies|input|inputs|string|strings|text|payload|payloads|message @end",
  "returns|training|example|adversarial ..2 text|texts|prompts|samples|strings @end",
  "documentation|docs|readme|article|articles|changelog|tutorial ..4 explaining|explains|shows|show|lists|notes|describes|says|about|on|with",
  "explains|explaining|describes|describing|teaches ..5 how|why|what|prompt|such|attacks",
  "whether ..3 a|an|the|some|any ..2 prompt|tool|text|user|message|mail|email|site|link|file|program|request|attacker|description|input|page|document|plugin ..2 tries|asks|attempts|tells|contains|says|wants",
  "audit|audits|scan|scans|check|checks|search|searches|inspect|inspects|review|reviews|test|tests|watch|watches ..6 for",
  "examples|samples|collection|list ..1 of ..2 attacks|attack|injection|injections|prompts|commands|orders",
  "prevent|prevents|protect|protects|against|guards|defends|blocks ..4 from|against|trying|attempts|injection",
].map((phrase) => compilePhrase(phrase));

/** Said of the words afterwards. */
const DISCLAIMERS = [
  "is|are|as ..2 illustrative|example|examples|flagged|detected|blocked|rejected|refused|test|denied|logged|shown|quoted|reported",
  "not+an+instruction|only+as+a+detection|only+as+content|for+display|never+executed",
].map((phrase) => compilePhrase(phrase));

/** Words before a match in which a frame may stand. */
const FRAME_REACH = 18;

/** Behind one of these the description turns to the model, whatever it talked about before. */
const TURNS: ReadonlySet<string> = new Set([
  "then",
  "must",
  "you",
  "always",
  "also",
  "please",
  "before",
  "afterwards",
  "instead",
  "finally",
  "first",
  "immediately",
  "additionally",
]);

/** Whether the words of a match are talked about. Only words of the same sentence can say so. */
export function isMentioned(sentence: Sentence, { start, end }: Match): boolean {
  const before = sentence.slice(Math.max(0, start - FRAME_REACH), start);
  const quoted = sentence.slice(start, end).some((word) => word.quoted);
  if (FRAMES.some((frame) => frames(frame, before, quoted))) return true;
  return quoted && DISCLAIMERS.some((words) => findPhrase(words, sentence.slice(end)) !== undefined);
}

/** A frame reaches up to the end of what it quotes, and not past a turn to the model. */
function frames(frame: CompiledPhrase, before: Sentence, quoted: boolean): boolean {
  const found = findPhrase(frame, before);
  if (found === undefined) return false;
  const between = before.slice(found.end);
  if (!quoted && between.some((word) => word.quoted)) return false;
  return quoted || !between.some(({ text }) => TURNS.has(text));
}
