// Reads single absolute paths, their variables expanded.
import { isAbsolute } from "node:path";
import { expandPath, type Environment } from "./path-value.js";
import { TEXT, type Placed, type Section } from "./section.js";

/** The path of a file. */
export function readFilePath(section: Section, key: string, environment: Environment): string | undefined {
  const text = section.value(key, TEXT);
  const path = text && readPath(section, text, { name: section.name(key), environment });
  if (path === undefined || !/[\\/]$/.test(path)) return path;
  section.faults.add(text!.place, `${section.name(key)}: "${path}" names a folder; add the name of the file`);
  return undefined;
}

/** The path of a file or folder, without a slash at its end. */
export function readAnyPath(section: Section, key: string, environment: Environment): string | undefined {
  const text = section.value(key, TEXT);
  return (
    text &&
    readPath(section, text, { name: section.name(key), environment })?.replace(/(?:(?<=[^\\/])|(?<=^[\\/]))[\\/]+$/, "")
  );
}

/** Every path of a list. */
export function readPathList(section: Section, key: string, environment: Environment): string[] {
  return (section.list(key, TEXT) ?? []).flatMap(
    (text) => readPath(section, text, { name: section.name(key), environment }) ?? [],
  );
}

/** One path; what is wrong with it is reported under `name`. */
export function readPath(
  section: Section,
  { value, place }: Placed<string>,
  { name, environment }: { readonly name: string; readonly environment: Environment },
): string | undefined {
  const expanded = expandPath(value, environment);
  const wrong = "wrong" in expanded ? expanded.wrong : pathFault(expanded.path);
  if (wrong === undefined && "path" in expanded) return expanded.path;
  section.faults.add(place, `${name}: ${wrong}`);
  return undefined;
}

function pathFault(path: string): string | undefined {
  if (/[\u0000-\u001f\u007f]/.test(path)) return "a path cannot hold control characters; remove them";
  if (!isAbsolute(path)) return `"${path}" is not absolute; begin it with /, ~/ or \${HOME}/`;
  return undefined;
}
