// One megabyte of text that says which one it is; server and client make it alike.

const BLOB_CHARS = 1_000_000;
const FILL = "0123456789abcdefghijklmnopqrstuvwxyz ".repeat(Math.ceil(BLOB_CHARS / 37));

export function blob(index) {
  const head = `blob ${index} `;
  return head + FILL.slice(0, BLOB_CHARS - head.length);
}
