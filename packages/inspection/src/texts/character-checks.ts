// Checks a text as it came, before it is normalised: characters nobody sees, terminal sequences, marks of other roles, padding.
import { excerptOf, type TextFinding, type Severity } from "./finding.js";
import { replaceHidden } from "../characters/hidden-characters.js";
import { mixesScripts } from "./names.js";

// Finds marks by which prompts tell one speaker from another, and sections set apart for the model.

/** Marks by which prompts tell one speaker from another, and disguises of a description as something else. */
const ROLE_MARKS: readonly {
  readonly id: string;
  readonly tier: Severity;
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

function roleSigns(text: string): TextFinding[] {
  const folded = text.normalize("NFKC").toLowerCase();
  const signs: TextFinding[] = ROLE_MARKS.flatMap(({ id, tier, about, texts }) => {
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

const LONE_SURROGATES = /\p{Cs}/gu;
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/u;
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const ESCAPES = /[\x1b\x80-\x84\x86-\x9f]/;
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f\x85]/;
const BLANKS = /\s+/g;
/** An honest text has neither: what stands behind so much nothing is meant to be out of sight. */
const PADDING_BLANKS = 160;
const PADDING_LINES = 40;
const WORD = /[\p{L}\p{M}]{3,80}/gu;

interface HiddenClass {
  readonly id: string;
  readonly about: string;
  readonly tier: Severity;
  has(character: string): boolean;
}

const between = (first: number, last: number) => (character: string) => {
  const code = character.codePointAt(0) ?? 0;
  return code >= first && code <= last;
};
const oneOf = (characters: string) => (character: string) => characters.includes(character);

/** The first that has it names a character. */
const HIDDEN_CLASSES: readonly HiddenClass[] = [
  {
    id: "hidden.tags",
    tier: "hard",
    about: "It holds text in tag characters, which nobody sees.",
    has: between(0xe0000, 0xe0fff),
  },
  {
    id: "hidden.bidi",
    tier: "hard",
    about: "It holds marks that show the text in another order than it is read in.",
    has: oneOf("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c"),
  },
  {
    id: "hidden.marks",
    tier: "hard",
    about: "It holds marks of direction that nobody sees.",
    has: oneOf("\u200e\u200f"),
  },
  {
    id: "hidden.soft",
    tier: "soft",
    about: "It holds characters that are usually not seen.",
    has: oneOf("\u00ad\ufeff\ufe0e\ufe0f"),
  },
  {
    id: "hidden.private-use",
    tier: "hard",
    about: "It holds characters that mean nothing to people.",
    has: (character) => /[\p{Co}\p{Noncharacter_Code_Point}]/u.test(character),
  },
  {
    id: "hidden.zero-width",
    tier: "hard",
    about: "It holds characters without width, which nobody sees.",
    has: () => true,
  },
];

/** @param name Whether the text is a name, of which people expect plain letters. */
export function checkCharacters(text: string, { name }: { readonly name: boolean }): TextFinding[] {
  const signs = [...hiddenSigns(text), ...controlSigns(text), ...roleSigns(text)];
  const mixed = [...text.normalize("NFC").matchAll(WORD)].map(([word]) => word).find(mixesScripts);
  if (mixed !== undefined) {
    const about = "It mixes letters of different alphabets that look the same.";
    signs.push({ id: "disguise.letters", tier: "hard", about, excerpt: excerptOf(mixed) });
  }
  // oxlint-disable-next-line no-control-regex -- names of plain letters are what is asked for
  if (name && mixed === undefined && /[^\x20-\x7e]/.test(text))
    signs.push({
      id: "names.letters",
      tier: "soft",
      about: "Its name holds unusual letters.",
      excerpt: excerptOf(text),
    });
  if (isPadded(text))
    signs.push({
      id: "hidden.padding",
      tier: "hard",
      about: "It moves words out of sight behind blanks or empty lines.",
      excerpt: excerptOf(text.trim().slice(-LONGEST_TAIL)),
    });
  const leak = imageLeak(text);
  if (leak !== undefined)
    signs.push({
      id: "secrets.image",
      tier: "hard",
      about: "It holds an image whose address takes data along.",
      excerpt: excerptOf(leak),
    });
  return signs;
}

const LONGEST_TAIL = 100;

function isPadded(text: string): boolean {
  for (const { 0: run, index } of text.matchAll(BLANKS)) {
    const lines = run.split("\n");
    const wide = lines.some(({ length }) => length >= PADDING_BLANKS) || lines.length > PADDING_LINES;
    if (wide && index + run.length < text.length) return true;
  }
  return false;
}

/** Addresses longer than this are not looked through. */
const LONGEST_ADDRESS = 600;

/** An image of Markdown whose address has a place for data. */
function imageLeak(text: string): string | undefined {
  const images = text.split("![").slice(1);
  return images.find((image) => {
    const at = image.toLowerCase().indexOf("](http");
    if (at < 0) return false;
    const [address = ""] = image.slice(at + 2, at + LONGEST_ADDRESS).split(")");
    return /[{<[$]/.test(address);
  });
}

function hiddenSigns(text: string): TextFinding[] {
  const seen = new Map<HiddenClass, string>();
  const rightToLeft = RIGHT_TO_LEFT.test(text);
  // A mark of byte order at the beginning comes with copying.
  const start = text.startsWith("\uFEFF") ? 1 : 0;
  replaceHidden(text.slice(start).replaceAll(LONE_SURROGATES, "\uFFFD"), (character) => {
    const found = HIDDEN_CLASSES.find((each) => each.has(character));
    // Languages written from right to left need the marks of direction.
    if (found !== undefined && !(rightToLeft && found.id === "hidden.marks"))
      seen.set(found, (seen.get(found) ?? "") + character);
    return "";
  });
  return HIDDEN_CLASSES.flatMap((each) => {
    const characters = seen.get(each);
    if (characters === undefined) return [];
    const { id, tier, about } = each;
    return [{ id, tier, about, excerpt: excerptOf(asText(characters)) }];
  });
}

/** What tag characters say, and the numbers of all others. */
function asText(characters: string): string {
  const said = [...characters].map((character) => {
    const code = (character.codePointAt(0) ?? 0) - 0xe0000;
    return code > 0x1f && code < 0x7f ? String.fromCodePoint(code) : character;
  });
  return said.join("");
}

/** Cleaning turns these into line breaks and blanks instead of taking them out. */
const ODD_BLANKS = /[\u2028\u2029\u2800]/;

function controlSigns(text: string): TextFinding[] {
  if (ESCAPES.test(text))
    return [
      {
        id: "hidden.terminal",
        tier: "hard",
        about: "It holds sequences that act on a terminal.",
        excerpt: excerptOf(text),
      },
    ];
  if (CONTROLS.test(text) || ODD_BLANKS.test(text))
    return [
      {
        id: "hidden.controls",
        tier: "soft",
        about: "It holds control characters or odd blanks.",
        excerpt: excerptOf(text),
      },
    ];
  return [];
}
