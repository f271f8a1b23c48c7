// Files that pages show are what the programs that read them take.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHANNELS } from '../../channels/registry.ts';
import { configSchema } from '../../config/schema.ts';
import { unknownKey } from '../../config/unknown-key.ts';
import { MIGRATIONS } from '../journal/migrations/index.ts';
import { packageRoot } from '../lib/package-info.ts';
import { FakeCli } from '../testing/fake-cli.ts';
import { tempDir } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';

function textOf(page: string): string {
  return readFileSync(join(packageRoot(), 'docs', page), 'utf8');
}

function blocksOf(page: string, language: string): readonly string[] {
  const text = textOf(page);
  const blocks = [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))];
  return blocks.map(([, block = '']) => block);
}

test('nginx takes the file of docs/reverse-proxy.md', async (context) => {
  needs(context, 'nginx', '-v');
  needs(context, 'openssl', 'version');
  await using dir = await tempDir();
  const [cert, key] = [join(dir.path, 'cert.pem'), join(dir.path, 'key.pem')];
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=bot.example.org'];
  execFileSync('openssl', [...request, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const [block = ''] = blocksOf('reverse-proxy.md', 'nginx');
  const server = block.replace(/\S+fullchain\.pem/, cert).replace(/\S+privkey\.pem/, key);
  const file = join(dir.path, 'nginx.conf');
  writeFileSync(file, `pid ${dir.path}/pid;\nevents {}\nhttp {\naccess_log off;\n${server}}\n`);
  const { status, stderr } = spawnSync('nginx', ['-t', '-c', file, '-p', dir.path, '-e', join(dir.path, 'error.log')], {
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, expect.stringContaining('test is successful')]);
});

test('the config of docs/several-bots.md has two channels and no problem', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.env = { FAMILY_BOT_TOKEN: '1:family', WORK_BOT_TOKEN: '2:work' };
  const [block = ''] = blocksOf('several-bots.md', 'json');
  await cli.write('.gatehouse/config.json', block);
  const { code, stdout, stderr } = await cli.run('config', 'check', '--json');
  expect([code, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toMatchObject({ ok: true });
});

test('what docs/backup.md says brings back what was there', async () => {
  await using dir = await tempDir();
  // The first is `gatehouse backup`, of which app/backup.e2e.test.ts has more.
  const [, save = '', restore = ''] = blocksOf('backup.md', 'sh');
  const kept = join(dir.path, '.gatehouse', 'users', 'a');
  mkdirSync(kept, { recursive: true });
  mkdirSync(join(dir.path, '.config', 'gatehouse'), { recursive: true });
  writeFileSync(join(kept, 'default.jsonl'), 'words');
  const shell = (script: string): Buffer =>
    execFileSync('sh', ['-e'], { input: script, cwd: dir.path, env: { ...process.env, HOME: dir.path } });
  shell(save);
  writeFileSync(join(kept, 'default.jsonl'), 'spoilt');
  renameSync(join(dir.path, '.config'), join(dir.path, 'gone'));
  shell(restore);
  expect(readFileSync(join(kept, 'default.jsonl'), 'utf8')).toBe('words');
  expect([existsSync(join(dir.path, '.config', 'gatehouse')), existsSync(join(dir.path, '.gatehouse.before'))]).toEqual([
    true,
    true,
  ]);
});

test('docs/guarantees.md says of each channel what becomes of messages while the daemon is stopped', () => {
  const [, section = ''] = textOf('guarantees.md').split('## While the daemon is stopped');
  const rows = [...section.matchAll(/^\| `(\w+)` \| .{10,} \|$/gm)].map(([, channel]) => channel);
  expect(rows.toSorted()).toEqual(Object.keys(CHANNELS).toSorted());
});

test.each(['upgrade.md', 'backup.md', 'move.md', 'rotate-secrets.md', 'troubleshooting.md'])(
  'docs/%s names what a stopped daemon may miss',
  (page) => {
    expect(textOf(page)).toContain('(guarantees.md#while-the-daemon-is-stopped)');
  },
);

test('docs/backup.md says how WhatsApp is linked anew after a backup is put back', () => {
  const [, restore = ''] = textOf('backup.md').split('To restore, stop the daemon');
  expect(restore).toContain('gatehouse channels login whatsapp');
});

test('commands in a container are shown for docker run and for compose, whose containers have no name of ours', () => {
  expect(readFileSync(join(packageRoot(), 'compose.yaml'), 'utf8')).not.toContain('container_name');
  for (const page of ['install.md', 'tools.md']) {
    expect(textOf(page)).toContain('docker exec ');
    expect(textOf(page)).toContain('docker compose exec ');
  }
});

const CONFIG_KEYS = Object.keys(configSchema.shape);

test('the table of docs/reload.md says of each key of the config what a change of it costs', () => {
  const table =
    textOf('reload.md')
      .match(/^\| .+ \|$/gm)
      ?.join('\n') ?? '';
  // "How it is reached" stands for these.
  const reach = ['base_url', 'api_key_env', 'api_key_envs', 'api_type', 'model_hints', 'extra_headers', 'extra_body'];
  const missing = CONFIG_KEYS.filter(
    (key) => !reach.includes(key) && !new RegExp(`\`${key.replace('$', '\\$')}[\`.]`).test(table),
  );
  expect(missing).toEqual([]);
});

test('docs/reload.md names each section in which an unknown key stops the start', () => {
  const [, sentence = ''] = /unknown keys inside ([\s\S]+?), and keys/.exec(textOf('reload.md')) ?? [];
  const strict = CONFIG_KEYS.filter(
    (key) => unknownKey(configSchema, { path: [key, 'zzz'], value: 1 }, true).severity === 'error',
  );
  // Any key of `budget` counts as a limit on spending, which the sentence has before.
  const missing = strict.filter((key) => key !== 'budget' && !sentence.includes(`\`${key}\``));
  expect([strict.includes('tool_policy'), missing]).toEqual([true, []]);
});

test('docs/upgrade.md has a row for each schema since the third, and names the copy that each upgrade leaves', () => {
  const upgrade = textOf('upgrade.md');
  const versions = [...upgrade.matchAll(/^\| (\d+) \|/gm)].map(([, version]) => Number(version));
  expect(versions).toEqual(MIGRATIONS.slice(3).map((_, index) => index + 4));
  for (const version of versions.slice(0, -1)) expect(upgrade).toContain(`\`v${version}\` for the `);
});
