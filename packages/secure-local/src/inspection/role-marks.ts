// Finds marks by which prompts tell one speaker from another, and sections set apart for the model.
import { excerptOf, type Sign, type Tier } from "./finding.js";

/** Marks by which prompts tell one speaker from another, and disguises of a description as something else. */
const ROLE_MARKS: readonly {
  readonly id: string;
  readonly tier: Tier;
  readonly about: string;
  readonly texts: readonly string[];
}[] = [
  {
    id: "marks.role",
    tier: "hard",
    about: "It holds marks by which prompts tell one speaker from another.",
    texts: [
      "<|im_start|>",
      "<|im_end|>",
      "<|system|>",
      "<|user|>",
      "<|assistant|>",
      "<|endoftext|>",
      "<|start_header_id|>",
      "<|eot_id|>",
      "[inst]",
      "[/inst]",
      "<<sys>>",
      "<</sys>>",
      "<start_of_turn>",
      "\n\nhuman:",
      "\n\nassistant:",
      "### system:",
      "### instruction:",
      "###instruction",
      "<system_prompt>",
      "</system_prompt>",
      "<system-reminder>",
      "</system>",
      "<system>",
      "<function_calls>",
      "<tool_result>",
      "[system]",
      "[/system]",
      "[system:",
      "[[system",
      "{{system",
      "{{ system",
      "{{#system",
      "begin system prompt",
      "end system prompt",
      "end of description",
      "end of tool description",
      "[end of user input]",
    ],
  },
  {
    id: "marks.section",
    tier: "soft",
    about: "It sets words apart for the model.",
    texts: [
      "<important>",
      "</important>",
      "<secret>",
      "</secret>",
      "<hidden>",
      "<critical>",
      "<override>",
      "<admin>",
      "<private>",
      "<instruction>",
      "<instructions>",
      "<hidden_instructions>",
      "<assistant>",
      "<llm>",
      "<ai_only>",
      "<ai>",
      "<!--",
      "[important]",
      "[hidden]",
      "[secret]",
      "[assistant",
      "[llm",
      "[ai ",
      "[agent",
    ],
  },
];
const SYSTEM_LABEL =
  /(?:^|[\s([{#*>-])(?:SYSTEM|ADMIN|ROOT|DEVELOPER|OVERRIDE)(?: (?:NOTE|MESSAGE|PROMPT|OVERRIDE|NOTICE|DIRECTIVE|INSTRUCTION|ALERT|COMMAND|MODE))?(?:\])?\s{0,3}:/;

export function roleSigns(text: string): Sign[] {
  const folded = text.normalize("NFKC").toLowerCase();
  const signs: Sign[] = ROLE_MARKS.flatMap(({ id, tier, about, texts }) => {
    const found = texts.find((mark) => folded.includes(mark));
    if (found === undefined) return [];
    const at = folded.indexOf(found);
    return [{ id, tier, about, excerpt: excerptOf(folded.slice(Math.max(0, at - 10), at + 90)) }];
  });
  const label = SYSTEM_LABEL.exec(text);
  if (label !== null && !signs.some(({ id }) => id === "marks.role"))
    signs.push({
      id: "marks.role",
      tier: "hard",
      about: "It speaks as if it were the system.",
      excerpt: excerptOf(text.slice(label.index, label.index + 90)),
    });
  return signs;
}
