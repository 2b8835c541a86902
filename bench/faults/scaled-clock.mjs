// Loaded before the product: makes its monotonic clock and its timers run FAULTS_CLOCK times as fast.
const factor = Number(process.env.FAULTS_CLOCK);
const now = performance.now.bind(performance);
performance.now = () => now() * factor;
const later = globalThis.setTimeout;
globalThis.setTimeout = Object.assign((callback, ms, ...args) => later(callback, ms / factor, ...args), later);
