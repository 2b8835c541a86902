// Describes the sections `secrets` and `databases`: values and stores that are known by a name.
import type { HostMatcher } from "./host-matcher.js";
import type { PatternRule, Rule } from "./rule.js";

/** One entry of `secrets` (ours): a value that nobody but its own hosts gets to see. */
export interface SecretPolicy {
  readonly name: string;
  readonly rule: Rule;
  /** `from`: `env:NAME` or `file:PATH` (absolute; `~` and `${NAME}` expanded). It is read when it is needed. */
  readonly from: { readonly kind: "env"; readonly name: string } | { readonly kind: "file"; readonly path: string };
  /** `hosts`: the only ones it is sent to; a text (port 443) or `host` and `ports`. May be empty for a database's secret. */
  readonly hosts: HostMatcher;
  /** `header`: lower case; when given, the only header it is put in. Without it, `query` and `body` it may be any. */
  readonly header: string | undefined;
  /** `query`: the parameter of a URL it is put in. */
  readonly query: string | undefined;
  /** `body`: the field of a JSON or form body it is put in; `*`: any, and a body of plain text. */
  readonly body: string | undefined;
}

/** One entry of `databases` (ours). It is itself the permission: what it names is reached by the tools for databases and by no other. */
export interface DatabasePolicy {
  readonly name: string;
  readonly rule: Rule;
  /** `file`: an SQLite file; or `secret`: the name of the secret that holds a `postgresql://` URL. */
  readonly store:
    | { readonly kind: "sqlite"; readonly file: string }
    | { readonly kind: "postgresql"; readonly secret: string };
  /** `read_only`: default true; `import_csv` needs false. */
  readonly readOnly: boolean;
  /** `row_limit`: most rows of one answer, default 1,000. */
  readonly rowLimit: number;
  /** `timeout` in seconds for one statement, default 10. Here in milliseconds. */
  readonly timeoutMs: number;
  /** `functions`: those that PostgreSQL statements may call beside the ones that are known to only read. */
  readonly functions: FunctionNames;
  /** `superuser`: whether the role may be one, or may run programs or reach files of the server. Default false. */
  readonly superuser: boolean;
}

/** Functions of a database as `name`, `schema.name`, or the beginning of either and `*`. Capitals count, as in quoted names. */
export class FunctionNames {
  readonly rules: readonly PatternRule[];

  constructor(rules: readonly PatternRule[]) {
    this.rules = rules;
  }

  /** Whether it is named. One of PostgreSQL's own has to be named whole: `pg_*` is half of what a server can do. */
  names({ schema, name }: { readonly schema: string; readonly name: string }): boolean {
    const full = `${schema}.${name}`;
    return this.rules.some(({ pattern }) => {
      if (!pattern.endsWith("*")) return pattern === name || pattern === full;
      const start = pattern.slice(0, -1);
      return schema !== "pg_catalog" && (start.includes(".") ? full : name).startsWith(start);
    });
  }

  /** Whether some rule could mean it. The schema is empty where it is not known yet. */
  mayName({ schema, name }: { readonly schema: string; readonly name: string }): boolean {
    if (schema !== "") return this.names({ schema, name });
    return this.rules.some(({ pattern }) => {
      const dot = pattern.indexOf(".");
      return this.names({ schema: dot < 0 ? "" : pattern.slice(0, dot), name });
    });
  }
}
