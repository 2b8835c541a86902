// Says why the system gives no file.

const SAID: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "you have no right to it",
  EPERM: "you have no right to it",
  EISDIR: "it is a folder",
  // So the system says that it is a socket, or a pipe that nobody reads.
  ENXIO: "it is no regular file",
  ELOOP: "its links lead in a circle",
};

/** Without the name of the file. */
export function whyUnread(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return (code !== undefined && SAID[code]) || message;
}
