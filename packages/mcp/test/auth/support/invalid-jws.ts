// Spoils good tokens in every way we know, in the spirit of public test vectors: each result must be refused.
import { createHmac, createPrivateKey, sign as signBytes } from "node:crypto";
import { exportJWK } from "jose";
import { encode, goodClaims, newSigner, sign, type Signer } from "./issuer.js";

export type Spoiled = readonly [what: string, token: string];

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Every spoiled token that can be made for one key. */
export async function spoil(signer: Signer): Promise<readonly Spoiled[]> {
  const token = await sign(signer);
  const named = [
    ...flipBits(token),
    ...truncate(token),
    ...misspell(token),
    ...rebuild(token),
    ...(await resign(signer, token)),
    ...(await forge(signer)),
    ...(signer.alg.startsWith("ES") ? spoilEcdsa(token) : spoilRsa(token)),
  ];
  return named.map(([what, text]) => [`${signer.alg}: ${what}`, text]);
}

function split(token: string): [string, string, string] {
  return token.split(".") as [string, string, string];
}

/** One bit in each of many characters of each part. */
function* flipBits(token: string): Iterable<Spoiled> {
  for (const [part, text] of split(token).entries()) {
    for (let step = 0; step < 16; step++) {
      const at = Math.floor((step * (text.length - 1)) / 15);
      const other = ALPHABET[ALPHABET.indexOf(text[at] as string) ^ 0b100000] as string;
      const parts = split(token);
      parts[part] = text.slice(0, at) + other + text.slice(at + 1);
      yield [`part ${part}, character ${at} changed`, parts.join(".")];
    }
  }
}

function* truncate(token: string): Iterable<Spoiled> {
  for (const [part, text] of split(token).entries()) {
    for (const length of [0, 1, 2, 3, 4, text.length - 4, text.length - 2, text.length - 1]) {
      const parts = split(token);
      parts[part] = text.slice(0, length);
      yield [`part ${part} cut to ${length} characters`, parts.join(".")];
    }
  }
  const [header, payload, signature] = split(token);
  yield ["the header alone", header];
  yield ["no signature, no dot", `${header}.${payload}`];
  yield ["no payload", `${header}..${signature}`];
  yield ["no header", `.${payload}.${signature}`];
  yield ["dots only", ".."];
  yield ["empty", ""];
  yield ["four parts", `${token}.${signature}`];
  yield ["five parts, like an encrypted one", `${token}.${payload}.${signature}`];
  yield ["a dot more", `${token}.`];
  yield ["a dot before", `.${token}`];
  yield ["order turned round", [signature, payload, header].join(".")];
  yield ["header and payload swapped", [payload, header, signature].join(".")];
}

/** Other spellings of the same bytes, which a lenient decoder takes for the same token. */
function* misspell(token: string): Iterable<Spoiled> {
  for (const [part, text] of split(token).entries()) {
    const put = (changed: string): string => {
      const parts = split(token);
      parts[part] = changed;
      return parts.join(".");
    };
    for (const padding of ["=", "==", "===", "===="])
      yield [`part ${part} padded with ${padding}`, put(text + padding)];
    for (const stray of [" ", "\t", "\n", "\r\n", "\0", "+", "/", "%20", "!", "é", "\u200b"]) {
      yield [
        `part ${part} with ${JSON.stringify(stray)} in the middle`,
        put(`${text.slice(0, 5)}${stray}${text.slice(5)}`),
      ];
      yield [`part ${part} with ${JSON.stringify(stray)} at its end`, put(text + stray)];
    }
    const last = ALPHABET.indexOf(text.at(-1) as string);
    if (text.length % 4 !== 0) yield [`part ${part} with a stray bit`, put(text.slice(0, -1) + ALPHABET[last | 1])];
    yield [`part ${part} one character longer`, put(`${text}A`)];
    yield [`part ${part} in standard base64 of three zero bytes`, put(`${text}A+A/`)];
  }
}

/** The old signature under a header or payload that says something else, or says it in a way JSON or JOSE forbids. */
function* rebuild(token: string): Iterable<Spoiled> {
  const [header, payload, signature] = split(token);
  for (const claims of [{ sub: "root" }, { aud: "*" }, { exp: 9_999_999_999 }, { scope: "admin" }]) {
    yield [`claims changed to ${JSON.stringify(claims)}`, `${header}.${encode(goodClaims(claims))}.${signature}`];
  }
  for (const alg of [
    "none",
    "None",
    "NONE",
    "HS256",
    "HS384",
    "HS512",
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
  ]) {
    if (alg === JSON.parse(Buffer.from(header, "base64url").toString()).alg) continue;
    yield [`alg changed to ${alg}`, `${encode({ alg })}.${payload}.${signature}`];
    yield [`alg changed to ${alg}, no signature`, `${encode({ alg })}.${payload}.`];
    yield [`alg changed to ${alg}, one zero byte as signature`, `${encode({ alg })}.${payload}.AA`];
  }
  for (const text of ["null", "[]", "1", '"x"', "", "{", "{}", "\ufeff{}", "{'alg':'none'}", "[{}]", "undefined"]) {
    yield [`header ${JSON.stringify(text)}`, `${encode(text)}.${payload}.${signature}`];
    yield [`payload ${JSON.stringify(text)}`, `${header}.${encode(text)}.${signature}`];
  }
  const broken = Buffer.from([0x7b, 0xff, 0xfe, 0x7d]).toString("base64url");
  yield ["a header that is no UTF-8", `${broken}.${payload}.${signature}`];
  yield ["a payload that is no UTF-8", `${header}.${broken}.${signature}`];
}

/** Signs any header and payload, whatever they are. */
export async function signRaw({ alg, privateKey }: Signer): Promise<(header: string, payload: string) => string> {
  const key = createPrivateKey({ key: { ...(await exportJWK(privateKey)) }, format: "jwk" });
  const hash = alg === "EdDSA" ? null : "sha256";
  return (header, payload) => {
    const body = `${encode(header)}.${encode(payload)}`;
    return `${body}.${signBytes(hash, Buffer.from(body), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
  };
}

/** Signed by the right key, over something no careful reader takes. */
async function resign(signer: Signer, token: string): Promise<readonly Spoiled[]> {
  const { alg, kid } = signer;
  const claims = JSON.stringify(goodClaims());
  const make = await signRaw(signer);
  const good = JSON.stringify({ alg, kid });
  const headers = [
    `{"alg":"none","alg":"${alg}","kid":"${kid}"}`,
    `{"alg":"${alg}","alg":"${alg}","kid":"${kid}"}`,
    `{"alg":"${alg}","kid":"x","kid":"${kid}"}`,
    `{"alg":"${alg}","\\u0061lg":"${alg}","kid":"${kid}"}`,
    ...[{ crit: [] }, { crit: ["exp"] }, { crit: null }, { b64: false }, { b64: true }, { zip: "DEF" }, { typ: 1 }].map(
      (more) => JSON.stringify({ alg, kid, ...more }),
    ),
    ...[{ kid: 1 }, { kid: [kid] }, { kid: null }, { kid: "" }, { alg: [alg] }, { alg: alg.toLowerCase() }].map(
      (more) => JSON.stringify({ alg, kid, ...more }),
    ),
    JSON.stringify({ kid }),
    `${good} x`,
    `\ufeff${good}`,
    `[${good}]`,
    `{"alg":"${alg}","kid":"${kid}","x":${"[".repeat(40)}${"]".repeat(40)}}`,
  ];
  const payloads = [
    claims.replace('"sub"', '"sub":"root","sub"'),
    claims.replace('"aud"', '"aud":"https://other.example.com","aud"'),
    claims.replace(/"exp":\d+/, '"exp":1e999'),
    `${claims},`,
    `${claims}${claims}`,
    `\ufeff${claims}`,
    `[${claims}]`,
    "null",
    JSON.stringify(claims),
    claims.replace("}", `,"x":${"[".repeat(40)}${"]".repeat(40)}}`),
    claims.replace("}", `,"x":"${"y".repeat(12_000)}"}`),
  ];
  return [
    ...headers.map((header): Spoiled => [`signed header ${header.slice(0, 70)}`, make(header, claims)]),
    ...payloads.map((payload, at): Spoiled => [`signed payload ${at}`, make(good, payload)]),
    ["signature of another token", [...split(make(good, claims)).slice(0, 2), split(token)[2]].join(".")],
  ];
}

/** Signed by somebody else, who says so in the header or hides it. */
async function forge({ alg, kid, publicJwk }: Signer): Promise<readonly Spoiled[]> {
  const thief = await newSigner(alg, kid);
  const { n, x } = publicJwk;
  const headers = [
    {},
    { jwk: thief.publicJwk },
    { jku: "https://evil.example.com/jwks" },
    { x5u: "https://evil.example.com" },
  ];
  const mine = [{ x5c: ["MIIB"] }, { jwk: publicJwk }, { kid: "thief" }, { kid: undefined }];
  const forged: Spoiled[] = [];
  for (const header of [...headers, ...mine]) {
    forged.push([`another key, header ${Object.keys(header).join()}`, await sign(thief, goodClaims(), header)]);
  }
  for (const [what, secret] of Object.entries({ jwk: JSON.stringify(publicJwk), number: n ?? x ?? "", empty: "" })) {
    for (const hmac of ["HS256", alg]) {
      const body = `${encode({ alg: hmac, kid })}.${encode(goodClaims())}`;
      const mac = createHmac("sha256", secret).update(body).digest("base64url");
      forged.push([`${hmac} by HMAC with the public key as ${what}`, `${body}.${mac}`]);
    }
  }
  return forged;
}

/** Signatures that broken verifiers of ECDSA accept: zeros, the order of the curve, DER, other lengths. */
function* spoilEcdsa(token: string): Iterable<Spoiled> {
  const [header, payload, signature] = split(token);
  const order = Buffer.from("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", "hex");
  const zero = Buffer.alloc(32);
  const one = Buffer.concat([Buffer.alloc(31), Buffer.from([1])]);
  const bytes = Buffer.from(signature, "base64url");
  const [r, s] = [bytes.subarray(0, 32), bytes.subarray(32)];
  const values = { zero, one, order, r, s, ones: Buffer.alloc(32, 0xff) };
  for (const [left, a] of Object.entries(values)) {
    for (const [right, b] of Object.entries(values)) {
      if (left === "r" && right === "s") continue;
      yield [`signature (${left}, ${right})`, `${header}.${payload}.${Buffer.concat([a, b]).toString("base64url")}`];
    }
  }
  const der = Buffer.concat([Buffer.from([0x30, 0x44, 2, 0x20]), r, Buffer.from([2, 0x20]), s]);
  for (const [what, changed] of Object.entries({
    der,
    "a zero before": Buffer.concat([zero.subarray(0, 1), bytes]),
    "a zero after": Buffer.concat([bytes, zero.subarray(0, 1)]),
    "for a longer curve": Buffer.concat([zero.subarray(0, 16), r, zero.subarray(0, 16), s]),
    twice: Buffer.concat([bytes, bytes]),
    "r alone": r,
  })) {
    yield [`signature ${what}`, `${header}.${payload}.${changed.toString("base64url")}`];
  }
}

function* spoilRsa(token: string): Iterable<Spoiled> {
  const [header, payload, signature] = split(token);
  const bytes = Buffer.from(signature, "base64url");
  for (const [what, changed] of Object.entries({
    zeros: Buffer.alloc(bytes.length),
    ones: Buffer.alloc(bytes.length, 0xff),
    one: Buffer.concat([Buffer.alloc(bytes.length - 1), Buffer.from([1])]),
    "a zero before": Buffer.concat([Buffer.alloc(1), bytes]),
    "a zero after": Buffer.concat([bytes, Buffer.alloc(1)]),
    "without its first byte": bytes.subarray(1),
    "without its last byte": bytes.subarray(0, -1),
    reversed: Buffer.from(bytes).reverse(),
    twice: Buffer.concat([bytes, bytes]),
  })) {
    yield [`signature ${what}`, `${header}.${payload}.${changed.toString("base64url")}`];
  }
}
