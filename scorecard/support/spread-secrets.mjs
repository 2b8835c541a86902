// A value in pieces at several places of one message, with whatever else between them; and values of digits where JSON has numbers.

/** Messages with two or three places for pieces: how each is cleaned, and where the pieces stand. */
const MESSAGES = {
  "messages of a model's question": [
    "value",
    ([a, b, c]) => ({ messages: [said(a), said(b), ...(c ? [said(c)] : [])] }),
  ],
  "blocks of one message": [
    "value",
    (parts) => ({ messages: [{ role: "user", content: parts.map((text) => ({ type: "text", text })) }] }),
  ],
  "a system prompt and a message": [
    "value",
    ([a, ...rest]) => ({ systemPrompt: a, messages: rest.map(said), maxTokens: 10 }),
  ],
  "a form's message and its fields": [
    "value",
    ([a, b, c = ""]) => ({
      message: a,
      requestedSchema: { type: "object", properties: { a: { type: "string", title: b, description: c } } },
    }),
  ],
  "a field's title and description": [
    "value",
    ([a, b, c = ""]) => ({
      message: `m ${c}`,
      requestedSchema: { type: "object", properties: { a: { type: "string", title: a, description: b } } },
    }),
  ],
  "names of a form's fields": [
    "value",
    (parts) => ({
      message: "m",
      requestedSchema: {
        type: "object",
        properties: Object.fromEntries(parts.map((each) => [each, { type: "string" }])),
      },
    }),
  ],
  "an error and its data": ["error", ([a, ...rest]) => ({ message: a, data: rest })],
  "an error of a server and its data": [
    "error",
    ([a, ...rest]) => ({ message: `The server up says: ${a}`, data: { server: "up", data: rest } }),
  ],
  "a log message and its logger": ["value", ([a, ...rest]) => ({ level: "error", logger: a, data: rest })],
  "a link's name, title and description": [
    "result",
    ([a, b, c = ""]) => ({
      content: [{ type: "resource_link", uri: "x:a", name: a, title: b, mimeType: "text/plain", description: c }],
    }),
  ],
  "a text and a link": [
    "result",
    ([a, ...rest]) => ({
      content: [{ type: "text", text: a }, ...rest.map((name) => ({ type: "resource_link", uri: "x:a", name }))],
    }),
  ],
  "a text and structured content": [
    "result",
    ([a, ...rest]) => ({ content: [{ type: "text", text: a }], structuredContent: { rest } }),
  ],
  "structured content and _meta": [
    "result",
    ([a, ...rest]) => ({ content: [], structuredContent: { a }, _meta: { "a.example/rest": rest } }),
  ],
  "cells of a table": [
    "result",
    (parts) => ({ content: [], structuredContent: { rows: parts.map((part, at) => [`${at + 1}`, part]) } }),
  ],
  "members of rows with others between": [
    "result",
    (parts) => ({
      content: [],
      structuredContent: { rows: parts.map((part) => ({ kind: "id", part, other: "word" })) },
    }),
  ],
  "a prompt and its description": [
    "result",
    ([description, ...rest]) => ({ description, messages: rest.map((text) => said(text)) }),
  ],
};

const said = (text) => ({ role: "user", content: { type: "text", text } });

/** What stands around each piece. */
const LABELS = {
  "as they are": (part) => part,
  numbered: (part, at) => `${at + 1}: ${part}`,
  "in quotes": (part) => `"${part}",`,
};

/** In pieces of six characters or more. */
function cutsOf(value) {
  const middle = Math.floor(value.length / 2);
  const third = Math.floor(value.length / 3);
  const cuts = [
    [value.slice(0, middle), value.slice(middle)],
    [value.slice(0, 6), value.slice(6)],
    [value.slice(0, -6), value.slice(-6)],
  ];
  if (third >= 6) cuts.push([value.slice(0, third), value.slice(third, 2 * third), value.slice(2 * third)]);
  return cuts;
}

function cleanerOf({ cleanResult, cleanValue, cleanError, RpcError }, how) {
  if (how === "result") return cleanResult;
  if (how === "value") return (message) => cleanValue(message);
  return ({ message, data }) => {
    const error = cleanError(new RpcError(-32000, message, data), { textBytes: 1_048_576, resultBytes: 4_194_304 });
    return { message: error.message, data: error.data };
  };
}

/** `true` where nothing of the value is left that says more than a piece by chance. */
export function* spreadCases(parts, value, label) {
  for (const [name, [how, make]] of Object.entries(MESSAGES))
    for (const [written, around] of Object.entries(LABELS))
      for (const [at, cut] of cutsOf(value).entries())
        for (const order of ["in order", "backwards"]) {
          const pieces = cut.map((part, index) => around(part, index));
          const message = make(order === "in order" ? pieces : pieces.toReversed());
          yield {
            name: `${name}, ${written}, cut ${at}, ${order}`,
            run() {
              const text = JSON.stringify(cleanerOf(parts, how)(message));
              return (cut.every((part) => !text.includes(part)) && text.includes(label)) || text.slice(0, 400);
            },
          };
        }
}

/** How JSON may write a number with these digits, each as the text of it. */
export const NUMBERS = {
  "as it is": (digits) => digits,
  "below nought": (digits) => `-${digits}`,
  "with a fraction": (digits) => `-${digits}.5`,
  "behind the point": (digits) => `0.${digits}`,
  "with an exponent": (digits) => `${digits[0]}.${digits.slice(1)}e${digits.length - 1}`,
  "with a smaller exponent": (digits) => `${digits[0]}.${digits.slice(1)}E+3`,
  "times a hundred": (digits) => `${digits}00`,
  "times ten to the thirty": (digits) => `${digits}e30`,
  "within more digits": (digits) => `7${digits}7`,
  "within very many digits": (digits) => `1111111111111111111${digits}`,
  "in hexadecimal, of digits alone": (digits) => Buffer.from(digits).toString("hex"),
};

/** Where a message has a number, each as the text of the whole message. */
export const NUMBER_PLACES = {
  "structured content": ["result", (number) => `{"content":[],"structuredContent":{"a":${number}}}`],
  "a list": ["result", (number) => `{"content":[],"structuredContent":{"a":[1,${number},true]}}`],
  _meta: ["result", (number) => `{"content":[],"_meta":{"a.example/b":${number}}}`],
  "the size of a link": [
    "result",
    (number) => `{"content":[{"type":"resource_link","uri":"x:a","name":"a","size":${number}}]}`,
  ],
  "a priority": ["result", (number) => `{"content":[{"type":"text","text":"a","annotations":{"priority":${number}}}]}`],
  progress: ["value", (number) => `{"progressToken":"p","progress":${number},"total":${number}}`],
  "the default of a field": [
    "value",
    (number) =>
      `{"message":"m","requestedSchema":{"properties":{"n":{"type":"number","default":${number},"minimum":${number}}}}}`,
  ],
  "the most of tokens": ["value", (number) => `{"messages":[],"maxTokens":${number},"temperature":${number}}`],
  "the data of an error": ["error", (number) => `{"message":"m","data":{"a":${number}}}`],
};

export function* numberCases(parts, digits) {
  for (const [place, [how, make]] of Object.entries(NUMBER_PLACES))
    for (const [written, write] of Object.entries(NUMBERS)) {
      const number = write(digits);
      yield {
        name: `${written} in ${place}`,
        run() {
          const cleaned = cleanerOf(parts, how)(parts.parse(make(number)));
          const text = parts.write(cleaned);
          const plain = text.replaceAll(/\.(?=\d)/g, "");
          return ![number, digits].some((each) => plain.includes(each.replaceAll(".", ""))) || text;
        },
      };
    }
}
