/**
 * What every adapter does with an answer as delivery plans it: shown while it is written, or asked with
 * choices. A part of the suite in `contract.ts`.
 */
import { expect } from 'vitest';
import { readChoice } from '../src/core/choices.ts';
import { createDelivery } from '../src/delivery/deliver.ts';
import { planParts } from '../src/delivery/plan.ts';
import { TestHost } from '../src/testing/channel-host.ts';
import { type Case, recording, sending, write } from '../src/testing/channel-stage.ts';
import { answered, runOf } from '../src/testing/delivery-setup.ts';
import { FakeClock, until } from '../src/testing/fakes.ts';
import { MemoryJournal } from '../src/testing/memory-journal.ts';

export const ANSWER_CASES = {
  'an answer that is shown while it is written is one message that ends whole, where messages can be changed': async ({
    platform,
    start,
  }) => {
    const host = new TestHost();
    const { channel, calls } = recording(await start(host));
    await write(platform, 'tell me');
    const message = await until('the message arrived', () => host.accepted[0]);
    const clock = new FakeClock();
    const journal = new MemoryJournal(clock);
    const channels = new Map([[channel.name, channel]]);
    await using delivery = createDelivery({ journal, channels, clock, random: () => 0, emit: () => undefined, maxAttempts: 8 });
    const place = delivery.answer(runOf(message));
    const isShown = channel.edit !== undefined;
    await place.open();
    const shown = async (what: string): Promise<void> => {
      await until(`it shows ${what}`, async () => {
        await clock.advance(500);
        return calls.at(-1)?.text === what;
      });
    };
    for (const text of isShown ? ['the first words', ' and more', ' and still more'] : []) {
      delivery.observe({ type: 'model.text', at: 0, messageId: message.id, text });
      await shown(`${calls.at(-1)?.text.replace(' …', '') ?? ''}${text} …`);
    }
    const parts = planParts({
      message,
      text: 'the answer',
      files: [],
      limits: channel.limits,
      now: clock.now(),
      expiresInMs: 1e6,
    });
    await journal.enqueue((await place.of(answered(parts))).parts);
    for (const { lane } of parts) delivery.poke(lane);
    await shown('the answer');
    await until('it is settled', () => [...journal.rows.values()].every(({ state }) => state === 'SENT'));
    expect(calls.map(({ call }) => call)).toEqual(isShown ? ['send', 'edit', 'edit', 'edit'] : ['send']);
    expect(new Set([...journal.rows.values()].map(({ platformId }) => platformId)).size).toBe(1);
  },

  'choices are pressed where there are buttons, else listed; a typed number names one': async ({ platform, start }) => {
    const host = new TestHost();
    const channel = await start(host);
    await write(platform, 'may I?');
    const message = await until('the message arrived', () => host.accepted[0]);
    const choices = ['Yes', 'No'].map((label) => ({ label, value: label.toLowerCase() }));
    const { limits, buttons = false } = channel;
    const [question] = planParts({ message, text: 'Shall I?', files: [], choices, buttons, limits, now: 0, expiresInMs: 1 });
    if (!question) throw new Error('no part');
    expect(await channel.send(question.part, sending())).toMatchObject({ kind: 'sent' });
    if (!buttons) expect((await platform.seen()).map(({ text }) => text).join('\n')).toMatch(/1\. Yes\s+2\. No/);
    await write(platform, '2');
    // Some platforms show us our own messages, too.
    const reply = await until('the reply arrived', () => host.accepted.slice(1).find(({ refusal }) => refusal === undefined));
    expect([reply.text, readChoice(reply.text.trim(), choices)?.value]).toEqual(['2', 'no']);
  },
} satisfies Record<string, Case>;
