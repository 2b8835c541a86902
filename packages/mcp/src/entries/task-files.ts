// The public surface for keeping tasks in files.
export { taskFileStore, type TaskFileStoreOptions } from "../node/task-file-store.js";
