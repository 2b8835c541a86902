// What of a page is on the screen, as text, for someone who does not see it: written here, run inside the page.

/** What a person can click or type in. */
const THINGS =
  "a[href], button, input, select, textarea, summary, [role=button], [role=tab], [role=link], [contenteditable=true]";

/**
 * Goes through the page. @returns one line for each line of text in view; what can be clicked or typed in has a number, and is kept
 * in `stageThings` for the action that names it
 */
function outline() {
  const out = { lines: [], line: "", isKept: false, things: (globalThis.stageThings = []) };
  const { innerHeight: bottom, innerWidth: right, scrollY } = globalThis;
  walk(document.body, { top: 0, left: 0, bottom, right }, out);
  endLine(out);
  const all = document.documentElement.scrollHeight;
  const at = Math.round(scrollY);
  return [`${document.title}  (${at} to ${Math.min(all, at + bottom)} of ${all} pixels down)`, ...out.lines].join("\n");
}

function endLine(out) {
  // A table or a heading out of view leaves nothing but its marks.
  if (/[^\s|#]/.test(out.line))
    out.lines.push(out.isKept ? out.line.trimEnd() : out.line.trim().replace(/ {2,}/g, " "));
  out.line = "";
  out.isKept = false;
}

/** `clip`: the part of the screen in which it can be seen. */
function walk(node, clip, out) {
  if (node.nodeType === Node.TEXT_NODE) return text(node, clip, out);
  if (node.nodeType !== Node.ELEMENT_NODE || ["SCRIPT", "STYLE"].includes(node.tagName)) return;
  if (node.tagName === "BR") return endLine(out);
  const { parentElement: parent } = node;
  if (parent.tagName === "DETAILS" && !parent.open && node.tagName !== "SUMMARY") return;
  const style = getComputedStyle(node);
  if (style.display === "none" || style.visibility === "hidden") return;
  const isCell = node.matches("td, th, [role=cell], [role=columnheader]");
  // A row is one line, whatever it is made of.
  const isBlock = !isCell && !style.display.startsWith("inline") && parent.closest("tr, [role=row]") === null;
  if (isBlock) endLine(out);
  else if (isCell && out.line !== "") out.line += " | ";
  else out.line += " ";
  const isScrolled =
    style.overflowY !== "visible" && node.scrollHeight > node.clientHeight + 1 && node.clientHeight > 0;
  const inside = style.overflowY === "visible" && style.overflowX === "visible" ? clip : within(clip, node);
  if (node.matches(THINGS)) thing(node, clip, out);
  else {
    if (isScrolled && node !== document.body && isSeen(node, clip)) scrolled(node, out);
    if (node.tagName === "svg" && isSeen(node, clip)) picture(node, out);
    children(node, inside, out);
  }
  if (isBlock) endLine(out);
}

function children(node, clip, out) {
  const mark = /^H[1-6]$/.test(node.tagName) ? `${"#".repeat(Number(node.tagName[1]))} ` : "";
  out.line += mark;
  for (const child of node.childNodes) walk(child, clip, out);
}

function within(clip, node) {
  const { top, left, bottom, right } = node.getBoundingClientRect();
  return {
    top: Math.max(clip.top, top),
    left: Math.max(clip.left, left),
    bottom: Math.min(clip.bottom, bottom),
    right: Math.min(clip.right, right),
  };
}

function isSeen(of, clip) {
  return [...of.getClientRects()].some(
    ({ top, bottom, left, right }) =>
      bottom > clip.top && top < clip.bottom && right > clip.left && left < clip.right && bottom > top,
  );
}

function text(node, clip, out) {
  if (node.data.trim() === "") return;
  const range = document.createRange();
  range.selectNodeContents(node);
  if (!isSeen(range, clip)) return;
  const isKept = getComputedStyle(node.parentElement).whiteSpace.startsWith("pre");
  if (!isKept) return void (out.line += node.data.replace(/\s+/g, " "));
  // Of a long text only the lines in view.
  let at = 0;
  for (const [index, part] of node.data.split("\n").entries()) {
    if (index > 0) endLine(out);
    range.setStart(node, at);
    range.setEnd(node, at + part.length);
    if (isSeen(range, clip)) {
      out.isKept ||= out.line.trim() === "";
      out.line += part;
    }
    at += part.length + 1;
  }
}

/** A part that scrolls by itself: the keys move it once it was clicked. */
function scrolled(node, out) {
  out.things.push(node);
  const to = Math.min(node.scrollHeight, Math.round(node.scrollTop + node.clientHeight));
  out.line += ` [${out.things.length} scrolls: ${Math.round(node.scrollTop)} to ${to} of ${node.scrollHeight}] `;
}

/** What a picture is said to be, and what a pointer is told that rests on its marks: of many only on the last. */
function picture(node, out) {
  const marks = [...node.querySelectorAll("title")].filter((each) => each.closest(THINGS) === null);
  const last = marks.at(-1)?.textContent;
  const told = last === undefined ? "" : ` (${marks.length} marks, the last: ${last})`;
  const about = node.getAttribute("aria-label") ?? "";
  if (about !== "" || told !== "") out.line += ` [picture: ${about}${told}] `;
}

function thing(node, clip, out) {
  // A bar of a chart that stands for nothing is nothing to the eye.
  if (!isSeen(node, clip) || /\b0 well, 0 failed, 0 denied$/.test(nameOf(node))) return;
  out.things.push(node);
  out.line += ` [${out.things.length} ${kindOf(node)}: ${nameOf(node)}${stateOf(node)}] `;
  if (node.tagName !== "TEXTAREA") return;
  endLine(out);
  out.lines.push(...linesOf(node, within(clip, node)));
}

function nameOf(node) {
  const [label] = node.labels ?? [];
  // The label around a choice has all its options for a text as well.
  const own = label && [...label.childNodes].filter((each) => !each.contains(node)).map((each) => each.textContent);
  const name = node.getAttribute("aria-label") ?? own?.join(" ") ?? node.innerText ?? "";
  return name.trim().replace(/\s+/g, " ");
}

function stateOf(node) {
  const isSet = (name) => ["true", "page", "step"].includes(node.getAttribute(name));
  const words = ["aria-current", "aria-pressed", "aria-selected", "aria-expanded"].filter(isSet);
  const all = words.map((each) => each.slice("aria-".length));
  if (node.tagName === "SUMMARY" && node.parentElement.open) all.push("open");
  if (node.disabled) all.push("disabled");
  if (node === document.activeElement) all.push("focused");
  return all.length === 0 ? "" : ` (${all.join(", ")})`;
}

function kindOf(node) {
  const { tagName, type } = node;
  if (tagName === "SELECT") {
    const options = [...node.options].map((option) => option.text).join(" | ");
    return `choice "${node.selectedOptions[0]?.text ?? ""}" of ${options}`;
  }
  if (type === "checkbox" || type === "radio") return `${type}${node.checked ? " checked" : ""}`;
  if (tagName === "TEXTAREA") return "text";
  if (tagName === "INPUT") return `field "${node.value}"${node.placeholder ? ` like ${node.placeholder}` : ""}`;
  return { A: "link", SUMMARY: "fold" }[tagName] ?? "button";
}

/** The lines that a field of a long text shows, numbered, the one with the caret marked. Lines that wrap count as one. */
function linesOf(node, box) {
  const tall = Number.parseFloat(getComputedStyle(node).lineHeight) || 18;
  const from = Math.floor((node.scrollTop + box.top - node.getBoundingClientRect().top) / tall);
  const to = from + Math.ceil((box.bottom - box.top) / tall);
  const caret = node.value.slice(0, node.selectionEnd).split("\n").length - 1;
  const isCaret = (at) => at === caret && node === document.activeElement;
  return node.value
    .split("\n")
    .flatMap((part, at) =>
      at < from || at >= to ? [] : [`${isCaret(at) ? ">" : " "}${String(at + 1).padStart(4)} ${part}`],
    );
}

const FUNCTIONS = [
  outline,
  endLine,
  walk,
  children,
  within,
  isSeen,
  text,
  scrolled,
  picture,
  thing,
  nameOf,
  stateOf,
  kindOf,
  linesOf,
];

/** To be evaluated in a page: its value is the outline. */
export const OUTLINE = `(() => {\nconst THINGS = ${JSON.stringify(THINGS)};\n${FUNCTIONS.join("\n")}\nreturn outline();\n})()`;
