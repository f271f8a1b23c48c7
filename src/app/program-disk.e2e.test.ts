// A program that fills the disk, run by a scripted model in the daemon.
import { expect, onTestFinished, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { bytesBelow } from '../workspace/tree-size.ts';

const MIB = 1024 ** 2;

test('a program that writes more than its chat may have is ended, and the model is told; others go on', async (context) => {
  needs(context, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true');
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const shell = (command: string) => ({ toolCalls: [{ name: 'shell', arguments: { command } }] });
  // 400 MB in five seconds, when it is let.
  const fill = 'for i in $(seq 100); do head -c 4M /dev/zero > f$i; sleep 0.05; done; echo finished';
  const model = scriptedModel([shell(fill), shell('rm -f f*; echo emptied'), 'done']);
  const sections = { sandbox: {}, disk: { person_mb: 40, total_mb: 1_000, reserve_mb: 0 } };
  const gateway = { owner: [{ channel: 'test', chat_id: 'chat-1', sender_ids: ['user-1'] }] };
  await using at = await testDaemon({ dataDir: dir.path, model, gateway, policy: { mode: 'full' }, sections });
  await at.channel.deliver({ platformId: 'm1', text: 'fill the disk' });
  await at.daemon.gateway.idle();

  const told = model.requests.at(-1)?.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []));
  expect(told).toEqual([
    'Error: it was ended, because it filled the disk: files of this chat may take up 40 MB together (GH1508)',
    'emptied\nExit code: 0',
  ]);
  expect(await bytesBelow(`${dir.path}/workspaces`)).toBeLessThan(MIB);
});
