// The type of the OpenTelemetry API, which is loaded only where there is an SDK.

export type OpenTelemetry = typeof import("@opentelemetry/api");
