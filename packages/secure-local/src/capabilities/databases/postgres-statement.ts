// Looks at a PostgreSQL statement as PostgreSQL's own parser reads it: one query, of parts that only read.

/** What a statement asks the server to call. */
export interface PostgresStatement {
  /** Names of functions, lower case, for a look into the server's own catalogue. */
  readonly functions: readonly string[];
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
const REFUSED_FUNCTIONS =
  /^(?:pg_sleep|pg_read_|pg_ls_|pg_stat_file|pg_stat_reset|pg_file_|lo_|loread$|lowrite$|dblink|pg_terminate_|pg_cancel_|pg_reload_|pg_rotate_|pg_advisory_|pg_try_advisory_|set_config$|setval$|nextval$|lastval$|currval$|pg_notify$|pg_switch_|pg_create_|pg_drop_|pg_replication_|pg_logical_|pg_export_|pg_promote$|pg_(?:start|stop)_backup|pg_backup_|pg_log_|pg_wal_|pg_import_|pg_prewarm|autoprewarm|pg_relation_filepath$|pg_(?:hba|ident)_file|pg_show_all_file|(?:query|table|cursor|schema|database)_to_xml|ts_stat$|ts_rewrite$|crosstab|connectby|get_raw_page|heap_page_|bt_|postgres_fdw_|pg_execute_|pg_extension_config|binary_upgrade_|pg_stop_|pg_start_|pg_nextoid|http_|plpy|plperl)/;
const REFUSED_RELATIONS: ReadonlySet<string> = new Set(
  "pg_authid pg_shadow pg_largeobject pg_user_mapping pg_user_mappings pg_hba_file_rules pg_ident_file_mappings pg_file_settings pg_subscription".split(
    " ",
  ),
);
const EXPLAIN_OPTIONS: ReadonlySet<string> = new Set(
  "analyze verbose costs buffers format settings summary timing wal generic_plan memory".split(" "),
);
/** Parts of one statement. */
const MAX_PARTS = 50_000;

/** What to look up before it runs, or a sentence that says why it is refused. */
export function checkPostgres(tree: unknown): PostgresStatement | string {
  const { stmts = [] } = tree as { readonly stmts?: readonly { readonly stmt?: object }[] };
  if (stmts.length !== 1) return stmts.length === 0 ? "The statement is empty." : "Only one statement is allowed.";
  const [kind = ""] = Object.keys(stmts[0]?.stmt ?? {});
  if (!STATEMENTS.has(kind))
    return "Only queries are allowed: SELECT, VALUES, TABLE, WITH, EXPLAIN of one of them, or SHOW.";
  const functions = new Set<string>();
  const waiting: unknown[] = [stmts[0]?.stmt];
  for (let seen = 0; waiting.length > 0; seen += 1) {
    if (seen > MAX_PARTS) return "The statement has too many parts.";
    const part = waiting.pop();
    if (Array.isArray(part)) waiting.push(...(part as unknown[]));
    else if (typeof part === "object" && part !== null) {
      for (const [key, value] of Object.entries(part)) {
        const fault = faultOf(key, value as Part, functions);
        if (fault !== undefined) return fault;
        waiting.push(value);
      }
    }
  }
  return { functions: [...functions] };
}

type Part = Readonly<Record<string, unknown>>;

function faultOf(key: string, value: Part, functions: Set<string>): string | undefined {
  if (REFUSED_PARTS.has(key)) return "The statement would change or lock something (INTO, FOR UPDATE, FOR SHARE).";
  if (!/^[A-Z]/.test(key)) return undefined;
  if (!NODES.has(key)) return `The statement has a part that does not only read (${key}).`;
  if (key === "FuncCall") {
    const name = namesOf(value["funcname"]).at(-1)?.toLowerCase() ?? "";
    if (REFUSED_FUNCTIONS.test(name)) return `The function ${name.slice(0, 63)} is not allowed.`;
    functions.add(name);
  }
  if (key === "RangeVar" && REFUSED_RELATIONS.has(String(value["relname"]).toLowerCase()))
    return `The relation ${String(value["relname"])} is not allowed.`;
  if (key === "ExplainStmt") return explainFault(value);
  return undefined;
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
  const parts = list as readonly { readonly String?: { readonly sval?: string } }[];
  return parts.map(({ String: part }) => part?.sval ?? "");
}
