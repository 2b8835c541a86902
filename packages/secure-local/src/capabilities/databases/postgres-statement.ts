// Looks at a PostgreSQL statement as PostgreSQL's own parser reads it: one query, of parts that only read, and
// functions of a list.
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

// What statements may name on a PostgreSQL server by themselves: functions, relations of the catalogue and settings that only
// tell of data and of how it is laid out. What stands in no list here is refused unless the policy names it.

/** Functions of `pg_catalog`: none reads a file, runs a text as SQL, reaches another connection or tells of the server's surroundings. */
export const BUILT_IN_FUNCTIONS: ReadonlySet<string> = words(
  // Casts written as calls.
  `bool int2 int4 int8 float4 float8 numeric money text varchar bpchar char name date time timetz timestamp timestamptz interval bit varbit oid xid
   regclass json jsonb xml uuid bytea inet cidr macaddr macaddr8 point line lseg box path polygon circle int4range int8range numrange tsrange
   tstzrange daterange int4multirange int8multirange nummultirange tsmultirange tstzmultirange datemultirange multirange`,
  // Texts and bytes.
  `ascii bit_count bit_length btrim char_length character_length chr concat concat_ws convert convert_from convert_to crc32 crc32c decode encode format get_bit
   get_byte initcap is_normalized left length like like_escape notlike lower lpad ltrim md5 normalize octet_length overlay parse_ident position
   quote_ident quote_literal quote_nullable regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace
   regexp_split_to_array regexp_split_to_table regexp_substr repeat replace reverse right rpad rtrim set_bit set_byte sha224 sha256 sha384
   sha512 similar_escape similar_to_escape split_part starts_with string_to_array string_to_table strpos substr substring to_ascii to_bin to_hex
   to_oct translate unistr upper casefold starts_with textlen`,
  // Numbers.
  `abs acos acosd acosh asin asind asinh atan atan2 atan2d atand atanh cbrt ceil ceiling cos cosd cosh cot cotd degrees div erf erfc exp factorial
   floor gamma gcd lcm lgamma ln log log10 min_scale mod pi pow power radians random random_normal round scale sign sin sind sinh sqrt tan tand tanh
   to_number trim_scale trunc width_bucket`,
  // Dates and times.
  `age clock_timestamp date_add date_bin date_part date_subtract date_trunc extract isfinite justify_days justify_hours justify_interval make_date
   make_interval make_time make_timestamp make_timestamptz now overlaps statement_timestamp timeofday timezone to_char to_date to_timestamp
   transaction_timestamp`,
  // Aggregates and windows.
  `any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp cume_dist dense_rank every first_value
   json_agg json_agg_strict json_object_agg json_object_agg_strict json_object_agg_unique json_object_agg_unique_strict jsonb_agg
   jsonb_agg_strict jsonb_object_agg jsonb_object_agg_strict jsonb_object_agg_unique jsonb_object_agg_unique_strict lag last_value lead max min
   mode nth_value ntile percent_rank percentile_cont percentile_disc range_agg range_intersect_agg rank regr_avgx regr_avgy regr_count
   regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy row_number stddev stddev_pop stddev_samp string_agg sum var_pop var_samp
   variance xmlagg`,
  // JSON and XML.
  `array_to_json json_array_elements json_array_elements_text json_array_length json_build_array json_build_object json_each json_each_text
   json_extract_path json_extract_path_text json_object json_object_keys json_strip_nulls json_to_record json_to_recordset json_typeof
   jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_contained jsonb_contains jsonb_each
   jsonb_each_text jsonb_exists jsonb_exists_all jsonb_exists_any jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object
   jsonb_object_keys jsonb_path_exists jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz jsonb_path_query jsonb_path_query_array
   jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz jsonb_path_query_tz jsonb_pretty jsonb_set jsonb_set_lax
   jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof row_to_json to_json to_jsonb xml_is_well_formed xml_is_well_formed_content
   xml_is_well_formed_document xmlcomment xmlconcat2 xmlexists xmltext xpath xpath_exists`,
  // Lists, ranges, enumerations, sets of rows.
  `array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position array_positions array_prepend array_remove
   array_replace array_reverse array_sample array_shuffle array_sort array_to_string array_to_tsvector array_upper arraycontained arraycontains
   arrayoverlap cardinality enum_first enum_last enum_range generate_series generate_subscripts isempty lower_inc lower_inf num_nonnulls
   num_nulls range_merge trim_array unnest upper_inc upper_inf`,
  // Shapes and network addresses (as values; none of this server's own).
  `abbrev area bound_box broadcast center diagonal diameter family height host hostmask inet_merge inet_same_family isclosed ishorizontal isopen
   isparallel isperp isvertical macaddr8_set7bit masklen netmask network npoints pclose popen radius set_masklen slope width`,
  // Search in texts; neither ts_stat nor ts_rewrite, which run a text as SQL.
  `get_current_ts_config json_to_tsvector jsonb_to_tsvector numnode phraseto_tsquery plainto_tsquery querytree setweight strip to_tsquery
   to_tsvector ts_debug ts_delete ts_filter ts_headline ts_lexize ts_parse ts_rank ts_rank_cd ts_token_type tsquery_phrase tsvector_to_array
   websearch_to_tsquery`,
  // Identifiers.
  `gen_random_uuid uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7`,
  // Who and where one is in the database, and how it is laid out.
  `col_description current_catalog current_database current_schema current_schemas current_setting current_user format_type getdatabaseencoding
   has_any_column_privilege has_column_privilege has_database_privilege has_function_privilege has_language_privilege has_schema_privilege
   has_sequence_privilege has_table_privilege has_type_privilege obj_description pg_char_to_encoding pg_client_encoding pg_collation_for
   pg_collation_is_visible pg_column_is_updatable pg_column_size pg_database_size pg_describe_object pg_encoding_to_char pg_function_is_visible
   pg_get_constraintdef pg_get_expr pg_get_function_arg_default pg_get_function_arguments pg_get_function_identity_arguments
   pg_get_function_result pg_get_indexdef pg_get_keywords pg_get_partition_constraintdef pg_get_partkeydef pg_get_ruledef
   pg_get_serial_sequence pg_get_statisticsobjdef pg_get_triggerdef pg_get_userbyid pg_get_viewdef pg_has_role pg_index_column_has_property
   pg_index_has_property pg_indexam_has_property pg_indexes_size pg_is_in_recovery pg_is_other_temp_schema pg_my_temp_schema
   pg_opclass_is_visible pg_operator_is_visible pg_opfamily_is_visible pg_partition_ancestors pg_partition_root pg_partition_tree
   pg_relation_is_updatable pg_relation_size pg_sequence_parameters pg_size_bytes pg_size_pretty pg_table_is_visible pg_table_size
   pg_total_relation_size pg_trigger_depth pg_ts_config_is_visible pg_ts_dict_is_visible pg_type_is_visible pg_typeof row_security_active
   session_user shobj_description system_user to_regclass to_regcollation to_regnamespace to_regoper to_regoperator to_regproc
   to_regprocedure to_regrole to_regtype user version`,
);
/** Different each time, which the catalogue calls volatile as it calls what changes something. */
export const HARMLESS_VOLATILE: ReadonlySet<string> = words(
  `clock_timestamp gen_random_uuid random random_normal timeofday uuidv4 uuidv7 array_sample array_shuffle
   pg_database_size pg_indexes_size pg_is_in_recovery pg_partition_ancestors pg_partition_tree pg_relation_size pg_table_size
   pg_total_relation_size uuid_generate_v1 uuid_generate_v1mc uuid_generate_v4 gen_random_bytes gen_salt`,
);
/** Extensions that come with PostgreSQL and bring values to calculate with; and pgvector, likewise. */
export const KNOWN_EXTENSIONS: ReadonlySet<string> = words(
  `citext cube earthdistance fuzzystrmatch hstore intarray isn ltree pg_trgm pgcrypto seg unaccent uuid-ossp vector btree_gin btree_gist`,
);
/** Their functions. They count only where one of those extensions owns what a name leads to. */
export const EXTENSION_FUNCTIONS: ReadonlySet<string> = words(
  `citext cube cube_dim cube_distance cube_enlarge cube_inter cube_is_point cube_ll_coord cube_subset cube_union cube_ur_coord
   earth earth_box earth_distance geo_distance latitude ll_to_earth longitude gc_to_sec sec_to_gc
   daitch_mokotoff difference dmetaphone dmetaphone_alt levenshtein levenshtein_less_equal metaphone soundex
   akeys avals defined delete each exist exists_all exists_any fetchval hstore hstore_to_array hstore_to_json hstore_to_json_loose
   hstore_to_jsonb hstore_to_jsonb_loose hstore_to_matrix skeys slice slice_array svals tconvert
   icount idx intset intset_union_elem querytree sort sort_asc sort_desc subarray uniq
   index lca ltree2text nlevel subltree subpath text2ltree similarity show_trgm strict_word_similarity word_similarity
   armor crypt dearmor digest gen_random_bytes gen_salt hmac pgp_key_id unaccent
   uuid_generate_v1 uuid_generate_v1mc uuid_generate_v3 uuid_generate_v4 uuid_generate_v5 uuid_nil uuid_ns_dns uuid_ns_oid uuid_ns_url uuid_ns_x500
   cosine_distance inner_product l1_distance l2_distance l2_norm l2_normalize vector_dims vector_norm`,
);
/** Relations of `pg_catalog`: none holds passwords, connections, settings, files or what others are doing. */
const CATALOG_RELATIONS: ReadonlySet<string> = words(
  `pg_aggregate pg_am pg_amop pg_amproc pg_attrdef pg_attribute pg_auth_members pg_available_extension_versions pg_available_extensions pg_cast
   pg_class pg_collation pg_constraint pg_conversion pg_database pg_default_acl pg_depend pg_description pg_enum pg_event_trigger pg_extension
   pg_group pg_index pg_indexes pg_inherits pg_language pg_matviews pg_namespace pg_opclass pg_operator pg_opfamily pg_partitioned_table
   pg_policies pg_policy pg_proc pg_publication pg_publication_namespace pg_publication_rel pg_publication_tables pg_range pg_rewrite pg_rules
   pg_sequence pg_sequences pg_shdescription pg_stat_all_indexes pg_stat_all_tables pg_stat_database pg_stat_sys_indexes pg_stat_sys_tables
   pg_stat_user_functions pg_stat_user_indexes pg_stat_user_tables pg_statio_all_indexes pg_statio_all_sequences pg_statio_all_tables
   pg_statio_sys_indexes pg_statio_sys_sequences pg_statio_sys_tables pg_statio_user_indexes pg_statio_user_sequences pg_statio_user_tables
   pg_statistic_ext pg_stats pg_stats_ext pg_stats_ext_exprs pg_tables pg_timezone_abbrevs pg_timezone_names pg_transform pg_trigger pg_ts_config
   pg_ts_config_map pg_ts_dict pg_ts_parser pg_ts_template pg_type pg_views`,
);
/** Those of `information_schema`: all but the options of foreign servers and users, which hold hosts, files and passwords. */
const SCHEMA_RELATIONS: ReadonlySet<string> = words(
  `administrable_role_authorizations applicable_roles attributes character_sets check_constraint_routine_usage check_constraints
   collation_character_set_applicability collations column_column_usage column_domain_usage column_privileges column_udt_usage columns
   constraint_column_usage constraint_table_usage data_type_privileges domain_constraints domain_udt_usage domains element_types enabled_roles
   information_schema_catalog_name key_column_usage parameters referential_constraints role_column_grants role_routine_grants role_table_grants
   role_udt_grants role_usage_grants routine_column_usage routine_privileges routine_routine_usage routine_sequence_usage routine_table_usage
   routines schemata sequences sql_features sql_implementation_info sql_parts sql_sizing table_constraints table_privileges tables transforms
   triggered_update_columns triggers udt_privileges usage_privileges user_defined_types view_column_usage view_routine_usage view_table_usage
   views foreign_tables`,
);
/** Settings that SHOW and `current_setting` may tell: how texts, times and transactions are read and written. */
const SETTINGS: ReadonlySet<string> = words(
  `block_size bytea_output client_encoding datestyle default_text_search_config default_transaction_isolation default_transaction_read_only
   extra_float_digits integer_datetimes intervalstyle jit lc_collate lc_ctype lc_messages lc_monetary lc_numeric lc_time lock_timeout
   max_identifier_length search_path server_encoding server_version server_version_num standard_conforming_strings statement_timeout timezone
   transaction_isolation transaction_read_only work_mem xmlbinary xmloption`,
);
/** Ways to take a sample of a table; they are functions as well. */
const SAMPLES: ReadonlySet<string> = words(`bernoulli system system_rows system_time`);

function words(...texts: readonly string[]): ReadonlySet<string> {
  return new Set(texts.flatMap((text) => text.split(/\s+/)).filter(Boolean));
}
