#!/usr/bin/env node
// Builds the documentation into site/: the library's pages, its reference from the doc comments, the product's pages.
// Plain files that open without a server; the search works offline. `--check` fails for links that lead nowhere.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import MarkdownIt from "markdown-it";
import { publicNames, referencePage } from "./lib/api-reference.mjs";
import { root } from "./lib/run-command.mjs";
import { SCRIPT, STYLE } from "./lib/docs-assets.mjs";

const site = join(root, "site");
const markdown = new MarkdownIt({ html: false, linkify: false });

/** The library's pages in the order one reads them. */
const ORDER = [
  ...["index", "first-server", "tools", "resources", "prompts", "completion", "questions", "sampling", "subscriptions"],
  ...[
    "tasks",
    "progress-and-cancellation",
    "errors",
    "mistakes",
    "middleware",
    "authorization",
    "sessions",
    "testing",
    "deploying",
  ],
  ...["clients", "hosts", "agents", "gateway", "migration", "more-than-one-process"],
];

/** Pages of a folder of docs/, in the order given and then by name. */
function pagesOf(folder, group, order = []) {
  const files = readdirSync(join(root, "docs", folder)).filter((file) => file.endsWith(".md"));
  const rank = (file) => (order.indexOf(file.slice(0, -3)) + order.length + 1) % (order.length + 1);
  files.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return files.map((file) =>
    page(group, posix.join(folder, file), readFileSync(join(root, "docs", folder, file), "utf8")),
  );
}

function page(group, path, text) {
  const title = /^# (.*)$/m.exec(text)?.[1] ?? path;
  return { group, path: path.replace(/\.md$/, ".html"), title: title.replaceAll("`", ""), text };
}

function allPages() {
  const reference = publicNames().map((entry) => {
    const name = entry.subpath.slice(2).replaceAll("/", "-");
    return page("Reference", `library/reference/${name}.md`, referencePage(entry));
  });
  return [
    ...pagesOf("library", "Library", ORDER),
    ...reference,
    ...pagesOf("", "The server mcp-secure-local"),
    ...pagesOf("tools", "Its tools"),
  ];
}

const escaped = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const anchorOf = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
    .replaceAll(/^-|-$/g, "");

/** Folders of docs/ that pages link to as a whole, and their first pages. */
const FIRST = { tools: pagesOf("tools", "Tools")[0].path };

/** The body of a page: links lead to the built files, headings can be linked to. */
function bodyOf({ text }) {
  const html = markdown
    .render(text)
    .replaceAll(/href="((?!https?:|#)[^"]+?)\.md(#[^"]*)?"/g, 'href="$1.html$2"')
    .replaceAll(/href="(tools)"/g, (_, folder) => `href="${FIRST[folder]}"`);
  return html.replaceAll(/<h([23])>(.*?)<\/h\1>/g, (_, level, inside) => {
    const id = anchorOf(inside.replaceAll(/<[^>]+>/g, ""));
    return `<h${level} id="${id}"><a href="#${id}">${inside}</a></h${level}>`;
  });
}

function navigation(pages, current) {
  const up = posix.relative(posix.dirname(current.path), ".") || ".";
  const groups = [...new Set(pages.map(({ group }) => group))];
  return groups
    .map((group) => {
      const items = pages
        .filter((each) => each.group === group)
        .map(
          ({ path, title }) =>
            `<li${path === current.path ? ' class="here"' : ""}><a href="${up}/${path}">${escaped(title)}</a></li>`,
        );
      return `<details${group === current.group ? " open" : ""}><summary>${group}</summary><ul>${items.join("")}</ul></details>`;
    })
    .join("");
}

function whole(pages, current) {
  const up = posix.relative(posix.dirname(current.path), ".") || ".";
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(current.title)}</title><link rel="stylesheet" href="${up}/style.css"></head><body data-up="${up}">
<nav><input type="search" placeholder="Search" aria-label="Search"><ol id="found"></ol>${navigation(pages, current)}</nav>
<main>${bodyOf(current)}</main><script src="${up}/search-index.js"></script><script src="${up}/search.js"></script></body></html>`;
}

/** One entry a section: where it is, and its words. */
function searchIndex(pages) {
  return pages.flatMap(({ path, title, text }) =>
    text.split(/^(?=##? )/m).map((section) => {
      const heading = /^##? (.*)$/m.exec(section)?.[1] ?? title;
      const at = section.startsWith("## ") ? `${path}#${anchorOf(heading.replaceAll("`", ""))}` : path;
      return [at, heading === title ? title : `${title}: ${heading}`, section.replaceAll(/\s+/g, " ").slice(0, 2_000)];
    }),
  );
}

/** Links of built pages that lead to no page. Links out of docs/ lead into the repository and are left alone. */
function brokenLinks(pages) {
  const there = new Set(pages.map(({ path }) => path));
  return pages.flatMap((each) =>
    [...bodyOf(each).matchAll(/href="((?!https?:|#)[^"#]+)/g)]
      .map(([, target]) => posix.join(posix.dirname(each.path), target))
      .filter((target) => !target.startsWith("..") && !there.has(target))
      .map((target) => `${each.path} links to ${target}, which is not there`),
  );
}

const pages = allPages();
rmSync(site, { recursive: true, force: true });
for (const each of pages) {
  const path = join(site, each.path);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, whole(pages, each));
}
writeFileSync(
  join(site, "index.html"),
  '<!doctype html><meta http-equiv="refresh" content="0; url=library/index.html">',
);
writeFileSync(join(site, "style.css"), STYLE);
writeFileSync(join(site, "search.js"), SCRIPT);
writeFileSync(join(site, "search-index.js"), `const INDEX=${JSON.stringify(searchIndex(pages))};`);
const broken = brokenLinks(pages);
for (const line of broken) console.error(line);
console.log(`${pages.length} pages in site/, begin with site/index.html`);
if (process.argv.includes("--check") && broken.length > 0) process.exitCode = 1;
