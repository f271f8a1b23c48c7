import { expect, test } from 'vitest';
import type { MediaFile } from '../core/channel.ts';
import type { MediaRef } from '../core/message.ts';
import { systemClock } from '../lib/clock.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';

/** Fetches nothing once it was stopped. */
class StoppableChannel extends TestChannel {
  override async download(media: MediaRef): Promise<MediaFile> {
    if (!this.host) throw new Error('the channel is stopped');
    return await super.download(media);
  }
}

test('a message whose channel broke waits with its files until the next one is there', async () => {
  await using dir = await tempDir();
  const channel = new StoppableChannel('test');
  channel.files.set('f', Buffer.from('notes'));
  const model = scriptedModel(() => ({ text: 'done', delayMs: 200 }), { clock: systemClock });
  await using rig = await testDaemon({ dataDir: dir.path, model, channel });
  await channel.deliver({ platformId: '1', text: 'first' });
  await channel.deliver({ platformId: '2', text: 'read this', media: [{ kind: 'document', ref: 'f', mime: 'text/plain' }] });
  channel.host?.ended(new Error('a defect'));
  await until('it was stopped', () => channel.host === undefined);
  await until('both are asked', () => model.requests.length === 2);
  await rig.daemon.gateway.idle();
  const asked = JSON.stringify(model.requests[1]?.messages.at(-1)?.content);
  expect(asked).toContain('File: uploads/');
  expect(asked).not.toContain('GH1505');
});
