// The parts of the product that this goal's process was started with.
import { pathToFileURL } from "node:url";

export const parts = await import(pathToFileURL(process.argv[3]).href);
