/** What IRC takes, as its pages say: read by the adapter, by the simulator and by docs/limits.md. */
import { type PlatformLimits, pagesReadOn } from '../../src/core/platform-limits.ts';

const page = pagesReadOn('2026-11-23');

export const PLATFORM_LIMITS = {
  line: {
    what: 'a line with the CR LF at its end; more is cut off',
    value: 512,
    unit: 'bytes',
    ...page(
      'https://git.tyil.nl/raku/irc-client/plain/DESIGN-NOTES.md?h=rakuize&id=f5d28c34ffc14045bc49cd3cb22af108d23886bd',
      'these messages shall not exceed 512 characters in length, counting all characters including the trailing CR-LF',
    ),
  },
  host: { what: 'the host name that a server shows of a client', value: 63, unit: 'bytes' },
} as const satisfies PlatformLimits;
