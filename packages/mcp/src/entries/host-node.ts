// The public surface of the host on Node: beside what `/host` gives, it starts programs and reads configuration files.
export { LocalError } from "../jsonrpc/local-error.js";
export { type ApprovalFile, approvalFile } from "../node/approval-file.js";
export { folderRoots, type FolderRoots, type FolderRootsOptions } from "../node/folder-roots.js";
export { Host, type NodeHostOptions } from "../serve/host-node.js";
