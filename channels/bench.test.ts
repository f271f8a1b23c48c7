import { expect, test } from 'vitest';
import type { BenchCase } from './bench.ts';
import { CHANNELS } from './registry.ts';

test.each(Object.keys(CHANNELS))(
  'what is measured of %s is messages that would be answered, each under its own key',
  async (type) => {
    const { benchCase } = (await import(`./${type}/bench-case.ts`)) as { benchCase: BenchCase };
    const messages = await Promise.all([0, 1, 2].map((number) => benchCase.receive(number)()));
    expect(new Set(messages.map((message) => message?.id)).size).toBe(3);
    for (const [number, message] of messages.entries()) {
      expect(message).toMatchObject({ channel: type, isGroup: false, kind: 'message' });
      expect(message).not.toHaveProperty('refusal');
      if (type !== 'email') expect(message?.text).toBe(`message ${number}`);
    }
    expect(JSON.stringify(await benchCase.render('one **two** three'))).toContain('two');
  },
);
