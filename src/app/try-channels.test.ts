import { expect, test } from 'vitest';
import { configSchema } from '../../config/schema.ts';
import { tempDir } from '../testing/fakes.ts';
import { tryChannels } from './try-channels.ts';

test('a name that is not configured is refused with the names that are, and the terminal with where to talk', async () => {
  await using dir = await tempDir();
  const config = configSchema.parse({ gateway: { channels: [{ type: 'cli' }, { type: 'telegram', name: 'bot' }] } });
  await expect(tryChannels({ config, dataDir: dir.path, env: {}, registry: {}, name: 'telegram' })).rejects.toMatchObject({
    code: 'GH1003',
    message: 'the config has no channel "telegram"',
    hint: 'it has: cli, bot',
  });
  await expect(tryChannels({ config, dataDir: dir.path, env: {}, registry: {}, name: 'cli' })).rejects.toMatchObject({
    code: 'GH1001',
    hint: expect.stringContaining('gatehouse chat'),
  });
});
