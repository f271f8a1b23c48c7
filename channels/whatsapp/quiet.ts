/** The Signal library below the SDK writes whole session records, private keys included, to the console. No log level stops it. */

const METHODS = ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const;
/** Of the caller's file in a stack trace. */
const LIBRARY = /[\\/]node_modules[\\/]libsignal[\\/]/;

let done = false;

/** From now on nothing that code of the Signal library prints comes out; everybody else's lines do. Twice is safe. */
export function silenceSignalLibrary(): void {
  if (done) return;
  done = true;
  const target = globalThis.console;
  for (const method of METHODS) {
    const print = target[method].bind(target);
    target[method] = (...data: unknown[]) => {
      // Line 0 is the message, line 1 this function, line 2 whoever calls.
      const caller = new Error('caller').stack?.split('\n')[2] ?? '';
      if (!LIBRARY.test(caller)) print(...data);
    };
  }
}
