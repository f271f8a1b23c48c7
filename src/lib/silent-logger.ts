import type { Logger } from '../core/ports.ts';

/** Says nothing: for what the command line does once, and tells of by itself. */
export const SILENT: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => SILENT,
};
