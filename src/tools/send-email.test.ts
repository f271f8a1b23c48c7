import { copyFile, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { OutboundFile } from '../core/message.ts';
import type { Letter, Mailer } from '../core/messages.ts';
import { tempDir } from '../testing/fakes.ts';
import { runScope, toolCall } from '../testing/tool-scope.ts';
import { runTool } from './run.ts';
import { sendEmail } from './send-email.ts';

const LETTER = { to: ['ada@example.org'], subject: 's', body: 'b', attachments: ['a.txt'] };

/** A workspace with `a.txt`, and a mailer that keeps what it is given. `fileBytes`: what a mail carries. */
async function setup(fileBytes = 1_000) {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const workspace = join(dir.path, 'workspace');
  await mkdir(workspace);
  await writeFile(join(workspace, 'a.txt'), 'as approved');
  const written: { readonly letter: Letter; readonly files: readonly OutboundFile[] }[] = [];
  let copies = 0;
  const mailer: Mailer = {
    find: async () => ({ kind: 'found', from: 'bot@example.org', fileBytes }),
    addressOf: async (name) =>
      name === 'Ben' ? { kind: 'found', address: 'ben@example.org' } : { kind: 'refused', reason: 'who?' },
    async attach(_letter, file) {
      copies += 1;
      const path = join(dir.path, `copy-${copies}`);
      await copyFile(file.path, path);
      return { path, name: file.name, mime: 'text/plain', kind: 'document', bytes: (await stat(path)).size };
    },
    isWritten: async () => written.length > 0,
    async write(letter, files) {
      if (written.length === 0) written.push({ letter, files });
      return { kind: 'written', title: letter.to.join(', ') };
    },
  };
  const [tool] = sendEmail({ ...runScope(), mailer });
  if (!tool?.approval) throw new Error('a mail is approved by what it holds');
  const { approval } = tool;
  const context = toolCall({ workspace });
  return {
    ...{ workspace, written },
    copies: () => copies,
    approve: (args: object) => approval(args, context),
    run: (args: object) => runTool(tool, JSON.stringify(args), context, { timeoutMs: 10_000 }),
  };
}

test('a run without a mail channel is not offered it', () => {
  expect(sendEmail(runScope())).toEqual([]);
});

test('what is sent is the file that was approved: one that changes while the call begins is not', async () => {
  const at = await setup();
  const { digest } = await at.approve(LETTER);
  await writeFile(join(at.workspace, 'a.txt'), 'something else');
  expect(await at.run(LETTER)).toEqual({
    ok: false,
    output: 'Error: a.txt is no longer the file that was approved; nothing was sent',
  });
  expect(at.written).toEqual([]);
  expect((await at.approve(LETTER)).digest).not.toEqual(digest);
  expect(await at.run(LETTER)).toEqual({ ok: true, output: 'The mail is on its way to ada@example.org.' });
});

test('a yes covers the sender, each reader in the form of the wire, and each file', async () => {
  const at = await setup();
  const { digest, shown } = await at.approve({ ...LETTER, to: ['ada@m\u00fcnchen.de'], cc: ['ben@example.org'] });
  expect(shown).toMatch(
    /^From bot@example\.org\nTo ada@xn--mnchen-3ya\.de, ben@example\.org\nWith a\.txt, 11 bytes, SHA-256 [0-9a-f]{64}$/,
  );
  expect(digest).toMatchObject({ from: 'bot@example.org', to: ['ada@xn--mnchen-3ya.de'], files: [{ path: 'a.txt', bytes: 11 }] });
});

test('a second attempt at a mail that was written copies no file again', async () => {
  const at = await setup();
  await at.run(LETTER);
  await writeFile(join(at.workspace, 'a.txt'), 'changed since');
  expect(await at.run(LETTER)).toMatchObject({ ok: true });
  expect([at.copies(), at.written.length]).toEqual([1, 1]);
});

test('files are bounded together, and none lies outside the workspace', async () => {
  const at = await setup(20);
  await symlink('/etc/passwd', join(at.workspace, 'link'));
  for (const [attachments, words] of [
    [['a.txt', 'a.txt'], 'the files have 22 bytes; a mail carries at most 20'],
    [['../a.txt'], ''],
    [['link'], ''],
    [['/etc/passwd'], ''],
    [['gone.txt'], ''],
  ] as const) {
    const args = { ...LETTER, attachments };
    await expect(at.approve(args)).rejects.toThrow(words);
    const { ok, output } = await at.run(args);
    expect([ok, output]).toEqual([false, expect.stringContaining(words)]);
  }
  expect(at.written).toEqual([]);
});

test.each([
  { subject: 'Offer\r\nBcc: eve@evil.test' },
  { subject: 'Offer\u2028Bcc: eve@evil.test' },
  { subject: '' },
  { subject: 'x'.repeat(201) },
  { body: '' },
  { to: [] },
  { to: ['ada@example.org\r\nBcc: eve@evil.test'] },
  { cc: ['Eve <eve@evil.test>'] },
  { bcc: ['eve@evil.test'] },
  { from: 'boss@example.org' },
])('a mail with %j is not written', async (part) => {
  const at = await setup();
  expect(await at.run({ ...LETTER, ...part })).toMatchObject({ ok: false });
  expect(at.written).toEqual([]);
});
