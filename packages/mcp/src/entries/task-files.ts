// The public surface for keeping tasks in files.
export { taskFileStore } from "../node/task-file-store.js";
export type { TaskFileStoreOptions } from "../node/task-file-store.js";
export type { TaskStore } from "./types.js";
