/** What WhatsApp takes, as its pages say: read by the adapter, by the simulator and by docs/limits.md. */
import { type PlatformLimits, pagesReadOn } from '../../src/core/platform-limits.ts';

const page = pagesReadOn('2026-11-23');
const MIB = 1024 * 1024;
const MEDIA = 'https://developer.exotel.com/docs/whatsapp-support/media-messages';

export const PLATFORM_LIMITS = {
  text: {
    what: 'text of a message on the business platform; the apps take more',
    value: 4_096,
    unit: 'UTF-16 code units',
    ...page(
      'https://support.symphony.com/hc/en-us/articles/4402244081044-WhatsApp-Connect-character-limitations',
      'The character count limit for a message on WhatsApp Connect is 4096 characters. This limit is imposed by the WhatsApp Business API',
    ),
  },
  appText: {
    what: 'text of a message that people send',
    value: 65_536,
    unit: 'characters',
    ...page(
      'https://whatsapp-tips.com/qa/view/how-many-characters-are-allowed-in-a-whatsapp-message',
      'The character limit for a single WhatsApp message is 65,536 characters',
    ),
  },
  caption: {
    what: 'text next to a file',
    value: 1_024,
    unit: 'characters',
    ...page(
      'https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/image-messages/',
      'Maximum 1024 characters.',
    ),
  },
  editable: {
    what: 'age of a message that may be changed; that a later edit is dropped in silence is unverified',
    value: 15 * 60_000,
    unit: 'ms',
    ...page(
      'https://thinkwithniche.com/amp/news/whatsapp-introduces-feature-to-edit-messages-within-15-minutes',
      'within 15 minutes of sending it',
    ),
  },
  photo: { what: 'a picture that is sent as one', value: 5 * MIB, unit: 'bytes', ...page(MEDIA, 'Image | JPEG, PNG | 5 MB') },
  video: { what: 'a video that is sent as one', value: 16 * MIB, unit: 'bytes', ...page(MEDIA, 'Video | MP4, 3GPP | 16 MB') },
} as const satisfies PlatformLimits;
