// The parts of the product that this goal's process was started with; none where a goal is only asked for its defences.
import { pathToFileURL } from "node:url";

export const parts = process.send === undefined ? {} : await import(pathToFileURL(process.argv[3]).href);
