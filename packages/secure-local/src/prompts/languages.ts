// Languages and frameworks that people ask to have reviewed, most used first.

export interface Language {
  /** What is typed and completed. */
  readonly name: string;
  /** What is written in a sentence. */
  readonly title: string;
  /** A sign by which code of this language shows itself when nobody names it; only where it is certain. */
  readonly sign?: RegExp;
}

export const LANGUAGES: readonly Language[] = [
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
