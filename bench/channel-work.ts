// What one channel's own code costs, in a process of its own. Arguments: TYPE DIR. The process sends one
// message, then ends.
import type { BenchCase } from '../channels/bench.ts';
import { scriptedModel } from '../src/testing/scripted-model.ts';
import { testDaemon } from '../src/testing/test-daemon.ts';
import type { ChannelWork } from './channel-load.ts';
import { MIXED_MARKDOWN } from './mixed-markdown.ts';

const [type = '', dir = ''] = process.argv.slice(2);
/** Compiles the hot code. All of one chat: together with `MESSAGES` below the 500 that may wait in it. */
const WARM_UP = 150;
const MESSAGES = 300;
const TEXTS = 300;

const { benchCase } = (await import(`../channels/${type}/bench-case.ts`)) as { benchCase: BenchCase };

/** Times parsing, admission and the synced commit, as the adapter awaits them, for one message at a time. */
async function receive(): Promise<Pick<ChannelWork, 'receiveMs' | 'parseMs'>> {
  // One turn runs and never answers, so that nothing but receiving goes on.
  const model = scriptedModel(() => ({ hang: true }));
  const gateway = { max_concurrent_sessions: 1 };
  await using at = await testDaemon({ dataDir: dir, model, entry: { name: type }, gateway });
  const [receiveMs, parseMs]: [number[], number[]] = [[], []];
  for (let number = 0; number < WARM_UP + MESSAGES; number += 1) {
    const read = benchCase.receive(number);
    const startedAt = performance.now();
    const message = await read();
    const parsedAt = performance.now();
    if (!message) throw new Error(`${type} made no message of its platform's`);
    const { account, channel } = message;
    await at.daemon.gateway.receive({ channel, account }, [message], String(number));
    const doneAt = performance.now();
    if (number < WARM_UP) continue;
    receiveMs.push(doneAt - startedAt);
    parseMs.push(parsedAt - startedAt);
  }
  const { inbox, refused } = await at.daemon.journal.counts();
  const kept = inbox.NEW + inbox.RUNNING;
  if (kept !== WARM_UP + MESSAGES || refused.length > 0) throw new Error(`${kept} messages of ${type} are in the journal`);
  return { receiveMs, parseMs };
}

async function render(): Promise<number[]> {
  const renderMs: number[] = [];
  for (let number = 0; number < WARM_UP + TEXTS; number += 1) {
    // Each another text: an answer is rendered once.
    const text = MIXED_MARKDOWN.replace('NUMBER', String(number).padStart(6, '0'));
    const startedAt = performance.now();
    await benchCase.render(text);
    if (number >= WARM_UP) renderMs.push(performance.now() - startedAt);
  }
  return renderMs;
}

const received = await receive();
const work: ChannelWork = { ...received, renderMs: await render() };
process.send?.(work, () => process.exit(0));
