// Reads a results page of DuckDuckGo, the html and the lite form, as a stream of tags.

/** One result as the page has it. */
export interface ResultCard {
  readonly href: string;
  readonly advertisement: boolean;
  title: string;
  snippet: string;
}

export interface ResultsPage {
  readonly cards: readonly ResultCard[];
  /** The page says that nothing was found. */
  readonly nothingFound: boolean;
  /** The page asks to prove that one is human. */
  readonly challenge: boolean;
}

/** A page has ten to thirty results. */
const MAX_CARDS = 100;
/** A few lines; the page's own are shorter. */
const MAX_TEXT = 1_000;
/** Pages have twenty levels. The parser searches all open tags for each end tag: without a limit a page could stop the process. */
const MAX_DEPTH = 256;
const TITLE_CLASSES: readonly string[] = ["result__a", "result-link"];
const SNIPPET_CLASSES: readonly string[] = ["result__snippet", "result-snippet"];
const SPACES = /\s+/g;

type Attributes = Readonly<Record<string, string>>;

/** Never throws on any text; reads no further than tags are nested sensibly. The HTML parser is loaded by the first search, not before. */
export async function readResultsPage(html: string): Promise<ResultsPage> {
  const { Parser } = await import("htmlparser2");
  const collector = new Collector();
  let depth = 0;
  const parser = new Parser({
    onopentag: (name, attributes) => {
      depth += 1;
      if (depth > MAX_DEPTH) parser.pause();
      else collector.open(name, attributes);
    },
    ontext: (text) => collector.text(text),
    onclosetag: (name) => {
      depth -= 1;
      collector.close(name);
    },
  });
  parser.end(html);
  return collector.page();
}

class Collector {
  readonly #cards: ResultCard[] = [];
  #nothingFound = false;
  #challenge = false;
  #inAdvertisement = false;
  /** The text being collected, and the tag whose end ends it. */
  #field: { readonly name: "title" | "snippet"; readonly tag: string } | undefined;

  open(tag: string, attributes: Attributes): void {
    this.#challenge ||= isChallenge(attributes);
    const classes = attributes["class"]?.split(SPACES);
    if (classes === undefined) return;
    if (classes.includes("no-results") || classes.includes("result--no-result")) this.#nothingFound = true;
    if (classes.includes("result")) this.#inAdvertisement = classes.some((name) => name.startsWith("result--ad"));
    if (tag === "a" && TITLE_CLASSES.some((name) => classes.includes(name))) this.#begin(attributes["href"] ?? "");
    else if (SNIPPET_CLASSES.some((name) => classes.includes(name))) this.#field = { name: "snippet", tag };
  }

  text(text: string): void {
    const card = this.#cards.at(-1);
    if (this.#field === undefined || card === undefined) return;
    card[this.#field.name] = (card[this.#field.name] + text).slice(0, MAX_TEXT);
  }

  close(tag: string): void {
    if (this.#field?.tag === tag) this.#field = undefined;
  }

  page(): ResultsPage {
    for (const card of this.#cards) {
      card.title = card.title.replace(SPACES, " ").trim();
      card.snippet = card.snippet.replace(SPACES, " ").trim();
    }
    return { cards: this.#cards, nothingFound: this.#nothingFound, challenge: this.#challenge };
  }

  #begin(href: string): void {
    if (this.#cards.length >= MAX_CARDS) return;
    this.#cards.push({ href, advertisement: this.#inAdvertisement, title: "", snippet: "" });
    this.#field = { name: "title", tag: "a" };
  }
}

function isChallenge({ id, class: classes, action, src }: Attributes): boolean {
  return (
    id === "challenge-form" ||
    classes?.includes("anomaly-modal") === true ||
    action?.includes("anomaly.js") === true ||
    src?.includes("anomaly.js") === true
  );
}
