// Looks at a PostgreSQL statement as PostgreSQL's own parser reads it: one query, of parts that only read.
import {
  BUILT_IN_FUNCTIONS,
  CATALOG_RELATIONS,
  EXTENSION_FUNCTIONS,
  SAMPLES,
  SCHEMA_RELATIONS,
  SETTINGS,
} from "./postgres-allowed.js";

/** A name as the parser has folded it; the schema is empty where none was written. */
export interface SqlName {
  readonly schema: string;
  readonly name: string;
}

/**
 * A name after a dot. Where it is no column, PostgreSQL calls a function, or converts to a type, of that name: of values of every
 * type, and in no part of the tree that looks like a call.
 */
export interface DottedName {
  readonly name: string;
  /** The tables that what stands before the dot can mean, each of which has to have such a column; empty where it can mean more. */
  readonly tables: readonly SqlName[];
}

/** Everything of a statement that may make the server run code, or read what is no data of the user's. */
export interface PostgresStatement {
  readonly functions: readonly SqlName[];
  readonly dotted: readonly DottedName[];
  readonly operators: readonly string[];
  readonly types: readonly string[];
  readonly relations: readonly SqlName[];
}

/** Which functions the policy names beside the lists. */
export interface NamedFunctions {
  /** Whether any of its names could mean this function, whose schema is not known yet. */
  mayName(called: SqlName): boolean;
}

/** Everything else, INSERT and CALL and what is not yet invented, is refused. */
const NODES: ReadonlySet<string> = new Set(
  (
    "SelectStmt ExplainStmt VariableShowStmt RawStmt ResTarget ColumnRef A_Star String Integer Float Boolean BitString A_Const A_Expr " +
    "BoolExpr NullTest BooleanTest SubLink CaseExpr CaseWhen CoalesceExpr MinMaxExpr TypeCast TypeName FuncCall RangeVar Alias JoinExpr " +
    "RangeSubselect RangeFunction RangeTableSample CommonTableExpr SortBy WindowDef A_ArrayExpr A_Indices A_Indirection RowExpr List " +
    "GroupingSet GroupingFunc CollateClause SQLValueFunction NamedArgExpr XmlExpr DefElem ColumnDef RangeTableFunc RangeTableFuncCol " +
    "JsonFuncExpr JsonObjectConstructor JsonArrayConstructor JsonArrayQueryConstructor JsonObjectAgg JsonArrayAgg JsonKeyValue " +
    "JsonValueExpr JsonFormat JsonReturning JsonOutput JsonIsPredicate JsonTable JsonTableColumn JsonTablePathSpec JsonArgument JsonBehavior " +
    "JsonParseExpr JsonScalarExpr JsonSerializeExpr CTESearchClause CTECycleClause"
  ).split(" "),
);
const STATEMENTS: ReadonlySet<string> = new Set(["SelectStmt", "ExplainStmt", "VariableShowStmt"]);
/** Parts of a query that make tables or keep rows locked. */
const REFUSED_PARTS: ReadonlySet<string> = new Set(["intoClause", "lockingClause"]);
/** Used without being written: to sort, group, join and compare. */
export const IMPLICIT_OPERATORS: readonly string[] = ["=", "<>", "<", "<=", ">", ">="];
const EXPLAIN_OPTIONS: ReadonlySet<string> = new Set(
  "analyze verbose costs buffers format settings summary timing wal generic_plan memory".split(" "),
);
/** Parts of one statement. */
const MAX_PARTS = 50_000;

/** What to look up before it runs, or a sentence that says why it is refused. */
export function checkPostgres(tree: unknown, named: NamedFunctions): PostgresStatement | string {
  const { stmts = [] } = tree as { readonly stmts?: readonly { readonly stmt?: object }[] };
  if (stmts.length !== 1) return stmts.length === 0 ? "The statement is empty." : "Only one statement is allowed.";
  const [kind = ""] = Object.keys(stmts[0]?.stmt ?? {});
  if (!STATEMENTS.has(kind))
    return "Only queries are allowed: SELECT, VALUES, TABLE, WITH, EXPLAIN of one of them, or SHOW.";
  const found = new Findings(named);
  const waiting: unknown[] = [stmts[0]?.stmt];
  for (let seen = 0; waiting.length > 0; seen += 1) {
    if (seen > MAX_PARTS) return "The statement has too many parts.";
    const part = waiting.pop();
    if (Array.isArray(part)) waiting.push(...(part as unknown[]));
    else if (typeof part === "object" && part !== null) {
      for (const [key, value] of Object.entries(part)) {
        const fault = faultOf(key, value as Part, found);
        if (fault !== undefined) return fault;
        waiting.push(value);
      }
    }
  }
  return found.statement();
}

type Part = Readonly<Record<string, unknown>>;

interface NameOfRange {
  readonly aliasname: string;
  readonly colnames?: unknown;
}

/** Parts of a FROM list that have a name without being given one. */
const NAMED_BY_ITSELF: ReadonlySet<string> = new Set([
  "RangeFunction",
  "RangeSubselect",
  "RangeTableFunc",
  "JsonTable",
]);

/** Gathers names as the tree is walked. */
class Findings {
  readonly named: NamedFunctions;
  readonly functions = new Map<string, SqlName>();
  readonly #dotted = new Map<string, { readonly name: string; readonly before: string | undefined }>();
  /** What each name of the FROM lists stands for; undefined for what is no table with its own columns. */
  readonly #named = new Map<string, (SqlName | undefined)[]>();
  readonly #commonTables = new Set<string>();
  /** Part of a FROM list whose name PostgreSQL makes up: it could be any. */
  #hasUnnamed = false;
  readonly operators = new Set<string>(IMPLICIT_OPERATORS);
  readonly types = new Set<string>();
  readonly relations = new Map<string, SqlName>();

  constructor(named: NamedFunctions) {
    this.named = named;
  }

  /** What stands before the last dot is undefined where it is no name. */
  dot(name: string, before?: string): void {
    if (name !== "") this.#dotted.set(JSON.stringify([name, before]), { name, before });
  }

  /** Keeps what a part of a FROM list is called. */
  range(node: string, part: Part): void {
    const alias = part["alias"] as NameOfRange | undefined;
    const joined = part["join_using_alias"] as NameOfRange | undefined;
    if (node === "CommonTableExpr") this.#commonTables.add(String(part["ctename"]));
    if (node === "RangeVar") {
      const schema = typeof part["schemaname"] === "string" ? part["schemaname"] : "";
      const table = { schema, name: String(part["relname"]) };
      return this.#name(alias?.aliasname ?? table.name, alias?.colnames === undefined ? table : undefined);
    }
    for (const name of [alias, joined]) if (name !== undefined) this.#name(name.aliasname, undefined);
    if (alias === undefined && NAMED_BY_ITSELF.has(node)) this.#hasUnnamed = true;
  }

  #name(name: string, table: SqlName | undefined): void {
    this.#named.set(name, [...(this.#named.get(name) ?? []), table]);
  }

  /** Which part of the statement sees which name is not worked out: everything of that name has to be such a table. */
  #tables(before: string | undefined): SqlName[] {
    const meant = before === undefined || this.#hasUnnamed ? [] : (this.#named.get(before) ?? []);
    const tables = meant.filter((table) => table !== undefined);
    const areTables = tables.every(({ schema, name }) => schema !== "" || !this.#commonTables.has(name));
    return areTables && tables.length === meant.length ? tables : [];
  }

  statement(): PostgresStatement {
    return {
      functions: [...this.functions.values()],
      dotted: [...this.#dotted.values()].map(({ name, before }) => ({ name, tables: this.#tables(before) })),
      operators: [...this.operators],
      types: [...this.types],
      relations: [...this.relations.values()],
    };
  }
}

function faultOf(key: string, value: Part, found: Findings): string | undefined {
  if (REFUSED_PARTS.has(key)) return "The statement would change or lock something (INTO, FOR UPDATE, FOR SHARE).";
  if (key === "useOp" || key === "operName") return void found.operators.add(namesOf(value).at(-1) ?? "");
  // Types stand bare in some parts, under a key of their own.
  if (key === "typeName" || key === "TypeName") found.types.add(namesOf(value["names"]).at(-1) ?? "");
  if (!/^[A-Z]/.test(key)) return undefined;
  if (!NODES.has(key)) return `The statement has a part that does not only read (${key}).`;
  found.range(key, value);
  switch (key) {
    case "FuncCall":
      return callFault(value, found);
    case "RangeVar":
      return relationFault(value, found);
    case "A_Expr":
      return void found.operators.add(namesOf(value["name"]).at(-1) ?? "");
    case "ColumnRef": {
      const names = namesOf(value["fields"]);
      if (names.length > 1) found.dot(names.at(-1) ?? "", names.at(-2));
      return undefined;
    }
    case "A_Indirection":
      for (const name of namesOf(value["indirection"])) found.dot(name);
      return undefined;
    case "RangeTableSample": {
      const method = namesOf(value["method"]).at(-1) ?? "";
      return SAMPLES.has(method) ? undefined : `The way to sample ${shown(method)} is not allowed.`;
    }
    case "VariableShowStmt":
      return settingFault(String(value["name"]));
    case "ExplainStmt":
      return explainFault(value);
    default:
      return undefined;
  }
}

/** Names are compared as the parser has folded them: `"Lower"` is another function than `lower`. */
function callFault(value: Part, { named, functions }: Findings): string | undefined {
  const names = namesOf(value["funcname"]);
  const name = names.at(-1) ?? "";
  const schema = names.at(-2) ?? "";
  const called = { schema, name };
  const isNamed = named.mayName(called);
  if (!isNamed) {
    const isListed = BUILT_IN_FUNCTIONS.has(name) || (schema !== "pg_catalog" && EXTENSION_FUNCTIONS.has(name));
    if (!isListed) return `The function ${shown(name)} is not on the list of those that only read.`;
    if (name === "current_setting") {
      const setting = constantOf((value["args"] as readonly unknown[] | undefined)?.[0]);
      if (setting === undefined) return "current_setting is only allowed with a name in quotation marks.";
      const fault = settingFault(setting);
      if (fault !== undefined) return fault;
    }
  }
  functions.set(JSON.stringify(names), called);
  return undefined;
}

function relationFault(value: Part, { relations }: Findings): string | undefined {
  const name = String(value["relname"]);
  const schema = typeof value["schemaname"] === "string" ? value["schemaname"] : "";
  if (isRefusedRelation(schema, name))
    return `The relation ${shown(name)} is not on the list of those that may be read.`;
  relations.set(JSON.stringify([schema, name]), { schema, name });
  return undefined;
}

/** Whether a relation of the server's own may not be read. A schema that was not written may be the catalogue. */
export function isRefusedRelation(schema: string, name: string): boolean {
  if (schema === "pg_catalog") return !CATALOG_RELATIONS.has(name);
  if (schema === "information_schema") return !SCHEMA_RELATIONS.has(name);
  return schema === "" ? /^_?pg_/.test(name) && !CATALOG_RELATIONS.has(name) : schema.startsWith("pg_");
}

function settingFault(name: string): string | undefined {
  return SETTINGS.has(name.toLowerCase())
    ? undefined
    : `The setting ${shown(name)} is not on the list of those that may be read.`;
}

function constantOf(part: unknown): string | undefined {
  const constant = (part as { readonly A_Const?: { readonly sval?: { readonly sval?: string } } } | undefined)?.A_Const;
  return constant?.sval?.sval;
}

/** No longer than PostgreSQL's own names. */
function shown(name: string): string {
  return name.slice(0, 63);
}

function explainFault({ query, options = [] }: Part): string | undefined {
  if (!("SelectStmt" in (query as object))) return "Only queries can be explained.";
  const names = (options as readonly { readonly DefElem?: { readonly defname?: string } }[]).map(
    ({ DefElem }) => DefElem?.defname ?? "",
  );
  const unknown = names.find((name) => !EXPLAIN_OPTIONS.has(name));
  return unknown === undefined ? undefined : `The option ${unknown} of EXPLAIN is not allowed.`;
}

function namesOf(list: unknown): string[] {
  const parts = (Array.isArray(list) ? list : []) as readonly { readonly String?: { readonly sval?: string } }[];
  return parts.map(({ String: part }) => part?.sval ?? "");
}
