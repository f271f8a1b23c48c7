/** What Twilio takes, as its pages say: read by the adapter, by the simulator and by docs/limits.md. */
import { type PlatformLimits, pagesReadOn } from '../../src/core/platform-limits.ts';

const page = pagesReadOn('2026-11-23');
const MIB = 1024 * 1024;

export const PLATFORM_LIMITS = {
  text: {
    what: 'text of a message',
    value: 1_600,
    unit: 'UTF-16 code units',
    ...page('https://www.twilio.com/docs/api/errors/21617', 'generally 1600 characters'),
  },
  media: {
    what: 'all files of a message',
    value: 5 * MIB,
    unit: 'bytes',
    ...page('https://www.twilio.com/docs/sms/accepted-mime-types', 'For a media message, the maximum size limit is 5MB'),
  },
  otherMedia: {
    what: 'a file that is no picture, as most networks take it; the page recommends 600 KB',
    value: 500 * 1024,
    unit: 'bytes',
    ...page(
      'https://support.twilio.com/hc/en-us/articles/360018832773-Twilio-Programmable-SMS-Supported-File-Types-and-Size-Limits-for-MMS-Media-Messages',
      'We recommend using attachments no larger than 600KB when sending files that are not jpeg, png, or gif images',
    ),
  },
} as const satisfies PlatformLimits;
