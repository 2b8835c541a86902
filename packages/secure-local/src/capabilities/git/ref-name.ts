// Which names of branches, tags and commits are well formed, and what they may stand for.

/** As git's own rule (git-check-ref-format), and no longer than a path's name may be. */
const LONGEST = 250;
const FORBIDDEN = /[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|^\/|\/$|\.$|(?:^|\/)\.|\.lock(?:\/|$)|^@$/;
const OBJECT_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** The whole name of a commit or other object: SHA-1 or SHA-256 in hexadecimal digits. */
export function isObjectId(text: string): boolean {
  return OBJECT_ID.test(text);
}

export function isRefName(text: string): boolean {
  return text.length > 0 && text.length <= LONGEST && !FORBIDDEN.test(text);
}

/** Where git looks for what a short name means, in its order. */
export function refCandidates(name: string): readonly string[] {
  if (name === "HEAD") return [name];
  const full = name.startsWith("refs/") ? [name] : [];
  return [...full, `refs/tags/${name}`, `refs/heads/${name}`, `refs/remotes/${name}`, `refs/remotes/${name}/HEAD`];
}
