// Reads a text without the YAML library and with it, and holds one against the other.
import { expect } from "vitest";
import { Faults } from "../../src/policy/faults.js";
import { anyTree, plainTree, type Tree } from "../../src/policy/policy-tree.js";
import { policyText } from "../../src/policy/policy-text.js";

async function byLibrary(text: string): Promise<{ readonly tree: Tree | undefined; readonly isSound: boolean }> {
  const faults = new Faults("policy.yaml");
  const tree = await anyTree(text, faults);
  return { tree, isSound: faults.count === 0 };
}

/** The same in lists alone: the order of keys counts. */
function inOrder(tree: Tree | undefined): unknown {
  if (tree?.kind === "map")
    return { ...tree, entries: [...tree.entries].map(([name, { key, value }]) => [name, key, inOrder(value)]) };
  return tree?.kind === "list" ? { ...tree, items: tree.items.map(inOrder) } : tree;
}

/** @returns whether it was plain */
export async function alike(text: string): Promise<boolean> {
  const plain = plainTree(text);
  if (plain === undefined) return false;
  const { tree, isSound } = await byLibrary(text);
  expect(isSound, text).toBe(true);
  expect(inOrder(plain), text).toEqual(inOrder(tree));
  return true;
}

/** Policies that people begin with. */
export const CHOSEN = policyText({ readable: ["/srv/a"], writable: [], search: true, hosts: [], ask: true });
export const SERVERS = `version: "1.0"
tools: { allowed: ["*"], rate_limits: { default: 1000000 } }
# all of them
servers:
  up0: { url: "http://127.0.0.1:1/mcp" }   # the first
  up1:
    command: [npx, -y, 'a thing', ~/notes]
    env: {}
    may_ask: []
    idle: 15
  up2:
    url: http://127.0.0.1:80/mcp
    enabled: false
`.replace("-y, ", "");
