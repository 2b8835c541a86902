// How a server may write a secret that it says back, so that no line of it is a usual spelling.
const fold = (text, columns, by) => text.replace(new RegExp(`.{${columns}}`, "g"), `$&${by}`);
const base64 = (text, encoding) => Buffer.from(text, encoding).toString("base64");
const hexadecimal = (text) => Buffer.from(text).toString("hex");
const byEight = (byte) => byte.toString(8).padStart(3, "0");
const dumpByEight = (text) =>
  (text.match(/[^]{1,16}/g) ?? [])
    .map((line, row) => `${(row * 16).toString(8).padStart(7, "0")} ${[...Buffer.from(line)].map(byEight).join(" ")}\n`)
    .join("");
export const WRITTEN = {
  "Base64 in lines of 76": (text) => fold(base64(text), 76, "\r\n"),
  "Base64 in lines of 20, indented": (text) => fold(base64(text), 20, "\n    "),
  "Base64 in lines, in JSON": (text) => fold(base64(text), 20, "\\n"),
  "hexadecimal in lines of 60": (text) => fold(hexadecimal(text), 60, "\n"),
  "plain, in lines of 20": (text) => fold(text, 20, "\n"),
  "quoted-printable": (text) => fold(text, 20, "=\n"),
  "Base64 of UTF-16": (text) => base64(text, "utf16le"),
  "Base64 of Base64": (text) => base64(base64(text)),
  "decimal bytes": (text) => JSON.stringify(Buffer.from(text)),
  "decimal bytes, one a line": (text) => [...Buffer.from(text)].join("\n"),
  "a dump by eight with places": (text) => dumpByEight(text),
  "octal escapes": (text) => [...Buffer.from(text)].map((byte) => `\\${byEight(byte)}`).join(""),
  "a URL escaped twice": (text) => [...text].map((each) => `%25${each.charCodeAt(0).toString(16)}`).join(""),
  "entities without an end": (text) => [...text].map((each) => `&#${each.charCodeAt(0)}`).join(""),
};

/** Where it was found, with what stands around it. */
export function around(text, found) {
  const at = text.indexOf(found);
  return `found as ${found}: …${text.slice(Math.max(0, at - 200), at + 100)}`;
}

/** Where an answer holds bytes. */
export const HOLDERS = {
  "an image": (data, mimeType) => ({ content: [{ type: "image", data, mimeType }] }),
  "a sound": (data, mimeType) => ({ messages: [{ role: "user", content: { type: "audio", data, mimeType } }] }),
  "an embedded resource": (blob, mimeType) => ({
    content: [{ type: "resource", resource: { uri: "x:y", blob, mimeType } }],
  }),
  "a resource": (blob, mimeType) => ({ contents: [{ uri: "x:y", blob, mimeType }] }),
};

/** All texts of an answer, and all bytes in it as text. */
export function readAll(answer) {
  const text = JSON.stringify(answer);
  const blobs = [...text.matchAll(/"(?:data|blob)":"([^"]*)"/g)].map(([, bytes]) =>
    Buffer.from(bytes, "base64").toString(),
  );
  const texts = [...text.matchAll(/"text":"([^"]*)"/g)].map(([, found]) => found);
  return [text, ...blobs, texts.join("")].join("\n");
}
