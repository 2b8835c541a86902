// Given to node by --import: says on stderr at which port the program listens that follows, which does not.
import { Server } from "node:net";

const { listen } = Server.prototype;
Server.prototype.listen = function saying(...options) {
  this.once("listening", () => process.stderr.write(`port=${this.address().port}\n`));
  return listen.apply(this, options);
};
