// Expands `~` and `${NAME}` in the path values of a policy, and nowhere else.
import { homedir } from "node:os";

/** The environment a policy is read in. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The text with its variables filled in, or a sentence about what is wrong with it. */
export function expandPath(
  text: string,
  environment: Environment,
): { readonly path: string } | { readonly wrong: string } {
  let wrong: string | undefined;
  const home = environment["HOME"] || homedir();
  const rooted = text === "~" || text.startsWith("~/") ? `\${HOME}${text.slice(1)}` : text;
  const path = rooted.replace(/\$(?:\{([^}]*)\}?)?/g, (whole, name: string | undefined) => {
    const value = name === "HOME" ? home : environment[name ?? ""];
    if (name === undefined || !whole.endsWith("}") || !/^[A-Za-z_]\w*$/.test(name))
      wrong ??= `"${text}" has a $ that begins no variable; write \${NAME}`;
    else if (value === undefined || value === "")
      wrong ??= `the environment variable ${name} is not set; set it or write the path out`;
    else if (/[*?]/.test(value))
      wrong ??= `the environment variable ${name} holds * or ?, which would make it a pattern; write the path out`;
    return value ?? "";
  });
  if (wrong === undefined && rooted.startsWith("~")) wrong = `"${text}" names somebody else's home; write the path out`;
  return wrong === undefined ? { path: process.platform === "win32" ? path.replaceAll("\\", "/") : path } : { wrong };
}
