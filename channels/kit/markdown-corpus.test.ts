// Every sample of fixtures/markdown.json as each channel sends it, judged by what the platform's
// documentation says.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { ChannelLimits, Terminal } from '../../src/core/channel.ts';
import type { OutboundPart } from '../../src/core/message.ts';
import { planParts } from '../../src/delivery/plan.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { judgeDiscord } from '../../src/testing/dialects/discord.ts';
import { judgeHtmlMail } from '../../src/testing/dialects/email.ts';
import { judgeFeishu } from '../../src/testing/dialects/feishu.ts';
import { judgeStreamingCard } from '../../src/testing/dialects/feishu-card.ts';
import { judgeIrc, judgeTerminal, judgeTwilio } from '../../src/testing/dialects/plain.ts';
import { judgeSlack, judgeSlackBlocks } from '../../src/testing/dialects/slack.ts';
import { judgeTelegram } from '../../src/testing/dialects/telegram.ts';
import { decodeEntities, type Verdict } from '../../src/testing/dialects/verdict.ts';
import { judgeWecom } from '../../src/testing/dialects/wecom.ts';
import { judgeWhatsApp } from '../../src/testing/dialects/whatsapp.ts';
import { tempDir } from '../../src/testing/fakes.ts';
import { partToText } from '../cli/outbound.ts';
import { toCreate } from '../discord/out/outbound.ts';
import { toMail } from '../email/out/outbound.ts';
import { toMessage as toFeishu } from '../feishu/out/outbound.ts';
import { toStreamingCard } from '../feishu/out/streaming-card.ts';
import { toLines } from '../irc/out/outbound.ts';
import { CHANNELS } from '../registry.ts';
import { toPost } from '../slack/out/outbound.ts';
import { toCall } from '../telegram/out/outbound.ts';
import { toBody } from '../twilio/out/outbound.ts';
import { toMessage as toWecom } from '../wecom/out/outbound.ts';
import { wordsOf } from '../whatsapp/out/outbound.ts';

interface Sample {
  readonly name: string;
  readonly group: string;
  readonly text: string;
  readonly words: readonly string[];
  readonly absent?: readonly string[];
  readonly numbers?: readonly string[];
}

const SAMPLES = JSON.parse(readFileSync(join(import.meta.dirname, 'fixtures/markdown.json'), 'utf8')) as readonly Sample[];

/** What Feishu is sent of an answer that grows while it is written. */
const STREAMED = 'feishu, a streaming card';
/** What Slack shows of a message that has blocks; its text is for notifications then. */
const BLOCKS = 'slack, as blocks';

type Shown = Parameters<typeof judgeSlackBlocks>[0];

/** A part as its channel sends it. */
const JUDGES: Readonly<Record<string, (part: OutboundPart) => Promise<Verdict>>> = {
  telegram: async (part) => {
    const { payload } = await toCall(part, { plain: false, chatId: '1' });
    return judgeTelegram(String(payload['text']), payload['parse_mode'] === undefined);
  },
  slack: async (part) => {
    const { text, mrkdwn } = await toPost(part, false);
    return judgeSlack(String(text), mrkdwn === true);
  },
  [BLOCKS]: async (part) => {
    const { text, mrkdwn, blocks } = await toPost(part, false);
    return blocks === undefined ? judgeSlack(String(text), mrkdwn === true) : judgeSlackBlocks(blocks as Shown);
  },
  discord: async (part) => {
    const { body } = await toCreate(part, '1', { plain: false });
    return judgeDiscord(String(body['content']));
  },
  whatsapp: async (part) => judgeWhatsApp(await wordsOf(part, false)),
  feishu: async (part) => {
    const { type, content } = await toFeishu(part, { plain: false, isGroup: undefined });
    return judgeFeishu(type, content);
  },
  [STREAMED]: async ({ text }) => judgeStreamingCard(toStreamingCard(text, { plain: false, streaming: true })),
  wecom: async (part) => {
    const message = await toWecom(part, { plain: false, agentId: 1, markdown: true, duplicateCheck: true });
    if ('refused' in message) return { violations: [message.detail], visible: '' };
    const { violations, visible } = judgeWecom(message.payload as Record<string, unknown>);
    // Blanks at the end tell two messages of the same words apart.
    return { violations, visible: visible.replace(/[ \t]{32}\u200b$/, '') };
  },
  email: async (part) => {
    const mail = await toMail(part, { from: { name: '', address: 'bot@example.org' }, blindCopy: false, plain: false });
    return judgeHtmlMail(mail.html ?? '');
  },
  twilio: async (part) => judgeTwilio(await toBody(part, false)),
  irc: (part) => Promise.resolve(judgeIrc(toLines(part, { nick: 'b'.repeat(30), maxLines: 1_000, plain: false }))),
  cli: (part) => Promise.resolve(judgeTerminal(partToText(part))),
};

/** What `create` of each needs; nothing is connected. */
const MADE: Readonly<Record<string, { readonly settings?: object; readonly secret?: (name: string) => string }>> = {
  telegram: { secret: () => '700001:secret' },
  discord: { secret: () => `${Buffer.from('123456789012345678').toString('base64url')}.time.secret` },
  slack: { secret: (name) => (name.includes('APP') ? 'xapp-1-secret' : 'xoxb-1000001-1000002-secret') },
  feishu: { secret: () => 'cli_0123456789abcdef' },
  wecom: { settings: { agent_id: 1, corp_id: 'ww1' }, secret: () => 'a'.repeat(43) },
  twilio: { settings: { from_number: '+15550001111' }, secret: () => `AC${'0'.repeat(32)}` },
  email: { settings: { imap_host: 'h', smtp_host: 'h', from_address: 'bot@example.org', trust_from: true } },
  irc: { settings: { host: 'irc.example.org', nick: 'bot' } },
};
/** These pass Markdown on as it was written. */
const AS_WRITTEN = ['cli'];

async function limitsOf(name: string): Promise<ChannelLimits> {
  const type = name === STREAMED ? 'feishu' : name === BLOCKS ? 'slack' : name;
  const descriptor = await CHANNELS[type]?.();
  const { settings = {}, secret = () => 'secret' } = MADE[type] ?? {};
  const terminal = { input: new PassThrough(), output: new PassThrough(), interactive: false } as unknown as Terminal;
  await using dir = await tempDir();
  const deps = channelDeps({ secret, terminal, dir: dir.path });
  const channel = await descriptor?.create(descriptor.settings.parse(settings) as never, deps);
  if (!channel) throw new Error(`no channel ${type}`);
  // What one answer may cost is the operator's to say, and nothing of a dialect.
  return { ...channel.limits, parts: 1_000 };
}

/** Without the signs nobody sees, which dialects put between a mark and a word. */
function bare(text: string): string {
  return text.replace(/\p{Cf}/gu, '');
}

/** The first of `words` that is not behind those before it; undefined when all are there. */
function missing(words: readonly string[], visible: string): string | undefined {
  let at = 0;
  for (const word of words.map(bare)) {
    const found = visible.indexOf(word, at);
    if (found === -1) return `${word} behind ...${visible.slice(Math.max(0, at - 20), at)}`;
    at = found + word.length;
  }
  return undefined;
}

/** Where Markdown is shown as it was written, escapes are shown too. */
function unescaped(source: string): string {
  return decodeEntities(source.replace(/\\([!-/:-@[-`{-~])/g, '$1').replaceAll('&copy;', '©'));
}

async function faultsOf(type: string, { text, words, absent = [], numbers = [] }: Sample, limits: ChannelLimits) {
  const judge = JUDGES[type];
  if (!judge) throw new Error(`no judge of ${type}`);
  const message = { ...MESSAGE, channel: type, chatId: type === 'email' ? 'ada@example.org' : '1' };
  const parts = planParts({ message, text, files: [], limits, now: 0, expiresInMs: 1 }).map(({ part }) => part);
  const verdicts = await Promise.all(parts.map(judge));
  const faults = verdicts.flatMap(({ violations }) => violations);
  const joined = bare(verdicts.map(({ visible }) => visible).join(''));
  // A word that is longer than a line of IRC goes on in the next.
  const whole = type === 'irc' ? [joined.replaceAll('\n', '')] : [];
  const shown = AS_WRITTEN.includes(type) ? [joined, unescaped(joined)] : [joined, ...whole];
  // A message is sent again plain when it is refused, so nothing that was lost is behind a violation.
  const lost = shown.map((visible) => missing(words, visible));
  if (lost.every((word) => word !== undefined)) faults.push(`lost: ${lost[0]}`);
  if (AS_WRITTEN.includes(type)) return faults;
  for (const mark of absent) if (joined.includes(mark) && !isOwnMark(type, mark)) faults.push(`shows ${mark}`);
  if (type !== 'email') for (const number of numbers) if (!joined.includes(number)) faults.push(`no ${number}`);
  return faults;
}

/** A text message of WeCom shows what is struck between two waves. */
function isOwnMark(type: string, mark: string): boolean {
  return type === 'wecom' && mark === '~~';
}

const MESSAGE = { id: 'test/bot/1', account: 'bot', isGroup: false };

describe.each([...Object.keys(CHANNELS), STREAMED, BLOCKS])('%s', (type) => {
  test('shows every word of every sample in order, and nothing is refused or shown as a mark', async () => {
    const limits = await limitsOf(type);
    const faults: Record<string, readonly string[]> = {};
    for (const sample of SAMPLES) {
      const found = await faultsOf(type, sample, limits);
      if (found.length > 0) faults[sample.name] = found;
    }
    expect(faults).toEqual({});
  });
});

test('there are at least 200 samples', () => {
  expect(SAMPLES.length).toBeGreaterThanOrEqual(200);
});
