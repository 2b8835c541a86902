// Exceptions nobody expected: the peer gets an id, the log gets the text.

/** What the peer may know of an exception: an id under which the log has the rest. */
export interface UnexpectedFault {
  readonly id: string;
  readonly message: string;
}

/** Names an unexpected exception without saying anything of it. */
export function unexpected(): UnexpectedFault {
  const id = crypto.randomUUID().slice(0, 8);
  return { id, message: `Internal error (error id ${id}; the server's log has the details)` };
}
