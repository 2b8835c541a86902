// The rules for a Dockerfile that a linter of containers would hold it to, without one: what is wrong, by line.

/** Instructions with the line they begin at; continued lines are one, comments and blank lines none. */
function instructionsOf(text) {
  const found = [];
  let open;
  for (const [index, line] of text.split("\n").entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue;
    if (open === undefined) found.push((open = { line: index + 1, words: "" }));
    open.words += ` ${line.replace(/\\\s*$/, "").trim()}`;
    if (!/\\\s*$/.test(line)) open = undefined;
  }
  return found.map(({ line, words }) => {
    const [, name = "", rest = ""] = /^\s*(\S+)\s*([^]*)$/.exec(words) ?? [];
    return { line, name: name.toUpperCase(), rest: rest.trim() };
  });
}

/** The image of a `FROM`, without what stands before and after it. */
function imageOf(rest) {
  return rest.replace(/^(?:--\S+\s+)*/, "").split(/\s+/)[0] ?? "";
}

const RULES = {
  FROM(rest, stages) {
    const image = imageOf(rest);
    if (stages.has(image) || image === "scratch" || image.includes("@sha256:")) return undefined;
    const [, tag] = /:([\w.-]+)$/.exec(image) ?? [];
    if (tag === undefined || tag === "latest" || !/\d/.test(tag))
      return `${image} names no version; write a tag with one`;
    return undefined;
  },
  ADD: (rest) =>
    /\b(?:https?|git|ftp):/.test(rest) ? "fetches what nobody compared; COPY it" : "use COPY: ADD unpacks and fetches",
  RUN(rest) {
    if (/\bsudo\b/.test(rest)) return "needs no sudo: say USER";
    if (/\b(?:curl|wget)\b[^|]*\|\s*(?:ba|z|da)?sh\b/.test(rest)) return "runs what it fetches; copy and compare it";
    if (!/\bapt(?:-get)?\s+(?:\S+\s+)*install\b/.test(rest)) return undefined;
    if (/\bapt\s+(?:\S+\s+)*install\b/.test(rest)) return "apt is for people; use apt-get";
    if (!/\s(?:-y|--yes|-qy|-yq)\b/.test(rest)) return "apt-get install would ask; add --yes";
    if (!rest.includes("--no-install-recommends")) return "installs more than is named; add --no-install-recommends";
    return /rm -r?f?r? ?\/var\/lib\/apt\/lists/.test(rest)
      ? undefined
      : "leaves the lists of apt; rm -rf /var/lib/apt/lists/* in the same RUN";
  },
  WORKDIR: (rest) => (/^["']?(?:\/|\$)/.test(rest) ? undefined : "is not absolute; begin it with /"),
  CMD: (rest) => execForm(rest),
  ENTRYPOINT: (rest) => execForm(rest),
  ENV: (rest) =>
    /\b\w*(?:PASSWORD|SECRET|API_?KEY|(?<!_FILE\b)TOKEN)=\S/.test(rest)
      ? "holds a secret, which stays in the image"
      : undefined,
  MAINTAINER: () => "is deprecated; write a LABEL",
};

/** A shell in between takes the signals that are to end the program. */
function execForm(rest) {
  try {
    const words = JSON.parse(rest);
    if (Array.isArray(words) && words.every((word) => typeof word === "string")) return undefined;
  } catch {
    // Said below.
  }
  return "is not in exec form; write it as a JSON array";
}

/** `LINE: INSTRUCTION what is wrong, and what to do`, for each. */
export function dockerfileFaults(text) {
  const instructions = instructionsOf(text);
  const stages = new Set();
  const faults = [];
  for (const { line, name, rest } of instructions) {
    const fault = RULES[name]?.(rest, stages);
    if (fault !== undefined) faults.push(`${line}: ${name} ${fault}`);
    const [, stage] = /\sAS\s+(\S+)$/i.exec(rest) ?? [];
    if (name === "FROM" && stage !== undefined) stages.add(stage);
  }
  const last = instructions.slice(instructions.findLastIndex(({ name }) => name === "FROM"));
  const user = last.findLast(({ name }) => name === "USER");
  if (user === undefined || /^(?:root|0)(?::|$)/.test(user.rest))
    faults.push("the image runs as root; end with another USER");
  const checks = last.filter(({ name, rest }) => name === "HEALTHCHECK" && !/^NONE\b/i.test(rest));
  if (checks.length !== 1) faults.push("the image has not one HEALTHCHECK; whoever runs it cannot see that it is well");
  for (const name of ["CMD", "ENTRYPOINT"])
    if (last.filter((each) => each.name === name).length > 1) faults.push(`${name} stands twice; only the last counts`);
  return faults;
}
