// What is attacked: the product's files, and the common way of checking a path before it is opened, for comparison.
import { readFile, realpath, readdir, writeFile, unlink } from "node:fs/promises";

/** The methods of the product, under one policy. */
export async function product({ FileSystem, parsePolicy, lookups }, { inside }, lookup) {
  const text = `version: "1.0"\nfilesystem: { allowed_paths: ["${inside}/**"] }\n`;
  const policy = await parsePolicy(text, { file: "/nowhere/policy.yaml" });
  const system = new FileSystem(() => policy, lookup === undefined ? {} : { lookup: lookups[lookup] });
  const files = system.files();
  const bytes = new TextEncoder().encode("written by us");
  return {
    read: async (path) => new TextDecoder().decode((await files.read(path)).bytes),
    write: (path) => files.write(path, bytes),
    list: async (path) => (await files.list(path)).entries.map(({ name }) => name),
    delete: (path) => files.remove(path),
    close: () => system.close(),
  };
}

/** Resolve, compare, open: what most servers do. */
export function checkThenOpen({ inside }) {
  const checked = async (path) => {
    const real = await realpath(path);
    if (!real.startsWith(`${inside}/`) && real !== inside) throw new Error("outside");
    return path;
  };
  return {
    read: async (path) => await readFile(await checked(path), "utf8"),
    write: async (path) => await writeFile(await checked(path), "written by us"),
    list: async (path) => await readdir(await checked(path)),
    delete: async (path) => await unlink(await checked(path)),
    close: () => undefined,
  };
}
