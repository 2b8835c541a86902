// Writes an entry of the section servers into the text of a policy, or takes one out; what else stands there stays as it is.
import { type Document, isMap, isSeq, parseDocument } from "yaml";
import { PolicyError } from "./policy-error.js";

/** Long lines and narrow brackets stay as people write them. */
const AS_WRITTEN = { lineWidth: 0, flowCollectionPadding: false } as const;

/** An entry as it is written. */
export type ServerEntry = { readonly command: readonly string[] } | { readonly url: string };

/** The text with the server in it, its tools and prompts allowed by name. @throws PolicyError for a text that is no YAML */
export function withServer(text: string, name: string, entry: ServerEntry): string {
  const document = read(text);
  document.setIn(["servers", name], document.createNode(entry));
  for (const section of ["tools", "prompts"]) {
    const allowed = document.getIn([section, "allowed"]);
    if (isSeq(allowed)) allowed.add(`${name}__*`);
    else document.setIn([section, "allowed"], document.createNode([`${name}__*`]));
  }
  return document.toString(AS_WRITTEN);
}

/** The text without the server and the permissions that were written with it. @throws PolicyError */
export function withoutServer(text: string, name: string): string {
  const document = read(text);
  document.deleteIn(["servers", name]);
  const servers = document.get("servers");
  if (isMap(servers) && servers.items.length === 0) document.delete("servers");
  for (const section of ["tools", "prompts"]) {
    const allowed = document.getIn([section, "allowed"]);
    if (!isSeq(allowed)) continue;
    allowed.items = allowed.items.filter((item) => String(item) !== `${name}__*`);
  }
  return document.toString(AS_WRITTEN);
}

function read(text: string): Document {
  const document = parseDocument(text);
  const [fault] = document.errors;
  if (fault === undefined) return document;
  throw new PolicyError([{ file: "the policy", line: 1, column: 1, message: fault.message }]);
}
