/** The known-bad designs of the sweep, and where its longer scenarios are played. */

/**
 * Known-bad designs that the judge must catch, on the platforms that show them soonest. What a terminal loses
 * cannot be caught: it has no acknowledgement that could come too early.
 */
export const CONTROLS: Readonly<Record<string, readonly string[]>> = {
  telegram: ['ack-first', 'send-first'],
  'telegram-webhook': ['ack-first'],
  double: ['ack-first'],
  wecom: ['ack-first'],
  cli: ['send-first'],
};

/**
 * Of a known-bad design: each pass takes every so manieth point, and a sample ends with the first that is
 * caught.
 */
export const CONTROL_EVERY = 6;
export const CONTROL_EVERY_OF_SAMPLE = 30;
/** Where runs that wait are killed. */
export const WAITING: readonly string[] = ['telegram', 'slack', 'double'];
/** Where runs with five tools are killed. */
export const HANDS: readonly string[] = [...WAITING, 'email'];
/** Where they are also killed between the question for a yes, the yes and its use. */
export const ALLOWED: readonly string[] = ['telegram', 'double'];
/** Forgets what the daemon before it started. Its programs have no sandbox, and its worker dies with it. */
export const NO_REAP = 'no-reap';
/** Of longer scenarios, by channel. */
export const CONTROL_OF = {
  /** A platform with calls of its own between the two commits hides it. */
  waits: { double: 'two-commits' } as Readonly<Record<string, string>>,
  hands: { telegram: NO_REAP } as Readonly<Record<string, string>>,
};
