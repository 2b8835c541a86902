// Finds a member that an object in a JSON text names twice, which parsers pass over in silence.

/** The name that comes twice in one object of a valid JSON text; undefined when each comes once. */
export function duplicateMember(text: string): string | undefined {
  const names: (Set<string> | undefined)[] = [];
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === "{") names.push(new Set());
    else if (token === "[") names.push(undefined);
    else if (token === "}" || token === "]") names.pop();
    else {
      const here = names.at(-1);
      if (here === undefined || !NAME_ENDS.test(text.slice(index + token.length, index + token.length + LOOK_AHEAD)))
        continue;
      if (here.has(token)) return token.slice(1, -1);
      here.add(token);
    }
  }
  return undefined;
}

const TOKEN = /"(?:[^"\\]|\\[^])*"|[{}[\]]/g;
const NAME_ENDS = /^\s*:/;
/** White space between a name and its colon; nobody writes more. */
const LOOK_AHEAD = 16;
