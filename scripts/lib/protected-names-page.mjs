// Writes docs/protected-names.md: the classes of names that no tool reaches, each name with the page that says what reads it.

import { wrapProse } from "./wrap-prose.mjs";

const HEAD = `# Protected names

<!-- Written by scripts/protected-names.mjs from the capability files; run it when that changes. -->

What no tool writes, and much of it no tool reads, whatever the policy allows ([files](tools/files.md) says how names are compared). The list is a net with holes: it has
what the pages of these programs say they read without being told, and a program nobody thought of is not in it. Allow the folders that are needed, and nothing more.
A row that names several programs of a kind gives the page of one of them.

Several names below one another may stand anywhere in a path. \`~/\` in front binds them to the home folder, \`/\` to the root; \`*\` is any rest. Names are compared without
case, so they are written in small letters. What lies in a protected folder is protected with it.

Besides the names: \`/proc\`, \`/sys\` and \`/dev\`; git's objects, packs and large files, by the form of their names, wherever they lie; what git keeps in a folder that has a file \`HEAD\`; and
the program's own files.

Not protected are examples of environment files, which repositories hold to be copied and filled in, and which by that convention have no secrets: \`.env.example\`,
\`.env.sample\`, \`.env.template\`, \`.env.dist\`, and those of one surrounding, such as \`.env.test.example\`. Where yours hold some, name them in \`denied_paths\`. Nor
are certificates and public keys whose names say that they are (\`ca.pem\`, \`fullchain.pem\`, \`id.pub.key\`).
`;

/** `classes` and `namesIn` are those of protected-names.ts. */
export function protectedNamesPage(classes, namesIn) {
  const parts = [HEAD];
  for (const each of classes) {
    parts.push(
      `## ${each.title}\n\nA refusal says: ${each.reason}.\n\n| names | kept from being | read by, or told of in |\n| --- | --- | --- |`,
    );
    for (const { names, from, source } of rowsOf(namesIn(each))) {
      const kept = from === "write" ? "written" : "read and written";
      parts.push(`| ${names.map((name) => `\`${name}\``).join(", ")} | ${kept} | <${source}> |`);
    }
    parts.push("");
  }
  return `${wrapProse(parts.join("\n")).trimEnd()}\n`;
}

/** Names of one page and one protection are one row. */
function rowsOf(names) {
  const rows = [];
  for (const { name, from, source } of names) {
    const last = rows.at(-1);
    if (last?.source === source && last.from === from) last.names.push(name);
    else rows.push({ names: [name], from, source });
  }
  return rows;
}
