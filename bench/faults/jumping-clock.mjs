// Loaded before the product where there is no libfaketime: its wall clock is off by what the file FAULTS_OFFSET says, in seconds.
import { readFileSync } from "node:fs";

const RealDate = Date;
const read = () => Number(readFileSync(process.env.FAULTS_OFFSET, "utf8")) * 1_000 || 0;

globalThis.Date = class Date extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + read());
    else super(...args);
  }

  static now() {
    return RealDate.now() + read();
  }
};
