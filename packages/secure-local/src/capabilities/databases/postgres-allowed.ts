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
export const CATALOG_RELATIONS: ReadonlySet<string> = words(
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
export const SCHEMA_RELATIONS: ReadonlySet<string> = words(
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
export const SETTINGS: ReadonlySet<string> = words(
  `block_size bytea_output client_encoding datestyle default_text_search_config default_transaction_isolation default_transaction_read_only
   extra_float_digits integer_datetimes intervalstyle jit lc_collate lc_ctype lc_messages lc_monetary lc_numeric lc_time lock_timeout
   max_identifier_length search_path server_encoding server_version server_version_num standard_conforming_strings statement_timeout timezone
   transaction_isolation transaction_read_only work_mem xmlbinary xmloption`,
);
/** Ways to take a sample of a table; they are functions as well. */
export const SAMPLES: ReadonlySet<string> = words(`bernoulli system system_rows system_time`);

function words(...texts: readonly string[]): ReadonlySet<string> {
  return new Set(texts.flatMap((text) => text.split(/\s+/)).filter(Boolean));
}
