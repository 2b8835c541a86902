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

/** Everything of a statement that may make the server run code, or read what is no data of the user's. */
export interface PostgresStatement {
  readonly functions: readonly SqlName[];
  /** Names after a dot: `people.total` calls a function of that name where there is no such column. */
  readonly attributes: readonly string[];
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

/** Gathers names as the tree is walked. */
class Findings {
  readonly named: NamedFunctions;
  readonly functions = new Map<string, SqlName>();
  readonly attributes = new Set<string>();
  readonly operators = new Set<string>(IMPLICIT_OPERATORS);
  readonly types = new Set<string>();
  readonly relations = new Map<string, SqlName>();

  constructor(named: NamedFunctions) {
    this.named = named;
  }

  statement(): PostgresStatement {
    return {
      functions: [...this.functions.values()],
      attributes: [...this.attributes],
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
  switch (key) {
    case "FuncCall":
      return callFault(value, found);
    case "RangeVar":
      return relationFault(value, found);
    case "A_Expr":
      return void found.operators.add(namesOf(value["name"]).at(-1) ?? "");
    case "ColumnRef":
      for (const name of namesOf(value["fields"]).slice(1)) found.attributes.add(name);
      return undefined;
    case "A_Indirection":
      for (const name of namesOf(value["indirection"])) if (name !== "") found.attributes.add(name);
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
