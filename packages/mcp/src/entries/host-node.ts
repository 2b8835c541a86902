// The public surface of the host on Node: beside what `/host` gives, it starts programs and reads configuration files.
export { LocalError } from "../jsonrpc/errors.js";
export { type ApprovalFile, approvalFile } from "../node/host-files.js";
export { folderRoots } from "../node/host-files.js";
export type { FolderRoots, FolderRootsOptions } from "../node/host-files.js";
export type { ChildCommand, CloseTimeouts, Environment, NodeRequesterOptions } from "./client-node.js";
export type { HostOptions } from "./types.js";
export { Host, type NodeHostOptions } from "../serve/host-node.js";
