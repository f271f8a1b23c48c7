import { expect, test } from 'vitest';
import type { RunEvent } from '../core/events.ts';
import { FakeClock } from '../testing/fakes.ts';
import { StatusLine } from './status-line.ts';

function line() {
  const clock = new FakeClock();
  const status = new StatusLine(clock);
  return { clock, status, see: (event: object) => status.observe({ at: 0, ...event } as RunEvent) };
}

test('there is none before two seconds without a word of the model', async () => {
  const { clock, status, see } = line();
  await clock.advance(1_999);
  expect(status.text()).toBeUndefined();
  await clock.advance(1);
  expect(status.text()).toBe('✦ Thinking… (2s)');
  see({ type: 'model.text', text: 'a' });
  expect(status.text()).toBeUndefined();
  await clock.advance(2_000);
  expect(status.text()).toBe('✦ Thinking… (4s)');
});

test('the word is another one every eight seconds', async () => {
  const { clock, status } = line();
  const words: (string | undefined)[] = [];
  for (let n = 0; n < 6; n += 1) {
    await clock.advance(8_000);
    words.push(/✦ (.*)…/.exec(status.text() ?? '')?.[1]);
  }
  expect(new Set(words).size).toBe(5);
  expect(words[5]).toBe(words[0]);
});

test('tokens are counted over the calls of the run', async () => {
  const { clock, status, see } = line();
  const call = { type: 'model.done', model: 'm', costUsd: null, ms: 1 };
  see({ ...call, tokensIn: 1_100, tokensOut: 200 });
  see({ ...call, tokensIn: 100, tokensOut: 150 });
  await clock.advance(12_000);
  expect(status.text()).toMatch(/ \(12s · 1\.2k↑ 350↓\)$/);
});

test('a tool under way is named, and its name is no markup', async () => {
  const { clock, status, see } = line();
  await clock.advance(3_000);
  see({ type: 'tool.started', tool: 'mcp__a__*b*`', callId: '1' });
  expect(status.text()).toBe('⚙ `mcp__a__*b*`… (3s)');
  see({ type: 'tool.started', tool: 'list_dir', callId: '2' });
  expect(status.text()).toBe('⚙ `mcp__a__*b*` and 1 more… (3s)');
  see({ type: 'tool.done', tool: 'x', callId: '1', ok: true, ms: 1 });
  see({ type: 'tool.done', tool: 'x', callId: '2', ok: true, ms: 1 });
  expect(status.text()).toBe('✦ Thinking… (3s)');
});

test('what a tool says of its progress is shown behind its name, as no markup, until it is over', async () => {
  const { clock, status, see } = line();
  await clock.advance(3_000);
  see({ type: 'tool.started', tool: 'plugin__a__b', callId: '1' });
  see({ type: 'tool.progress', tool: 'plugin__a__b', callId: '1', text: 'page `3`\n**of** 7' });
  expect(status.text()).toBe('⚙ `plugin__a__b` `page 3 **of** 7`… (3s)');
  see({ type: 'tool.progress', tool: 'plugin__a__b', callId: '1', text: 'x'.repeat(1_000) });
  expect(status.text()?.length).toBeLessThan(120);
  see({ type: 'tool.done', tool: 'plugin__a__b', callId: '1', ok: true, ms: 1 });
  see({ type: 'tool.progress', tool: 'plugin__a__b', callId: '1', text: 'late' });
  expect(status.text()).toBe('✦ Thinking… (3s)');
});

test('a wait goes before another model, that before a repeat, and all before a tool', async () => {
  const { clock, status, see } = line();
  await clock.advance(3_000);
  see({ type: 'tool.started', tool: 'list_dir', callId: '1' });
  see({ type: 'model.restart', reason: 'cut off' });
  expect(status.text()).toBe('⟳ Trying again… (3s)');
  see({ type: 'model.switched', from: 'a', to: 'b', reason: 'slow' });
  expect(status.text()).toBe('⟳ Asking another model… (3s)');
  see({ type: 'model.waiting', reason: 'limit', waitMs: 4_000 });
  expect(status.text()).toBe('⟳ Waiting 4s for the model… (3s)');
  await clock.advance(4_000);
  expect(status.text()).toBe('⟳ Asking another model… (7s)');
  see({ type: 'model.text', text: 'a' });
  await clock.advance(2_000);
  expect(status.text()).toBe('⚙ `list_dir`… (9s)');
});
