// The public surface of the host on Node: beside what `/host` gives, it starts programs and reads configuration files.
export { LocalError } from "../jsonrpc/errors.js";
export { type ApprovalFile, approvalFile } from "../node/host-files.js";
export { folderRoots, type FolderRoots, type FolderRootsOptions } from "../node/host-files.js";
export { Host, type NodeHostOptions } from "../serve/host-node.js";
