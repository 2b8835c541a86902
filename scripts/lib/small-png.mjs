// Makes a picture of a screen smaller: at most 256 colours, each pixel by its number. Pages of text have few, and nobody sees the rest.
import { deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MOST_COLOURS = 256;

/** The same picture with a palette. Reads what a browser writes: 8 bits a channel, RGB or RGBA, not interlaced. */
export function smallPng(png) {
  const { header, data } = chunksOf(png);
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const [depth, type, , , interlaced] = header.subarray(8);
  const channels = { 2: 3, 6: 4 }[type];
  if (depth !== 8 || channels === undefined || interlaced !== 0)
    throw new Error("this is no PNG as a browser writes it");
  const pixels = unfiltered(inflateSync(data), { width, height, channels });
  const colours = coloursOf(pixels, channels);
  const numbered = Buffer.alloc(height * (width + 1));
  for (let y = 0, at = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1, at += channels)
      numbered[y * (width + 1) + 1 + x] = colours.numberOf(keyOf(pixels, at));
  const out = Buffer.alloc(13);
  out.writeUInt32BE(width, 0);
  out.writeUInt32BE(height, 4);
  out.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", out),
    chunk("PLTE", colours.palette),
    chunk("IDAT", deflateSync(numbered, { level: 9, memLevel: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunksOf(png) {
  let header = Buffer.alloc(13);
  const pieces = [];
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    const content = png.subarray(at + 8, at + 8 + length);
    const name = png.toString("latin1", at + 4, at + 8);
    if (name === "IHDR") header = content;
    if (name === "IDAT") pieces.push(content);
    at += length + 12;
  }
  return { header, data: Buffer.concat(pieces) };
}

/** Undoes what each line was written by: the difference to the pixel on the left, above, both, or the nearest of three. */
function unfiltered(raw, { width, height, channels }) {
  const line = width * channels;
  const pixels = Buffer.alloc(height * line);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (line + 1)];
    for (let x = 0; x < line; x += 1) {
      const to = y * line + x;
      const left = x < channels ? 0 : pixels[to - channels];
      const above = y === 0 ? 0 : pixels[to - line];
      const corner = x < channels || y === 0 ? 0 : pixels[to - line - channels];
      const guess = [0, left, above, (left + above) >> 1, nearest(left, above, corner)][filter];
      pixels[to] = raw[y * (line + 1) + 1 + x] + guess;
    }
  }
  return pixels;
}

function nearest(left, above, corner) {
  const guess = left + above - corner;
  const [a, b, c] = [left, above, corner].map((each) => Math.abs(guess - each));
  return a <= b && a <= c ? left : b <= c ? above : corner;
}

const keyOf = (pixels, at) => (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];

/** The colours that most pixels have; each other one becomes the nearest of them. */
function coloursOf(pixels, channels) {
  const counts = new Map();
  for (let at = 0; at < pixels.length; at += channels) {
    const key = keyOf(pixels, at);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const kept = [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST_COLOURS)
    .map(([key]) => key);
  const numbers = new Map(kept.map((key, index) => [key, index]));
  const parts = (key) => [key >> 16, (key >> 8) & 255, key & 255];
  const distance = (a, b) => parts(a).reduce((sum, part, index) => sum + (part - parts(b)[index]) ** 2, 0);
  const numberOf = (key) => {
    let number = numbers.get(key);
    if (number === undefined) {
      number = kept.reduce((best, each, index) => (distance(each, key) < distance(kept[best], key) ? index : best), 0);
      numbers.set(key, number);
    }
    return number;
  };
  return { palette: Buffer.from(kept.flatMap(parts)), numberOf };
}

const CRC = Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value >>> 0;
});

function chunk(name, content) {
  const body = Buffer.concat([Buffer.from(name, "latin1"), content]);
  let crc = 0xffffffff;
  for (const byte of body) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE((crc ^ 0xffffffff) >>> 0);
  return Buffer.concat([length, body, sum]);
}
