// Loaded before the CDK command line (NODE_OPTIONS), which is not changed: it looks every 5 s whether a stack is done, and
// every 2 s for its events. The emulated CloudFormation is done in far less, so most of a rehearsal would be that waiting.
"use strict";

const PAUSES_MS = new Set([5000, 2000]);
const SHORT_MS = 250;

const original = globalThis.setTimeout;
const shortened = function setTimeout(callback, delay, ...rest) {
  return original(callback, PAUSES_MS.has(delay) ? SHORT_MS : delay, ...rest);
};
// Its promisified form is looked up by these symbols.
for (const symbol of Object.getOwnPropertySymbols(original)) {
  shortened[symbol] = original[symbol];
}
globalThis.setTimeout = shortened;
