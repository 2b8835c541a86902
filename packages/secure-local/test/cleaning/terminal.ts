// A tiny terminal for tests: follows a text as a VT500 parser would and reports whatever is not printed as is.

/** Every control a terminal would act on in `text`, line feed and tab excepted; empty for a text that is only shown. */
export function activeControls(text: string): string[] {
  const actions: string[] = [];
  let state: "ground" | "escape" | "sequence" | "string" = "ground";
  for (const character of text) {
    const code = character.codePointAt(0) as number;
    if (code === 0x1b) {
      state = "escape";
      actions.push("ESC");
    } else if (code === 0x9b) {
      state = "sequence";
      actions.push("CSI");
    } else if ((code >= 0x80 && code <= 0x9f) || code === 0x7f) {
      state = code === 0x9c ? "ground" : "string";
      actions.push(`C1 ${code.toString(16)}`);
    } else if (code < 0x20 && code !== 0x0a && code !== 0x09) {
      if (state === "string" && code === 0x07) state = "ground";
      actions.push(`C0 ${code.toString(16)}`);
    } else if (state === "escape") {
      state = character === "[" ? "sequence" : "]PX^_".includes(character) ? "string" : "ground";
    } else if (state === "sequence" && code >= 0x40 && code <= 0x7e) {
      state = "ground";
    }
  }
  return actions;
}
