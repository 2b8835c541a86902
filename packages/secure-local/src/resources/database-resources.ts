// The schemas of databases as resources: all tables of one, and each table by itself.
import {
  type CompletionReturn,
  LocalError,
  type ReadReturn,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
  RpcError,
} from "@secure-local/mcp/server";
import { completedName } from "../capabilities/files/files.js";
import { DatabaseError, type Databases, type SchemaTable } from "../capabilities/databases/databases.js";

export const TABLE_TEMPLATE = "db://{database}/schema/{table}";

const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;
/** As many as one answer to a completion holds. */
const COMPLETIONS = 100;
const TABLE_URI = /^db:\/\/([^/]+)\/schema\/([^/]+)$/;

export function isTableUri(uri: string): boolean {
  return uri === TABLE_TEMPLATE || TABLE_URI.test(uri);
}

export function schemaUri(name: string): string {
  return `db://${encodeURIComponent(name)}/schema`;
}

/** All tables and views of a database. */
export function schemaResource(name: string, databases: Databases): readonly [string, ResourceDefinition] {
  const uri = schemaUri(name);
  const definition: ResourceDefinition = {
    name: `${name} schema`,
    description: `Tables, views and columns of the database ${name}`,
    mimeType: "application/json",
    read: ({ signal }) =>
      answering(async () => contents(uri, { database: name, tables: await databases.schema(name, signal) })),
    watch: (_uri, changed) => databases.watchSchema(name, undefined, changed),
  };
  return [uri, definition];
}

/** One table or view. @throws RpcError from reading, for what is denied or cannot be reached */
export function tableTemplate(databases: Databases): ResourceTemplateDefinition {
  const tables = (database: string, signal: AbortSignal): Promise<readonly SchemaTable[]> =>
    databases.schema(database, signal);
  return {
    name: "tables",
    title: "Tables",
    description: "Columns of one table or view of a database",
    mimeType: "application/json",
    complete: {
      database: (typed) =>
        fitting(
          databases.list().map(({ name }) => name),
          typed,
        ),
      table: async (typed, { arguments: known, context }) => {
        const database = known["database"];
        if (database === undefined) return { values: [] };
        const found = await tables(database, context.signal).catch(nothing);
        return fitting(
          found.map(({ name }) => name),
          typed,
        );
      },
    },
    watch: (uri, changed) => {
      const { database, table } = tableOf(uri);
      return databases.watchSchema(database, table, changed);
    },
    read: (uri, _variables, { signal }) =>
      answering(async () => {
        const { database: named, table: wanted } = tableOf(uri);
        if (!databases.list().some(({ name }) => name === named)) return undefined;
        const found = (await tables(named, signal)).find(({ name }) => name === wanted);
        return found && contents(uri, { database: named, ...found });
      }),
  };
}

function nothing(error: unknown): readonly SchemaTable[] {
  if (error instanceof DatabaseError || error instanceof LocalError) return [];
  throw error;
}

function fitting(names: readonly string[], typed: string): CompletionReturn {
  const values = names.filter((name) => name.toLowerCase().startsWith(typed.toLowerCase()));
  return { values: values.slice(0, COMPLETIONS).map(completedName), total: values.length };
}

function tableOf(uri: string): { readonly database: string; readonly table: string } {
  const [, database = "", table = ""] = TABLE_URI.exec(uri) ?? [];
  return { database: decoded(database), table: decoded(table) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function contents(uri: string, value: object): ReadReturn {
  return [{ uri, mimeType: "application/json", text: JSON.stringify(value, undefined, 2) }];
}

async function answering(work: () => Promise<ReadReturn>): Promise<ReadReturn> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const { code, message, rule } = error;
    const data = { path: "/uri", constraint: "a database the policy allows", ...(rule === undefined ? {} : { rule }) };
    const text = code === "denied" ? `Denied. ${message}` : message;
    throw new RpcError(code === "denied" || code === "unknown" ? INVALID_PARAMS : INTERNAL_ERROR, text, data);
  }
}
