import { chmod, mkdir, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { FakeClock, MemoryLogger, tempDir, until } from '../../testing/fakes.ts';
import { AuthFile } from './auth-file.ts';
import type { Credential } from './credential.ts';
import type { Renewal, RenewOptions } from './oauth.ts';
import { type AuthStore, openAuthStore } from './store.ts';

const never = new AbortController().signal;
const MINUTE = 60_000;

interface Scene extends AsyncDisposable {
  readonly dir: string;
  readonly file: string;
  readonly clock: FakeClock;
  readonly log: MemoryLogger;
  readonly store: AuthStore;
  /** What was sent to be renewed. */
  readonly renewals: string[];
  /** The next answers of the issuer; none left = `refused`. */
  readonly answers: (Renewal | Promise<Renewal>)[];
  open(): AuthStore;
}

async function scene(): Promise<Scene> {
  const temp = await tempDir();
  const dir = join(temp.path, 'data');
  const [clock, log] = [new FakeClock(), new MemoryLogger()];
  const [renewals, answers]: [string[], (Renewal | Promise<Renewal>)[]] = [[], []];
  const renew = async ({ refreshToken }: RenewOptions): Promise<Renewal> => {
    renewals.push(refreshToken);
    return (await answers.shift()) ?? { ok: false, reason: 'refused', final: true };
  };
  const open = (): AuthStore => openAuthStore({ dir, clock, log, renew });
  const store = open();
  return {
    ...{ dir, file: join(dir, 'auth.json'), clock, log, store, renewals, answers, open },
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

function login(override: Partial<Credential> = {}): Credential {
  return { provider: 'openai', accessToken: 'access-1', authMethod: 'paste_token', ...override };
}

/** Expires in `ms` and can be renewed. */
function renewable(clock: FakeClock, ms: number): Credential {
  const issuer = { issuer: 'https://auth.example.com', clientId: 'c' };
  return login({ authMethod: 'oauth', refreshToken: 'refresh-1', expiresAt: clock.now() + ms, ...issuer });
}

function renewed(clock: FakeClock, name: string): Renewal {
  return {
    ok: true,
    tokens: { accessToken: `access-${name}`, refreshToken: `refresh-${name}`, expiresAt: clock.now() + 60 * MINUTE },
  };
}

/** What a full disk does, at the moment between the issuer's answer and the write. */
async function renewUnsaved(it: Scene): Promise<void> {
  await it.store.set(renewable(it.clock, 0), never);
  const broken = Promise.withResolvers<Renewal>();
  it.answers.push(broken.promise);
  const got = it.store.get('openai', never);
  await expect.poll(() => it.renewals.length).toBe(1);
  await rename(it.dir, `${it.dir}-away`);
  broken.resolve(renewed(it.clock, '2'));
  expect(await got).toBe('access-2');
}

describe('the file', () => {
  test("has the shape of spec L1, is the owner's alone, and so is the directory it made", async () => {
    await using it = await scene();
    await it.store.set(renewable(it.clock, MINUTE * 10), never);
    expect(JSON.parse(await readFile(it.file, 'utf8'))).toEqual({
      version: 1,
      credentials: {
        openai: {
          access_token: 'access-1',
          refresh_token: 'refresh-1',
          expires_at: '2026-01-01T00:10:00.000Z',
          provider: 'openai',
          auth_method: 'oauth',
          issuer: 'https://auth.example.com',
          client_id: 'c',
        },
      },
    });
    expect((await stat(it.file)).mode & 0o777).toBe(0o600);
    expect((await stat(it.dir)).mode & 0o777).toBe(0o700);
    expect((await readdir(it.dir)).sort()).toEqual(['auth.json', 'auth.lock']);
  });

  test('reading, listing and removing make nothing where nothing is', async () => {
    await using it = await scene();
    expect(await it.store.get('openai', never)).toBeUndefined();
    expect(await it.store.list()).toEqual([]);
    expect(await it.store.remove('openai', never)).toBe(false);
    await expect(stat(it.dir)).rejects.toThrow('ENOENT');
  });

  test('keeps what it does not know, in the file and in an entry', async () => {
    await using it = await scene();
    await place(it.file, { theirs: 1, credentials: { groq: { ...stored('groq'), scope: 'all' } } });
    await it.store.set(login(), never);
    await it.store.remove('openai', never);
    expect(JSON.parse(await readFile(it.file, 'utf8'))).toEqual({
      theirs: 1,
      credentials: { groq: { ...stored('groq'), scope: 'all' } },
    });
  });

  test('written by another process is seen by the next call', async () => {
    await using it = await scene();
    await it.store.set(login(), never);
    expect(await it.store.get('openai', never)).toBe('access-1');
    await it.open().set(login({ accessToken: 'access-2' }), never);
    expect(await it.store.get('openai', never)).toBe('access-2');
    await it.open().remove('openai', never);
    expect(await it.store.get('openai', never)).toBeUndefined();
  });

  test.each([
    ['cut', '{"credentials": {"openai": {"access_token": "CANARY', 'is not valid JSON'],
    ['empty', '', 'is not valid JSON'],
    ['a list', '["CANARY"]', 'does not have the expected shape'],
    ['newer', '{"version": 2, "logins": ["CANARY"]}', 'was written by a newer version'],
    ['without tokens', '{"credentials": {"CANARY": {"provider": "x"}}}', 'does not have the expected shape (access_token of one'],
    [
      'of an unknown method',
      JSON.stringify({ credentials: { x: { ...stored('x'), auth_method: 'CANARY' } } }),
      'does not have the expected shape (auth_method of one entry)',
    ],
    [
      'with a line break in a token',
      JSON.stringify({ credentials: { x: { ...stored('x'), access_token: 'CANARY\r\nx: y' } } }),
      'does not have the expected shape (access_token of one entry)',
    ],
    ['huge', `{"credentials": {}, "x": "${'CANARY'.repeat(200_000)}"}`, 'is too large'],
  ])('that is %s is refused by every call, shows nothing of itself, and is left as it is', async (_what, text, message) => {
    await using it = await scene();
    await place(it.file, text);
    const calls = [
      it.store.get('openai', never),
      it.store.list(),
      it.store.set(login(), never),
      it.store.remove('openai', never),
    ];
    for (const result of await Promise.allSettled(calls)) {
      const { reason } = result as PromiseRejectedResult;
      expect(reason).toMatchObject({ code: 'GH2202', message: expect.stringContaining(message) });
      expect(inspect(reason, { depth: 9 })).not.toContain('CANARY');
    }
    expect(await readFile(it.file, 'utf8')).toBe(text);
  });

  test.each([0o640, 0o604, 0o660])('that others can use (%o) is refused with the command that mends it', async (mode) => {
    await using it = await scene();
    await it.store.set(login(), never);
    await chmod(it.file, mode);
    const refusal = { code: 'GH2202', hint: `run \`chmod 600 ${it.file}\`` };
    await expect(it.store.get('openai', never)).rejects.toMatchObject(refusal);
    await chmod(it.file, 0o600);
    expect(await it.store.get('openai', never)).toBe('access-1');
  });

  test('that is a symbolic link, or no file at all, is refused and not followed', async () => {
    await using it = await scene();
    await it.store.set(login(), never);
    const elsewhere = join(it.dir, 'elsewhere.json');
    await rename(it.file, elsewhere);
    await symlink(elsewhere, it.file);
    await expect(it.store.get('openai', never)).rejects.toMatchObject({ message: `${it.file} is a symbolic link` });
    await expect(it.store.set(login(), never)).rejects.toMatchObject({ code: 'GH2202' });
    await rename(it.file, join(it.dir, 'old-link'));
    await mkdir(it.file, { mode: 0o700 });
    await expect(it.store.get('openai', never)).rejects.toMatchObject({ message: `${it.file} is not a regular file` });
  });

  test.skipIf(process.platform === 'win32')(
    'in a directory that is closed to this user is GH1202, and not a file that has to be made readable',
    async () => {
      await using it = await scene();
      await it.store.set(login(), never);
      // What is closed to others is open to root.
      const isRoot = process.geteuid?.() === 0;
      if (isRoot) process.seteuid?.(65_534);
      else await chmod(it.dir, 0);
      const refusal = it.store.get('openai', never).catch((error: unknown) => error);
      const error = await refusal.finally(() => (isRoot ? process.seteuid?.(0) : chmod(it.dir, 0o700)));
      expect(error).toMatchObject({ code: 'GH1202', message: expect.stringContaining(`this user may not use ${it.file}`) });
    },
  );

  test('that a full disk has no room for says to free some space', async () => {
    await using it = await scene();
    const full = Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR' });
    expect(new AuthFile(it.file).unwritable(full)).toMatchObject({ code: 'GH1202', hint: 'free some space there' });
  });

  test('that cannot be written is GH1202', async () => {
    await using it = await scene();
    await writeFile(it.dir, 'a file where the directory belongs');
    await expect(it.store.set(login(), never)).rejects.toMatchObject({ code: 'GH1202' });
  });

  test.each(['', ' ', 'a b', 'a\nb', 'ключ'])('never gets %j as a key', async (accessToken) => {
    await using it = await scene();
    await expect(it.store.set(login({ accessToken }), never)).rejects.toMatchObject({ code: 'GH2201' });
    await expect(stat(it.file)).rejects.toThrow('ENOENT');
  });

  test.each(['', '../x', '__proto__', 'Open AI', 'x'.repeat(65)])('never gets %j as a provider', async (provider) => {
    await using it = await scene();
    await expect(it.store.set(login({ provider }), never)).rejects.toMatchObject({ code: 'GH2201' });
    expect(await it.store.get(provider, never)).toBeUndefined();
  });

  test('keeps every entry of many writers in one process', async () => {
    await using it = await scene();
    const stores = [it.store, it.open(), it.open()];
    const names = Array.from({ length: 30 }, (_, index) => `p${index}`);
    // The fake clock stands still for whoever finds the lock taken, so it is moved along.
    let over = false;
    const writes = Promise.all(
      names.map((provider, index) => (stores[index % 3] ?? it.store).set(login({ provider }), never)),
    ).finally(() => {
      over = true;
    });
    for (; !over; await new Promise((resolve) => setTimeout(resolve, 1))) await it.clock.advance(20);
    await writes;
    expect((await it.store.list()).map((entry) => entry.provider)).toEqual([...names].sort());
  });
});

describe('a login', () => {
  test('that expired is unusable and says what to do', async () => {
    await using it = await scene();
    await it.store.set(login({ authMethod: 'oauth', expiresAt: it.clock.now() + MINUTE }), never);
    expect(await it.store.get('openai', never)).toBe('access-1');
    await it.clock.advance(MINUTE);
    await expect(it.store.get('openai', never)).rejects.toMatchObject({
      code: 'GH2202',
      message: 'the login of openai expired',
      hint: 'run `gatehouse auth login openai`',
    });
    expect(it.renewals).toEqual([]);
  });

  test('that the service refused before its time is renewed once, and asks for a new one when that is refused for good', async () => {
    await using it = await scene();
    await it.store.set(renewable(it.clock, 60 * MINUTE), never);
    it.store.refuse('openai', 'access-1');
    it.answers.push(renewed(it.clock, '2'));
    expect([await it.store.get('openai', never), await it.store.get('openai', never)]).toEqual(['access-2', 'access-2']);
    expect(it.renewals).toEqual(['refresh-1']);
    it.store.refuse('openai', 'access-2');
    await expect(it.store.get('openai', never)).rejects.toMatchObject({ code: 'GH2202' });
    expect((await it.open().list())[0]?.state).toBe('usable');
  });

  test('keeps only its newest tokens in memory', async () => {
    await using it = await scene();
    for (let index = 0; index < 150; index += 1) {
      const accessToken = `access-${index}`;
      await it.store.set({ ...renewable(it.clock, MINUTE), accessToken, refreshToken: `refresh-${index}` }, never);
    }
    expect(it.store.secrets()).toHaveLength(200);
    expect(it.store.secrets().at(-1)).toBe('refresh-149');
  });

  test('is renewed 60 s before it expires, once for all who ask, and stored', async () => {
    await using it = await scene();
    await it.store.set(renewable(it.clock, 5 * MINUTE), never);
    await it.clock.advance(4 * MINUTE - 1);
    expect([await it.store.get('openai', never), it.renewals]).toEqual(['access-1', []]);
    await it.clock.advance(1);
    it.answers.push(renewed(it.clock, '2'));
    const tokens = await Promise.all(Array.from({ length: 20 }, () => it.store.get('openai', never)));
    expect(new Set(tokens)).toEqual(new Set(['access-2']));
    expect(it.renewals).toEqual(['refresh-1']);
    expect(await it.open().get('openai', never)).toBe('access-2');
  });

  test('that could not be renewed is used until it expires, said once, and tried again after 30 s', async () => {
    await using it = await scene();
    await it.store.set(renewable(it.clock, MINUTE), never);
    it.answers.push({ ok: false, reason: 'down', final: false }, { ok: false, reason: 'down', final: false });
    expect([await it.store.get('openai', never), await it.store.get('openai', never)]).toEqual(['access-1', 'access-1']);
    expect(it.renewals.length).toBe(1);
    await it.clock.advance(30_000);
    expect(await it.store.get('openai', never)).toBe('access-1');
    expect(it.renewals.length).toBe(2);
    await it.clock.advance(29_999);
    expect(await it.store.get('openai', never)).toBe('access-1');
    expect(it.log.lines).toMatchObject([{ level: 'warn', event: 'auth.renewal', data: { provider: 'openai', reason: 'down' } }]);
    await it.clock.advance(1);
    it.answers.push(renewed(it.clock, '2'));
    expect(await it.store.get('openai', never)).toBe('access-2');
  });

  test('whose renewal the issuer refused is not renewed again until somebody logs in', async () => {
    await using it = await scene();
    await it.store.set(renewable(it.clock, 0), never);
    const refusal = { code: 'GH2202', message: 'the login of openai expired and could not be renewed: refused' };
    await expect(it.store.get('openai', never)).rejects.toMatchObject(refusal);
    await it.clock.advance(60 * MINUTE);
    await expect(it.store.get('openai', never)).rejects.toMatchObject(refusal);
    expect(it.renewals.length).toBe(1);
    await it.open().set(login({ accessToken: 'access-3' }), never);
    expect(await it.store.get('openai', never)).toBe('access-3');
  });

  test('keeps its refresh token when the issuer sends no new one', async () => {
    await using it = await scene();
    await it.store.set(renewable(it.clock, 0), never);
    it.answers.push({ ok: true, tokens: { accessToken: 'access-2', expiresAt: it.clock.now() + MINUTE } });
    expect(await it.store.get('openai', never)).toBe('access-2');
    expect(JSON.parse(await readFile(it.file, 'utf8')).credentials.openai.refresh_token).toBe('refresh-1');
  });

  test('does not expire by itself any more when the issuer names no time for the new token', async () => {
    await using it = await scene();
    await it.store.set(renewable(it.clock, MINUTE), never);
    it.answers.push({ ok: true, tokens: { accessToken: 'access-2' } });
    expect(await it.store.get('openai', never)).toBe('access-2');
    await it.clock.advance(2 * MINUTE);
    expect([await it.store.get('openai', never), it.renewals]).toEqual(['access-2', ['refresh-1']]);
  });

  test.each([
    ['a line break', { accessToken: 'a\nb' }],
    ['other letters', { accessToken: 'ключ' }],
    ['a megabyte', { accessToken: 'x'.repeat(900_000) }],
    ['a refresh token that is none', { accessToken: 'access-2', refreshToken: 'r r' }],
  ])('that is renewed to %s is not stored, and every other login stays usable', async (_what, tokens) => {
    await using it = await scene();
    await it.store.set(login({ provider: 'other', accessToken: 'other-1' }), never);
    await it.store.set(renewable(it.clock, 30_000), never);
    it.answers.push({ ok: true, tokens });
    expect(await it.store.get('openai', never)).toBe('access-1');
    expect(await it.open().get('other', never)).toBe('other-1');
    expect(it.log.lines.map(({ data }) => data?.['reason'])).toEqual(['the issuer sent what is no token']);
  });

  test.each([1e15, 8.64e15 + 1, Number.MAX_VALUE])('that lasts for %d ms is stored as one that does not expire', async (ms) => {
    await using it = await scene();
    await it.store.set(login({ provider: 'other', accessToken: 'other-1' }), never);
    await it.store.set(renewable(it.clock, 30_000), never);
    it.answers.push({ ok: true, tokens: { accessToken: 'access-2', expiresAt: it.clock.now() + ms } });
    expect(await it.store.get('openai', never)).toBe('access-2');
    expect(await it.open().get('openai', never)).toBe('access-2');
    expect(await it.open().get('other', never)).toBe('other-1');
  });

  test('is renewed for the others when one who waits gives up; closing waits for it', async () => {
    await using it = await scene();
    await it.store.set(renewable(it.clock, 0), never);
    const answer = Promise.withResolvers<Renewal>();
    it.answers.push(answer.promise);
    const controller = new AbortController();
    const impatient = it.store.get('openai', controller.signal);
    const patient = it.store.get('openai', never);
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(impatient).rejects.toBe(reason);
    answer.resolve(renewed(it.clock, '2'));
    await it.store[Symbol.asyncDispose]();
    await it.store[Symbol.asyncDispose]();
    expect(JSON.parse(await readFile(it.file, 'utf8')).credentials.openai.access_token).toBe('access-2');
    expect(await patient).toBe('access-2');
  });

  test('that was renewed but could not be stored is used all the same, and stored with the next renewal', async () => {
    await using it = await scene();
    await renewUnsaved(it);
    expect(it.log.lines.map((line) => line.event)).toEqual(['auth.unsaved']);
    await rename(`${it.dir}-away`, it.dir);
    expect(await it.store.get('openai', never)).toBe('access-2');
    await it.clock.advance(60 * MINUTE);
    it.answers.push(renewed(it.clock, '3'));
    expect(await it.store.get('openai', never)).toBe('access-3');
    expect(it.renewals).toEqual(['refresh-1', 'refresh-2']);
    expect(await it.open().get('openai', never)).toBe('access-3');
  });

  test.each(['a call', 'closing'])(
    'that could not be stored is stored by %s once there is room: no refresh token is sent twice',
    async (by) => {
      await using it = await scene();
      await renewUnsaved(it);
      await rename(`${it.dir}-away`, it.dir);
      if (by === 'a call') {
        expect(await it.store.get('openai', never)).toBe('access-2');
        await it.clock.advance(MINUTE);
        expect(await it.store.get('openai', never)).toBe('access-2');
        await until('it is stored', async () => (await it.open().list())[0]?.state === 'usable');
      } else await it.store[Symbol.asyncDispose]();
      expect(await it.open().get('openai', never)).toBe('access-2');
      expect(it.renewals).toEqual(['refresh-1']);
    },
  );

  test('whose issuer never answers holds nobody longer than 20 s', async () => {
    await using it = await scene();
    await it.store.set(renewable(it.clock, 0), never);
    let isAsked = false;
    const hanging = openAuthStore({
      dir: it.dir,
      clock: it.clock,
      renew: ({ signal }) => {
        isAsked = true;
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
      },
    });
    const got = hanging.get('openai', never);
    got.catch(() => undefined);
    await until('the issuer is asked, for a time', () => isAsked && it.clock.sleeping > 0);
    await it.clock.advance(20_000);
    // It is tried again: a new login would mend nothing.
    const hint = expect.stringContaining('check the network');
    await expect(got).rejects.toMatchObject({ code: 'GH2203', hint, message: expect.stringContaining('did not answer in time') });
  });

  test('is listed without a token, and its tokens are known to the redactor', async () => {
    await using it = await scene();
    await it.store.set(login({ provider: 'groq', accessToken: 'CANARY-key' }), never);
    await it.store.set({ ...renewable(it.clock, 0), accessToken: 'CANARY-a', refreshToken: 'CANARY-r' }, never);
    await it.store.set(login({ provider: 'zai', accessToken: 'CANARY-z', expiresAt: it.clock.now() }), never);
    const listed = await it.store.list();
    expect(listed).toMatchObject([
      { provider: 'groq', authMethod: 'paste_token', state: 'usable', renews: false },
      { provider: 'openai', authMethod: 'oauth', state: 'renewable', renews: true, issuer: 'https://auth.example.com' },
      { provider: 'zai', state: 'expired', renews: false },
    ]);
    expect(JSON.stringify(listed)).not.toContain('CANARY');
    expect([...it.store.secrets()].sort()).toEqual(['CANARY-a', 'CANARY-key', 'CANARY-r', 'CANARY-z']);
    expect(inspect(it.store, { depth: 9 })).not.toContain('CANARY');
  });

  test('is not read for a caller that has given up', async () => {
    await using it = await scene();
    const reason = new Error('enough');
    await expect(it.store.get('openai', AbortSignal.abort(reason))).rejects.toBe(reason);
    await expect(it.store.set(login(), AbortSignal.abort(reason))).rejects.toBe(reason);
    await expect(stat(it.file)).rejects.toThrow('ENOENT');
  });
});

function stored(provider: string): Record<string, string> {
  return { access_token: 'a', provider, auth_method: 'paste_token' };
}

async function place(file: string, content: unknown): Promise<void> {
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 });
}
