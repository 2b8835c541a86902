#!/usr/bin/env node
// Draws the pictures of ARCHITECTURE.md anew from the code; `npm run check -- layers` tells when that is due.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { drawPictures } from "./check-layers/pictures.mjs";

const root = process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url)));
const table = JSON.parse(readFileSync(join(root, "layers.json"), "utf8"));
const page = join(root, "ARCHITECTURE.md");
writeFileSync(page, drawPictures(root, table, readFileSync(page, "utf8")));
