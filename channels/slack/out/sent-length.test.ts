/**
 * Long answers through the real delivery, on a platform that counts what it is sent: bytes of UTF-8 after
 * escaping.
 */
import { expect, test } from 'vitest';
import { createDelivery } from '../../../src/delivery/deliver.ts';
import { planParts } from '../../../src/delivery/plan.ts';
import { BOT_USER, DIRECT, type StoredMessage } from '../../../src/simulator/slack/workspace.ts';
import { quickClock } from '../../../src/testing/channel-host.ts';
import { cpuMs } from '../../../src/testing/cpu-time.ts';
import { answered, runOf } from '../../../src/testing/delivery-setup.ts';
import { FakeClock, inbound, until } from '../../../src/testing/fakes.ts';
import { MemoryJournal } from '../../../src/testing/memory-journal.ts';
import { type SlackSetup, slackSetup } from '../../../src/testing/slack/setup.ts';
import { channel as descriptor } from '../index.ts';
import { sentBytes } from './sent-length.ts';

/** `n` in words that can be told apart in what arrived. */
type Script = (n: number) => string;

const SCRIPTS: Readonly<Record<string, Script>> = {
  Latin: (n) => `Sentence [${n}] says what comes next. `,
  'Latin with marks': (n) => `- **Point [${n}]** is _un_**der**_lined_ & \`a<b\`, *see* <x>\n`,
  Cyrillic: (n) => `Предложение [${n}] говорит о том, что будет дальше. `,
  CJK: (n) => `第[${n}]句話說明接下來要做的事情，請先**備份**資料。`,
  emoji: (n) => `👩‍👩‍👧‍👦🎉🇩🇪[${n}]👍🏽 `,
  'lines of a list': (n) => `  - нужно [${n}] > раз\n`,
};
const HTML: Script = (n) => `<div class="a" id="[${n}]">&amp;<b>x</b></div>\n`;
const LENGTHS = [1_000, 2_500, 4_100, 12_000];

function textOf(script: Script, length: number): string {
  let text = '';
  for (let n = 0; text.length < length; n += 1) text += script(n);
  return text.trimEnd();
}

/** An answer that grows over seconds, delivered as the daemon delivers it; what the chat holds in the end. */
async function streamed(at: SlackSetup, text: string): Promise<readonly StoredMessage[]> {
  const channel = await at.create();
  const clock = new FakeClock();
  const journal = new MemoryJournal(clock);
  const message = inbound({ channel: 'slack', account: channel.account, chatId: DIRECT });
  const channels = new Map([[channel.name, channel]]);
  const delivery = createDelivery({ journal, channels, clock, random: () => 0, emit: () => undefined });
  const place = delivery.answer(runOf(message));
  await place.open();
  const step = Math.ceil(text.length / 6);
  for (let from = 0; from < text.length; from += step) {
    const before = at.server.calls.length;
    delivery.observe({ type: 'model.text', at: 0, messageId: message.id, text: text.slice(from, from + step) });
    // What is beyond the first message is not shown while it grows.
    let rounds = 0;
    await until('it was shown, or is not', async () => {
      await clock.advance(1_000);
      rounds += 1;
      return at.server.calls.length > before || (from > 0 && rounds > 4);
    });
  }
  const plan = { message, text, files: [], limits: channel.limits, now: clock.now(), expiresInMs: 1e7 };
  await journal.enqueue((await place.of(answered(planParts(plan)))).parts);
  delivery.poke(runOf(message).lane);
  await until('it is settled', async () => {
    await clock.advance(1_000);
    return [...journal.rows.values()].every(({ state }) => state === 'SENT');
  });
  await delivery[Symbol.asyncDispose]();
  await channel.stop();
  return at.server.workspace.messages.filter(({ user }) => user === BOT_USER);
}

function numbersOf(messages: readonly StoredMessage[]): readonly number[] {
  return messages.flatMap(({ text }) => [...text.matchAll(/\[(\d+)\]/g)].map((match) => Number(match[1])));
}

test.each(Object.entries({ ...SCRIPTS, 'HTML code': HTML }))(
  'a streamed answer in %s ends as one answer: whole, in order, nothing twice and no stub',
  async (_name, script) => {
    for (const length of LENGTHS) {
      await using at = await slackSetup(descriptor, { clock: quickClock(1) });
      const source = textOf(script, length);
      const messages = await streamed(at, script === HTML ? `\`\`\`html\n${source}\n\`\`\`` : source);
      expect(numbersOf(messages)).toEqual(numbersOf([{ text: source } as StoredMessage]));
      for (const { text } of messages) {
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_000);
        expect(text).not.toMatch(/…$/);
        expect(text.split('```').length % 2).toBe(1);
      }
      expect(at.server.sends.map(({ args }) => args['mrkdwn'])).toEqual(at.server.sends.map(() => 'true'));
      // Every edit fitted: none was refused on the way.
      expect(at.server.calls.filter(({ method }) => method === 'chat.delete')).toEqual([]);
    }
  },
  60_000,
);

test.each(['msg_too_long', 'edit_window_closed'])(
  'a draft whose last edit is refused with %s goes, and the whole answer is sent once',
  async (error) => {
    await using at = await slackSetup(descriptor, { clock: quickClock(1) });
    const source = textOf(SCRIPTS['Latin'] ?? String, 1_500);
    at.server.fault({ method: 'chat.update', kind: 'error', error, times: 99 });
    const messages = await streamed(at, source);
    expect(messages.map(({ text }) => text)).toEqual([source]);
    expect(at.server.calls.map(({ method }) => method)).toContain('chat.delete');
  },
);

test('the length of a text is what the platform is sent for it: rendered, escaped, in bytes', async () => {
  expect(sentBytes('plain words')).toBe(11);
  expect(sentBytes('**fett** & <x>')).toBe(Buffer.byteLength('*fett* &amp; &lt;x&gt;'));
  expect(sentBytes('Привет')).toBe(12);
  expect(sentBytes('| a | b | c |\n|---|---|---|\n| 1 | long cell | 3 |')).toBeGreaterThan(50);
});

test('a hostile text is measured in a moment, since it is measured again and again', async () => {
  const texts = ['*a_', '![', '[', '> ', '- ', '|a', '`a``', '**', '<a ', '&#', '~~a**', '](', '\\'].map((sign) =>
    sign.repeat(4_000 / sign.length),
  );
  for (const text of texts) {
    const before = cpuMs();
    sentBytes(text);
    expect([text.slice(0, 4), cpuMs() - before < 300]).toEqual([text.slice(0, 4), true]);
  }
});
