import { expect, test } from 'vitest';
import type { BrowserPort } from '../../core/browser.ts';
import type { Spawner } from '../../core/process.ts';
import { ForwardProxy } from '../../egress/forward-proxy.ts';
import { Multiplexer } from '../../lib/multiplexer.ts';
import { FakeClock, MemoryLogger } from '../../testing/fakes.ts';
import { ANYWHERE } from '../../testing/web-peer.ts';
import { Browsers } from './sessions.ts';

/** Answers each action at once. `most`: drivers that ran at the same time. */
class Drivers implements Pick<Spawner, 'run'> {
  #running = 0;
  most = 0;

  run: Spawner['run'] = async ({ onInput, onOutput }, signal) => {
    this.#running += 1;
    this.most = Math.max(this.most, this.#running);
    const done = { kind: 'done', url: 'http://a.example/', title: '', output: '', notes: [] } as const;
    const link = new Multiplexer({
      send: (bytes) => void onOutput?.(bytes),
      onMessage: (text) => link.message(JSON.stringify({ ...done, id: JSON.parse(text).id })),
      ...{ maxStreams: 1, onBroken: () => undefined },
    });
    onInput?.((bytes) => link.receive(bytes));
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    this.#running -= 1;
    throw signal.reason;
  };
}

async function open(browser: BrowserPort): Promise<string> {
  const request = { action: 'navigate', url: 'http://a.example/' } as const;
  return (await browser.perform(request, new AbortController().signal)).kind;
}

test('two conversations that begin to browse at once each close one that rests, and never three run', async () => {
  const [clock, spawner, logger] = [new FakeClock(), new Drivers(), new MemoryLogger()];
  const proxy = () => new ForwardProxy({ clock, rules: () => ANYWHERE, maxBytes: 1_000 });
  await using browsers = new Browsers({ ...{ clock, spawner, logger, proxy }, judge: () => undefined });
  const of = (session: string) => open(browsers.of(session));
  expect([await of('one'), await of('two')]).toEqual(['done', 'done']);
  expect(await Promise.all([of('three'), of('four')])).toEqual(['done', 'done']);
  expect([spawner.most, browsers.of('one').page, browsers.of('two').page]).toEqual([2, undefined, undefined]);
});
