/**
 * What the Open Platform of Feishu takes, as its pages say: read by the adapter, by the simulator and by
 * docs/limits.md.
 */
import { type PlatformLimits, pagesReadOn } from '../../src/core/platform-limits.ts';

const page = pagesReadOn('2026-11-23');
const later = pagesReadOn('2026-11-28');
const MIB = 1024 * 1024;
const SEND = 'https://open.larkoffice.com/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/create.md';
const EDIT = 'https://open.larkoffice.com/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/update.md';
const CARD = 'https://open.larkoffice.com/document/server-docs/im-v1/message-card/patch.md';
const SIZES = 'https://open.larksuite.com/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/patch.md';
const TABLE =
  'https://open.larkoffice.com/document/uAjLw4CM/ukzMukzMukzM/feishu-cards/card-components/content-components/table.md';
const FILES = 'https://feishu.apifox.cn/api-9020999';

export const PLATFORM_LIMITS = {
  rich: {
    what: 'rich text or a card, as the content stands in the request',
    value: 30_000,
    unit: 'bytes',
    ...page(SIZES, '文本消息请求体最大不能超过150KB；卡片及富文本消息请求体最大不能超过30KB'),
  },
  text: {
    what: 'a text message, as the content stands in the request',
    value: 150_000,
    unit: 'bytes',
    ...page(SIZES, '文本消息请求体最大不能超过150KB'),
  },
  edits: {
    what: 'edits of one text or rich text; cards have no such limit',
    value: 20,
    unit: 'edits',
    ...page(EDIT, '一条消息最多可编辑 20 次'),
  },
  cardEditable: {
    what: 'age of a card that may be changed',
    value: 14 * 86_400_000,
    unit: 'ms',
    ...page(CARD, '仅支持更新 14 天内发送的消息'),
  },
  cardEditRate: { what: 'edits of one card', value: 5, unit: 'in 1 s', ...page(CARD, '单条消息更新频控为 5 QPS') },
  recallable: {
    what: 'age of a message that may be taken back, unless the company says otherwise',
    value: 86_400_000,
    unit: 'ms',
    ...page(
      'https://open.larksuite.com/document/server-docs/im-v1/message/delete.md',
      '发送时间不超过租户管理员配置的可撤回时限的消息（默认为24小时）',
    ),
  },
  chatRate: {
    what: 'messages to one person, or to one group by all its bots',
    value: 5,
    unit: 'in 1 s',
    ...page(SEND, '向同一用户发送消息的限频为 5 QPS、向同一群组发送消息的限频为群内机器人共享 5 QPS'),
  },
  accountRate: { what: 'messages of one app', value: 1_000, unit: 'in 60 s', ...page(SEND, '1000 次/分钟、50 次/秒') },
  image: {
    what: 'a picture that is sent as one',
    value: 10 * MIB,
    unit: 'bytes',
    ...page(FILES, '文件大小超出限制(文件:30M; 图片: 10M)'),
  },
  upload: { what: 'a file', value: 30 * MIB, unit: 'bytes', ...page(FILES, '文件大小超出限制(文件:30M; 图片: 10M)') },
  tables: { what: 'tables in a card', value: 5, unit: 'tables', ...later(TABLE, '单张卡片最多支持放置五个表格组件') },
  columns: {
    what: 'columns of a table',
    value: 50,
    unit: 'columns',
    ...later(TABLE, '最多支持添加 50 列，超出 50 列的内容不展示'),
  },
  elements: { what: 'elements of a card and their parts', value: 200, unit: 'elements' },
  uuid: { what: 'the key of a message', value: 50, unit: 'characters' },
  keyWindow: { what: 'for how long a key makes one message', value: 3_600_000, unit: 'ms' },
} as const satisfies PlatformLimits;
