// Tells a fault of a case from what the product did: a case that names what is no longer there has tried nothing, whether its
// TypeError would pass for a refusal or for an attack that got through.

/** Where cases and what they share stand; the product is loaded from a bundle elsewhere. */
const OURS = /\/scorecard\/(?:cases|support|report)\//;
/** Lines of a stack that say where Node or V8 was, on somebody's behalf. */
const NOBODYS = /node:|<anonymous>|\(native\)/;

/** What a case came to that could not be tried. */
export class Broken extends Error {
  name = "Broken";
}

/** Whether an error was thrown because the case itself is wrong: it calls or reads what is not there. */
export function isOwnFault(error) {
  if (!(error instanceof TypeError || error instanceof ReferenceError)) return false;
  const thrownAt = String(error.stack)
    .split("\n")
    .find((each) => /^ +at /.test(each) && !NOBODYS.test(each));
  return thrownAt !== undefined && OURS.test(thrownAt);
}

/** For a case that takes any error for a refusal: returns it, unless it is the case's own, which goes on to the report. */
export function refusal(error) {
  if (isOwnFault(error)) throw error;
  return error;
}
