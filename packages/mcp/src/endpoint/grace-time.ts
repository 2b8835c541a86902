// The time that running calls get at the end: what a busy machine does not let this process run does not count.

/** In so many steps the time passes. However late a timer is called, it counts as the one step it was meant to be. */
const STEPS = 10;

/**
 * Resolves after about `milliseconds` in which this process could run, or once `done` is resolved, whichever is sooner.
 * One timer would run out while the process waits for a processor, with the answers ready to be given.
 */
export async function withinGrace(done: Promise<void>, milliseconds: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    let left = STEPS;
    const step = (): void => {
      if (left === 0) return resolve();
      left--;
      timer = setTimeout(step, milliseconds / STEPS);
    };
    step();
  });
  await Promise.race([done, late]);
  clearTimeout(timer);
}
