// Finds what lets the Node of a plugin load TypeScript, where it does not do so by itself (before 22.18).
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Reach } from "../sandbox/wall.js";

export interface TypeStripper {
  /** A module with hooks for `module.register`. */
  readonly path: string;
  /** What the sandbox has to see for it. */
  readonly reach: readonly Reach[];
}

/** As bundled, beside this file and whole; as a source, with the package it needs. */
const BUNDLED = "./strip-types.cjs";
const SOURCE = "../../launcher/strip-types.cjs";
const PACKAGE = "@swc/wasm-typescript";

/** Undefined for a module that needs none. */
export function typeStripper(entry: string): TypeStripper | undefined {
  if (!/\.m?ts$/.test(entry) || knowsTypes()) return undefined;
  const bundled = fileURLToPath(new URL(BUNDLED, import.meta.url));
  if (existsSync(bundled)) return { path: bundled, reach: [seen(bundled)] };
  const path = fileURLToPath(new URL(SOURCE, import.meta.url));
  return { path, reach: [seen(path), seen(dirname(createRequire(path).resolve(PACKAGE)))] };
}

/** Whether Node takes types out itself; plugins run by the same Node as this program. */
function knowsTypes(): boolean {
  const { typescript } = process.features as { readonly typescript?: unknown };
  return typescript === "strip" || typescript === "transform";
}

function seen(path: string): Reach {
  return { path, access: "read" };
}
