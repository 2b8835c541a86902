// The prompt `code_review`: asks for a review of a piece of code.
import type { CompletionReturn, PromptDefinition } from "@secure-local/mcp/server";

/** As many as a menu shows without scrolling; `total` and `hasMore` say that typing on helps. */
const SUGGESTIONS = 3;

/** Characters of the code in which a language may show itself: a screenful or two. */
const LOOKED_AT = 4_096;

type Arguments = {
  readonly code: { readonly description: string; readonly required: true };
  readonly language: { readonly description: string; readonly complete: typeof completeLanguage };
};

export const codeReview: PromptDefinition<Arguments> = {
  title: "Code review",
  description: "Asks the LLM to analyze code quality and suggest improvements",
  arguments: {
    code: { description: "The code to review", required: true },
    language: {
      description: "Programming language or framework of the code (e.g., 'python', 'typescript')",
      complete: completeLanguage,
    },
  },
  run({ code, language }) {
    const known = LANGUAGES.find(({ name }) => name === language?.trim().toLowerCase())?.title ?? language?.trim();
    const beginning = code.slice(0, LOOKED_AT);
    const named = known || LANGUAGES.find(({ sign }) => sign?.test(beginning))?.title;
    const text = `Please review this ${named ? `${named} ` : ""}code:\n${code}`;
    return { description: "Code review prompt", messages: [{ role: "user", content: text }] };
  },
};

/** Offers names that begin with `typed`, most used first; where none does, names that contain it. */
function completeLanguage(typed: string): CompletionReturn {
  const wanted = typed.trim().toLowerCase();
  const names = LANGUAGES.map(({ name }) => name);
  const beginning = names.filter((name) => name.startsWith(wanted));
  const fitting = beginning.length > 0 ? beginning : names.filter((name) => name.includes(wanted));
  const values = fitting.slice(0, SUGGESTIONS);
  return { values, total: fitting.length, hasMore: fitting.length > values.length };
}

// Languages and frameworks that people ask to have reviewed, most used first.

interface Language {
  /** What is typed and completed. */
  readonly name: string;
  /** What is written in a sentence. */
  readonly title: string;
  /** A sign by which code of this language shows itself when nobody names it; only where it is certain. */
  readonly sign?: RegExp;
}

const LANGUAGES: readonly Language[] = [
  { name: "python", title: "Python", sign: /^[ \t]*(?:async )?def \w+\(.*:[ \t]*$/m },
  { name: "pytorch", title: "PyTorch" },
  { name: "pyside", title: "PySide" },
  { name: "pytest", title: "pytest" },
  { name: "pyspark", title: "PySpark" },
  { name: "pydantic", title: "Pydantic" },
  { name: "pygame", title: "Pygame" },
  { name: "pyqt", title: "PyQt" },
  { name: "pyramid", title: "Pyramid" },
  { name: "pypy", title: "PyPy" },
  { name: "javascript", title: "JavaScript" },
  { name: "typescript", title: "TypeScript" },
  { name: "java", title: "Java" },
  { name: "c", title: "C" },
  { name: "c++", title: "C++" },
  { name: "c#", title: "C#" },
  { name: "go", title: "Go", sign: /^package \w+[ \t]*$/m },
  { name: "rust", title: "Rust", sign: /^[ \t]*(?:pub )?fn \w+\b.*\{[ \t]*$/m },
  { name: "php", title: "PHP", sign: /^<\?php/ },
  { name: "ruby", title: "Ruby" },
  { name: "swift", title: "Swift" },
  { name: "kotlin", title: "Kotlin" },
  { name: "scala", title: "Scala" },
  { name: "dart", title: "Dart" },
  { name: "sql", title: "SQL" },
  { name: "bash", title: "Bash", sign: /^#!.*\b(?:ba)?sh\b/ },
  { name: "powershell", title: "PowerShell" },
  { name: "html", title: "HTML", sign: /^\s*<!doctype html/i },
  { name: "css", title: "CSS" },
  { name: "react", title: "React" },
  { name: "vue", title: "Vue" },
  { name: "svelte", title: "Svelte" },
  { name: "angular", title: "Angular" },
  { name: "django", title: "Django" },
  { name: "flask", title: "Flask" },
  { name: "fastapi", title: "FastAPI" },
  { name: "numpy", title: "NumPy" },
  { name: "r", title: "R" },
  { name: "lua", title: "Lua" },
  { name: "perl", title: "Perl" },
  { name: "haskell", title: "Haskell" },
  { name: "elixir", title: "Elixir" },
  { name: "erlang", title: "Erlang" },
  { name: "clojure", title: "Clojure" },
  { name: "zig", title: "Zig" },
  { name: "terraform", title: "Terraform" },
  { name: "dockerfile", title: "Dockerfile" },
  { name: "yaml", title: "YAML" },
];
