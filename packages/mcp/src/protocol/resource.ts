// Describes resources, resource templates and what is read from them.
import type { Annotations } from "./annotations.js";
import type { Icon } from "./icon.js";
import type { Meta } from "./meta.js";

/** A resource as a list shows it. */
export interface Resource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** Bytes before any encoding. */
  size?: number;
  icons?: readonly Icon[];
  annotations?: Annotations;
  _meta?: Meta;
}

/** A family of resources named by an RFC 6570 template. */
export interface ResourceTemplate {
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  icons?: readonly Icon[];
  annotations?: Annotations;
  _meta?: Meta;
}

/** Text of a resource. */
export interface TextResourceContents {
  uri: string;
  mimeType?: string;
  text: string;
  _meta?: Meta;
}

/** Bytes of a resource. */
export interface BlobResourceContents {
  uri: string;
  mimeType?: string;
  /** Padded standard base64. */
  blob: string;
  _meta?: Meta;
}

export type ResourceContents = TextResourceContents | BlobResourceContents;
