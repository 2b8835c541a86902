// The pages that go into a tarball, for people who have the package and not the repository.
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";

const LINK = /!?\[([^\]]*)\]\(([^)]*)\)/g;

/** What a link leads to beside its page; undefined for an address, or a place in the page itself. */
function ledTo(page, target) {
  if (/^(?:[a-z]+:|#)/.test(target)) return undefined;
  return posix.normalize(posix.join(posix.dirname(page), target.replace(/#.*$/, ""))).replace(/\/$/, "");
}

function isThere(path, there) {
  return there.has(path) || [...there].some((each) => each.startsWith(`${path}/`));
}

/** Pages as `[name, text]`, from `[name, file]`. What a link leads to that is not packed keeps its words alone. */
export function packedPages(pages) {
  const there = new Set(pages.map(([name]) => name));
  return pages.map(([name, file]) => {
    const text = readFileSync(file, "utf8").replace(LINK, (link, words, target) => {
      const path = ledTo(name, target);
      return path === undefined || isThere(path, there) ? link : words;
    });
    return [name, text];
  });
}

/** Links of a tarball's pages to what is not in it, as `page: target`. */
export function deadLinks(place, files) {
  const there = new Set(files);
  return files
    .filter((file) => file.endsWith(".md"))
    .flatMap((file) =>
      [...readFileSync(join(place, file), "utf8").matchAll(LINK)]
        .map(([, , target]) => target)
        .filter((target) => {
          const path = ledTo(file, target);
          return path !== undefined && !isThere(path, there);
        })
        .map((target) => `${file}: ${target}`),
    );
}
