// Writes an entry of the section servers into the text of a policy, or takes one out; what else stands there stays as it is.
import { type Document, isMap, isScalar, isSeq, parseDocument } from "yaml";
import { isDeepStrictEqual } from "node:util";
import { PolicyError } from "./faults.js";
import { putItem, putMember, takeItem, takeMember } from "./put-into-yaml.js";

/** Long lines and narrow brackets stay as people write them. */
const AS_WRITTEN = { lineWidth: 0, flowCollectionPadding: false } as const;

/** An entry as it is written; members that are undefined are left out. */
export interface ServerEntry {
  readonly command?: readonly string[] | undefined;
  readonly url?: string | undefined;
  readonly working_directory?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly login?: "oauth" | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly filesystem?:
    | {
        readonly readable_paths?: readonly string[] | undefined;
        readonly allowed_paths?: readonly string[] | undefined;
      }
    | undefined;
  readonly network?: { readonly allowed_endpoints: readonly { readonly host: string }[] } | undefined;
}

/** A secret as it is written. */
export interface SecretEntry {
  readonly from: string;
  readonly hosts: readonly (string | { readonly host: string; readonly ports: readonly number[] })[];
}

/** The text with the server in it, its tools and prompts allowed by name. @throws PolicyError for a text that is no YAML */
export function withServer(
  text: string,
  name: string,
  entry: ServerEntry,
  secrets: Readonly<Record<string, SecretEntry>> = {},
): string {
  const document = read(text);
  // A section of which only the name is written.
  for (const section of ["secrets", "servers", "tools", "prompts"])
    if (isScalar(document.get(section, true))) document.delete(section);
  for (const [secret, from] of Object.entries(secrets)) document.setIn(["secrets", secret], document.createNode(from));
  document.setIn(["servers", name], document.createNode(written(entry)));
  for (const section of ["tools", "prompts"]) {
    const allowed = document.getIn([section, "allowed"]);
    if (isSeq(allowed)) allowed.add(`${name}__*`);
    else document.setIn([section, "allowed"], document.createNode([`${name}__*`]));
  }
  return asEdited(putServer(text, name, { entry, secrets }), document);
}

function putServer(
  text: string,
  name: string,
  { entry, secrets }: { readonly entry: ServerEntry; readonly secrets: Readonly<Record<string, SecretEntry>> },
): string | undefined {
  let now: string | undefined = text;
  for (const [key, value] of Object.entries(secrets)) now = now && putMember(now, { section: "secrets", key, value });
  now = now && putMember(now, { section: "servers", key: name, value: written(entry) });
  for (const section of ["tools", "prompts"])
    now = now && putItem(now, { section, key: "allowed", value: `${name}__*` });
  return now;
}

function written(members: object): object {
  const there = Object.entries(members).filter(([, value]) => value !== undefined) as [string, unknown][];
  return Object.fromEntries(
    there.map(([key, value]) => [key, key === "filesystem" ? written(value as object) : value]),
  );
}

/**
 * The text without the server, its name in profiles and the permissions that were written with it. A profile that named no other names
 * none then: without its list it would have all of them. @throws PolicyError
 */
export function withoutServer(text: string, name: string): string {
  const document = read(text);
  const profiles = profilesOf(document, name);
  for (const profile of profiles) takeOut(document, ["profiles", profile, "servers"], name);
  document.deleteIn(["servers", name]);
  const servers = document.get("servers");
  if (isMap(servers) && servers.items.length === 0) document.delete("servers");
  for (const section of ["tools", "prompts"]) takeOut(document, [section, "allowed"], `${name}__*`);
  return asEdited(takenServer(text, name, profiles), document);
}

function takenServer(text: string, name: string, profiles: readonly string[]): string | undefined {
  let now: string | undefined = text;
  for (const profile of profiles) now = now && takeItem(now, ["profiles", profile, "servers"], name);
  now = now && takeMember(now, { section: "servers", key: name });
  for (const section of ["tools", "prompts"]) now = now && takeItem(now, [section, "allowed"], `${name}__*`);
  return now;
}

/** The text with all the rest as it stands, where it means the very same as the document; else all of it anew. */
function asEdited(text: string | undefined, document: Document): string {
  const same = text !== undefined && isDeepStrictEqual(parseDocument(text).toJS(), document.toJS());
  return same ? text : document.toString(AS_WRITTEN);
}

/** The profiles that name a server. @throws PolicyError for a text that is no YAML */
export function profilesWith(text: string, server: string): string[] {
  return profilesOf(read(text), server);
}

function profilesOf(document: Document, server: string): string[] {
  const profiles = document.get("profiles");
  if (!isMap(profiles)) return [];
  return profiles.items
    .map(({ key }) => String(key))
    .filter((profile) => {
      const servers = document.getIn(["profiles", profile, "servers"]);
      return isSeq(servers) && servers.items.some((item) => String(item) === server);
    });
}

function takeOut(document: Document, path: readonly string[], word: string): void {
  const list = document.getIn(path);
  if (isSeq(list)) list.items = list.items.filter((item) => String(item) !== word);
}

function read(text: string): Document {
  const document = parseDocument(text);
  const [fault] = document.errors;
  if (fault === undefined) return document;
  throw new PolicyError([{ file: "the policy", line: 1, column: 1, message: fault.message, placeless: true }]);
}
