// Icons are pictures from where their server is, and nothing else.
import { expect, it } from "vitest";
import { type IconOptions, loadIcon } from "../../src/host/icons.js";

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]);
const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
const PNG_URI = `data:image/svg+xml;base64,${base64(PNG)}`;
const server = { serverUrl: "https://host/mcp" };
const answers = (body: Uint8Array<ArrayBuffer> | string, status = 200): IconOptions => ({
  ...server,
  fetch: () => Promise.resolve(new Response(body, { status, headers: { "content-type": "image/png" } })),
});

it("are what their bytes are, not what they are called", async () => {
  expect((await loadIcon({ src: PNG_URI })).mimeType).toBe("image/png");
  const sent: RequestInit[] = [];
  const fetch = (_url: string, init: RequestInit): Promise<Response> => {
    sent.push(init);
    return Promise.resolve(new Response(Uint8Array.from([0xff, 0xd8, 0xff, 0xe0])));
  };
  expect((await loadIcon({ src: "https://host/icon.png" }, { ...server, fetch })).mimeType).toBe("image/jpeg");
  expect(sent).toMatchObject([{ redirect: "error", credentials: "omit" }]);
});

it.each<[string, string, IconOptions, string]>([
  ["another origin", "https://other/icon.png", server, "https://other is not where its server is"],
  ["another port", "https://host:8443/icon.png", server, "is not where its server is"],
  ["no known server", "https://host/icon.png", {}, "is not where its server is"],
  ["http", "http://host/icon.png", server, "neither https: nor data:"],
  ["a script", "javascript:alert(1)", server, "neither https: nor data:"],
  ["a file", "file:///etc/passwd", server, "neither https: nor data:"],
  ["a password", "https://user:pw@host/icon.png", server, "has a password"],
  ["SVG", `data:image/svg+xml;base64,${btoa("<svg onload=x>")}`, {}, "it is no PNG, JPEG, GIF or WebP"],
  ["text in a data URI", "data:image/png,hello", {}, "not in base64"],
  ["broken base64", "data:image/png;base64,***", {}, "not in base64"],
  ["a large data URI", PNG_URI, { mostBytes: 4 }, "more than 4 bytes"],
  ["a large answer", "https://host/i", { ...answers(PNG), mostBytes: 4 }, "more than 4 bytes"],
  ["a page", "https://host/i", answers("<html>"), "it is no PNG"],
  ["an error", "https://host/i", answers(PNG, 404), "status 404"],
  ["no answer", "https://host/i", { ...server, fetch: () => Promise.reject(new Error("redirected")) }, "redirected"],
])("are refused from %s", async (_, src, options, why) => {
  await expect(loadIcon({ src }, options)).rejects.toMatchObject({
    code: "ICON",
    message: expect.stringContaining(why) as string,
  });
});
