// Bytes as HTTP/1 has them and as it must not: each class of message a parser has to tell apart, with what becomes of it.

/**
 * `refused`: at most one reply, an error, and the connection ends. `elsewhere`: one error, and the connection goes on.
 * `served`: one call, and the connection goes on. `last`: one call, and the connection ends; `spoiled`: one call
 * whose reply is an error, for what came in the same packet, and the end. `waits`: nothing, for the message is not whole. `split`: only errors, and the end.
 */
export type Verdict = "refused" | "elsewhere" | "served" | "last" | "spoiled" | "waits" | "split";

export type WireCase = readonly [name: string, verdict: Verdict, bytes: string];

/** HOST stands for the host of the server, BODY for a call, SIZE for its length and HEX for that in hexadecimal. */
const ABOUT = `Host: HOST\r\nContent-Type: application/json\r\nAccept: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: count\r\n`;

/** A call in which only the request line differs. */
function line(text: string): string {
  return `${text}\r\n${ABOUT}Content-Length: SIZE\r\n\r\nBODY`;
}

/** A call with more lines in its head; they say how long it is. */
function head(lines: string, body = "BODY"): string {
  return `POST /mcp HTTP/1.1\r\n${ABOUT}${lines}\r\n${body}`;
}

/** A good call with a line more. */
function extra(text: string): string {
  return head(`${text}\r\nContent-Length: SIZE\r\n`);
}

/** A call in chunks: the raw text of its body. */
function chunks(body: string): string {
  return head("Transfer-Encoding: chunked\r\n", body);
}

const GOOD = head("Content-Length: SIZE\r\n");

const REQUEST_LINES: readonly WireCase[] = [
  ["an empty line before the request", "served", `\r\n\r\n${GOOD}`],
  ["a method in lower case", "refused", line("post /mcp HTTP/1.1")],
  ["a method nobody has", "refused", line("BREW /mcp HTTP/1.1")],
  ["a method that only begins like one", "refused", line("POSTS /mcp HTTP/1.1")],
  ["a colon behind the method", "refused", line("POST: /mcp HTTP/1.1")],
  ["a method that touches its target", "refused", line("POST/mcp HTTP/1.1")],
  ["a space before the method", "refused", line(" POST /mcp HTTP/1.1")],
  ["a tab for a space", "refused", line("POST\t/mcp HTTP/1.1")],
  ["the preface of HTTP/2", "refused", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["a streaming protocol by its own name", "refused", "DESCRIBE /mcp RTSP/1.0\r\nCSeq: 1\r\n\r\n"],
  ["a broadcast protocol by its own name", "refused", "SOURCE /mcp ICE/1.0\r\nHost: HOST\r\n\r\n"],
  ["a wish for a tunnel", "refused", "CONNECT HOST HTTP/1.1\r\nHost: HOST\r\n\r\n"],
  ["a version with one digit", "refused", line("POST /mcp HTTP/1")],
  ["a version without its second digit", "refused", line("POST /mcp HTTP/1.")],
  ["a version with a leading zero", "refused", line("POST /mcp HTTP/01.1")],
  ["a version with a digit too many", "refused", line("POST /mcp HTTP/1.10")],
  ["a version with a comma", "refused", line("POST /mcp HTTP/1,1")],
  ["no slash before the version", "refused", line("POST /mcp HTTP1.1")],
  ["words behind the version", "refused", line("POST /mcp HTTP/1.1 please")],
  ["a protocol that ends like ours", "refused", line("POST /mcp XHTTP/1.1")],
  ["a target in the form of an authority", "refused", line("POST HOST HTTP/1.1")],
  ["a NUL in the target", "refused", line("POST /m\0cp HTTP/1.1")],
  ["a DEL in the target", "refused", line("POST /m\x7fcp HTTP/1.1")],
  ["bytes over 127 in the target", "refused", line("POST /m\xc3\xa9cp HTTP/1.1")],
  ["a tab in the target", "refused", line("POST /m\tcp HTTP/1.1")],
  ["a fragment", "refused", line("POST /mcp#top HTTP/1.1")],
  ["a path with an encoded letter", "refused", line("POST /%6dcp HTTP/1.1")],
  ["a path with two slashes", "refused", line("POST //mcp HTTP/1.1")],
  ["a path that goes up and down again", "refused", line("POST /x/../mcp HTTP/1.1")],
  ["a path with a parameter", "refused", line("POST /mcp;v=1 HTTP/1.1")],
  ["a path in capitals", "refused", line("POST /MCP HTTP/1.1")],
  ["a backslash for a slash", "refused", line("POST \\mcp HTTP/1.1")],
];

const HEADERS: readonly WireCase[] = [
  ["names in capitals", "served", GOOD.replace("Content-Length", "CONTENT-LENGTH").replace("Host:", "hOsT:")],
  ["no space behind a colon", "served", extra("X-One:two")],
  ["spaces and tabs around a value", "served", extra("X-One: \t two \t ")],
  ["an empty value", "served", extra("X-One:")],
  ["bytes over 127 in a value", "served", extra("X-One: \xe9")],
  ["a space in a name", "refused", extra("X One: two")],
  ["a tab before the colon", "refused", extra("X-One\t: two")],
  ["brackets in a name", "refused", extra("X(One): two")],
  ["bytes over 127 in a name", "refused", extra("X-\xe9: two")],
  ["a quote in a name", "refused", extra('"X-One": two')],
  ["a first line that continues nothing", "refused", GOOD.replace("Host:", " X-One: two\r\nHost:")],
  ["a folded value", "refused", extra("X-One: two\r\n three: four")],
  ["a length on a folded line", "refused", head("Content-Length:\r\n SIZE\r\n")],
  ["an encoding on a folded line", "refused", head("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n")],
  ["a DEL in a value", "refused", extra("X-One: t\x7fwo")],
  ["an escape in a value", "refused", extra("X-One: \x1b[2J")],
  ["a vertical tab in a value", "refused", extra("X-One: t\x0bwo")],
  ["a carriage return at the end of a value", "refused", extra("X-One: two\r")],
  ["one line feed between two headers", "refused", extra("X-One: two\nX-Two: three")],
  ["a line feed alone at the end of the head", "refused", GOOD.replace("\r\n\r\n", "\r\n\n")],
  ["a line without a name", "refused", extra(": two")],
  ["two Hosts in one line", "refused", GOOD.replace("Host: HOST", "Host: HOST, evil.example")],
  ["a name that only looks like Host", "refused", GOOD.replace("Host: HOST", "Hosts: HOST")],
];

const LENGTHS: readonly WireCase[] = [
  ["a length with leading zeros", "served", head("Content-Length: 000SIZE\r\n")],
  ["the same length twice", "refused", head("Content-Length: SIZE\r\nContent-Length: SIZE\r\n")],
  ["the same length twice in a list", "refused", head("Content-Length: SIZE, SIZE\r\n")],
  ["an empty length", "refused", head("Content-Length:\r\n")],
  ["a length in scientific notation", "refused", head("Content-Length: 1e3\r\n")],
  ["a length with a fraction", "refused", head("Content-Length: SIZE.0\r\n")],
  ["a length with a semicolon", "refused", head("Content-Length: SIZE;\r\n")],
  ["a length that wraps at 64 bits", "refused", head("Content-Length: 18446744073709551617\r\n")],
  ["a length in letters", "refused", head("Content-Length: many\r\n")],
  ["a length under a name with an underscore", "split", head("Content_Length: SIZE\r\n")],
  ["no length at all", "split", head("")],
  ["a length of nothing before a body", "split", head("Content-Length: 0\r\n")],
  ["a length one short", "split", head("Content-Length: 9\r\n")],
  ["a length for a body that does not come", "waits", head("Content-Length: 9999\r\n")],
  [
    "a GET with a call for its body",
    "elsewhere",
    `GET /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Length: SIZE\r\n\r\nBODY`,
  ],
  ["a head that does not end", "waits", `POST /mcp HTTP/1.1\r\nHost: HOST\r\nX-One: tw`],
  ["half a request line", "waits", "POST /mc"],
];

const ENCODINGS: readonly WireCase[] = [
  ["chunks", "served", chunks("HEX\r\nBODY\r\n0\r\n\r\n")],
  ["the encoding in capitals", "served", head("Transfer-Encoding: CHUNKED\r\n", "HEX\r\nBODY\r\n0\r\n\r\n")],
  ["a size in leading zeros", "served", chunks("0000HEX\r\nBODY\r\n000\r\n\r\n")],
  ["an extension", "served", chunks('HEX;a=b;c="d"\r\nBODY\r\n0;e\r\n\r\n')],
  ["a trailer", "served", chunks("HEX\r\nBODY\r\n0\r\nX-Sum: 1\r\n\r\n")],
  ["a trailer that names a length and a host", "served", chunks("HEX\r\nBODY\r\n0\r\nHost: evil.example\r\n\r\n")],
  ["an encoding twice", "refused", head("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n")],
  ["an encoding with a parameter", "refused", head("Transfer-Encoding: chunked;q=1\r\n", "0\r\n\r\n")],
  ["an encoding in quotes", "refused", head('Transfer-Encoding: "chunked"\r\n', "0\r\n\r\n")],
  ["an encoding behind a vertical tab", "refused", head("Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n")],
  ["an encoding that only begins like ours", "refused", head("Transfer-Encoding: chunkedly\r\n", "0\r\n\r\n")],
  ["an empty encoding", "refused", head("Transfer-Encoding:\r\nContent-Length: SIZE\r\n")],
  [
    "another encoding on a second line",
    "refused",
    head("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", "0\r\n\r\n"),
  ],
  ["no encoding and a length", "refused", head("Transfer-Encoding: identity\r\nContent-Length: SIZE\r\n")],
  ["a size without a digit", "refused", chunks("\r\nBODY\r\n0\r\n\r\n")],
  ["a size with its base", "refused", chunks("0xHEX\r\nBODY\r\n0\r\n\r\n")],
  ["a size with a sign", "refused", chunks("+HEX\r\nBODY\r\n0\r\n\r\n")],
  ["a space behind a size", "refused", chunks("HEX \r\nBODY\r\n0\r\n\r\n")],
  ["a size that ends with a line feed alone", "refused", chunks("HEX\nBODY\r\n0\r\n\r\n")],
  ["a line feed in an extension", "refused", chunks("HEX;a\nb\r\nBODY\r\n0\r\n\r\n")],
  ["a NUL in an extension", "refused", chunks("HEX;a\0\r\nBODY\r\n0\r\n\r\n")],
  ["extensions without end", "refused", chunks(`HEX;${"a".repeat(20_000)}\r\nBODY\r\n0\r\n\r\n`)],
  ["a chunk that ends with a line feed alone", "refused", chunks("HEX\r\nBODY\n0\r\n\r\n")],
  ["chunks that end with line feeds alone", "refused", chunks("HEX\r\nBODY\r\n0\n\n")],
  ["a trailer with a space in its name", "refused", chunks("HEX\r\nBODY\r\n0\r\nX Sum: 1\r\n\r\n")],
  ["trailers without end", "refused", chunks(`HEX\r\nBODY\r\n0\r\n${"X-Sum: 1\r\n".repeat(4_000)}\r\n`)],
  ["chunks whose last does not come", "waits", chunks("HEX\r\nBODY\r\n")],
  ["a chunk that is cut", "waits", chunks("fff\r\nBODY")],
];

const CONNECTIONS: readonly WireCase[] = [
  ["a call", "served", GOOD],
  ["a call that ends its connection", "last", extra("Connection: close")],
  ["a call that ends its connection among other wishes", "last", extra("Connection: X-One, close")],
  ["a call of HTTP/1.0", "last", GOOD.replace("HTTP/1.1", "HTTP/1.0")],
  ["a call that would rather speak HTTP/2", "last", extra("Connection: Upgrade\r\nUpgrade: h2c")],
  ["a call that asks first", "served", extra("Expect: 100-continue")],
  ["noise behind a call", "spoiled", `${GOOD}noise\r\n\r\n`],
  ["a call behind noise", "refused", `noise\r\n\r\n${GOOD}`],
  ["a reply for a request", "refused", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"],
  [
    "an upgrade with noise behind it",
    "refused",
    "GET /mcp HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nnoise",
  ],
  ["the greeting of a mail server", "refused", "EHLO example.com\r\n"],
  ["the banner of a secure shell", "refused", "SSH-2.0-Test_1.0\r\n"],
];

export const WIRE_CASES: readonly WireCase[] = [...REQUEST_LINES, ...HEADERS, ...LENGTHS, ...ENCODINGS, ...CONNECTIONS];
