/** What WeCom takes, as its pages say: read by the adapter, by the simulator and by docs/limits.md. */
import { type PlatformLimits, pagesReadOn } from '../../src/core/platform-limits.ts';

const page = pagesReadOn('2026-11-23');
const MIB = 1024 * 1024;
const SEND = 'https://developer.work.weixin.qq.com/document/path/90236';
const MEDIA = 'https://mo4tech.com/the-use-of-enterprise-wechat-material-management.html';

export const PLATFORM_LIMITS = {
  text: {
    what: 'text or markdown of a message; what is more is cut off in silence',
    value: 2_048,
    unit: 'bytes',
    ...page('https://github.com/zyh94946/wx-msg-push', '消息内容最长不超过2048个字节,超过将截断'),
  },
  image: { what: 'a picture that is sent as one', value: 10 * MIB, unit: 'bytes' },
  voice: {
    what: 'a voice message',
    value: 2 * MIB,
    unit: 'bytes',
    ...page(MEDIA, 'Voice: 2MB. The playback length does not exceed 60 seconds. Only the AMR format is supported'),
  },
  voiceLength: {
    what: 'the length of a voice message',
    value: 60,
    unit: 's',
    ...page(MEDIA, 'The playback length does not exceed 60 seconds'),
  },
  video: { what: 'a video that is sent as one', value: 10 * MIB, unit: 'bytes', ...page(MEDIA, 'Video: 10MB, MP4 format') },
  file: { what: 'a file', value: 20 * MIB, unit: 'bytes', ...page(MEDIA, 'Common files: 20MB') },
  leastFile: { what: 'the smallest file', value: 6, unit: 'bytes', ...page(MEDIA, 'All files must be larger than 5 bytes') },
  chatRate: {
    what: 'messages to one member; what is more is dropped in silence',
    value: 30,
    unit: 'in 60 s',
    ...page(SEND, '每应用对同一个成员不可超过30次/分钟,1000次/小时,超过部分会被丢弃不下发'),
  },
  chatRateHour: {
    what: 'messages to one member; what is more is dropped in silence',
    value: 1_000,
    unit: 'in 3600 s',
    ...page(SEND, '每应用对同一个成员不可超过30次/分钟,1000次/小时,超过部分会被丢弃不下发'),
  },
  duplicates: { what: 'for how long an equal message is not shown again, at most', value: 4 * 3_600_000, unit: 'ms' },
  cardTitle: { what: 'the title of a card, as far as it is shown whole', value: 36, unit: 'characters' },
  cardText: { what: 'text below the title of a card, as far as it is shown whole', value: 160, unit: 'characters' },
  cardButtons: { what: 'buttons of a card', value: 6, unit: 'buttons' },
  buttonKey: { what: 'what a button sends back', value: 1_024, unit: 'bytes' },
} as const satisfies PlatformLimits;
