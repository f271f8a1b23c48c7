import { spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { deniedError } from './denied.ts';

const error = (path: string, code = 'EACCES') => Object.assign(new Error(`${code}: permission denied`), { code, path });

test('what is kept from this user is named with the way to have it', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'a');
  await writeFile(path, '');
  const own = deniedError(error(path));
  expect([own?.code, own?.message]).toEqual(['GH1202', `this user may not use ${path}`]);
  expect(own?.hint).toContain(`ls -ld ${path}`);
  expect(deniedError(error(join(path, 'absent', 'too')))?.hint).toContain(`ls -ld ${path}`);
});

test.skipIf(process.getuid?.() !== 0)('and with whose it is, where it is another user’s', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'a');
  await writeFile(path, '');
  await chown(path, 4_242, 4_242);
  const kept = deniedError(error(path, 'EPERM'));
  expect(kept?.message).toBe(`this user may not use ${path} (it belongs to user 4242)`);
  expect(kept?.hint).toMatch(/sudo -u '#4242'.*while no daemon runs.*sudo chown -R 0/);
});

test.skipIf(process.getuid?.() !== 0)(
  'behind a link the way to have it is that of its user: what lies above is not given away',
  async () => {
    await using dir = await tempDir();
    // As systemd keeps the directory of a unit whose user is made for it: only root may look into `private`.
    await mkdir(join(dir.path, 'private', 'gatehouse'), { recursive: true });
    await chmod(join(dir.path, 'private'), 0o700);
    await chmod(dir.path, 0o755);
    await symlink('private/gatehouse', join(dir.path, 'gatehouse'));
    const path = join(dir.path, 'gatehouse', 'journal.db');
    const program = `import { denied } from ${JSON.stringify(join(import.meta.dirname, 'denied.ts'))};
    process.setuid(65_534);
    const { message, hint } = denied(${JSON.stringify(path)});
    console.log(JSON.stringify([message, hint]));`;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', program]);
    expect(JSON.parse(String(child.stdout))).toEqual([
      `this user may not use ${path} (${join(dir.path, 'private')} belongs to user 0)`,
      "run this as that user, such as with `sudo -u '#0'`",
    ]);
  },
);

test.skipIf(process.getuid?.() !== 0)('of a link that can be followed, what it leads to is named for chown', async () => {
  await using dir = await tempDir();
  const real = join(dir.path, 'real');
  await mkdir(real);
  await chown(real, 4_242, 4_242);
  const link = join(dir.path, 'link');
  await symlink('real', link);
  const kept = deniedError(error(`${link}/.`));
  expect(kept?.message).toBe(`this user may not use ${link} (it belongs to user 4242)`);
  expect(kept?.hint).toContain(`sudo chown -R 0 ${real}\``);
  expect(deniedError(error(join(link, 'absent')))?.hint).toContain(`sudo chown -R 0 ${real}\``);
});

test('other errors are none of it', () => {
  expect(deniedError(error('/a', 'ENOENT'))).toBeUndefined();
  expect(deniedError(Object.assign(new Error('x'), { code: 'EACCES' }))).toBeUndefined();
});
