/** The simulator's page where people see it. */
import axe from 'axe-core';
import { expect, test } from 'vitest';
import { browserMissing, openBrowser } from '../testing/browser.ts';
import { until } from '../testing/fakes.ts';
import type { FaultKind, Platform, SeenMessage, SentFile } from './platforms/platform.ts';
import { startSimulatorServer } from './server.ts';
import { Simulation } from './simulation.ts';

/** Answers each message at once. */
class EchoPlatform implements Platform {
  readonly type = 'telegram';
  readonly channel = { type: 'telegram' };
  readonly env = {};
  readonly needsFirstStart = false;
  readonly faults: readonly FaultKind[] = ['limit', 'lose-reply', 'duplicate', 'reorder', 'slow', 'disconnect'];
  readonly broken: [FaultKind, number][] = [];
  #seen: readonly SeenMessage[] = [];

  async begin(): Promise<void> {
    this.#seen = [];
  }

  async write(person: number, text: string): Promise<void> {
    this.#seen = [...this.#seen, { person, text: `echo: ${text}`, at: Date.now() + 1 }];
  }

  async writeInGroup(_person: number, group: number, text: string): Promise<void> {
    this.#seen = [...this.#seen, { person: group, inGroup: true, text: `echo: ${text}`, at: Date.now() + 1 }];
  }

  sendFile(person: number, { name }: SentFile): Promise<void> {
    return this.write(person, name);
  }

  async seen(): Promise<readonly SeenMessage[]> {
    return this.#seen;
  }

  async waiting(): Promise<number> {
    return 0;
  }

  fault(kind: FaultKind, times: number): void {
    this.broken.push([kind, times]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#seen = [];
  }
}

test('in a browser a person types, Enter sends, the answer appears below as text, and no width makes the page scroll sideways', async (context) => {
  // Too large a package to install for one test: where it is absent this is skipped, also with `CI` set.
  const reason = browserMissing();
  if (reason !== undefined) {
    process.stderr.write(`skipped: ${reason}\n`);
    context.skip(reason);
  }
  const platform = new EchoPlatform();
  await using simulation = new Simulation(platform);
  await using server = await startSimulatorServer(simulation, 0);
  await using browser = await openBrowser(server.url);
  await until(
    'the page listens',
    async () => (await browser.evaluate(`document.body?.innerText.includes('connected')`)) === true,
  );
  const hostile = '<img src=x onerror="document.title=1"> hello';
  await browser.evaluate(`document.querySelectorAll('textarea')[1].focus()`);
  await browser.type(hostile);
  await browser.press('Enter');
  const bubbles = `[...document.querySelectorAll('.person')[1].querySelectorAll('li')].map((li) => [li.className, li.firstChild.textContent])`;
  await until('the answer is there', async () => ((await browser.evaluate(bubbles)) as unknown[]).length === 2);
  expect(await browser.evaluate(bubbles)).toEqual([
    ['person-wrote', hostile],
    ['bot-wrote', `echo: ${hostile}`],
  ]);
  expect(await browser.evaluate('document.title')).toBe('telegram: Gatehouse simulator');
  expect(await browser.evaluate(`document.querySelectorAll('textarea')[1].value`)).toBe('');
  await browser.evaluate(`document.querySelector('#faults button').click()`);
  await until('the fault is said', async () => (await browser.evaluate(`document.querySelector('#notice').textContent`)) !== '');
  expect(platform.broken).toEqual([['limit', 1]]);
  expect(await browser.evaluate(`getComputedStyle(document.querySelector('#trouble')).display`)).toBe('flex');
  for (const width of [400, 1_200]) {
    await browser.resize(width, 800);
    const size = `[document.documentElement.scrollWidth, document.documentElement.scrollHeight]`;
    expect(await browser.evaluate(size)).toEqual([width, 800]);
  }
});

test('axe finds nothing on the page, in both themes, at 320 px and at 1280 px, and no width scrolls sideways', async (context) => {
  const reason = browserMissing();
  if (reason !== undefined) {
    process.stderr.write(`skipped: ${reason}\n`);
    context.skip(reason);
  }
  const platform = new EchoPlatform();
  await using simulation = new Simulation(platform);
  await using server = await startSimulatorServer(simulation, 0);
  await using browser = await openBrowser(server.url);
  await until(
    'the page listens',
    async () => (await browser.evaluate(`document.body?.innerText.includes('connected')`)) === true,
  );
  await browser.evaluate(`document.querySelector('textarea').focus()`);
  await browser.type('hello');
  await browser.press('Enter');
  await until(
    'the answer is there',
    async () => (await browser.evaluate(`document.querySelectorAll('.messages li').length`)) === 2,
  );
  await browser.evaluate(`document.querySelector('#add-group').click()`);
  await browser.evaluate(`[...document.querySelectorAll('textarea')].at(-1).focus()`);
  await browser.type('hello all');
  await browser.press('Enter');
  await until(
    'the group is answered',
    async () => (await browser.evaluate(`document.querySelectorAll('.messages li').length`)) === 4,
  );
  await browser.evaluate(`document.querySelector('#faults button').click()`);
  await until('the log has it', async () => (await browser.evaluate(`document.querySelectorAll('#log li').length`)) !== 0);
  await browser.evaluate(axe.source);
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const run = `axe.run({ runOnly: ${JSON.stringify(tags)} }).then(({ violations, passes }) => [passes.length, violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' '))])`;
  for (const theme of ['light', 'dark']) {
    for (const width of [320, 1_280]) {
      await browser.resize(width, 800);
      await browser.evaluate(`document.documentElement.style.colorScheme = '${theme}'`);
      const [passes, violations] = (await browser.evaluate(run)) as [number, string[]];
      expect([theme, width, violations]).toEqual([theme, width, []]);
      expect(passes).toBeGreaterThan(15);
      expect(await browser.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
  }
});
