// Accessibility faults that axe finds on a page, whatever the page's own policy of scripts is.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Accessibility faults by axe, in an isolated world of the page's. */
export async function axe(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = (await session.send("Page.getFrameTree")) as { frameTree: { frame: { id: string } } };
  const frameId = frameTree.frame.id;
  const world = await session.send("Page.createIsolatedWorld", { frameId });
  const contextId = world.executionContextId;
  const expression = `${AXE}; axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa"] }).then((found) => found.violations.map(({ id, nodes }) => id + " " + nodes.map((node) => node.html.slice(0, 120)).join(" | ")))`;
  const { result } = (await session.send("Runtime.evaluate", {
    expression,
    contextId,
    awaitPromise: true,
    returnByValue: true,
  })) as { result: { value?: string[]; description?: string } };
  await session.detach();
  return result.value ?? [result.description ?? "axe did not run"];
}
