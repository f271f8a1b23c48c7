import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHANNELS } from '../../channels/registry.ts';
import { ANSWERS } from '../../channels/slack/in/slash-commands.ts';
import { PLATFORM_LIMITS as SLACK_LIMITS } from '../../channels/slack/platform-limits.ts';
import { COMMAND_MENU } from '../gateway/commands/index.ts';
import { packageRoot } from '../lib/package-info.ts';
import { tempDir } from '../testing/fakes.ts';
import { renderChannelPages } from './channels-doc.ts';

const pages = await renderChannelPages(packageRoot());

test.each(pages)('$path has the tables its channels ask for (else run: npm run generate)', async ({ path, text }) => {
  expect(await readFile(join(packageRoot(), path), 'utf8')).toBe(text);
});

test('every registered channel has a row with its two classes, and a page with a row for each of its settings', async () => {
  const list = pages.find(({ path }) => path === 'channels/README.md')?.text ?? '';
  for (const [name, load] of Object.entries(CHANNELS)) {
    const { guarantee, settings } = await load();
    expect(list).toContain(`| [${name}](${name}/README.md) | ${guarantee.inbound}: `);
    const keys = 'shape' in settings ? Object.keys(settings.shape as object) : [];
    const own = pages.find(({ path }) => path === `channels/${name}/README.md`)?.text ?? '';
    for (const key of keys) expect(own).toContain(`| \`${key}\` | `);
  }
});

test('the manifest in the page of Slack has each command of the table and those that answer a question, as the platform takes them, and the scope for them', async () => {
  const page = pages.find(({ path }) => path === 'channels/slack/README.md')?.text ?? '';
  const yaml = /^ {3}```yaml\n([\s\S]*?)^ {3}```$/m.exec(page)?.[1] ?? '';
  // A string of JSON is one of YAML.
  const row = /^ {7}- \{ command: (\/[a-z0-9-]+), description: ("[^\n]*?")(?:, usage_hint: ("[^\n]*"))? \}$/gm;
  const commands = [...yaml.matchAll(row)].map(([, command = '', description = '', hint]) => ({
    ...{ command, description: JSON.parse(description) as string },
    ...(hint !== undefined && { usage_hint: JSON.parse(hint) as string }),
  }));
  expect(yaml).toContain('     slash_commands:\n       - { command: /');
  const { slashCommands, slashName, slashDescription, slashHint } = SLACK_LIMITS;
  const wanted = [...COMMAND_MENU, ...ANSWERS];
  expect(commands.map(({ command }) => command.replace('/gatehouse-', '/'))).toEqual(wanted.map(({ name }) => `/${name}`));
  expect(commands.map(({ description }) => description)).toEqual(wanted.map(({ summary }) => summary));
  expect(commands.map(({ usage_hint }) => usage_hint)).toEqual(wanted.map(({ args }) => args));
  expect(commands.length).toBeLessThanOrEqual(slashCommands.value);
  for (const { command, description, usage_hint = '' } of commands) {
    expect(command.length).toBeLessThanOrEqual(slashName.value);
    expect(description.length).toBeLessThanOrEqual(slashDescription.value);
    expect(usage_hint.length).toBeLessThanOrEqual(slashHint.value);
    // Slack's own: a manifest with it is refused as a whole.
    expect(command).not.toBe('/status');
  }
  expect(yaml).toMatch(/^ {5}scopes:\n {7}bot:\n[^\]]*\bcommands\b[^\]]*\]/m);
});

test('a page that does not say where its table goes is refused by name', async () => {
  await using root = await tempDir();
  await mkdir(join(root.path, 'channels'));
  await writeFile(join(root.path, 'channels/README.md'), '# Channels\n');
  await expect(renderChannelPages(root.path)).rejects.toThrow('channels/README.md does not say where its table goes');
});
