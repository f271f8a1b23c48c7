/**
 * The Signal library below the SDK writes whole session records, private keys included, to the console. No
 * log level stops it.
 */
import type { UserFacingSocketConfig } from '@whiskeysockets/baileys';
import type { Logger } from '../../../src/core/ports.ts';

const METHODS = ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const;
/** Of the caller's file in a stack trace. */
const LIBRARY = /[\\/]node_modules[\\/]libsignal[\\/]/;

let done = false;

/** From now on nothing that the Signal library prints comes out; all other lines do. Twice is safe. */
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

/** Objects that the SDK logs hold keys and messages; its sentences do not. */
export function quietLogger(logger: Logger): NonNullable<UserFacingSocketConfig['logger']> {
  const nothing = (): void => undefined;
  const sentence = (_data: unknown, text?: string): void => {
    if (text !== undefined) logger.debug('whatsapp.sdk', { text: text.slice(0, 200) });
  };
  const quiet = {
    level: 'warn',
    child: () => quiet,
    trace: nothing,
    debug: nothing,
    info: nothing,
    warn: sentence,
    error: sentence,
  };
  return quiet;
}
