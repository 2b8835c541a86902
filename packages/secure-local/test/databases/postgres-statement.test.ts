// Which names after a dot are columns of tables: what the names of a statement stand for, as its tree says.
import { expect, it } from "vitest";
import { checkPostgres, type PostgresStatement } from "../../src/capabilities/databases/postgres-statement.js";

const string = (sval: string): object => ({ String: { sval } });
const column = (...names: string[]): object => ({ ColumnRef: { fields: names.map(string) } });
const select = (from: readonly object[], more: object = {}): object => ({
  SelectStmt: { targetList: [{ ResTarget: { val: column("t", "f") } }], fromClause: from, ...more },
});
const table = (relname: string, more: object = {}): object => ({ RangeVar: { relname, ...more } });
const common = (ctename: string): object => ({
  withClause: { ctes: [{ CommonTableExpr: { ctename, ctequery: select([table("other")]) } }] },
});
const named = { functions: new Set<string>() } as never;

/** The tables that the part before the dot of `t.f` stands for. */
function tablesOf(statement: object): unknown {
  const checked = checkPostgres({ stmts: [{ stmt: statement }] }, named) as PostgresStatement;
  if (typeof checked === "string") throw new Error(checked);
  return checked.dotted.map(({ name, tables }) => [name, ...tables.map((each) => `${each.schema}.${each.name}`)]);
}

it.each([
  ["a table", select([table("t")]), [["f", ".t"]]],
  ["a table of a schema", select([table("t", { schemaname: "s" })]), [["f", "s.t"]]],
  ["an alias", select([table("u", { alias: { aliasname: "t" } })]), [["f", ".u"]]],
  [
    "an alias with columns of its own",
    select([table("u", { alias: { aliasname: "t", colnames: [string("f")] } })]),
    [["f"]],
  ],
  ["nothing of the statement", select([table("u")]), [["f"]]],
  ["a part of the statement", select([table("t")], common("t")), [["f"]]],
  [
    "a table of a schema, beside a part of that name",
    select([table("t", { schemaname: "s" })], common("t")),
    [["f", "s.t"]],
  ],
])("%s", (_what, statement, tables) => expect(tablesOf(statement)).toEqual(tables));
