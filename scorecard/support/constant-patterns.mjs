// Evaluates what an expression of our sources is made of, as far as the file alone says it: texts, lists and other expressions that
// are constants. What is drawn by chance is one value of those that it may be, and like all others in what it is made of.

/** What cannot be told from the file. */
const UNKNOWN = new Error("no constant");
/** Methods of texts, lists and numbers that change nothing and call nothing but what stands there. */
const METHODS = new Set(["join", "map", "slice", "toString", "flatMap", "concat", "repeat"]);
/** For `Math.random()`. */
const DRAWN = 0.123456789;

/** Values of the constants of a file, by the program's tree. A name that is declared twice is none. */
export class Constants {
  #declared = new Map();
  #values = new Map();

  constructor(declarators) {
    for (const { id, init, isConst } of declarators) {
      if (id.type !== "Identifier") continue;
      this.#declared.set(id.name, this.#declared.has(id.name) || !isConst ? null : init);
    }
  }

  /** Pattern and flags of `RegExp(...)` with these arguments; undefined where they are not constant. */
  pattern(args) {
    try {
      const made = this.#made(args, new Map());
      return { pattern: made.source, flags: made.flags };
    } catch (error) {
      if (error !== UNKNOWN) throw error;
      return undefined;
    }
  }

  #made([pattern, flags], given) {
    const text = this.#value(pattern, given);
    return flags === undefined ? new RegExp(text) : new RegExp(text, this.#value(flags, given));
  }

  #value(node, given) {
    const evaluate = EVALUATED[node?.type];
    if (evaluate === undefined) throw UNKNOWN;
    return evaluate(node, {
      value: (inner) => this.#value(inner, given),
      made: (args) => this.#made(args, given),
      named: (name) => (given.has(name) ? given.get(name) : this.#named(name)),
      called: (fn) => (each) => this.#called(fn, each, given),
    });
  }

  #named(name) {
    if (this.#values.has(name)) return this.#values.get(name);
    const value = this.#value(this.#declared.get(name) ?? undefined, new Map());
    this.#values.set(name, value);
    return value;
  }

  /** An arrow whose body is a value, of one parameter or the members of a list. */
  #called(fn, argument, given) {
    const [param] = fn.params;
    if (fn.type !== "ArrowFunctionExpression" || !fn.expression) throw UNKNOWN;
    const known = new Map(given);
    const [names, values] = param?.type === "ArrayPattern" ? [param.elements, argument] : [[param], [argument]];
    for (const [at, name] of names.entries()) {
      if (name === null) continue;
      if (name?.type !== "Identifier") throw UNKNOWN;
      known.set(name.name, values[at]);
    }
    return this.#value(fn.body, known);
  }
}

const EVALUATED = {
  Literal: ({ value, regex }) => (regex ? new RegExp(regex.pattern, regex.flags) : value),
  TemplateLiteral: ({ quasis, expressions }, { value }) =>
    String.raw({ raw: quasis.map((each) => each.value.cooked) }, ...expressions.map((each) => text(value(each)))),
  TaggedTemplateExpression: ({ tag, quasi: { quasis, expressions } }, { value }) => {
    if (tag.object?.name !== "String" || tag.property?.name !== "raw") throw UNKNOWN;
    return String.raw({ raw: quasis.map((each) => each.value.raw) }, ...expressions.map((each) => text(value(each))));
  },
  BinaryExpression: ({ operator, left, right }, { value }) => {
    if (operator !== "+") throw UNKNOWN;
    return value(left) + value(right);
  },
  ArrayExpression: ({ elements }, { value }) => elements.map(value),
  Identifier: ({ name }, { named }) => named(name),
  ParenthesizedExpression: ({ expression }, { value }) => value(expression),
  TSAsExpression: ({ expression }, { value }) => value(expression),
  NewExpression: ({ callee, arguments: args }, { made }) => {
    if (callee.name !== "RegExp") throw UNKNOWN;
    return made(args);
  },
  MemberExpression: ({ object, property, computed }, { value }) => {
    const from = value(object);
    if (computed || !(from instanceof RegExp) || !/^(?:source|flags)$/.test(property.name)) throw UNKNOWN;
    return from[property.name];
  },
  CallExpression: ({ callee: { object, property }, arguments: args }, { value, called }) => {
    if (object?.name === "Math" && property.name === "random") return DRAWN;
    if (object === undefined || !METHODS.has(property?.name)) throw UNKNOWN;
    return value(object)[property.name](...args.map((each) => (each.params ? called(each) : value(each))));
  },
};

function text(value) {
  if (typeof value !== "string" && typeof value !== "number") throw UNKNOWN;
  return String(value);
}
